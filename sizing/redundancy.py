"""Redundancy as people write it: erasure codes, RAID levels, replicas."""

import re

from tokenmill.sizing.errors import PlanError

MIRROR_COPIES = 2.0  # RAID 1 and 10
PARITY_DRIVES = {"5": 1, "6": 2}  # of a RAID level

_ERASURE = re.compile(r"(?:raid\s*(?P<level>[56])\s+)?(\d+)\s*\+\s*(\d+)", re.ASCII | re.IGNORECASE)
_REPLICAS = re.compile(r"(\d+)\s*(?:x|replicas?)", re.ASCII)
_MIRROR = re.compile(r"raid\s*(?:1|10)", re.ASCII | re.IGNORECASE)


def redundancy_factor(redundancy: str) -> float:
    """Raw bytes for each usable byte.

    "8+2", "raid6 8+2": k data and m parity parts: (k + m) / k.  "3 replicas" or "3x": whole
    copies.  "raid10", "raid1": 2.  "none": 1.
    PlanError: none of these, a code without parity, or a RAID level of another number of parity
    drives.

    >>> redundancy_factor("8+2"), redundancy_factor("3 replicas"), redundancy_factor("none")
    (1.25, 3.0, 1.0)
    >>> redundancy_factor("raid6 8+2"), redundancy_factor("raid10")
    (1.25, 2.0)
    """
    text = redundancy.strip()
    if text == "none":
        return 1.0
    if _MIRROR.fullmatch(text):
        return MIRROR_COPIES
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
        return (data + parity) / data
    if (replicas := _REPLICAS.fullmatch(text)) and int(replicas[1]) > 0:
        return float(replicas[1])
    raise PlanError(
        f"unknown redundancy {redundancy!r}; write '8+2' (data + parity), 'raid6 8+2',"
        " '3 replicas', 'raid10' or 'none'"
    )
