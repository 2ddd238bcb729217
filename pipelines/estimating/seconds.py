"""Seconds of one core that a run takes: of the same work, here, on the parts that were scanned.

Time is that of this machine. How it differs from one time to another is in the interval; how the
sampled parts differ in it is small beside that.
"""

from collections.abc import Mapping, Sequence

import numpy as np

from tokenmill.pipelines.estimate.drawn import DRAWS, Drawn
from tokenmill.pipelines.estimate.local import LocalSample
from tokenmill.pipelines.estimating.blocks import between
from tokenmill.pipelines.estimating.scan import START
from tokenmill.pipelines.receipt import Receipt

# A document, once the keys are there, at 14 bands; not measured on the corpus. A 100,000 documents
# took 0.4 and 4 microseconds each, 10 million of few duplicates 0.2 and 0.4.
# Other steps compare one key too.
CLUSTER_S = {"near": 4e-6}
ONE_KEY_S = 0.3e-6
CLUSTER_LEAST, CLUSTER_MOST = 0.1, 2.0  # times as many
# Of one, on an AMD EPYC: 0.9 ms of a 200 x 160 JPEG of noise, 2.8 ms of photos of 640 x 480, 1.2 ms
# of PNG drawings in the mean; more of larger ones.
THUMBNAIL_S, THUMBNAIL_SPREAD = 2e-3, (0.25, 5.0)
# Log of the factor by which CPU seconds are others another time: predictions were 0.74 to 1.8 times
# what runs of 21 MB to 1 GB then took on a machine shared with others, of which this is the spread.
MACHINE_SD = 0.35


class Seconds:
    """What was timed of the parts.

    receipts: of the parts that could be read.
    """

    def __init__(self, receipts: Sequence[Receipt], seed: int) -> None:
        rng = np.random.default_rng([seed, 2])
        self._machine = Drawn(1.0, np.exp(MACHINE_SD * rng.standard_normal(DRAWS)))
        self._share = rng.random(DRAWS)
        self._told: list[Mapping[str, float]] = [r.facts["seconds"] for r in receipts]
        self._write = float(np.mean([r.facts["write_s_per_byte"] for r in receipts]))

    def of(self, name: str, text_bytes: float) -> Drawn:
        """Per byte of the text that went in; all of it was timed."""
        seconds = sum(told.get(name, 0.0) for told in self._told)
        return self._machine * (seconds / text_bytes if text_bytes else 0.0)

    def sampled(self, sample: LocalSample) -> Drawn:
        """Per byte of the text, of which only that of a sample was timed."""
        if not sample.sums["seconds"].any():
            return self._machine * 0.0
        return self._machine * sample.ratio("seconds", "text_bytes").value

    def clustering(self, step: str, docs: Drawn) -> Drawn:
        """Of finding what a step takes for the same, from keys."""
        spread = between(CLUSTER_LEAST, CLUSTER_MOST, order=4, value=1.0)
        return self._machine * spread * docs * CLUSTER_S.get(step, ONE_KEY_S)

    def writing(self, size: Drawn) -> Drawn:
        """Of so many bytes of files; their digests are a tenth of it at most."""
        return self._machine * self._write * size

    def thumbnails(self, n: Drawn) -> Drawn:
        """Of decoding so many images and encoding them small; not measured on the corpus."""
        spread = between(*THUMBNAIL_SPREAD, order=10, value=1.0)
        return self._machine * spread * n * THUMBNAIL_S

    def start(self) -> Drawn:
        """What the process loads once; what was compiled here, not loaded, a run has no need of."""
        most = sum(told.get(START, 0.0) for told in self._told)
        return self._machine * Drawn(most, most * self._share)
