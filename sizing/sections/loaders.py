"""Loader workers of a node, the cores they need, and the memory of its host."""

from tokenmill.sizing.formulas import loaders
from tokenmill.sizing.requirement import Input, Requirement
from tokenmill.sizing.sections.reads import decoded_per_core
from tokenmill.sizing.sheet import Given, Sheet
from tokenmill.sizing.units import format_memory

TITLE = "Loaders"
PATCH_BYTES = 14 * 14 * 3 * 4  # of an image's token: 14 x 14 pixels of 3 colours in float32


def add(sheet: Sheet) -> None:
    _workers(sheet)
    cores = sheet.add("cores, one node", loaders.cores, accelerators=sheet.node_accelerators())
    memory = _memory(sheet)
    if cores.value > sheet.plan.cluster.host_cores:
        sheet.warnings.append(
            f"loaders need {cores.value:,.0f} cores a node, cluster.host_cores is"
            f" {sheet.plan.cluster.host_cores:,}: decode less while training, or on other hosts"
        )
    if memory.value > sheet.plan.cluster.host_memory:
        sheet.warnings.append(
            f"loaders and checkpoints need {format_memory(memory.value)} a node,"
            f" cluster.host_memory is {format_memory(sheet.plan.cluster.host_memory)}"
        )


def _workers(sheet: Sheet) -> None:
    given: dict[str, Given] = {"accelerators": sheet.node_accelerators()}
    cpu_s = _sample_cpu_s(sheet)
    if cpu_s is not None:
        each: Given = sheet["tokens a sample"] if _images(sheet) else "model.seq_len"
        name = "samples, one node"
        given["samples_per_s"] = sheet.add(name, loaders.node_samples_per_s, tokens_per_sample=each)
        given["sample_cpu_s"] = cpu_s
        given["busy_frac"] = sheet.assume(
            loaders.BUSY_FRAC, unit="fraction", source="our choice: batches never come late"
        )
    sheet.add("loader workers, one node", loaders.workers, **given)


def _sample_cpu_s(sheet: Sheet) -> Given | None:
    """CPU time of a sample: stated, or what its images were measured to take to decode."""
    if sheet.plan.loaders.sample_cpu_s is not None:
        return "loaders.sample_cpu_s"
    source = sheet.sources[0]
    decoded = decoded_per_core(source) if _images(sheet) else None
    if decoded is None:
        return None
    name = "CPU time to decode a sample"
    return sheet.of(source, name, loaders.decode_cpu_s, images_per_core_s=decoded)


def _images(sheet: Sheet) -> bool:
    """Whether the only corpus is one of image-text samples; of a mixture sequences are counted."""
    return "tokens a sample" in sheet


def _memory(sheet: Sheet) -> Requirement:
    decoded, own = _decoded(sheet), sheet.node_accelerators()
    name = "batch of one accelerator, decoded"
    sheet.add(name, loaders.batch_bytes, decoded_bytes_per_token=decoded)
    parts = {
        "prefetched": sheet.add("prefetched batches, one node", loaders.prefetched_bytes),
        "pinned": sheet.add("pinned batches, one node", loaders.pinned_bytes, accelerators=own),
        "buffered": sheet.add("shuffle buffers, one node", loaders.buffered_bytes),
    }
    if sheet.plan.checkpoints.mode == "async":
        parts["checkpoint"] = sheet["checkpoint of one node"]
    return sheet.add("host memory, one node", loaders.host_memory_bytes, **parts)


def _decoded(sheet: Sheet) -> Input:
    """Bytes of a token in a batch; where there are images, as if all tokens were theirs."""
    unit = "bytes/token"
    if any(source.sample is not None for source in sheet.sources):
        source = "at most: a patch of 14 x 14 pixels in float32, as of CLIP ViT-L/14 (unverified)"
        return sheet.assume(PATCH_BYTES, unit=unit, source=source)
    return sheet.assume(loaders.WIDTH_IN_MEMORY, unit=unit, source="64-bit ids, as PyTorch's")
