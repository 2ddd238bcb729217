"""How fast the cluster trains the model."""

from tokenmill.sizing.errors import PlanError
from tokenmill.sizing.formulas import compute, training
from tokenmill.sizing.requirement import Input
from tokenmill.sizing.sheet import Given, Sheet

TITLE = "Training rate"


def add(sheet: Sheet) -> None:
    """Add the rows of the section."""
    model = sheet.plan.model
    active = "model.params" if model.active_params is None else "model.active_params"
    flops: dict[str, Given] = {"active_params": active}
    if model.layers is not None and model.hidden is not None:
        flops["attention_flops_per_token"] = sheet.add(
            "attention FLOP a token", compute.attention_flops_per_token
        )
    sheet.add("train FLOP a token", compute.train_flops_per_token, **flops)
    sheet.add(
        "training rate", training.tokens_per_s, dense_flops_per_s=peak(sheet), mfu=_mfu(sheet)
    )
    sheet.add("training rate, one accelerator", training.tokens_per_accelerator_s)


def peak(sheet: Sheet) -> Input:
    """Dense FLOP/s of one accelerator at the plan's precision."""
    if sheet.plan.cluster.dense_flops_per_s is None and sheet.plan.cluster.precision == "fp8":
        return sheet.accelerator("fp8_flops_per_s")
    return sheet.accelerator("dense_flops_per_s")


def _mfu(sheet: Sheet) -> Given:
    mfu: Given = "cluster.mfu"
    if sheet.plan.cluster.hfu is not None:
        mfu = sheet.add("MFU", compute.mfu_of_hfu)
    _check(sheet, sheet.input("mfu", mfu).value)
    return mfu


def _check(sheet: Sheet, mfu: float) -> None:
    """Warn of what no accelerator reaches; what is computed twice is work for it all the same.

    Raises:
        PlanError: more than its whole peak would be needed.
    """
    again = sheet.plan.training.recompute_frac
    hfu = compute.hfu_of_mfu(mfu=mfu, recompute_frac=again)
    told = f"MFU {mfu:.3g}" + (f", with recomputation HFU {hfu:.3g}," if again else "")
    if hfu > 1:
        raise PlanError(
            f"{told} is more than all of the accelerator's peak; lower cluster.mfu or"
            " training.recompute_frac"
        )
    achievable = sheet.accelerator_if_known("matmul_frac")
    if achievable is not None and hfu > achievable.value:
        sheet.warnings.append(
            f"{told} is above {achievable.value:.3g}, the share of its peak that"
            f" {sheet.plan.cluster.accelerator} was seen to reach in matrix products alone: the"
            " training rate, and every bandwidth that follows from it, is likely too high"
        )
