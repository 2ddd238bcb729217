"""What a process does before its first text, done once in the one that others are forked from.

Kernels and their compiler are loaded, with the modules that come with them; no thread is started.
"""

import awkward  # noqa: F401 - these two come with the first text that is tokenized
import gigatoken  # noqa: F401
import pyarrow as pa

from tests.kernels import compile_once
from tests.strategies import document_batch
from tokenmill.pipelines.corpus.near import NearDedup
from tokenmill.pipelines.filters.normalize import work_needed

compile_once()  # by those that are forked too
pa.set_cpu_count(1)
work_needed(pa.array(["a text"]))
NearDedup().key_columns(document_batch(["a text of some words"]), "")
