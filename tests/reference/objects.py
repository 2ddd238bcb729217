"""A file of JSON Lines, line by line: what each is, by orjson and by the rules on the page."""

import json

import orjson

from tokenmill.pipelines.core.shard import SourceShard


def documents(data: bytes, shard: SourceShard) -> list[tuple]:
    """(id, url, text) of each document, (place, reason, what orjson said) of each other line."""
    told, at = [], 0
    for number, line in enumerate(data.split(b"\n")):
        begin, at = at, at + len(line) + 1
        if number == 0 and line.startswith(b"\xef\xbb\xbf"):
            begin, line = 3, line[3:]
        if line.strip():
            told.append(document(line, begin, shard))
    return told


def document(line: bytes, begin: int, shard: SourceShard) -> tuple:
    place = f"{shard.names[0]}#{begin}"
    try:
        value = orjson.loads(line)
    except orjson.JSONDecodeError as e:
        return place, "invalid_utf8" if is_bad_text(line) else "invalid_json", str(e)
    if not isinstance(value, dict):
        return place, "invalid_json", ""
    if value.get(shard.text) is None:
        return place, "missing_text", ""
    if not isinstance(value[shard.text], str):
        return place, "text_not_string", ""
    own = value.get(shard.id) if shard.id else None
    url = value.get(shard.url) if shard.url else None
    return id_of(own, line, shard, place), url if isinstance(url, str) else None, value[shard.text]


def id_of(own: object, line: bytes, shard: SourceShard, place: str) -> str:
    """Numbers as they are written, other things as JSON."""
    if own is None or isinstance(own, str):
        return place if own is None else own
    if isinstance(own, float):
        own = json.loads(line, parse_float=str)[shard.id]
    return own if isinstance(own, str) else json.dumps(own, ensure_ascii=False)


def is_bad_text(line: bytes) -> bool:
    """Whether bytes are not UTF-8, or half a pair of surrogates is all that is wrong."""
    try:
        json.dumps(json.loads(line.decode(), parse_constant=int), ensure_ascii=False).encode()
    except UnicodeError:
        return True
    except (ValueError, RecursionError):
        return False
    return False
