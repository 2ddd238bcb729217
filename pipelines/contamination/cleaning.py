"""What is done to documents that repeat benchmark items: settings."""

# stands alone: the step and what does its work both take from it, and settings load no kernels

from typing import Annotated, Any, Literal

from pydantic import Field, field_validator

from tokenmill.pipelines.core.config import Config
from tokenmill.pipelines.core.pieces import MOST_PIECES

NAME = "decontaminate"


class Cleaning(Config):
    """See `Decontaminate`."""

    action: Literal["cut", "document", "paragraph", "report"] = "cut"
    window_chars: Annotated[int, Field(ge=0)] = 200
    least_chars: Annotated[int, Field(ge=0)] = 200
    most_pieces: Annotated[int, Field(ge=1, le=MOST_PIECES)] = 10

    @field_validator("action", mode="before")
    @classmethod
    def _name_the_new_word(cls, action: Any) -> Any:
        if action == "remove":
            raise ValueError(
                "'remove' is called 'document' now (drop it whole); the default, 'cut', drops less"
            )
        return action
