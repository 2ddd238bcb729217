"""Which directory a run may be made in, or go on in, and what is said of another."""

import json
import os

import pytest

from tokenmill.pipelines.core.errors import ConfigError
from tokenmill.pipelines.runs.manifest import (
    LAYOUT,
    SHOWN,
    differences,
    locked,
    open_run,
    read_manifest,
)


def identity(n, value):
    return {"recipe": {f"k{i}": value for i in range(n)}}


@pytest.mark.parametrize("n", [1, SHOWN - 1, SHOWN, SHOWN + 1])
def test_so_many_differences_are_listed_and_the_others_counted(tmp_path, n):
    open_run(tmp_path, identity(n, 1))
    with pytest.raises(ConfigError) as e:
        open_run(tmp_path, identity(n, 2))
    lines = [f"recipe.k{i} is 1 there, 2 here" for i in range(min(n, SHOWN))]
    more = f" and {n - SHOWN} more" if n > SHOWN else ""
    assert str(e.value) == (
        f"{tmp_path}: made by another run: {'; '.join(lines)}{more};"
        " choose another --out, or delete this one"
    )


def test_values_are_shown_whole_up_to_a_length():
    for n, shown in ((58, f'"{"x" * 58}"'), (59, f'"{"x" * 56}…')):
        (line,) = differences({"recipe": {"a": 1}}, {"recipe": {"a": "x" * n}}, {})
        assert line == f"recipe.a is 1 there, {shown} here"
        assert len(shown) <= 60


def test_a_run_goes_on_under_the_same_digest_and_another_has_another(tmp_path):
    first = open_run(tmp_path / "a", identity(2, 1))
    assert open_run(tmp_path / "a", identity(2, 1)) == first
    assert open_run(tmp_path / "b", identity(2, 2)) != first
    path = tmp_path / "a" / "manifest.json"
    for layout in (LAYOUT - 1, LAYOUT + 1, None):
        path.write_text(json.dumps({**json.loads(path.read_text()), "layout": layout}))
        with pytest.raises(ConfigError, match="made by a version of tokenmill that keeps"):
            open_run(tmp_path / "a", identity(2, 1))


LEFT = [".lock", "estimate.json", "slurm-logs", f"manifest.json.partial-{'0' * 32}"]


@pytest.mark.parametrize("name", [*LEFT, "data.jsonl", "estimate.json.bak", "manifest.json.old"])
def test_a_folder_is_taken_that_holds_no_more_than_runs_leave_before_they_begin(tmp_path, name):
    (tmp_path / name).write_text("")
    if name in LEFT:
        with locked(tmp_path):
            assert read_manifest(tmp_path) is None
    else:
        refused = pytest.raises(ConfigError, match=f"not a run directory, but holds {name};")
        with refused, locked(tmp_path):
            pass
        assert os.listdir(tmp_path) == [name]


@pytest.mark.parametrize("data", [b"", b"{", b"[]", b"{}", b"\xff", None])
def test_a_manifest_that_cannot_be_read_is_told_with_the_way_out(tmp_path, data):
    path = tmp_path / "manifest.json"
    path.mkdir() if data is None else path.write_bytes(data)
    with pytest.raises(ConfigError, match=rf"^{path}: .*; choose another --out$"):
        read_manifest(tmp_path)


def test_where_no_folder_is_there_is_no_manifest(tmp_path):
    (tmp_path / "file").write_text("")
    assert read_manifest(tmp_path / "none") is None
    assert read_manifest(tmp_path / "file") is None
