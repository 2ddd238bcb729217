"""The corpus in the formats that trainers read, in bytes and files; images are left out."""

from typing import NamedTuple

from tokenmill.sizing.formula import Formula
from tokenmill.sizing.formulas import capacity, formats, training
from tokenmill.sizing.requirement import Input, Requirement
from tokenmill.sizing.sheet import Given, Sheet, SourceFacts

TITLE = "The same text in other formats"
WIDE = 4  # bytes of a token id that holds any vocabulary


class _Text(NamedTuple):
    """Sources of text; sizes: bytes of each, in order.  width: of an id, for their vocabulary."""

    sources: list[SourceFacts]
    tokens: Given
    docs: Given
    sizes: list[Requirement]
    width: Input


def add(sheet: Sheet) -> None:
    """Add the rows of the section; none of a corpus of images."""
    texts = [source for source in sheet.sources if source.sample is None]
    if not texts:
        return
    text = _together(sheet, texts)
    _arrow(sheet, text)
    _megatron_and_mds(sheet, text)
    per_token = sheet.assume(
        formats.PARQUET_BYTES_PER_TOKEN, unit="bytes/token", source=formats.PARQUET_SOURCE
    )
    _add(
        sheet,
        "Parquet",
        formats.parquet_bytes,
        tokens=text.tokens,
        parquet_bytes_per_token=per_token,
    )
    _jsonl_gz(sheet, text)


def _together(sheet: Sheet, texts: list[SourceFacts]) -> _Text:
    sizes = [sheet.of(source, "text, not compressed", capacity.text_bytes) for source in texts]
    width = max((source.token_width_bytes for source in texts), key=lambda given: given.value)
    if len(texts) == 1:
        return _Text(texts, texts[0].tokens, texts[0].docs, sizes, width)
    _sum(sheet, "text, not compressed", texts, sizes)
    return _Text(
        sources=texts,
        tokens=sheet.add(
            "text tokens", training.corpus_tokens, **{s.name: s.tokens for s in texts}
        ),
        docs=sheet.add("text documents", formats.total_docs, **{s.name: s.docs for s in texts}),
        sizes=sizes,
        width=width,
    )


def _sum(sheet: Sheet, name: str, texts: list[SourceFacts], rows: list[Requirement]) -> Requirement:
    parts = {text.name: row for text, row in zip(texts, rows, strict=True)}
    return sheet.add(name, capacity.logical_bytes, **parts)


def _arrow(sheet: Sheet, text: _Text) -> None:
    """A row a document in either width, and packed."""
    ours = "measured on tokenmill's files"
    wide = sheet.assume(WIDE, unit="bytes/token", source="32-bit ids, whatever the vocabulary")
    for width in [text.width] if text.width.value == WIDE else [text.width, wide]:
        _add(
            sheet,
            f"Arrow, {width.value:g}-byte ids",
            formats.arrow_bytes,
            tokens=text.tokens,
            docs=text.docs,
            token_width_bytes=width,
            doc_bytes=sheet.assume(formats.ARROW_DOC_BYTES, unit="bytes", source=ours),
        )
    _add(
        sheet,
        "Arrow, packed",
        formats.packed_arrow_bytes,
        tokens=text.tokens,
        token_width_bytes=text.width,
        sequence_bytes=sheet.assume(formats.ARROW_SEQUENCE_BYTES, unit="bytes", source=ours),
    )


def _megatron_and_mds(sheet: Sheet, text: _Text) -> None:
    megatron = sheet.add(
        "as Megatron .bin and .idx",
        formats.megatron_bytes,
        tokens=text.tokens,
        docs=text.docs,
        token_width_bytes=text.width,
    )
    sheet.add("files as Megatron .bin and .idx", formats.megatron_files, format_bytes=megatron)
    limit = "size_limit of MosaicML's MDSWriter, its default"
    samples: dict[str, Given] = {
        "tokens": text.tokens,
        "seq_len": "model.seq_len",
        "token_width_bytes": text.width,
        "mds_shard_bytes": sheet.assume(formats.MDS_SHARD_BYTES, unit="bytes", source=limit),
    }
    sheet.add("as MDS", formats.mds_bytes, **samples)
    sheet.add("files as MDS", formats.mds_shards, **samples)


def _jsonl_gz(sheet: Sheet, text: _Text) -> None:
    """Each source by what its own text compresses to."""
    name, several = "as JSONL.gz", len(text.sources) > 1
    beside = "keys, id and url of a record, our choice (unverified)"
    rows = [
        sheet.add(
            source.label(name) if several else name,
            formats.jsonl_gz_bytes,
            text_bytes=size,
            docs=source.docs,
            compression_ratio=f"{source.key}.compression_ratio",
            record_bytes=sheet.assume(formats.JSONL_RECORD_BYTES, unit="bytes", source=beside),
        )
        for source, size in zip(text.sources, text.sizes, strict=True)
    ]
    _files(sheet, "JSONL.gz", _sum(sheet, name, text.sources, rows) if several else rows[0])


def _add(sheet: Sheet, format_name: str, formula: Formula[...], /, **given: Given) -> None:
    """The bytes of a format, and its files of the size that the plan wants."""
    _files(sheet, format_name, sheet.add(f"as {format_name}", formula, **given))


def _files(sheet: Sheet, format_name: str, n_bytes: Requirement) -> None:
    sheet.add(f"files as {format_name}", formats.files, format_bytes=n_bytes)
