"""What training reads from storage: bytes and requests each second, and what is read again."""

from tokenmill.sizing.formulas.bandwidth import (
    ACCELERATOR_READ_BYTES_PER_S,
    CACHED_FRAC,
    DRIVES_FOR_READS,
    HDD_READS_PER_S,
    NODE_READ_BYTES_PER_S,
    NODES,
    NVME_READS_PER_S,
    PAGE_CACHE_BYTES,
    READ_AMPLIFICATION,
    READ_BYTES_PER_S,
    SEQUENCE_BYTES,
    SEQUENCE_READS_PER_S,
    UNCACHED_BYTES_PER_S,
    USEFUL_BYTES_PER_READ,
    WASTED_BYTES_PER_READ,
)
from tokenmill.sizing.formulas.capacity import LOGICAL_BYTES
from tokenmill.sizing.formulas.image_text import FLOP_RATIO_BYTES_PER_S
from tokenmill.sizing.formulas.network import TRANSFER_HOURS
from tokenmill.sizing.formulas.read_requests import (
    MEAN_USEFUL_BYTES_PER_READ,
    SAMPLE_READS_PER_S,
    TOTAL_READS_PER_S,
)
from tokenmill.sizing.formulas.staging import NODE_LINK_BITS_PER_S, SHARED_STAGING_HOURS
from tokenmill.sizing.formulas.training import EPOCHS, SOURCE_TOKENS_PER_S
from tokenmill.sizing.requirement import Requirement
from tokenmill.sizing.sections import images
from tokenmill.sizing.sections.rate import peak
from tokenmill.sizing.sections.stages import one_dataset
from tokenmill.sizing.sheet import Given, Sheet, SourceFacts
from tokenmill.sizing.tables.access import AccessRow, find_access

TITLE = "Reads"
REQUESTS = "read requests, whole job"
USED = "bytes used of a read"


def add(sheet: Sheet) -> None:
    """Add the rows of the section."""
    sequence = sheet.add(
        "sequence bytes",
        SEQUENCE_BYTES,
        seq_len="model.seq_len",
        stored_bytes_per_token=sheet["stored bytes a token"],
    )
    reads = _requests(sheet)
    job = sheet.add(
        "read bandwidth, whole job",
        READ_BYTES_PER_S,
        tokens_per_s=sheet["training rate"],
        stored_bytes_per_token=sheet["stored bytes a token"],
        read_amplification=_amplification(sheet, sequence),
    )
    sheet.add("nodes", NODES, accelerators="cluster.count", per_node=sheet.accelerator("per_node"))
    _shares(sheet, job)
    _drives(sheet, reads)
    for source in sheet.sources:
        if source.sample is not None:
            images.add(sheet, source, source.sample, rate_of(sheet, source))
    dataset = _whole_dataset(sheet)
    _cache(sheet, job, dataset)
    _staging(sheet, dataset)


def _amplification(sheet: Sheet, sequence: Requirement) -> Given:
    """Stated, or what the access pattern was measured to have, for reads of this size."""
    stated = "training.read_amplification"
    if sheet.plan.value(stated) is not None:
        return stated
    pattern = find_access(sheet.plan.training.access)
    chosen = f"{sheet.plan.source('training.access')}; {{}}"
    if pattern.wasted_bytes is None and pattern.wasted_read_aheads is None:
        source = chosen.format(pattern.source_of("amplification"))
        return sheet.assume(
            "read_amplification",
            pattern.amplification,
            unit="ratio",
            source=source,
            key=stated,
        )
    if USED not in sheet:
        sheet.add(
            USED,
            USEFUL_BYTES_PER_READ,
            sequence_bytes=sequence,
            sequences_per_read="training.sequences_per_read",
        )
    return sheet.add(
        "read amplification",
        READ_AMPLIFICATION,
        useful_bytes_per_read=sheet[USED],
        wasted_bytes_per_read=_wasted(sheet, pattern, chosen),
    )


def _wasted(sheet: Sheet, pattern: AccessRow, chosen: str) -> Given:
    """Bytes of a read that nobody uses.  chosen: why the pattern is this one, before a source."""
    if pattern.wasted_read_aheads is None:
        return sheet.assume(
            "wasted_bytes_per_read",
            pattern.wasted_bytes or 0.0,
            unit="bytes",
            source=chosen.format(pattern.source_of("wasted_bytes")),
        )
    return sheet.add(
        "bytes wasted of a read",
        WASTED_BYTES_PER_READ,
        read_ahead_bytes="training.read_ahead",
        read_aheads_per_read=sheet.assume(
            "read_aheads_per_read",
            pattern.wasted_read_aheads,
            unit="ratio",
            source=chosen.format(pattern.source_of("wasted_read_aheads")),
        ),
    )


def _shares(sheet: Sheet, job: Requirement) -> None:
    sheet.add(
        "read bandwidth, one node",
        NODE_READ_BYTES_PER_S,
        read_bytes_per_s=job,
        accelerators="cluster.count",
        per_node=sheet.accelerator("per_node"),
    )
    sheet.add(
        "read bandwidth, one accelerator",
        ACCELERATOR_READ_BYTES_PER_S,
        read_bytes_per_s=job,
        accelerators="cluster.count",
    )
    sheet.add(
        "FLOP-ratio demand of one accelerator, upper bound",
        FLOP_RATIO_BYTES_PER_S,
        sample_bytes=sheet["stored bytes a token"],
        sample_flops=sheet["train FLOP a token"],
        flops_per_s=peak(sheet),
    )


