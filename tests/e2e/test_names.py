"""The pages' scripts run in a folder whose own modules are called as ours are: flows, sizing, …"""

import json
import os
import re
import subprocess
import sys

import pytest
import yaml

from tests.pages import blocks
from tests.pipelines.probe.corpora import SEQ_LEN, packed

OURS = ("pipelines", "flows", "dedup", "sizing", "prefect_flows")
BOTH = """
if __name__ == "__main__":
    import runpy
    for number in (1, 2):
        runpy.run_path(f"script-{number}.py", run_name="__main__")
"""
PLAN = {"model": {"params": "8B", "seq_len": SEQ_LEN}, "cluster": {"count": 1}}


def scripts():
    """Python of the pages, by the first function of ours that each imports."""
    texts = blocks("python")
    named = {re.search(r"from tokenmill\.flows\S* import (\w+)", text): text for text in texts}
    return {found.group(1): text for found, text in named.items() if found}


@pytest.fixture
def folder(tmp_path):
    for name in OURS:
        (tmp_path / f"{name}.py").write_text("raise ImportError('the module of a user')\n")
    (tmp_path / "data" / "crawl").mkdir(parents=True)
    (tmp_path / "gsm8k").mkdir()
    words = " ".join(f"word{i}" for i in range(40))
    document = json.dumps({"text": f"Before it. {words}. Behind it."})
    (tmp_path / "data" / "crawl" / "a.jsonl").write_text(document)
    (tmp_path / "gsm8k" / "test.jsonl").write_text(json.dumps({"question": words, "answer": "1"}))
    packed(tmp_path / "run")
    (tmp_path / "plan.yaml").write_text(yaml.safe_dump(PLAN))
    return tmp_path


def test_there_are_as_many_scripts_as_are_tested_here():
    assert set(scripts()) == {"contamination_flow", "probe_storage"}


@pytest.mark.long  # `make lint` holds that no file of ours imports one by the name of its folder
def test_a_check_of_benchmarks_and_a_probe_of_storage(server, folder):
    """One after the other in one process, for imports are most of what they take."""
    text = scripts()["probe_storage"]
    assert "seconds=300" in text
    # one core, for a probe starts two processes for each
    text = f"import os\nos.sched_setaffinity(0, {{{min(os.sched_getaffinity(0))}}})\n{text}"
    text = text.replace("seconds=300", "seconds=0.1, out='probed'")
    (folder / "script-1.py").write_text(scripts()["contamination_flow"])
    (folder / "script-2.py").write_text(text)
    (folder / "script.py").write_text(BOTH)
    command = [sys.executable, "script.py"]
    ended = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=1000)
    assert ended.returncode in (0, 1), ended.stderr[-2000:]
    report = json.loads((folder / "check" / "contamination.json").read_text())
    assert [b["name"] for b in report["benchmarks"]] == ["gsm8k"]
    outcome = json.loads((folder / "probed" / "probe.json").read_text())["verdict"]["outcome"]
    assert ended.returncode == (outcome != "PASS")
    assert outcome == "PASS" or f"Error: {outcome}: " in ended.stderr
