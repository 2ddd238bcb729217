"""How a job lies on its cluster, where several sections ask the same."""

from tokenmill.sizing.sheet import Given, Sheet


def replicas(sheet: Sheet) -> Given:
    """Copies of the weights that train side by side: as many as stated, else one a node."""
    stated = "training.data_parallel"
    return sheet["nodes"] if sheet.plan.value(stated) is None else stated


def node_accelerators(sheet: Sheet) -> Given:
    """Accelerators of a node that work in the job: all of them, or the few that the job has."""
    per_node = sheet.accelerator("per_node")
    return "cluster.count" if sheet.plan.cluster.count < per_node.value else per_node
