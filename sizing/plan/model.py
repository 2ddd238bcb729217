"""The model to train."""

from typing import Annotated

from pydantic import model_validator

from tokenmill.sizing.plan.fields import OUR_CHOICE, Assumed, Count, Section
from tokenmill.sizing.tables.row import Whole

LEAST_PARAMS = 1e6  # of a model that is sized; fewer lack their unit


class Model(Section):
    """active_params: that work on each token, for a mixture of experts; None is all.

    layers, hidden: with them attention's FLOPs are counted too.  hidden: its width, the heads'
    together.  kv_heads, head_dim: with layers, for the KV cache.
    """

    params: Annotated[Count, Assumed("parameters", OUR_CHOICE)] = 8e9
    active_params: Annotated[Count | None, Assumed("parameters", "all of them")] = None
    layers: Annotated[Whole | None, Assumed("layers", "not counted")] = None
    hidden: Annotated[Whole | None, Assumed("dimensions", "not counted")] = None
    heads: Annotated[Whole | None, Assumed("heads", "not counted")] = None
    kv_heads: Annotated[Whole | None, Assumed("heads", "as many as heads")] = None
    head_dim: Annotated[Whole | None, Assumed("dimensions", "hidden / heads")] = None
    seq_len: Annotated[Whole, Assumed("tokens", "Llama 3 8B")] = 8192

    @model_validator(mode="after")
    def _params_have_their_unit(self) -> "Model":
        for key in ("params", "active_params"):
            value = getattr(self, key)
            if value is not None and value < LEAST_PARAMS:
                meant = f"{value:g}B" if value < 1000 else "13B"
                raise ValueError(f"{key} {value:g} are too few for a model; write {meant}")
        return self

    @model_validator(mode="after")
    def _active_are_some_of_all(self) -> "Model":
        if self.active_params is not None and self.active_params > self.params:
            raise ValueError(
                f"active_params {self.active_params:g} are more than params {self.params:g}"
            )
        return self

    @model_validator(mode="after")
    def _heads_go_round(self) -> "Model":
        if self.heads and self.kv_heads and self.heads % self.kv_heads:
            raise ValueError(f"kv_heads {self.kv_heads} do not divide heads {self.heads}")
        return self
