"""What an engine's memory of words adds to a process, told by one that does nothing else."""

import sys

import numpy as np
import pyarrow as pa

from tokenmill.pipelines.tokens import engines
from tokenmill.pipelines.tokens.engines import _resident, fast_engine
from tokenmill.pipelines.tokens.reference import open_reference


def main(tokenizer: str, renewed_at: str, rounds: str) -> None:
    """Print what 4 MB of random letters in each of so many rounds add at most, after the first."""
    engines.RENEW_GROWN_BYTES = int(renewed_at)
    made, _ = fast_engine(open_reference(tokenizer))
    draw = np.random.default_rng(1)
    start = peak = 0
    for _ in range(int(rounds)):
        letters = draw.integers(97, 123, size=4_000_000, dtype=np.uint8)
        letters[draw.random(4_000_000) < 0.14] = 32
        text = letters.tobytes().decode()
        made.encode(pa.array([text[i : i + 4000] for i in range(0, len(text), 4000)]))
        start = start or _resident()
        peak = max(peak, _resident() - start)
    sys.stdout.write(str(peak))
