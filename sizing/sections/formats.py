"""The corpus in the formats that trainers read, in bytes and files; images are left out."""

from typing import NamedTuple

from sizing.formula import Formula
from sizing.formulas.capacity import LOGICAL_BYTES, TEXT_BYTES
from sizing.formulas.formats import (
    ARROW_BYTES,
    ARROW_DOC_BYTES,
    ARROW_SEQUENCE_BYTES,
    FILES,
    JSONL_GZ_BYTES,
    JSONL_RECORD_BYTES,
    MDS_BYTES,
    MDS_SHARD_BYTES,
    MDS_SHARDS,
    MEGATRON_BYTES,
    MEGATRON_FILES,
    PACKED_ARROW_BYTES,
    PARQUET_BYTES,
    PARQUET_BYTES_PER_TOKEN,
    PARQUET_SOURCE,
    TOTAL_DOCS,
)
from sizing.formulas.mixture import CORPUS_TOKENS
from sizing.requirement import Input
from sizing.sheet import Given, Sheet, SourceFacts

TITLE = "The same text in other formats"
WIDE = 4  # bytes of a token id that holds any vocabulary


class _Text(NamedTuple):
    """The sources that are text, together.

    width: of a token id, as their vocabulary needs it.
    """

    tokens: Given
    docs: Given
    n_bytes: Given
    width: Input


def add(sheet: Sheet) -> None:
    """Add the rows of the section; none of a corpus of images."""
    texts = [s for s in sheet.sources if sheet.plan.value(f"{s.key}.image_text") is None]
    if not texts:
        return
    text = _together(sheet, texts)
    _arrow(sheet, text)
    _megatron_and_mds(sheet, text)
    per_token = sheet.assume(
        "parquet_bytes_per_token",
        PARQUET_BYTES_PER_TOKEN,
        unit="bytes/token",
        source=PARQUET_SOURCE,
    )
    _add(sheet, "Parquet", PARQUET_BYTES, tokens=text.tokens, parquet_bytes_per_token=per_token)
    beside = "keys, id and url of a record, our choice (unverified)"
    _add(
        sheet,
        "JSONL.gz",
        JSONL_GZ_BYTES,
        text_bytes=text.n_bytes,
        docs=text.docs,
        compression_ratio=f"{texts[0].key}.compression_ratio",
        record_bytes=sheet.assume("record_bytes", JSONL_RECORD_BYTES, unit="bytes", source=beside),
    )


def _together(sheet: Sheet, texts: list[SourceFacts]) -> _Text:
    sizes = {
        source.name: sheet.add(
            source.label("text, not compressed"),
            TEXT_BYTES,
            corpus_tokens=source.tokens,
            text_bytes_per_token=source.text_bytes_per_token,
        )
        for source in texts
    }
    width = max((source.token_width_bytes for source in texts), key=lambda given: given.value)
    if len(texts) == 1:
        return _Text(texts[0].tokens, texts[0].docs, sizes[texts[0].name], width)
    return _Text(
        tokens=sheet.add_parts(
            "text tokens", CORPUS_TOKENS, [sheet.input(s.name, s.tokens) for s in texts]
        ),
        docs=sheet.add_parts(
            "text documents", TOTAL_DOCS, [sheet.input(s.name, s.docs) for s in texts]
        ),
        n_bytes=sheet.add_parts(
            "text, not compressed", LOGICAL_BYTES, [row.as_input(n) for n, row in sizes.items()]
        ),
        width=width,
    )


def _arrow(sheet: Sheet, text: _Text) -> None:
    """A row a document in either width, and packed."""
    ours = "measured on tokenmill's files"
    wide = sheet.assume(
        "token_width_bytes", WIDE, unit="bytes/token", source="32-bit ids, whatever the vocabulary"
    )
    for width in [text.width] if text.width.value == WIDE else [text.width, wide]:
        _add(
            sheet,
            f"Arrow, {width.value:g}-byte ids",
            ARROW_BYTES,
            tokens=text.tokens,
            docs=text.docs,
            token_width_bytes=width,
            doc_bytes=sheet.assume("doc_bytes", ARROW_DOC_BYTES, unit="bytes", source=ours),
        )
    _add(
        sheet,
        "Arrow, packed",
        PACKED_ARROW_BYTES,
        tokens=text.tokens,
        seq_len="model.seq_len",
        token_width_bytes=text.width,
        sequence_bytes=sheet.assume(
            "sequence_bytes", ARROW_SEQUENCE_BYTES, unit="bytes", source=ours
        ),
    )


def _megatron_and_mds(sheet: Sheet, text: _Text) -> None:
    megatron = sheet.add(
        "as Megatron .bin and .idx",
        MEGATRON_BYTES,
        tokens=text.tokens,
        docs=text.docs,
        token_width_bytes=text.width,
    )
    sheet.add(
        "files as Megatron .bin and .idx",
        MEGATRON_FILES,
        format_bytes=megatron,
        shard_bytes="storage.shard_bytes",
    )
    limit = "size_limit of MosaicML's MDSWriter, its default"
    samples: dict[str, Given] = {
        "tokens": text.tokens,
        "seq_len": "model.seq_len",
        "token_width_bytes": text.width,
        "mds_shard_bytes": sheet.assume(
            "mds_shard_bytes", MDS_SHARD_BYTES, unit="bytes", source=limit
        ),
    }
    sheet.add("as MDS", MDS_BYTES, **samples)
    sheet.add("files as MDS", MDS_SHARDS, **samples)


def _add(sheet: Sheet, format_name: str, formula: Formula, /, **given: Given) -> None:
    """The bytes of a format, and its files of the size that the plan wants."""
    n_bytes = sheet.add(f"as {format_name}", formula, **given)
    sheet.add(
        f"files as {format_name}", FILES, format_bytes=n_bytes, shard_bytes="storage.shard_bytes"
    )
