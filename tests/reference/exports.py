"""Slow, obvious readers of exported files, number by number as the formats are published."""

import json
import struct
from itertools import pairwise
from pathlib import Path

MEGATRON_TYPES = {8: ("H", 2), 4: ("i", 4)}
MDS_TYPES = {"uint16": ("H", 2), "uint32": ("I", 4)}
SHAPE_TYPES = {0: ("B", 1), 1: ("H", 2), 2: ("I", 4), 3: ("Q", 8)}


def read_megatron(prefix: Path) -> list[list[int]]:
    """The documents of PREFIX.bin and PREFIX.idx."""
    ids = Path(f"{prefix}.bin").read_bytes()
    with Path(f"{prefix}.idx").open("rb") as f:
        assert f.read(9) == b"MMIDIDX\x00\x00"
        assert struct.unpack("<Q", f.read(8)) == (1,)
        letter, width = MEGATRON_TYPES[f.read(1)[0]]
        (n,) = struct.unpack("<Q", f.read(8))
        (boundaries,) = struct.unpack("<Q", f.read(8))
        lengths = [struct.unpack("<i", f.read(4))[0] for _ in range(n)]
        starts = [struct.unpack("<q", f.read(8))[0] for _ in range(n)]
        documents = [struct.unpack("<q", f.read(8))[0] for _ in range(boundaries)]
        assert f.read() == b""
    assert documents == list(range(n + 1))
    assert len(ids) == width * sum(lengths)
    return [
        [struct.unpack_from(f"<{letter}", ids, start + width * i)[0] for i in range(length)]
        for start, length in zip(starts, lengths, strict=True)
    ]


def read_mds(folder: Path) -> list[dict]:
    """The samples of a folder of shards."""
    index = json.loads((folder / "index.json").read_text())
    assert index["version"] == 2
    return [sample for shard in index["shards"] for sample in _mds_shard(folder, shard)]


def _mds_shard(folder: Path, shard: dict) -> list[dict]:
    data = (folder / shard["raw_data"]["basename"]).read_bytes()
    assert len(data) == shard["raw_data"]["bytes"]
    (n,) = struct.unpack_from("<I", data)
    assert n == shard["samples"]
    offsets = [struct.unpack_from("<I", data, 4 + 4 * i)[0] for i in range(n + 1)]
    told = {k: v for k, v in shard.items() if k not in ("raw_data", "zip_data", "samples")}
    assert json.loads(data[8 + 4 * n : offsets[0]]) == told
    assert offsets[-1] == len(data)
    return [_mds_sample(data[a:b], shard) for a, b in pairwise(offsets)]


def _mds_sample(data: bytes, shard: dict) -> dict:
    at, sizes = 0, []
    for size in shard["column_sizes"]:
        if size is None:
            (size,) = struct.unpack_from("<I", data, at)
            at += 4
        sizes.append(size)
    sample = {}
    for name, encoding, size in zip(
        shard["column_names"], shard["column_encodings"], sizes, strict=True
    ):
        sample[name] = _mds_value(encoding, data[at : at + size])
        at += size
    assert at == len(data)
    return sample


def _mds_value(encoding: str, data: bytes):
    if encoding == "str":
        return data.decode()
    if encoding in ("uint64", "int"):
        return struct.unpack("<Q" if encoding == "uint64" else "<q", data)[0]
    _, dtype, *shape = encoding.split(":")
    letter, width = MDS_TYPES[dtype]
    at = 0
    if shape:
        n = int(shape[0])
    else:
        assert data[0] >> 2 == 1, "more than one dimension"
        kind, bytes_ = SHAPE_TYPES[data[0] & 3]
        (n,) = struct.unpack_from(f"<{kind}", data, 1)
        at = 1 + bytes_
    assert len(data) == at + n * width
    return [struct.unpack_from(f"<{letter}", data, at + width * i)[0] for i in range(n)]
