"""All that is told of probes, as data, text and page, from runs that were never made."""

import json
import re
from dataclasses import replace
from pathlib import Path

import pytest

from tests.golden.held import held
from tests.pipelines.probe.test_verdict import IN_MEMORY, SEEN, UNSEEN, a_run
from tokenmill.pipelines.probe.cache import Mount
from tokenmill.pipelines.probe.checkpoints import CheckpointRates
from tokenmill.pipelines.probe.demand import Demand, SearchResult, Step, Trial
from tokenmill.pipelines.probe.document import probe_html, probe_markdown
from tokenmill.pipelines.probe.medium import Folder
from tokenmill.pipelines.probe.report import Checkpoints, Probed, probe_json
from tokenmill.pipelines.probe.shards import BatchPlace, Shards

BATCHES = tuple(BatchPlace(file, 100, 90_000_000, 4_000) for file in (0, 1))
SHARDS = Shards(
    Folder(Path("/data/set")), ("a.arrow", "b.arrow"), (200_000_000, 100_000_000), BATCHES,
    "uint16", 40_000,
)  # fmt: skip
WANTED = Demand(
    tokens_per_s=12_345.6, step_s=2.5, seq_len=8_192, accelerators=1_024, per_node=8,
    checkpoint_bytes=9e9, write_bytes_per_s=1.5e9, restart_bytes_per_s=2.5e9,
)  # fmt: skip
RUNS = tuple(replace(a_run(960 + n), cpu_s=2.0 + n, elapsed_s=10 + n / 9) for n in range(5))
SLOW = tuple(replace(run, elapsed_s=15.0, useful_bytes=700) for run in RUNS)
RATES = CheckpointRates(
    n_bytes=8_000_000_000, ranks=8, write_bytes_per_s=1.6e9, read_bytes_per_s=2.6e9,
    device_frac=0.97, verified=True,
)  # fmt: skip
BOTH = replace(RATES, write_bytes_per_s=1.4e9, read_bytes_per_s=1e9, device_frac=None)
CHECKPOINTS = Checkpoints(sight=SEEN, alone=RATES, both=(RUNS[2], BOTH), accelerators=8)
FED = Probed(
    shards=SHARDS, mount=Mount("ext4", "/data"), sight=SEEN, memory=50_000_000,
    read_ahead=131_072, order="sequential", need=8, most=256, processes=1, seconds=171.0,
    connections=None, runs=RUNS, checkpoints=CHECKPOINTS, is_async=True,
    result=SearchResult(
        supported=100, failing=104, ended="found",
        tried=(Trial(accelerators=8, au=1.0), Trial(accelerators=104, au=0.8912)),
    ),
    step=Step(ranks=2, sequences=3, compute_s=0.75),
    depths={"raw": RUNS[:2], "arrow": RUNS[1:3], "full": RUNS[2:4]},
)  # fmt: skip
ONE = SearchResult(supported=0, failing=1, ended="time", tried=(Trial(accelerators=1, au=0.5),))
PROBES = {
    "fed": FED,
    "not fed": replace(
        FED, result=ONE, runs=SLOW[:1], order="mmap", read_ahead=None, is_async=False,
        depths={"raw": RUNS[:2], "arrow": RUNS[:2], "full": SLOW[:2]}, connections=16, most=1,
        shards=replace(SHARDS, files=("a.arrow",), sizes=(1000,), batches=BATCHES[:1]),
    ),
    "no checkpoints": replace(
        FED, checkpoints=None, sight=UNSEEN, runs=(), result=replace(FED.result, ended="most"),
        depths={"raw": RUNS[:2], "arrow": SLOW[:2], "full": SLOW[:2]}, memory=500_000_000,
    ),
    "in memory": replace(
        FED, sight=IN_MEMORY, checkpoints=replace(CHECKPOINTS, sight=IN_MEMORY, both=None),
        depths={"raw": RUNS[:2], "arrow": SLOW[:2], "full": (SLOW[0], RUNS[1])}, memory=1_000_000,
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", PROBES)
def test_what_is_told_of_a_probe_is_what_it_was(name):
    data = probe_json(PROBES[name], WANTED, "the plan")
    told = [json.dumps(data, indent=1), probe_markdown(data)]
    told.append(re.search("<svg.*?</svg>", probe_html(data), re.DOTALL)[0])
    held(f"probe-{name.replace(' ', '-')}.txt", "\n\n".join(told))
