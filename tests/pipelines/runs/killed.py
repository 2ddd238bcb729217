"""Kill a synthetic run with SIGKILL, over and over, until it ends. Its own process: it forks.

    python -m tests.pipelines.runs.killed OUT N GROUP SEED [MOMENT NUMBER]

kills at random moments, or once, at the NUMBER-th time that MOMENT comes. Prints as JSON how many
kills there were, how many receipts were lost, and after how many kills some lay both alone and in
a pack.
"""

import importlib
import json
import os
import pathlib
import random
import signal
import sys
import time
import traceback
from collections.abc import Callable
from functools import partial
from typing import Any

from tests.e2e.fatal import arm
from tests.pipelines.runs.synthetic import run
from tokenmill.pipelines.core.places import Place, is_remote, place
from tokenmill.pipelines.runs import drive, packs
from tokenmill.pipelines.storage import mirror
from tokenmill.pipelines.storage.mirror import viewed

# A child lives so long at most, longer each time, so that a fast machine kills it as often; and
# beyond that a little longer each time, so that it ends on a machine that is busy
FIRST_S, LONGEST_S = 0.005, 0.12
FIRST_REMOTE_S, LONGEST_REMOTE_S = 0.1, 3.0
GROWTH, GROWTH_BEYOND = 1.3, 1.05


def _is_pack(_, to: object) -> bool:
    return str(to).endswith(packs.PACK)


MOMENTS = {
    # the pack lies under its temporary name
    "written": (os, "replace", {"when": _is_pack}),
    # it is in place, and so are all receipts in it
    "placed": (packs, "_write_pack", {"after": True}),
    # some of these are removed
    "removing": (pathlib.Path, "unlink", {"when": lambda p, **_: p.suffix == packs.RECEIPT}),
    # all of a group are, those of the next are not packed
    "removed": (packs.mirror, "remove", {"after": True}),
    # every phase has ended, what belongs to none is not swept
    "sweeping": (drive, "sweep_receipts", {}),
}


def main(out: str, n: str, group: str, seed: str, moment: str = "", number: str = "0") -> None:
    """The command line: see above."""
    packs.GROUP = int(group)
    told = _killed(place(out), int(n), random.Random(seed), moment, int(number))
    sys.stdout.write(json.dumps(told))


def _killed(out: Place, n: int, rng: random.Random, moment: str, number: int) -> dict[str, int]:
    told = {"kills": 0, "receipts": 0, "lost": 0, "with_both": 0}
    before: dict[str, object] = {}
    at_random, life_s, longest_s = not moment, FIRST_S, LONGEST_S
    if is_remote(out):
        life_s, longest_s = FIRST_REMOTE_S, LONGEST_REMOTE_S
        importlib.import_module("tokenmill.pipelines.storage.s3")  # once, not in each child
    while True:
        pid = _forked(partial(_armed, out, n, moment, number))
        if at_random:
            time.sleep(rng.uniform(0, life_s))
            life_s *= GROWTH if life_s < longest_s else GROWTH_BEYOND
            os.kill(pid, signal.SIGKILL)
        _, status = os.waitpid(pid, 0)
        moment = ""
        after = _answer(lambda: _state(out))
        told["lost"] += sum(after["receipts"].get(name) != r for name, r in before.items())
        told["with_both"] += after["both"] > 0
        before = after["receipts"]
        if os.WIFEXITED(status):
            assert os.WEXITSTATUS(status) == 0, "the run failed"
            return told | {"receipts": len(before)}
        told["kills"] += 1


def _armed(out: Place, n: int, moment: str, number: int) -> None:
    if moment:
        module, name, how = MOMENTS[moment]
        arm(module, name, number, **how)
    run(out, n)


def _state(out: Place) -> dict[str, object]:
    """The receipts as they lie there, and how many lie alone and in a pack too."""
    with viewed(out) as folder:
        steps = {path.parent.name for path, _ in mirror.sizes(folder / "receipts")}
        both = 0
        for step in steps:
            files = mirror.find(packs.step_folder(folder, step), "*")
            packed = [r.key for p in files if p.suffix == ".gz" for r in packs._read(p, None)]
            both += len({p.stem for p in files if p.suffix == packs.RECEIPT} & set(packed))
        found = {
            f"{step}/{r.key}": r.to_json()
            for step in steps
            for r in packs.receipts_of(folder, step)
        }
        return {"receipts": found, "both": both}


def _forked(call: Callable[[], object]) -> int:
    """The process id of a child that makes the call and ends."""
    pid = os.fork()
    if pid == 0:
        status = 1
        try:
            call()
            status = 0
        except Exception:  # noqa: BLE001 - told by the parent
            traceback.print_exc()
        finally:
            os._exit(status)
    return pid


def _answer(call: Callable[[], object]) -> Any:
    """What a call returns in a child: this process opens no store, and starts no thread."""
    ours, theirs = os.pipe()

    def told() -> None:
        with os.fdopen(theirs, "w") as answer:
            answer.write(json.dumps(call()))

    pid = _forked(told)
    os.close(theirs)
    with os.fdopen(ours) as answer:
        data = json.loads(answer.read())
    os.waitpid(pid, 0)
    return data


if __name__ == "__main__":
    main(*sys.argv[1:])
