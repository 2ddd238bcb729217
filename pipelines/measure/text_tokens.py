"""Text as it is encoded, and its tokens, those that stand for images left out."""
# stands alone: says what tokens a text has, not how a scan counts them

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from tokenmill.pipelines.core.schema import PLACEHOLDER
from tokenmill.pipelines.prepare.job import PrepareJob
from tokenmill.pipelines.prepare.recipe import Recipe
from tokenmill.pipelines.read.images.nodes import owners_of
from tokenmill.pipelines.read.options import Images
from tokenmill.pipelines.tokens.images import batches_of, encode_illustrated
from tokenmill.pipelines.tokens.tokenize import MismatchError


def written_text(text: pa.Array, images: Images | None) -> pa.Array:
    """Text without what stands for images in it."""
    return text if images is None else pc.replace_substring(text, PLACEHOLDER, "")


def text_tokens(job: PrepareJob, documents: pa.RecordBatch) -> npt.NDArray[np.int64]:
    """(n_docs,) ids of each, those that stand for images left out.

    As the run would: should the fast engine ever differ, by the reference.
    """
    try:
        return _encoded(job.recipe, documents)
    except MismatchError:
        return _encoded(job.exactly().recipe, documents)


def _encoded(recipe: Recipe, documents: pa.RecordBatch) -> npt.NDArray[np.int64]:
    if recipe.images is None:
        return np.diff(recipe.engine().encode(documents["text"]).offsets)
    made = [
        np.diff(encoded.tokens.offsets) - _per_doc(part, encoded.per_image)
        for part in batches_of(documents, recipe.images.tokens)
        for encoded in [encode_illustrated(recipe.engine(), part, recipe.images)]
    ]
    return np.concatenate(made)


def _per_doc(documents: pa.RecordBatch, of_image: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    summed = np.bincount(owners_of(documents), of_image, documents.num_rows)
    return summed.astype(np.int64)
