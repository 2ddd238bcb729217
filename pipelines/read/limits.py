"""What reading may cost at most, whatever a file holds."""

from pydantic import Field

from pipelines.config import Config

BATCH_DOCS = 4096
BATCH_BYTES = 8 * 1024**2


class Limits(Config):
    """Bounds that keep one bad file from taking the machine's memory.

    max_document_bytes: a longer line or text is counted as failed ("too_large").
    max_window_bytes: memory a zstd file may ask for to be decompressed; 128 MiB is zstd's
        own default, `zstd --long=31` needs 2 GiB.
    """

    max_document_bytes: int = Field(default=64 * 1024**2, gt=0)
    max_window_bytes: int = Field(default=128 * 1024**2, ge=1024, le=2**31)
