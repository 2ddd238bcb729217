"""Ratios of a report, with as many digits as their errors allow."""

from tokenmill.pipelines.runs.report import fixed, with_error


def test_figures_in_words():
    assert with_error(12.3456, 1.5) == "12.3 ± 1.5"
    assert with_error(12.3456, 25.0) == "12 ± 25"
    assert with_error(12.3456, None) == "12.346"
    assert with_error(2.0, 0.0) == "2.000"
    assert with_error(None, None) == "—"
    assert fixed(12.34567) == "12.3457"
    assert fixed(None) == "—"
