"""How many accelerators hold the model, to train and to serve it, and what each then holds."""

from tokenmill.sizing.formulas import checkpoint, memory
from tokenmill.sizing.requirement import Requirement
from tokenmill.sizing.sheet import Given, Sheet

TITLE = "Accelerator memory"
PER_PARAM = "training.memory_bytes_per_param"
ZERO_STAGES = (0, 1, 2, 3)
KV_BYTES = 2.0  # of an element in BF16
USABLE_FRAC = 0.9  # of its memory


def add(sheet: Sheet) -> None:
    """Add the rows of the section; none where the memory of an accelerator is not known."""
    if sheet.accelerator_if_known("hbm_bytes") is None:
        return
    train = _least(sheet, "accelerators to train, at least", PER_PARAM)
    bf16 = sheet.assume(memory.SERVE_BYTES_PER_PARAM, unit="bytes/parameter", source="BF16")
    serve = _least(sheet, "accelerators to serve, at least", bf16)
    if not sheet.stated(PER_PARAM):  # whose parts ZeRO's are not
        _zero(sheet, train)
    _warn(sheet, train)
    if sheet.plan.model.layers is not None:
        _serve(sheet, serve, bf16)


def _least(sheet: Sheet, name: str, per_param: Given) -> Requirement:
    rule = "Bekman, Machine Learning Engineering"
    overhead = sheet.assume(memory.OVERHEAD, unit="ratio", source=rule)
    of_memory = memory.least_accelerators
    return sheet.add(name, of_memory, bytes_per_param=per_param, overhead=overhead)


def _zero(sheet: Sheet, train: Requirement) -> None:
    """What an accelerator holds in each stage of ZeRO; a replica on each that holds the model."""
    divided, ranks = train, sheet.input("ranks", "cluster.count")
    if train.value > 1 or sheet.stated("training.data_parallel"):
        divided = sheet.add("accelerators of a replica", memory.replica_accelerators)
        ranks = sheet.input("ranks", sheet.replicas())
    for stage in ZERO_STAGES:
        per_param = sheet.add(
            f"bytes of a parameter, ZeRO {stage}",
            memory.zero_bytes_per_param,
            stage=sheet.assume(stage, unit="ratio", source=f"ZeRO {stage}"),
            ranks=ranks,
        )
        sheet.add(
            f"model states of one accelerator, ZeRO {stage}",
            memory.model_state_bytes,
            bytes_per_param=per_param,
            model_parallel=divided,
        )


def _warn(sheet: Sheet, train: Requirement) -> None:
    count = sheet.plan.cluster.count
    if count < train.value:
        sheet.warnings.append(
            f"cluster.count {count:,} is less than the {train.value:,.0f} accelerators whose"
            " memory holds the model in training, were nothing offloaded; where its optimizer takes"
            f" less, as with 8 bits or LoRA, state {PER_PARAM}"
        )
        some = "1 accelerator" if count == 1 else f"{count:,} accelerators"
        sheet.obstacles.append(
            f"the memory of {some} does not hold the model in training, that of"
            f" {train.value:,.0f} does"
        )


def _serve(sheet: Sheet, serve: Requirement, bf16: Given) -> None:
    """Keys and values of a sequence, and how many sequences fit beside the weights."""
    heads = _heads(sheet)
    if heads is None:
        return
    sheet.add(
        "KV cache of a token",
        memory.kv_bytes_per_token,
        **heads,
        element_bytes=sheet.assume(KV_BYTES, unit="bytes", source="BF16"),
    )
    sheet.add("KV cache of a sequence", memory.kv_sequence_bytes)
    weights = sheet.add("weights to serve", checkpoint.checkpoint_bytes, bytes_per_param=bf16)
    source = "vLLM, default of gpu_memory_utilization"
    sheet.add(
        "sequences served at once",
        memory.sequences_that_fit,
        accelerators=serve,
        usable_frac=sheet.assume(USABLE_FRAC, unit="fraction", source=source),
        weights_bytes=weights,
    )


def _heads(sheet: Sheet) -> dict[str, Given] | None:
    """Heads of keys and values and their width: stated, or as the plan says they follow."""
    model = sheet.plan.model
    kv_heads = model.heads if model.kv_heads is None else model.kv_heads
    width = model.head_dim
    if width is None and model.hidden is not None and model.heads is not None:
        width = model.hidden // model.heads
    if kv_heads is None or width is None:
        return None
    return {
        "kv_heads": sheet.plan.input("model.kv_heads", value=kv_heads),
        "head_dim": sheet.plan.input("model.head_dim", value=width),
    }
