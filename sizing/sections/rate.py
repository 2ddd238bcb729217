"""How fast the cluster trains the model."""

from collections.abc import Mapping

from tokenmill.sizing.errors import PlanError
from tokenmill.sizing.formulas import compute, training
from tokenmill.sizing.requirement import Input
from tokenmill.sizing.sheet import Given, Sheet

TITLE = "Training rate"
# by arithmetic: share of its dense peak that one published run reached, and which; of FP8 two
# others reach more (OLMo-core's README at 7e58d1289: 5,500 and 13,000 tokens/s an H100)
REACHED: Mapping[str, tuple[float, str]] = {
    "bf16": (0.4, "Llama 3 405B on 16,384 H100 SXM: 400 of 989 TFLOP/s each"),
    "fp8": (
        0.173,
        "DeepSeek-V3, arXiv:2412.19437: 14.8 T tokens of 37 B active parameters in 2.664 M hours"
        " of H800, 343 of 1,979 TFLOP/s each; one run alone: OLMo-core's dense 13B and 7B reach"
        " 0.25 and 0.31 on H100",
    ),
}


def add(sheet: Sheet) -> None:
    model = sheet.plan.model
    active = "model.params" if model.active_params is None else "model.active_params"
    flops: dict[str, Given] = {"active_params": active}
    width: Given | None = None if model.hidden is None else "model.hidden"
    if model.heads is not None and model.head_dim is not None:
        width = sheet.add("width of attention", compute.attention_width)
    if model.layers is not None and width is not None:
        flops["attention_flops_per_token"] = sheet.add(
            "attention FLOP a token", compute.attention_flops_per_token, attention_width=width
        )
    sheet.add("train FLOP a token", compute.train_flops_per_token, **flops)
    sheet.add(
        "training rate", training.tokens_per_s, dense_flops_per_s=peak(sheet), mfu=_mfu(sheet)
    )
    sheet.add("training rate, one accelerator", training.tokens_per_accelerator_s)


def peak(sheet: Sheet) -> Input:
    """Dense FLOP/s of one accelerator, that MFU is a share of."""
    if sheet.plan.cluster.dense_flops_per_s is None and _of(sheet) == "fp8":
        return sheet.accelerator("fp8_flops_per_s")
    return sheet.accelerator("dense_flops_per_s")


def _of(sheet: Sheet) -> str:
    """The arithmetic whose peak MFU is a share of."""
    return sheet.plan.cluster.mfu_of or sheet.plan.cluster.precision


def _mfu(sheet: Sheet) -> Given:
    mfu: Given = "cluster.mfu"
    if sheet.plan.cluster.hfu is not None:
        mfu = sheet.add("MFU", compute.mfu_of_hfu)
    elif sheet.plan.cluster.mfu is None:
        share, source = REACHED[_of(sheet)]
        told = f"default of cluster.mfu: {source}"
        mfu = sheet.assume(share, unit="fraction", source=told, key="cluster.mfu")
    _check(sheet, sheet.input("mfu", mfu).value)
    return mfu


def _check(sheet: Sheet, mfu: float) -> None:
    """Warn of what no accelerator reaches; what is computed twice is work for it all the same."""
    again = sheet.plan.training.recompute_frac
    hfu = compute.hfu_of_mfu(mfu=mfu, recompute_frac=again)
    told = f"MFU {mfu:.3g}" + (f", with recomputation HFU {hfu:.3g}," if again else "")
    if hfu > 1:
        raise PlanError(
            f"{told} is more than all of the accelerator's peak; lower cluster.mfu or"
            " training.recompute_frac"
        )
    achievable = sheet.accelerator_if_known("matmul_frac")
    if _of(sheet) == "bf16" and achievable is not None and hfu > achievable.value:
        sheet.warnings.append(
            f"{told} is above {achievable.value:.3g}, the share of its peak that"
            f" {sheet.plan.cluster.accelerator} was seen to reach in matrix products alone: the"
            " training rate, and every bandwidth that follows from it, is likely too high"
        )
