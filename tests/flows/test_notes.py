"""What is noted of a run: plain tuples, in order, whatever becomes of the works."""

import time

import pytest

from tokenmill.flows.notes import UNNOTED, Notes, _Phase


def test_a_group_is_noted_from_its_beginning_to_its_end():
    sent, began = [], time.time()
    noted = Notes(sent.append)
    noted.describe("a run", "one", "two")
    with noted.group("filter", "first") as log:
        log.append(("info", "a line"))
        assert len(sent) == 2
    with pytest.raises(ValueError, match="broken"), noted.group("filter", "second"):
        raise ValueError("broken")
    with pytest.raises(KeyboardInterrupt), noted.group("near", "third"):
        raise KeyboardInterrupt
    times = [told.pop(at) for told, at in ((list(sent[1]), 4), (list(sent[2]), 2))]
    assert began <= times[0] <= times[1] <= time.time()
    assert sent[0] == ("run", "a run", ("one", "two"))
    assert [told[:4] for told in sent[1::2]] == [
        ("group", 0, "filter", "first"),
        ("group", 1, "filter", "second"),
        ("group", 2, "near", "third"),
    ]
    assert [(kind, key, *rest) for kind, key, _, *rest in sent[2::2]] == [
        ("group ended", 0, None, [("info", "a line")]),
        ("group ended", 1, "broken", []),
        ("group ended", 2, "KeyboardInterrupt", []),
    ]
    with UNNOTED.group("filter", "nowhere") as log:
        assert log == []


@pytest.mark.parametrize(
    ("works", "done", "percent", "line"),
    [
        (4, 1, 25.0, "near: 1 of 4"),
        (1_000, 1_000, 100.0, "near: 1,000 of 1,000"),
        (0, 0, 100.0, "near: 0 of 0"),
    ],
)
def test_a_phase_is_told_in_percent_and_in_words(works, done, percent, line):
    phase = _Phase("near", works, done)
    assert phase.told("") == (percent, line)
    assert phase.told("soon over") == (percent, f"{line}; soon over")
