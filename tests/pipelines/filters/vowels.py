"""A filter as a contributor writes it: documents by the share of their letters that are vowels."""

from typing import ClassVar

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from tokenmill.pipelines.core.step import StageResult, Step, below, decide, register


@register
class Vowels(Step):
    """Keep documents of which at least a fraction of the letters are vowels of English.

    Reasons: "few_vowels"; the value is that fraction.
    """

    name: ClassVar[str] = "vowels"

    min_frac: float = 0.25

    def __call__(self, batch: pa.RecordBatch) -> StageResult:
        vowels, letters = (
            np.asarray(pc.count_substring_regex(batch["text"], pattern)).astype(np.float64)
            for pattern in ("[aeiouAEIOU]", "[a-zA-Z]")
        )
        fractions = vowels / np.maximum(letters, 1)
        return decide(self.name, batch, [below("few_vowels", fractions, self.min_frac)])
