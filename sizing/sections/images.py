"""Images that training reads and decodes, and the reads that this takes by how they are stored."""

from collections.abc import Mapping
from dataclasses import replace

from tokenmill.sizing.formulas import bandwidth, image_text, loaders
from tokenmill.sizing.requirement import Input, Requirement
from tokenmill.sizing.sheet import Given, Sheet, SourceFacts


def add(sheet: Sheet, source: SourceFacts, sample: Mapping[str, Given], rate: Requirement) -> None:
    """Add the rows of a source of images with text.

    sample: the source's own.  rate: its tokens each second.
    """
    tokens = sheet[source.label("tokens a sample")]
    images = sheet.add(
        source.label("images, whole job"),
        image_text.images_per_s,
        tokens_per_s=rate,
        sample_tokens=tokens,
        images_per_sample=sample["images_per_sample"],
    )
    if "image_bytes" in sample:
        sheet.add(
            source.label("read bandwidth of images alone, whole job"),
            image_text.sample_read_bytes_per_s,
            samples_per_s=images,
            sample_bytes=sample["image_bytes"],
        )
    decoded = decoded_per_core(source)
    if decoded is not None:
        sheet.add(
            source.label("cores to decode images, whole job"),
            loaders.decode_cores,
            images_per_s=images,
            images_per_core_s=decoded,
        )
    _reads(sheet, source, sample, {"tokens_per_s": rate, "sample_tokens": tokens})


def decoded_per_core(source: SourceFacts) -> Input | None:
    """Images that a core decodes each second; None where nobody measured it."""
    found = source.measurement
    given = None if found is None else found.image_input("images_per_core_s", "images/s")
    if found is None or found.images is None or given is None:
        return None
    return replace(given, source=f"{given.source}; decoded by {found.images.decoded_on}")


def _reads(
    sheet: Sheet, source: SourceFacts, sample: Mapping[str, Given], given: Mapping[str, Given]
) -> None:
    """Reads each second of samples that lie alone, in record batches, or in tars."""
    sheet.add(source.label("reads, each sample alone"), bandwidth.sample_reads_per_s, **given)
    batch = _in_batch(source)
    if batch is not None:
        name = source.label("reads, Arrow by record batch")
        sheet.add(name, bandwidth.batch_reads_per_s, **given, batch_samples=batch)
    size = source.label("bytes a sample")
    if size in sheet:
        in_tar = sheet.add(
            source.label("bytes a sample, in a tar"),
            bandwidth.tar_sample_bytes,
            sample_bytes=sheet[size],
            images_per_sample=sample["images_per_sample"],
        )
        sheet.add(
            source.label("reads, tars from end to end"),
            bandwidth.tar_reads_per_s,
            **given,
            tar_sample_bytes=in_tar,
        )


def _in_batch(source: SourceFacts) -> Input | None:
    """Samples of a record batch; None where it was not measured, or does not hold the images."""
    found = source.measurement
    if found is None or found.images is None or not found.images.in_dataset:
        return None
    return found.image_input("batch_samples", "samples", key="samples_per_batch")