def _requests(sheet: Sheet) -> Requirement:
    """Reads each second: of text by sequence, of images by sample unless runs are stated."""
    in_runs = sheet.stated("training.sequences_per_read")
    if in_runs or not any(source.sample for source in sheet.sources):
        return _sequence_reads(sheet, REQUESTS, sheet["training rate"])
    if len(sheet.sources) == 1:
        reads = _reads_of(sheet, REQUESTS, sheet.sources[0])
    else:
        rows = {s.name: _reads_of(sheet, s.label("read requests"), s) for s in sheet.sources}
        parts = [row.as_input(name) for name, row in rows.items()]
        reads = sheet.add_parts(REQUESTS, TOTAL_READS_PER_S, parts)
    sheet.add(
        USED,
        MEAN_USEFUL_BYTES_PER_READ,
        tokens_per_s=sheet["training rate"],
        stored_bytes_per_token=sheet["stored bytes a token"],
        reads_per_s=reads,
    )
    return reads


def _reads_of(sheet: Sheet, name: str, source: SourceFacts) -> Requirement:
    rate = rate_of(sheet, source)
    if source.sample is None:
        return _sequence_reads(sheet, name, rate)
    sample = sheet[source.label("tokens a sample")]
    return sheet.add(name, SAMPLE_READS_PER_S, tokens_per_s=rate, sample_tokens=sample)


def _sequence_reads(sheet: Sheet, name: str, rate: Requirement) -> Requirement:
    return sheet.add(
        name,
        SEQUENCE_READS_PER_S,
        tokens_per_s=rate,
        seq_len="model.seq_len",
        sequences_per_read="training.sequences_per_read",
    )


def rate_of(sheet: Sheet, source: SourceFacts) -> Requirement:
    """A source's share of the training rate; the only one has all of it."""
    name = source.label("training rate")
    if len(sheet.sources) == 1:
        return sheet["training rate"]
    if name in sheet:
        return sheet[name]
    return sheet.add(
        name,
        SOURCE_TOKENS_PER_S,
        tokens_per_s=sheet["training rate"],
        source_tokens=sheet[source.label("tokens trained on")],
        trained_tokens=sheet["tokens trained on"],
    )


def _drives(sheet: Sheet, reads: Requirement) -> None:
    for drive, per_s in (("hard drives", HDD_READS_PER_S), ("NVMe drives", NVME_READS_PER_S)):
        sheet.add(
            f"{drive} for the requests",
            DRIVES_FOR_READS,
            reads_per_s=reads,
            drive_reads_per_s=sheet.assume(
                "drive_reads_per_s",
                per_s,
                unit="reads/s",
                source=f"random reads of {drive}, a rule of thumb (unverified)",
            ),
        )


def _whole_dataset(sheet: Sheet) -> Requirement:
    """One version of the datasets of all sources."""
    rows = {source.name: one_dataset(sheet, source) for source in sheet.sources}
    if len(rows) == 1:
        return next(iter(rows.values()))
    return sheet.add_parts(
        "datasets, one version", LOGICAL_BYTES, [row.as_input(n) for n, row in rows.items()]
    )


def _cache(sheet: Sheet, job: Requirement, dataset: Requirement) -> None:
    """What nodes may find in memory of an epoch before; nothing in the first."""
    trained, corpus = sheet["tokens trained on"], sheet["corpus tokens"]
    if trained.value <= corpus.value:
        return
    if "epochs" not in sheet:
        sheet.add("epochs", EPOCHS, trained_tokens=trained, corpus_tokens=corpus)
    page_cache = sheet.add(
        "page cache of a node",
        PAGE_CACHE_BYTES,
        host_memory_bytes="cluster.host_memory",
        page_cache_frac="storage.page_cache_frac",
    )
    cached = sheet.add(
        "reads answered from page cache, at most",
        CACHED_FRAC,
        dataset_bytes=dataset,
        page_cache_bytes=page_cache,
        nodes=sheet["nodes"],
        epochs=sheet["epochs"],
    )
    sheet.add(
        "read bandwidth, mean of all epochs",
        UNCACHED_BYTES_PER_S,
        read_bytes_per_s=job,
        cached_frac=cached,
    )


def _staging(sheet: Sheet, dataset: Requirement) -> None:
    """How long every node takes to copy the whole dataset to drives of its own."""
    share = sheet.accelerator_if_known("scale_out_bits_per_s")
    if share is not None:
        link = sheet.add(
            "network of a node",
            NODE_LINK_BITS_PER_S,
            scale_out_bits_per_s=share,
            per_node=sheet.accelerator("per_node"),
        )
        sheet.add(
            "staging to local drives, by a node's network",
            TRANSFER_HOURS,
            transfer_bytes=dataset,
            link_bits_per_s=link,
            efficiency="network.efficiency",
        )
    if sheet.plan.storage.read_bytes_per_s is not None:
        sheet.add(
            "staging to local drives, by the storage",
            SHARED_STAGING_HOURS,
            staged_bytes=dataset,
            nodes=sheet["nodes"],
            storage_bytes_per_s="storage.read_bytes_per_s",
        )
