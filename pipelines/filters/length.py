"""Documents by the length of their text, in characters, as CCNet's `min_len`."""
# stands alone: each filter has a module of its own

from typing import ClassVar

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from tokenmill.pipelines.core.config import Count
from tokenmill.pipelines.core.filter import Filter, Kinds
from tokenmill.pipelines.core.step import StageResult, above, below


class Length(Filter):
    """Keep documents of `min_chars` to `max_chars` characters, ends included; `None` is off.
    Unless told, of 300 or more, CCNet's `min_len`.

    A character is a Unicode code point, as Python's `len` counts them; white space counts.

    Reasons: "too_short", "too_long"; the value is the number of characters. It annotates that.

    Source of the default: CCNet, arXiv:1911.00359 (cc_net, mine.py and process_wet_file.py:
    min_len), which looks at documents as they come, before lines are taken out of them; behind
    `repeated_paragraphs` the step removes what that has left too short.
    """

    name: ClassVar[str] = "length"
    tells: ClassVar[Kinds] = {"": pa.int64()}

    min_chars: Count | None = 300
    max_chars: Count | None = None

    def __call__(self, batch: pa.RecordBatch) -> StageResult:
        n_chars = np.asarray(pc.utf8_length(batch["text"])).astype(np.float64)
        rules = [
            below("too_short", n_chars, self.min_chars),
            above("too_long", n_chars, self.max_chars),
        ]
        return self.judge_by(batch, rules, {"": n_chars})
