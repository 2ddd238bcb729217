"""Redundancy as people write it: erasure codes, RAID levels, replicas."""

import re

from tokenmill.sizing.errors import PlanError

MIRROR_COPIES = 2  # RAID 1 and 10
PARITY_DRIVES = {"5": 1, "6": 2}  # of a RAID level

_ERASURE = re.compile(r"(?:raid\s*(?P<level>[56])\s+)?(\d+)\s*\+\s*(\d+)", re.ASCII | re.IGNORECASE)
_REPLICAS = re.compile(r"(\d+)\s*(?:x|replicas?)", re.ASCII)
_MIRROR = re.compile(r"raid\s*(?:1|10)", re.ASCII | re.IGNORECASE)


def redundancy_factor(redundancy: str) -> float:
    """Raw bytes for each usable byte; PlanError as `redundancy_drives`.

    >>> redundancy_factor("8+2"), redundancy_factor("3 replicas"), redundancy_factor("none")
    (1.25, 3.0, 1.0)
    """
    data, drives = redundancy_drives(redundancy)
    return drives / data


def redundancy_drives(redundancy: str) -> tuple[int, int]:
    """Drives that hold data of a stripe, and all of it, which is the fewest that hold anything.

    "8+2", "raid6 8+2": k data and m parity parts.  "3 replicas" or "3x": whole copies.  "raid10",
    "raid1": 2 of them.  "none": 1.
    PlanError: none of these, a code without parity, or a RAID level of another number of parity
    drives.

    >>> redundancy_drives("raid6 8+2"), redundancy_drives("raid10"), redundancy_drives("none")
    ((8, 10), (1, 2), (1, 1))
    """
    text = redundancy.strip()
    if text == "none":
        return 1, 1
    if _MIRROR.fullmatch(text):
        return 1, MIRROR_COPIES
    if (erasure := _ERASURE.fullmatch(text)) and int(erasure[2]) > 0:
        data, parity = int(erasure[2]), int(erasure[3])
        needed = parity if erasure["level"] is None else PARITY_DRIVES[erasure["level"]]
        if parity == needed == 0:
            raise PlanError(
                f"redundancy {redundancy!r} has no parity: a lost drive is lost data; write"
                f" '{data}+2', or 'none'"
            )
        if parity != needed:
            raise PlanError(
                f"redundancy {redundancy!r}: RAID {erasure['level']} has {needed} parity"
                f" drive{'s' if needed > 1 else ''}; write 'raid{erasure['level']} {data}+{needed}'"
                f" or '{data}+{parity}'"
            )
        return data, data + parity
    if (replicas := _REPLICAS.fullmatch(text)) and int(replicas[1]) > 0:
        return 1, int(replicas[1])
    raise PlanError(
        f"unknown redundancy {redundancy!r}; write '8+2' (data + parity), 'raid6 8+2',"
        " '3 replicas', 'raid10' or 'none'"
    )
