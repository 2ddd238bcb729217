"""What training reads from storage: bytes and requests each second, images, what is read again."""

from collections.abc import Mapping
from dataclasses import replace

from tokenmill.sizing.formulas import bandwidth, image_text, loaders, network, training
from tokenmill.sizing.requirement import Input, Requirement
from tokenmill.sizing.sections.rate import peak
from tokenmill.sizing.sections.stages import all_datasets
from tokenmill.sizing.sheet import Given, Sheet, SourceFacts
from tokenmill.sizing.tables import ACCESS, AccessRow

TITLE = "Reads"
REQUESTS, NODE_REQUESTS = "read requests, whole job", "read requests, one node"
USED = "bytes used of a read"


def add(sheet: Sheet) -> None:
    sheet.add("sequence bytes", bandwidth.sequence_bytes)
    _requests(sheet)
    amplification = _amplification(sheet)
    sheet.add(
        "read bandwidth, whole job", bandwidth.read_bytes_per_s, read_amplification=amplification
    )
    sheet.add("nodes", bandwidth.nodes)
    _shares(sheet)
    _drives(sheet)
    for source in sheet.sources:
        if source.sample is not None:
            _add_images(sheet, source, source.sample, rate_of(sheet, source))
    dataset = all_datasets(sheet)
    _cache(sheet, dataset)
    _staging(sheet, dataset)


def _amplification(sheet: Sheet) -> Given:
    """Stated, or what the access pattern was measured to have, for reads of this size."""
    stated = "training.read_amplification"
    if sheet.plan.value(stated) is not None:
        return stated
    pattern = ACCESS.find(sheet.plan.training.access)
    if pattern.wasted_bytes is None and pattern.wasted_read_aheads is None:
        return sheet.cell(pattern, "amplification", "ratio", chosen="training.access", key=stated)
    return sheet.add(
        "read amplification",
        bandwidth.read_amplification,
        useful_bytes_per_read=sheet.once(USED, bandwidth.useful_bytes_per_read),
        wasted_bytes_per_read=_wasted(sheet, pattern),
    )


def _wasted(sheet: Sheet, pattern: AccessRow) -> Given:
    """Bytes of a read that nobody uses."""
    if pattern.wasted_read_aheads is None:
        return sheet.cell(pattern, "wasted_bytes", "bytes", chosen="training.access")
    times = sheet.cell(pattern, "wasted_read_aheads", "ratio", chosen="training.access")
    return sheet.add(
        "bytes wasted of a read", bandwidth.wasted_bytes_per_read, read_aheads_per_read=times
    )


def _shares(sheet: Sheet) -> None:
    sheet.add("read bandwidth, one node", bandwidth.node_read_bytes_per_s)
    sheet.add(NODE_REQUESTS, bandwidth.node_reads_per_s)
    sheet.add("read bandwidth, one accelerator", bandwidth.accelerator_read_bytes_per_s)
    sheet.add(
        "FLOP-ratio demand of one accelerator, upper bound",
        image_text.flop_ratio_bytes_per_s,
        sample_bytes=sheet["stored bytes a token"],
        sample_flops=sheet["train FLOP a token"],
        flops_per_s=peak(sheet),
    )


def _requests(sheet: Sheet) -> None:
    """Reads each second: of text by sequence, of images by sample."""
    if not any(source.sample for source in sheet.sources):
        _sequence_reads(sheet, REQUESTS, sheet["training rate"])
        return
    if len(sheet.sources) == 1:
        _reads_of(sheet, REQUESTS, sheet.sources[0])
    else:
        rows = {s.name: _reads_of(sheet, s.label("read requests"), s) for s in sheet.sources}
        sheet.add(REQUESTS, bandwidth.total_reads_per_s, **rows)
    sheet.add(USED, bandwidth.mean_useful_bytes_per_read)


def _reads_of(sheet: Sheet, name: str, source: SourceFacts) -> Requirement:
    rate = rate_of(sheet, source)
    if source.sample is None:
        return _sequence_reads(sheet, name, rate)
    given: dict[str, Given] = {
        "tokens_per_s": rate,
        "sample_tokens": sheet[source.label("tokens a sample")],
    }
    runs = "training.sequences_per_read"
    if not sheet.stated(runs):
        return sheet.add(name, bandwidth.sample_reads_per_s, **given)
    return sheet.add(name, bandwidth.batch_reads_per_s, **given, batch_samples=runs)


def _sequence_reads(sheet: Sheet, name: str, rate: Requirement) -> Requirement:
    runs = "training.sequences_per_read"
    return sheet.add(
        name, bandwidth.sequence_reads_per_s, tokens_per_s=rate, sequences_per_read=runs
    )


