"""Every command on every page does what the page says, run in the order of its page.

What needs a store, servers or workers is run by tests/cluster/test_pages.py.
"""

import json
import re
import shlex
from pathlib import Path

import datasets
import pytest

from tests.e2e.paged import write_pages_folder
from tests.pages import CLUSTER, FIRST, ROOMS, ROOT, SET_UP, command_lines, named, of_a_cluster
from tokenmill.flows.cli import main

# what the pages leave to the reader
PLACES = {"NAME": "near", "/mnt/new": "mnt"}
# options that are put behind, since the defaults are for a real storage and take minutes
QUICK = ["--seconds", "0.3", "--processes", "1"]
SMALL = [*QUICK, "--fill", "1MB", "--checkpoint-bytes", "100kB"]
ADDED = {"tokenmill probe run ": QUICK, "tokenmill probe /mnt/new/probe --fill 6GB ": SMALL}
# exit codes other than 0, as the pages tell
CODES = {"probe": (0, 1), "--fail-on-hit": (1,)}


def words_of(line):
    """As a shell would split it, with the paths that the reader has and this machine has not."""
    words = shlex.split(line, comments=True)
    for written, here in PLACES.items():
        words = [re.sub(rf"^{written}\b", here, word) for word in words]
    return words


def commands(page):
    """What is run of a page: words, by line. What the first page has too is run for that alone."""
    lines = [line for line in command_lines(page) if not named(line)]
    given = {line: words_of(line) for line in lines if not line.startswith(SET_UP)}
    known = [] if page == FIRST else list(commands(FIRST).values())
    return {line: words for line, words in given.items() if words not in known}


def ran(line, words, capsys):
    """What a command prints; it must end as its page tells."""
    assert words[0] == "tokenmill", f"nothing runs {line!r}: tests/pages.py says who may"
    codes = next((codes for word, codes in CODES.items() if word in words), (0,))
    added = [more for begin, options in ADDED.items() if line.startswith(begin) for more in options]
    code = main([*words[1:], *added])
    shown = capsys.readouterr()
    assert code in codes, f"{line}\nended with {code}\n{shown.err[-2000:]}{shown.out[-2000:]}"
    if "--out" in words:
        assert Path(words[words.index("--out") + 1]).exists() != ("--dry-run" in words), line
    return shown.out


@pytest.fixture
def told(request, server, tmp_path, monkeypatch, capsys):
    """What each command of a page printed, by command, in a folder that has what they name."""
    write_pages_folder(tmp_path, request.param)
    monkeypatch.setattr(datasets.config, "HF_DATASETS_CACHE", str(tmp_path / "cache"))
    monkeypatch.chdir(tmp_path)
    given = commands(request.param)
    if request.param != FIRST and any(words[2:3] == ["run"] for words in given.values()):
        assert main(["prepare", "recipe.yaml", "--out", "run"]) == 0  # what the first page made
    if request.param != FIRST and any("collection" in words for words in given.values()):
        capsys.readouterr()
        assert main(["ingest", "recipe.yaml", "--into", "collection", "--json"]) == 0
        assert json.loads(capsys.readouterr().out)["made"]
    return {shlex.join(words): ran(line, words, capsys) for line, words in given.items()}


@pytest.mark.parametrize("told", [FIRST], ids=["first"], indirect=True)
def test_the_commands_of_the_first_page(told):
    assert all(told.values())
    beside = told["tokenmill inspect run --doc 4294967301"]
    assert re.search(r"removed: b-5\s+kept: +a-0\s", beside)
    assert "[-this-]{+the+}" in beside
    prepare = "tokenmill prepare recipe.yaml --out run"
    assert "predicted and actual" in told[prepare]
    assert "read bandwidth, one node" in told[f"{prepare} --plan plan.yaml"]


@pytest.mark.parametrize(
    "told",
    [page for page in ROOMS if commands(page)],
    ids=lambda page: page.parent.relative_to(ROOT).as_posix(),
    indirect=True,
)
def test_the_commands_of_a_room(told):
    assert all(told.values())


@pytest.mark.parametrize("what", CLUSTER)
def test_what_others_run_stands_on_a_page(what):
    assert of_a_cluster(what)
