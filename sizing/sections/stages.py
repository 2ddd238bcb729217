"""What is stored of each corpus: the files that come in, scratch, the dataset; and logs.

Stages that a run deletes at its end need room all the same, unless the plan says otherwise.
"""

import re
from dataclasses import replace

from tokenmill.sizing.corpus import DATASET, INPUTS, CorpusMeasurement
from tokenmill.sizing.formulas import capacity, training
from tokenmill.sizing.requirement import Requirement
from tokenmill.sizing.sheet import Given, Sheet, SourceFacts

TITLE = "Stored, by stage"
STORED = "stored: "  # how the name of a part of the capacity begins
ONE_VERSION, DATASETS = "dataset, one version", "datasets, one version"
PARTS = (DATASET, "checkpoints", INPUTS, "scratch")  # of `storage.holds`
OTHERS = "others"  # that the plan states
SCRATCH = "scratch"  # how that of what a run deletes at its end goes on

# how a run names the folders that it deletes at its end: the first digit tells later passes
_INTERMEDIATE = re.compile(r"(\d)(\d-(.*))")
_FOLDERS = {  # what lies in folders of a run, as a reader knows it
    "0-filtered": "filtered documents",
    "1-keys": "digests, band keys, sets or signatures",
    "5-index": "n-grams of benchmarks",
    "8-spans": "n-grams of documents",
    "9-spans": "repeated spans",
    "0-tokens": "token shards",
    "1-mix": "token shards on their way into the mixture",
    "index": "index for later runs",
    "removed": "rows of removed documents",
    "removed-images": "rows of removed images",
}
_OF_TOKENS = ("0-tokens", "1-mix")  # folders that grow with the tokens, others with documents
_FIXED = ("5-index",)  # those that do not grow with the corpus
_OURS = ("logs", "checkpoints")  # stages that the sheet has of its own
BANDS, ROWS = 14, 5  # of the step `near`, unless told
# of the text: English prose has .6, Inuktitut .14; a word of one character of 3 bytes 4/3
SETS_FRAC, SETS_ENDS = 0.6, (0.14, 4 / 3)
SETS = "sets of the step near, share of the text"


def add(sheet: Sheet) -> None:
    for source in sheet.sources:
        one = _one_dataset(sheet, source)
        if source.measurement is None:
            _assumed_stages(sheet, source, one)
        else:
            _measured_stages(sheet, source, source.measurement)
        if sheet.plan.storage.token_versions > 1:
            sheet.of(source, f"{STORED}{DATASET}", capacity.versions_bytes, dataset_bytes=one)
    _logs(sheet)
    for at, other in enumerate(sheet.plan.storage.others):
        given = sheet.assume(other.bytes, unit="bytes", source=f"stated: storage.others {at + 1}")
        sheet.add(f"{STORED}{OTHERS}, {other.name}", capacity.logical_bytes, stated_bytes=given)


def part_of(row: Requirement) -> str:
    """Which of the things that `storage.holds` names a row of what is stored belongs to."""
    stage = row.name.removeprefix(STORED).partition(", ")[0]
    return {"logs": "checkpoints"}.get(stage, stage if stage in (*PARTS, OTHERS) else SCRATCH)


def parts(sheet: Sheet) -> dict[str, list[Requirement]]:
    """What is stored, by the names of `storage.holds`."""
    made: dict[str, list[Requirement]] = {part: [] for part in (*PARTS, OTHERS)}
    for row in sheet:
        if row.name.startswith(STORED):
            made[part_of(row)].append(row)
    return made


def held(sheet: Sheet) -> list[Requirement]:
    """The rows of what the storage is bought for."""
    of = parts(sheet)
    held = (*(part for part in PARTS if part in sheet.plan.storage.holds), OTHERS)
    return [row for part in held for row in of[part]]


def one_dataset(sheet: Sheet, source: SourceFacts) -> Requirement:
    """The row of a source's dataset in one version."""
    name = source.label(ONE_VERSION)
    return sheet[name] if name in sheet else sheet[source.label(f"{STORED}{DATASET}")]


def all_datasets(sheet: Sheet) -> Requirement:
    """The row of the datasets of all sources, or of all jobs, in one version."""
    if DATASETS in sheet:
        return sheet[DATASETS]
    rows = {source.name: one_dataset(sheet, source) for source in sheet.sources}
    if len(rows) == 1:
        return next(iter(rows.values()))
    return sheet.add(DATASETS, capacity.logical_bytes, **rows)


def _one_dataset(sheet: Sheet, source: SourceFacts) -> Requirement:
    only = sheet.plan.storage.token_versions == 1
    name = f"{STORED}{DATASET}" if only else ONE_VERSION
    if source.measurement is not None and not source.scaled:
        return _stage(sheet, source, source.measurement, DATASET, name)
    # of another corpus than the measured one only a ratio with an error is known
    return sheet.of(source, name, capacity.dataset_bytes)


