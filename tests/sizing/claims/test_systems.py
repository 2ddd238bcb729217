"""Twelve systems and more: the sheet beside what was published, and the reason where they part."""

import pytest

from tokenmill.sizing.claims.systems import (
    UNPUBLISHED,
    System,
    check_system,
    check_systems,
    systems,
)

ASKED = ("OLMo 2", "Llama 3 405B", "BLOOM", "DeepSeek-V3", "MM1", "MLPerf", "SuperPOD", "Frontier")


def test_there_are_nine_that_were_published_and_three_plans_of_users():
    names = [system.name for system in systems()]
    assert all(any(name.startswith(asked) for name in names) for asked in ASKED)
    users = [system for system in systems() if system.source == "a plan of a user"]
    assert len(users) == 3
    assert len(names) - len(users) >= 9


def test_each_is_within_what_was_published_or_names_what_was_not():
    for verdict in check_systems():
        assert verdict.verdict in ("within", "apart", "")
        if verdict.verdict == "apart":
            assert verdict.why.startswith(UNPUBLISHED)


def test_a_figure_that_differs_without_a_reason_is_a_mistake():
    figure = {"row": "one checkpoint", "published": "50 TB", "within": "5 %", "why": "none"}
    data = {"name": "s", "source": "d", "plan": {"model": {"params": "1T"}}, "figures": [figure]}
    (verdict,) = check_system(System.model_validate(data))
    assert (verdict.verdict, verdict.ratio) == ("differs", pytest.approx(14 / 50))
    other = {**figure, "published": "50 days"}
    with pytest.raises(ValueError, match="'50 days' is no bytes"):
        check_system(System.model_validate({**data, "figures": [other]}))


@pytest.mark.parametrize(("bound", "verdict"), [("15 TB", "within"), ("13 TB", "differs")])
def test_a_figure_that_is_published_as_a_bound_is_to_be_kept(bound, verdict):
    figure = {"row": "one checkpoint", "published": bound, "at_most": True, "why": "none"}
    data = {"name": "s", "source": "d", "plan": {"model": {"params": "1T"}}, "figures": [figure]}
    (found,) = check_system(System.model_validate(data))
    assert (found.verdict, found.published) == (verdict, f"under {bound}")
