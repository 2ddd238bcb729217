"""What reading may cost at most, whatever a file holds."""

from typing import Annotated

from pydantic import Field

from tokenmill.pipelines.config import Bytes, Config

BATCH_DOCS = 4096
BATCH_BYTES = 8 * 1024**2


class Limits(Config):
    """Bounds that keep one bad file from taking the machine's memory.

    max_document_bytes: a longer line or text is counted as failed ("too_large").
    max_window_bytes: memory a zstd file may ask for to be decompressed; 128 MiB is zstd's
        own default, `zstd --long=31` needs 2 GiB.
    """

    max_document_bytes: Bytes = 64 * 1024**2
    max_window_bytes: Annotated[Bytes, Field(ge=1024, le=2**31)] = 128 * 1024**2
