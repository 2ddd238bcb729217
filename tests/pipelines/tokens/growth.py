"""What an engine's memory of words adds to a process, told by one that does nothing else."""

import sys

import numpy as np
import pyarrow as pa

from tokenmill.pipelines.tokens import engines
from tokenmill.pipelines.tokens.engines import _resident, fast_engine
from tokenmill.pipelines.tokens.reference import open_reference

ROUND_BYTES, DOCUMENT_BYTES = 4_000_000, 4_000


def main(tokenizer: str, renewed_at: str, rounds: str) -> None:
    """Print what 4 MB of random letters in each of so many rounds add at most.

    All texts are there before the first is encoded: what else comes and goes would be counted.
    """
    engines.RENEW_GROWN_BYTES = int(renewed_at)
    draw = np.random.default_rng(1)
    texts = [_letters(draw) for _ in range(int(rounds))]
    made, _ = fast_engine(open_reference(tokenizer))
    start = _resident()
    peak = 0
    for text in texts:
        made.encode(text)
        peak = max(peak, _resident() - start)
    sys.stdout.write(str(peak))


def _letters(draw: np.random.Generator) -> pa.Array:
    letters = draw.integers(97, 123, size=ROUND_BYTES, dtype=np.uint8)
    letters[draw.random(ROUND_BYTES) < 0.14] = 32
    starts = np.arange(0, ROUND_BYTES + 1, DOCUMENT_BYTES)
    count = len(starts) - 1
    return pa.LargeStringArray.from_buffers(count, pa.py_buffer(starts), pa.py_buffer(letters))
