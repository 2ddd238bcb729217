"""How a recipe's images go through a run: what is read of them, and what stands in the dataset."""

from typing import Annotated, Literal

from pydantic import Field

from tokenmill.pipelines.config import Bytes, Config


class Patches(Config):
    """Tokens by the size of an image: one for each patch, edges rounded up.

        ceil(width / (patch * merge)) * ceil(height / (patch * merge)), at most `most`

    patch: side in pixels.  merge: patches on a side that become one token.
    longest: the longer side is scaled down to as many pixels first; None leaves it.
    """

    patch: Annotated[int, Field(ge=1)] = 14
    merge: Annotated[int, Field(ge=1)] = 1
    longest: Annotated[int, Field(ge=1)] | None = None
    most: Annotated[int, Field(ge=1)] | None = None


class Images(Config):
    """The `images` section of a recipe; without it a run reads text alone.

    store: the dataset holds the images' bytes, or says where in the input they stand.
    token: placeholder in the ids; the vocabulary's own token of that name, or one id more than
        the vocabulary has.
    tokens: placeholders for each image: so many, or by its size.
    verify: decode every image wholly, not its header alone.
    max_bytes, max_pixels: what an image may have; a larger one counts as failed, and is never
        decoded. Pillow by itself refuses more than 178,956,970 pixels.
    webdataset: write what is left as tar shards too, in OUT/webdataset.
    """

    store: Literal["bytes", "reference"] = "bytes"
    token: Annotated[str, Field(min_length=1)] = "<image>"
    tokens: Annotated[int, Field(ge=0)] | Patches = 1
    verify: bool = False
    max_bytes: Bytes = 64 * 1024**2
    max_pixels: Annotated[int, Field(ge=1)] = 178_956_970
    webdataset: bool = False

    @property
    def keeps_bytes(self) -> bool:
        """Whether anything at the end of a run needs the bytes."""
        return self.store == "bytes" or self.webdataset