def _measured_stages(sheet: Sheet, source: SourceFacts, measured: CorpusMeasurement) -> None:
    """What the run stored in each of its folders."""
    has_inputs = sheet.plan.value(f"{source.key}.raw_bytes") is not None
    if has_inputs:
        _stated_inputs(sheet, source)
    for stage in measured.stored_bytes:
        if stage == INPUTS and has_inputs:
            continue
        if stage != DATASET:
            name = f"{STORED}{folder_in_words(stage)}"
            is_told = source.label(name) in sheet  # of two folders that words do not tell apart
            _stage(sheet, source, measured, stage, f"{name} ({stage})" if is_told else name)


def folder_in_words(stage: str) -> str:
    """What lies in a folder of a run.

    >>> folder_in_words("20-filtered"), folder_in_words("18-unit-keys"), folder_in_words("logs")
    ('scratch, filtered documents, pass 2', 'scratch, unit keys', 'logs of the run')
    """
    if stage in _OURS:
        return f"{stage} of the run"
    found = _INTERMEDIATE.fullmatch(stage)
    if found is None:
        return _FOLDERS.get(stage, stage.replace("-", " "))
    digit, key, name = found.groups()
    words = f"{SCRATCH}, {_FOLDERS.get(key, name.replace('-', ' '))}"
    return f"{words}, pass {digit}" if digit in "2345678" else words


def _stage(
    sheet: Sheet, source: SourceFacts, measured: CorpusMeasurement, stage: str, name: str
) -> Requirement:
    stored, of = measured.input("measured_bytes", "stored_bytes", "bytes", stage=stage), stage[1:]
    if of in _FIXED or source.docs_ratio is None:
        return sheet.of(source, name, capacity.logical_bytes, measured_bytes=stored)
    if of not in _OF_TOKENS:
        return sheet.of(source, name, capacity.docs_stage_bytes, measured_bytes=stored)
    return sheet.of(
        source,
        name,
        capacity.stage_bytes,
        measured_bytes=stored,
        measured_tokens=measured.input("measured_tokens", "tokens", "tokens"),
    )


def _assumed_stages(sheet: Sheet, source: SourceFacts, one: Requirement) -> None:
    """The stages that a run is known to have, where none was measured."""
    has_images = source.sample is not None
    kept = _kept(sheet, source, has_images)
    name = f"{STORED}{INPUTS}"
    if sheet.plan.value(f"{source.key}.raw_bytes") is not None:
        _stated_inputs(sheet, source)
    elif has_images:
        sheet.of(source, name, capacity.raw_sample_bytes, dataset_bytes=one, kept_frac=kept)
    else:
        ratio = f"{source.key}.compression_ratio"
        sheet.of(source, name, capacity.raw_input_bytes, kept_frac=kept, compression_ratio=ratio)
    lz4 = sheet.assume(capacity.LZ4_TEXT_RATIO, unit="ratio", source=capacity.LZ4_SOURCE)
    sheet.of(source, f"{STORED}text", capacity.filtered_bytes, kept_frac=kept, lz4_ratio=lz4)
    _keys(sheet, source, kept)
    sets = sheet.assume(
        SETS_FRAC,
        unit="fraction",
        source="measured for this project, 4 bytes a word: of English prose .6 of the text, of"
        " Russian .3, Hindi .56, Thai 1.05, Chinese and Japanese 1.24",
    )
    sets = replace(sets, spread={SETS: SETS_ENDS})
    name = f"{STORED}sets of n-grams"
    sheet.of(source, name, capacity.set_bytes, kept_frac=kept, sets_frac=sets)
    if not has_images:
        shards, width = f"{STORED}token shards", source.token_width_bytes
        sheet.of(source, shards, capacity.dataset_bytes, stored_bytes_per_token=width)


def _kept(sheet: Sheet, source: SourceFacts, has_images: bool) -> Given:
    """The share of documents that stays; of images the default for web text says nothing."""
    key = f"{source.key}.kept_frac"
    if not has_images or sheet.stated(key):
        return key
    source_of_one = f"our choice: all image-text samples are kept; state {key} (unverified)"
    return sheet.assume(1.0, unit="fraction", source=source_of_one, key=key)


def _keys(sheet: Sheet, source: SourceFacts, kept: Given) -> None:
    sheet.of(source, "documents that come in", training.docs_in, kept_frac=kept)
    near = f"tokenmill's step `near`, unless told: {BANDS} bands of {ROWS}"
    bands = sheet.assume(BANDS, unit="bands", source=near)
    sheet.of(source, f"{STORED}digests and band keys", capacity.key_bytes, bands=bands)


def _stated_inputs(sheet: Sheet, source: SourceFacts) -> None:
    key = f"{source.key}.raw_bytes"
    sheet.of(source, f"{STORED}{INPUTS}", capacity.logical_bytes, raw_bytes=key)


def _logs(sheet: Sheet) -> None:
    name = f"{STORED}logs"
    if sheet.plan.storage.logs is not None:
        sheet.add(name, capacity.logical_bytes, logs="storage.logs")
        return
    a_day = sheet.assume(
        capacity.LOG_BYTES_PER_ACCELERATOR_DAY, unit="bytes/day", source="our choice (unverified)"
    )
    sheet.add(name, capacity.logs_bytes, log_bytes_per_accelerator_day=a_day)
