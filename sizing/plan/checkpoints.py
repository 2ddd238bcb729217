"""Checkpoints: what is in one, how often, how many are kept, how training restarts."""

from typing import Annotated, Literal

from pydantic import model_validator

from tokenmill.sizing.plan.fields import OUR_CHOICE, Assumed, Duration, Section
from tokenmill.sizing.tables.recipes import find_recipe
from tokenmill.sizing.tables.row import ByteRate, MaybeShare, Positive, Share, Whole


class Checkpoints(Section):
    """recipe: what is written, a row of the table.  bytes_per_param: in place of the table's.

    mode: sync, training waits until all is written; async, until it is copied to host memory.
    interval_s: from one to the next.  stall_frac: of the time that training may wait for them.
    drain_frac: of the interval in which an asynchronous one must be written.
    write_bytes_per_s: that storage takes from the whole job, where known.
    keep_last: to restart from.  keep_every_s: one is kept for ever each so many seconds.
    keep_forever: others never deleted, the final one included.
    restart_s: from a failure to the first new step, loading included.
    broadcast: one replica reads the weights and sends them to the others.
    host_copy_bytes_per_s: of one accelerator's memory to its host's.
    """

    recipe: Annotated[str, Assumed("name", OUR_CHOICE)] = "bf16+adam"
    bytes_per_param: Annotated[Positive | None, Assumed("bytes/parameter", "the recipe's")] = None
    mode: Annotated[Literal["sync", "async"], Assumed("name", OUR_CHOICE)] = "sync"
    interval_s: Annotated[
        Duration | None,
        Assumed("s", f"Young's optimum at write_bytes_per_s, else {OUR_CHOICE}: half an hour"),
    ] = None
    stall_frac: Annotated[Share, Assumed("fraction", OUR_CHOICE)] = 0.05
    drain_frac: Annotated[Share, Assumed("fraction", OUR_CHOICE)] = 0.1
    write_bytes_per_s: Annotated[ByteRate | None, Assumed("bytes/s", "not known")] = None
    keep_last: Annotated[Whole, Assumed("checkpoints", OUR_CHOICE)] = 3
    keep_every_s: Annotated[Duration | None, Assumed("s", f"{OUR_CHOICE}: none")] = None
    keep_forever: Annotated[Whole, Assumed("checkpoints", "the final one")] = 1
    restart_s: Annotated[
        Duration, Assumed("s", "Lockwood: 90 % uptime at a failure each 2.5 h means 16.7 minutes")
    ] = 1000.0
    restart_load_frac: Annotated[
        MaybeShare, Assumed("fraction", f"{OUR_CHOICE}: of restart_s that may be loading")
    ] = 0.1
    broadcast: Annotated[bool, Assumed("yes or no", "MegaScale, arXiv:2402.15627")] = True
    host_copy_bytes_per_s: Annotated[
        ByteRate, Assumed("bytes/s", f"{OUR_CHOICE}: under half of PCIe 5.0 x16", verified=False)
    ] = 25e9

    @model_validator(mode="after")
    def _recipe_is_known(self) -> "Checkpoints":
        if self.bytes_per_param is None:
            find_recipe(self.recipe)
        return self
