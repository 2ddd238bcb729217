"""The table of tests/README.md says what results.json says; no figure is missing in silence."""

import json

import pytest

from tests.bench.__main__ import PAGE, RESULTS
from tests.bench.table import END, START, MarkerError, put_in, render


def row(tool, **facts):
    return {"tool": tool, "unfair": "", **facts}


def results(*rows, unit="MB/s"):
    return {
        "quick": False,
        "repeats": 3,
        "machine": {"processor": "Some CPU", "processors": 2, "python": "3.11.7"},
        "corpus": {"tokenizer": "gpt2"},
        "unfair": ["The first of all notes."],
        "steps": [{"name": "sign", "title": "MinHash", "unit": unit, "rows": list(rows)} | DAY],
    }


DAY = {"date": "2026-01-02", "real_mb": 24.4}
OURS = row("tokenmill", speed=454.0)


def test_a_line_has_our_speed_and_each_peers_with_its_ratio():
    found = results(OURS, row("rensa", speed=17.5, ratio=25.9), row("daft", speed=0.123, ratio=6.5))
    assert "| MinHash | 454 | rensa 17.5 (26x) · daft 0.12 (6.5x) |\n" in render(found)


def test_a_step_without_peers_has_a_line_too():
    assert "| MinHash | 454 | - |\n" in render(results(OURS))


def test_a_unit_other_than_megabytes_is_named():
    slow = row("rensa", speed=1.8, ratio=4.7)
    found = render(results(row("tokenmill", speed=0.38), slow, unit="µs/document"))
    assert "| MinHash | 0.38 µs a document | rensa 1.8 (4.7x) |\n" in found


def test_a_tool_that_failed_is_listed_with_its_reason():
    found = render(results(OURS, row("rensa", failed="no such wheel")))
    assert "| MinHash | 454 | rensa - |\n" in found
    assert "- Not measured: rensa at sign: no such wheel\n" in found


def test_what_is_unfair_is_said_once():
    said = {"speed": 1.0, "ratio": 454.0, "unfair": "does less"}
    one = results(OURS, row("rensa") | said)
    one["steps"].append(one["steps"][0] | {"name": "group"})
    assert render(one).count("does less") == 1
    assert "- rensa: does less (sign, group).\n" in render(one)
    assert "- The first of all notes.\n" in render(one)


def test_the_machine_and_the_date_travel_with_the_figures():
    words = " ".join(render(results(OURS)).split())
    assert "2026-01-02: Some CPU, 2 processors, Python 3.11.7" in words


def test_steps_measured_on_another_day_are_named():
    one = results(OURS)
    step = one["steps"][0]
    later = {"date": "2026-03-04", "real_mb": 24.9}
    one["steps"] += [step | {"name": "group"}, step | {"name": "pii"} | later]
    words = " ".join(render(one).split())
    assert "Measured on 2026-01-02 unless another day is told below: Some CPU" in words
    assert "Text: 24 to 25 MB" in words
    assert "- Measured on 2026-03-04: pii." in words


def test_whole_runs_say_what_they_left_and_the_memory_they_took():
    costs = {"mb": 2.0, "peak_mb": 1500, "counts": {"tokens": 4000}}
    one = results(OURS | costs, row("other", failed="killed"), row("third", mb=1.0, peak_mb=9,
                  speed=1.0, counts={}))  # fmt: skip
    one["steps"][0]["name"] = "run"
    expected = (
        "run: tokens left of each MB: tokenmill 2,000; peak memory, MB: tokenmill 1,500 · third 9."
    )
    assert expected in " ".join(render(one).split())


def test_only_what_is_between_the_markers_changes(tmp_path):
    page = tmp_path / "page.md"
    page.write_text(f"before\n{START}old\n{END}\nafter\n", encoding="utf-8")
    put_in(page, results(OURS))
    put_in(page, results(OURS))
    expected = f"before\n{START}{render(results(OURS))}{END}\nafter\n"
    assert page.read_text(encoding="utf-8") == expected


def test_a_page_without_markers_is_refused_and_left(tmp_path):
    page = tmp_path / "page.md"
    page.write_text("nothing here\n", encoding="utf-8")
    with pytest.raises(MarkerError) as e:
        put_in(page, results(OURS))
    assert str(e.value) == (
        f"{page}: no lines <!-- bench --> and <!-- /bench -->; put them where the table goes"
    )
    assert page.read_text(encoding="utf-8") == "nothing here\n"


def test_the_readme_shows_results_json():
    found = json.loads(RESULTS.read_text(encoding="utf-8"))
    assert f"{START}{render(found)}{END}" in PAGE.read_text(encoding="utf-8")


def test_results_json_names_no_place_of_the_machine_it_was_made_on():
    text = RESULTS.read_text(encoding="utf-8")
    assert not [place for place in ("/work", "/home", "/tmp", "/root") if place in text]
