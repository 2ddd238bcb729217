"""make mutants: what it draws, and which tests it asks."""

import os
from pathlib import Path

import pytest

from tests.mutants import copies
from tests.mutants.__main__ import _drawn, _groups, _wilson
from tests.mutants.nearest import EXAMPLES, Place, chosen, stages
from tests.mutants.places import changes_of
from tests.mutants.seen import Seen


def test_an_edit_elsewhere_leaves_what_is_drawn():
    """A seed draws by what a change is, not by where it stands among others."""
    one, other = "dedup/kernels/paraphrase.py", "dedup/kernels/_jit.py"
    alone = [key for key, _ in _drawn(10**6, 7, (one,))]
    of_both = [key for key, _ in _drawn(10**6, 7, (other, one))]
    assert alone == [key for key in of_both if key.startswith(one)] != of_both
    assert len(set(alone)) == len(alone)
    assert [key for key, _ in _drawn(5, 7, (one,))] == alone[:5]
    assert [key for key, _ in _drawn(5, 8, (one,))] != alone[:5]


def test_tests_that_run_the_line_are_asked_the_quickest_first():
    change = _first_change("flows/prefect/server.py")
    place = Place(change)
    place.users = []  # finding them takes seconds
    assert place.function.startswith("flows/prefect/server.py:")
    line = place.lines[0]
    other = place.lines[-1] + 1
    seconds = {"slow": 2.0, "quick": 0.1, "beside": 0.0}
    lines = {
        (place.function, line): frozenset({"slow", "quick", "failed"}),
        (place.function, other): frozenset({"beside"}),
    }
    assert chosen(place, Seen(seconds, lines)) == ["quick", "slow"]
    del lines[place.function, line]
    assert chosen(place, Seen(seconds, lines)) == ["beside"]


@pytest.mark.long
def test_tests_of_what_calls_a_kernel_are_asked():
    """No measurement sees lines of kernels."""
    change = _first_change("dedup/kernels/paraphrase.py")
    place = Place(change)
    user = next(name for name in place.users if not name.startswith("dedup/kernels/"))
    seen = Seen({"test": 1.0}, {(user, 3): frozenset({"test"})})
    assert chosen(place, seen) == ["test"]


def test_tests_of_what_uses_a_cached_function_are_asked_behind_the_one_that_fills_it():
    path = Path("pipelines/filters/models/text.py")
    changes = changes_of(path, (copies.PROJECT / path).read_bytes())
    place = next(p for p in map(Place, changes) if p.function == f"{path}:_became")
    place.users = [f"{path}:characters", f"{path}:_found"]
    lines = {
        (place.function, place.lines[0]): frozenset({"first"}),
        (place.users[1], 3): frozenset({"first", "second"}),
    }
    assert chosen(place, Seen({"first": 2.0, "second": 1.0}, lines)) == ["first", "second"]
    place.users = place.users[1:]
    assert chosen(place, Seen({"first": 2.0, "second": 1.0}, lines)) == ["first"]


def test_tests_that_run_nothing_are_asked_of_what_stands_outside_of_functions():
    """As goldens of defaults do, which no function needs to run for."""
    path = Path("dedup/overlap/containment_index.py")
    changes = changes_of(path, (copies.PROJECT / path).read_bytes())
    place = next(p for p in map(Place, changes) if not p.function)
    place.users = [f"{path}:user"]
    seen = Seen({"golden": 0.1, "runs": 1.0, "other": 1.0}, {
        (place.users[0], 1): frozenset({"runs"}), (f"{path}:other", 1): frozenset({"other"}),
    })  # fmt: skip
    assert chosen(place, seen) == ["golden", "runs"]


def test_the_own_test_file_is_asked_first():
    """And the examples in docstrings, if the module has any."""
    own = "tests/dedup/same/test_sets.py", EXAMPLES
    assert next(stages(Path("dedup/same/sets.py"))) == own
    assert next(stages(Path("flows/commands/steps.py"))) == ("tests/flows/test_steps.py",)


def test_what_is_measured_is_asked_before_the_rest(tmp_path):
    assert _groups(("a", "b"), tmp_path) == [["a"], ["b"]]


def test_share_and_interval():
    """Wilson's for 81 of 263, as in Newcombe 1998, table I."""
    assert _wilson(81, 263) == pytest.approx((0.2553, 0.3662), abs=5e-5)


def test_a_changed_copy_leaves_its_base_alone(tmp_path):
    home = tmp_path / "project"
    (home / "dedup").mkdir(parents=True)
    for name in ("a.py", "b.py"):
        (home / "dedup" / name).write_text("x = 1\n")
    with copies.changed(home, Path("dedup/a.py"), b"x = 2\n") as copy:
        assert (copy / "dedup/a.py").read_bytes() == b"x = 2\n"
        assert os.path.samefile(copy / "dedup/b.py", home / "dedup/b.py")
        assert (home / "dedup/a.py").read_text() == "x = 1\n"
    assert not copy.exists()


def _first_change(path):
    changes = changes_of(Path(path), (copies.PROJECT / path).read_bytes())
    return next(change for change in changes if Place(change).function)