def rate_of(sheet: Sheet, source: SourceFacts) -> Requirement:
    """A source's share of the training rate; the only one has all of it."""
    if len(sheet.sources) == 1:
        return sheet["training rate"]
    name, tokens = source.label("training rate"), sheet[source.label("tokens trained on")]
    return sheet.once(name, training.source_tokens_per_s, source_tokens=tokens)


def _drives(sheet: Sheet) -> None:
    for drive, per_s in (
        ("hard drives", bandwidth.HDD_READS_PER_S),
        ("NVMe drives", bandwidth.NVME_READS_PER_S),
    ):
        source = f"random reads of {drive}, a rule of thumb (unverified)"
        each = sheet.assume(per_s, unit="reads/s", source=source)
        name = f"{drive} for the requests"
        sheet.add(name, bandwidth.drives_for_reads, drive_reads_per_s=each)


def _cache(sheet: Sheet, dataset: Requirement) -> None:
    """What nodes may find in memory of an epoch before; nothing in the first."""
    trained, corpus = sheet["tokens trained on"], sheet["corpus tokens"]
    if trained.value <= corpus.value:
        return
    epochs = sheet.once("epochs", training.epochs)
    sheet.add("page cache of a node", bandwidth.page_cache_bytes)
    name = "reads answered from page cache, at most"
    sheet.add(name, bandwidth.cached_frac, dataset_bytes=dataset, epochs=epochs)
    sheet.add("read bandwidth, mean of all epochs", bandwidth.uncached_bytes_per_s)


def _staging(sheet: Sheet, dataset: Requirement) -> None:
    """How long every node takes to copy the whole dataset to drives of its own."""
    share = sheet.accelerator_if_known("scale_out_bits_per_s")
    if share is not None:
        name = "network of a node"
        link = sheet.add(name, network.node_link_bits_per_s, scale_out_bits_per_s=share)
        name = "staging to local drives, by a node's network"
        sheet.add(name, network.transfer_hours, transfer_bytes=dataset, link_bits_per_s=link)
    if sheet.plan.storage.read_bytes_per_s is not None:
        name = "staging to local drives, by the storage"
        sheet.add(name, network.shared_staging_hours, staged_bytes=dataset)


def _add_images(
    sheet: Sheet, source: SourceFacts, sample: Mapping[str, Given], rate: Requirement
) -> None:
    """Add the rows of a source of images; sample: its own.  rate: its tokens each second."""
    images = sheet.of(source, "images, whole job", image_text.images_per_s, tokens_per_s=rate)
    if "image_bytes" in sample:
        sheet.of(
            source,
            "read bandwidth of images alone, whole job",
            image_text.sample_read_bytes_per_s,
            samples_per_s=images,
            sample_bytes=sample["image_bytes"],
        )
    decoded = decoded_per_core(source)
    if decoded is not None:
        name = "cores to decode images, whole job"
        sheet.of(source, name, loaders.decode_cores, images_per_core_s=decoded)
    _reads(sheet, source, rate)


def decoded_per_core(source: SourceFacts) -> Input | None:
    """Images that a core decodes each second; None where nobody measured it."""
    found = source.measurement
    given = None if found is None else found.image_input("images_per_core_s", "images/s")
    if found is None or found.images is None or given is None:
        return None
    return replace(given, source=f"{given.source}; decoded by {found.images.decoded_on}")


def _reads(sheet: Sheet, source: SourceFacts, rate: Requirement) -> None:
    """Reads each second of samples that lie alone, in record batches, or in tars."""
    sheet.of(source, "reads, each sample alone", bandwidth.sample_reads_per_s, tokens_per_s=rate)
    if (batch := _in_batch(source)) is not None:
        name = "reads, Arrow by record batch"
        sheet.of(source, name, bandwidth.batch_reads_per_s, tokens_per_s=rate, batch_samples=batch)
    if "sample_bytes" in source.rows:
        sheet.of(source, "bytes a sample, in a tar", bandwidth.tar_sample_bytes)
        name = "reads, tars from end to end"
        sheet.of(source, name, bandwidth.tar_reads_per_s, tokens_per_s=rate)


def _in_batch(source: SourceFacts) -> Input | None:
    """Samples of a record batch; None where it was not measured, or does not hold the images."""
    found = source.measurement
    if found is None or found.images is None or not found.images.in_dataset:
        return None
    return found.image_input("batch_samples", "samples", key="samples_per_batch")
