"""Members of an archive that are compressed themselves, as 000017.txt.gz."""

from isal import isal_zlib

from tokenmill.pipelines.read.stream import GZIP_WBITS

_GZIP_ERROR: type[Exception] = isal_zlib.error  # type: ignore[assignment]  # a slip of its stub


class PackedError(Exception):
    """It cannot be unpacked.

    cause: "damaged_member", or "too_large".
    """

    def __init__(self, cause: str, message: str) -> None:
        super().__init__(message)
        self.cause = cause


def unpacked(data: bytes | memoryview, most_bytes: int) -> bytes:
    """What some gzip expands to; never more than `most_bytes`, however small it is packed.

    Raises:
        PackedError: it expands to more, breaks off, or is no gzip.
    """
    rest, out = bytes(data), b""
    try:
        while rest:  # gzip members follow one another
            member = isal_zlib.decompressobj(GZIP_WBITS)
            out += member.decompress(rest, most_bytes + 1 - len(out))
            if len(out) > most_bytes:
                raise PackedError("too_large", f"expands to more than {most_bytes} bytes")
            if not member.eof:
                raise PackedError("damaged_member", "the gzip in it breaks off")
            rest = member.unused_data.lstrip(b"\0")
    except _GZIP_ERROR as e:
        raise PackedError("damaged_member", f"not gzip: {e}") from None
    return out
