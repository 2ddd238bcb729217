"""The records of a sound WARC file, by lines and slices; see `pipelines.read.web.records`."""


def records(data: bytes) -> list[dict]:
    """Of each record its kind, headers (small letters, first of equal ones), place and block."""
    found = []
    at = 0
    while True:
        while data[at : at + 1] in (b"\r", b"\n"):
            at += 1
        if at == len(data):
            return found
        begin, headers = at, {}
        while True:
            end = data.index(b"\n", at)
            line = data[at:end].decode().rstrip("\r")
            at = end + 1
            if not line:
                break
            name, colon, value = line.partition(":")
            if colon:
                headers.setdefault(name.strip().lower(), value.strip())
        length = int(headers["content-length"])
        block = data[at : at + length]
        assert len(block) == length
        at += length
        found.append(
            {"kind": headers["warc-type"], "headers": headers, "at": begin, "block": block}
        )


def body(block: bytes) -> tuple[int, dict, bytes]:
    """Status, headers and body of an HTTP response without codings."""
    head, _, rest = block.partition(b"\r\n\r\n")
    first, *lines = head.decode("latin-1").split("\r\n")
    headers = {k.strip().lower(): v.strip() for k, _, v in (line.partition(":") for line in lines)}
    return int(first.split()[1]), headers, rest


def dechunked(data: bytes) -> bytes:
    made = b""
    while True:
        size, _, data = data.partition(b"\r\n")
        n = int(size, 16)
        if n == 0:
            return made
        made += data[:n]
        data = data[n + 2 :]
