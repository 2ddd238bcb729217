import json
import os
import re
import subprocess
import sys
from pathlib import Path

import datasets
import pytest

from tokenmill.pipelines.contamination.items.rows import HubSet, hub_rows, parse_hub
from tokenmill.pipelines.contamination.items.spec import Benchmark

CARD = """---
configs:
- config_name: main
  data_files:
  - {split: train, path: main/train.jsonl}
  - {split: test, path: main/test.jsonl}
- config_name: hard
  data_files:
  - {split: test, path: hard/test.jsonl}
---
"""
EASY = {"question": "How many?", "answer": "two"}
HARD = {"question": "Who, then?", "answer": "me"}


@pytest.fixture
def repository(tmp_path, monkeypatch):
    """A folder that `datasets` reads as it reads a repository of the hub."""
    monkeypatch.setattr(datasets.config, "HF_DATASETS_CACHE", str(tmp_path / "cache"))
    folder = tmp_path / "gsm8k"
    for config, split, row in (
        ("main", "train", HARD),
        ("main", "test", EASY),
        ("hard", "test", HARD),
    ):
        path = folder / config / f"{split}.jsonl"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(row))
    (folder / "README.md").write_text(CARD)
    return str(folder)


@pytest.mark.parametrize(
    ("path", "wanted"),
    [
        ("hf://openai/gsm8k/main/test", HubSet("openai/gsm8k", ("main",), "test")),
        ("hf://a/b/c,d/test", HubSet("a/b", ("c", "d"), "test")),
        ("hf://baber/piqa/validation", HubSet("baber/piqa", (None,), "validation")),
        ("hf://a/b", HubSet("a/b", (None,), None)),
        ("hf://a/b@v1.0/test", HubSet("a/b", (None,), "test", "v1.0")),
    ],
)
def test_a_path_names_a_set(path, wanted):
    assert parse_hub(path) == wanted


@pytest.mark.parametrize(
    "path", ["hf://", "hf://gsm8k", "hf://a//c/test", "hf://a/b/c/d/e", "hf://a/b/"]
)
def test_a_path_of_another_form_is_refused(path):
    told = f"{path}: is no set on the hub; write hf://OWNER/NAME/CONFIG/SPLIT"
    with pytest.raises(ValueError, match=re.escape(told)):
        Benchmark(name="quiz", path=path)
    with pytest.raises(ValueError, match="is no set on the hub"):
        parse_hub(path)


@pytest.mark.parametrize("path", ["hf://a/b@/c", "hf://a/b@../c", "hf://a/b@c@d/e"])
def test_a_revision_of_another_form_is_refused(path):
    with pytest.raises(ValueError, match="is no set on the hub"):
        Benchmark(name="quiz", path=path)


@pytest.mark.parametrize(
    ("configs", "split", "rows"),
    [
        (("main",), "test", [EASY]),
        (("main", "hard"), "test", [EASY, HARD]),
        (("hard",), None, [HARD]),
    ],
)
def test_a_set_is_read_with_datasets(repository, configs, split, rows):
    assert hub_rows(HubSet(repository, configs, split)) == rows


@pytest.mark.parametrize(
    ("configs", "split", "complaint"),
    [
        (("main",), None, "has splits train, test; write hf://OWNER/NAME/CONFIG/SPLIT"),
        (("main",), "val", "Should be one of ['train', 'test']"),
        (("easy",), "test", "Available: ['main', 'hard']"),
        ((None,), "test", "available configs: ['main', 'hard']"),
    ],
)
def test_a_set_that_is_not_there_is_refused_with_those_that_are(
    repository, configs, split, complaint
):
    with pytest.raises(ValueError, match=re.escape(complaint)):
        hub_rows(HubSet(repository, configs, split))


def test_a_set_that_needs_its_own_code_is_not_run(repository, tmp_path):
    ran = tmp_path / "ran"
    for path in Path(repository).rglob("*.*"):
        path.unlink()
    (Path(repository) / "gsm8k.py").write_text(f"open({str(ran)!r}, 'w').close()")
    with pytest.raises(ValueError, match="no longer supported.*; download a file of it"):
        hub_rows(HubSet(repository, (None,), "test"))
    assert not ran.exists()


def read_offline(home):
    """What a process without a hub prints of `gsm8k`: its items, or why there are none."""
    script = (
        "from tokenmill.pipelines.contamination.items.items import read_items\n"
        "from tokenmill.pipelines.contamination.items.spec import parse_benchmark\n"
        "try:\n"
        "    print(read_items(parse_benchmark('gsm8k')).to_pylist())\n"
        "except ValueError as e:\n"
        "    print(e)\n"
    )
    env = {**os.environ, "HF_HUB_OFFLINE": "1", "HF_HOME": str(home)}
    env.pop("HF_DATASETS_CACHE", None)
    root = Path(__file__).parents[4]
    done = subprocess.run(
        [sys.executable, "-c", script],
        env=env,
        cwd=root,
        capture_output=True,
        text=True,
        check=True,
    )
    return done.stdout


def test_offline_is_told_in_one_line_with_the_way_out(tmp_path):
    assert read_offline(tmp_path) == (
        "benchmark 'gsm8k': hf://openai/gsm8k/main/test:"
        " Couldn't reach 'openai/gsm8k' on the Hub (OfflineModeIsEnabled);"
        " load it once where the hub can be reached, with the same HF_HOME,"
        " or download a file of it and name that\n"
    )


def test_what_was_loaded_once_is_read_offline(repository, tmp_path):
    hub_rows(HubSet(repository, ("main",), "test"))
    home = tmp_path / "home" / "datasets"
    home.mkdir(parents=True)
    (tmp_path / "cache" / "gsm8k").rename(home / "openai___gsm8k")  # as if from the hub
    assert read_offline(home.parent) == str([{"item": "gsm8k:0", **EASY}]) + "\n"
