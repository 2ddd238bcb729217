"""How the model is trained: on how much, and how the data are read."""

from typing import Annotated

from pydantic import model_validator

from tokenmill.sizing.plan.fields import OUR_CHOICE, Assumed, Count, Section, Size
from tokenmill.sizing.tables.access import find_access
from tokenmill.sizing.tables.row import MaybeShare, Positive, Ratio, Whole


class Training(Section):
    """tokens: seen in training, repeats counted; None is days' worth, or the corpus times `epochs`.

    recompute_frac: of the forward pass done again for the backward pass; 1 is full.
    batch_tokens: of one step of the whole job.  data_parallel: replicas of the weights.
    access: how sequences are read, a row of the table of access patterns.
    read_ahead: of the kernel, around what a memory map is asked for.
    read_amplification: bytes fetched from storage for each byte used, in place of the table's.
    sequences_per_read: that lie in a row and are fetched at once.
    """

    tokens: Annotated[Count | None, Assumed("tokens", "the corpus times epochs")] = None
    days: Annotated[Positive | None, Assumed("days", "as long as it takes")] = None
    epochs: Annotated[Positive, Assumed("epochs", OUR_CHOICE)] = 1.0
    recompute_frac: Annotated[MaybeShare, Assumed("fraction", f"{OUR_CHOICE}: none")] = 0.0
    batch_tokens: Annotated[Count, Assumed("tokens", f"{OUR_CHOICE}: 2^22")] = float(2**22)
    data_parallel: Annotated[Whole | None, Assumed("replicas", "one a node")] = None
    access: Annotated[str, Assumed("name", f"{OUR_CHOICE}: Arrow record batches in order")] = (
        "sequential"
    )
    read_ahead: Annotated[
        Size, Assumed("bytes", "Linux's default; a device's own is its read_ahead_kb")
    ] = 131_072.0
    read_amplification: Annotated[Ratio | None, Assumed("ratio", "the access pattern's")] = None
    sequences_per_read: Annotated[Whole, Assumed("sequences", OUR_CHOICE)] = 1

    @model_validator(mode="after")
    def _one_length(self) -> "Training":
        if "epochs" in self.model_fields_set:
            for other in ("tokens", "days"):
                if getattr(self, other) is not None:
                    raise ValueError(
                        f"{other} and epochs are both given; give one, the other follows"
                    )
        return self

    @model_validator(mode="after")
    def _access_is_known(self) -> "Training":
        find_access(self.access)
        return self
