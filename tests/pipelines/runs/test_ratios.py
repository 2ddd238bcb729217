"""Ratios of a report, with as many digits as their errors allow."""

import doctest

from tokenmill.pipelines.runs import report as ratios
from tokenmill.pipelines.runs.report import fixed, with_error


def test_the_examples_hold():
    assert doctest.testmod(ratios).failed == 0


def test_figures_in_words():
    assert with_error({"r": 12.3456, "r_se": 1.5}, "r") == "12.3 ± 1.5"
    assert with_error({"r": 12.3456, "r_se": 25.0}, "r") == "12 ± 25"
    assert with_error({"r": 12.3456, "r_se": None}, "r") == "12.346"
    assert with_error({"r": 2.0, "r_se": 0.0}, "r") == "2.000"
    assert with_error({"r": None, "r_se": None}, "r") == "—"
    assert fixed(12.34567) == "12.3457"
    assert fixed(None) == "—"
