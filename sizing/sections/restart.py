"""What storage must deliver when the job starts again after a failure."""

from tokenmill.sizing.formulas import failures
from tokenmill.sizing.formulas.training import SECONDS_PER_HOUR
from tokenmill.sizing.plan.fields import OUR_CHOICE
from tokenmill.sizing.requirement import Input, Requirement
from tokenmill.sizing.sections.checkpoints import JOB_RATE, MOST_STALL_S
from tokenmill.sizing.sheet import Given, Sheet
from tokenmill.sizing.tables import RECIPES
from tokenmill.sizing.units import format_quantity, percent

TITLE = "Restart"
NODE_READ = "restart read bandwidth, one node"
JOB_READ = "restart read, whole job"
BF16_BYTES = 2.0
LOADING_FRAC = 0.01  # our choice: of the time between failures, that loading may take


def add(sheet: Sheet) -> None:
    once = sheet.assume(1, unit="replicas", source="one reads for all, and broadcasts")
    ways: dict[str, Given] = {"with broadcast": once, "without broadcast": sheet.replicas()}
    chosen, other = ways if sheet.plan.checkpoints.broadcast else reversed(ways)
    read = _read(sheet, JOB_READ, ways[chosen])
    _warn_of_less_than_weights(sheet)
    _rate(sheet, "restart read bandwidth", read)
    if sheet.plan.checkpoints.restart_load_frac > 0:
        _node_rate(sheet, read)
    unchosen = _read(sheet, f"restart read {other}", ways[other])
    _rate(sheet, f"restart read bandwidth {other}", unchosen)
    _time(sheet, read)
    _imports(sheet)


def _read(sheet: Sheet, name: str, readers: Given) -> Requirement:
    per_param = next(i for i in sheet["one checkpoint"].inputs if i.name == "bytes_per_param")
    return sheet.add(
        name,
        failures.restart_read_bytes,
        bytes_per_param=per_param,
        weight_bytes_per_param=_weight_bytes(sheet, per_param),
        weight_readers=readers,
    )


def _warn_of_less_than_weights(sheet: Sheet) -> None:
    stated = sheet.plan.checkpoints.bytes_per_param
    if stated is not None and stated < BF16_BYTES:
        base = format_quantity(sheet.plan.model.params * BF16_BYTES, "bytes")
        sheet.warnings.append(
            f"checkpoints of {stated:g} bytes/parameter are smaller than weights in BF16: where"
            f" they leave out the base model's, as with LoRA, a restart reads these too, {base},"
            " which is not counted"
        )


def _weight_bytes(sheet: Sheet, per_param: Input) -> Input:
    """Of what a checkpoint holds, the part that each replica needs."""
    if sheet.plan.value("checkpoints.bytes_per_param") is not None:
        weights, source = min(BF16_BYTES, per_param.value), "BF16 weights, our choice"
    else:
        recipe = RECIPES.find(sheet.plan.checkpoints.recipe)
        part = "weights" if "weights" in recipe.parts else "master weights"
        weights, source = recipe.parts[part], f"{part} of the recipe; {recipe.source_of('parts')}"
    return sheet.assume(weights, unit="bytes/parameter", source=source)


def load_frac(sheet: Sheet) -> Given:
    """Of a restart, the part that may be loading: as stated, or as long as one may take to write.

    Where failures are rare a fast restart saves nothing, and would be what is bought for.
    """
    key, plan = "checkpoints.restart_load_frac", sheet.plan.checkpoints
    written_s = sheet["one checkpoint"].value / sheet[JOB_RATE].value
    seldom_s = LOADING_FRAC * SECONDS_PER_HOUR * sheet["mean time to failure"].value
    frac = min(written_s, MOST_STALL_S, seldom_s) / plan.restart_s
    is_stated = sheet.stated(key) or sheet.stated("checkpoints.restart_s")
    if is_stated or frac <= plan.restart_load_frac:
        return key
    source = (
        f"{OUR_CHOICE}: as long as a checkpoint may take to write, at most ten minutes, and"
        f" {percent(LOADING_FRAC)} of the time between failures"
    )
    return sheet.assume(frac, unit="fraction", source=source, key=key)


def _rate(sheet: Sheet, name: str, read: Requirement) -> None:
    """The rate that loads it in time; none where no part of a restart may be loading."""
    if sheet.plan.checkpoints.restart_load_frac > 0:
        rate = failures.restart_read_bytes_per_s
        sheet.add(name, rate, restart_read_bytes=read, load_frac=load_frac(sheet))


def _node_rate(sheet: Sheet, read: Requirement) -> None:
    """What one of the nodes that read the weights must be given, which is more than its share."""
    copies = sheet.input("replicas", sheet.replicas()).value
    of_replica = min(max(1.0, sheet["nodes"].value / copies), sheet["nodes"].value)
    own, source = {i.name: i for i in read.inputs}, "nodes / replicas, at least one"
    sheet.add(
        NODE_READ,
        failures.node_restart_bytes_per_s,
        bytes_per_param=own["bytes_per_param"],
        weight_bytes_per_param=own["weight_bytes_per_param"],
        replica_nodes=sheet.assume(of_replica, unit="nodes", source=source),
        load_frac=load_frac(sheet),
    )


def _time(sheet: Sheet, read: Requirement) -> None:
    offered = "storage.read_bytes_per_s"
    if sheet.plan.value(offered) is None:
        return
    taken = sheet.add(
        "restart read time",
        failures.restart_read_s,
        restart_read_bytes=read,
        read_bytes_per_s=offered,
    )
    if taken.value > sheet.plan.checkpoints.restart_s:
        sheet.warnings.append(
            f"reading {read.shown} to restart takes"
            f" {taken.shown}, a restart is planned to take"
            f" {format_quantity(sheet.plan.checkpoints.restart_s, 's')}"
        )


def _imports(sheet: Sheet) -> None:
    sheet.add("files opened at start", failures.import_files)
    taken = sheet.add("import time", failures.import_s)
    if taken.value > sheet.plan.checkpoints.restart_s:
        sheet.warnings.append(
            "importing software from shared storage takes"
            f" {taken.shown}, longer than a whole restart is"
            " planned to take: keep it in an image on each node's own drives"
        )
