"""A step of a plug-in that tells when a shard is at work, and holds it until a file is there."""

import os
import tempfile
import time
from pathlib import Path
from typing import ClassVar

import numpy as np
import pyarrow as pa

from tokenmill.pipelines.core.step import StageResult, Step, below, decide, register

LONG_S = 600  # a test that failed


@register
class Gate(Step):
    """Keep all documents, once the file `open` is in the folder that GATE names."""

    name: ClassVar[str] = "gate"

    def __call__(self, batch: pa.RecordBatch) -> StageResult:
        folder, deadline = Path(os.environ["GATE"]), time.monotonic() + LONG_S
        os.close(tempfile.mkstemp(prefix="begun-", dir=folder)[0])
        while not (folder / "open").exists() and time.monotonic() < deadline:
            time.sleep(0.02)
        return decide(self.name, batch, [below("never", np.zeros(batch.num_rows), 0.0)])
