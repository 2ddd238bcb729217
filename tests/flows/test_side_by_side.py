"""Cases beside or below one another: every figure once, nothing wider than a terminal."""

import pytest

from tokenmill.flows.commands.size import WIDTH, side_by_side, tiers_side_by_side
from tokenmill.sizing.comparison import compare, figures, parse_variation, tier_figures


def cases(*texts):
    return compare(None, [parse_variation(text) for text in texts])


def width(grid):
    cells = zip(grid.columns, *grid.rows, strict=True)
    return sum(
        max(len(part) for c in col for part in c.lstrip(">").split("\n")) + 2 for col in cells
    )


def test_few_cases_are_columns():
    made = cases("model.params=8B,70B", "cluster.count=256,1024")
    (grid,) = side_by_side(made)
    assert grid.columns == (
        "model.params\ncluster.count",
        *(">8B\n256", ">8B\n1024", ">70B\n256", ">70B\n1024"),
    )
    assert {row[0].replace("\n", " "): row[1:] for row in grid.rows} == figures(made)


@pytest.mark.long_but("6")  # more cases are more of the same rows
@pytest.mark.parametrize("n", [6, 16, 64])
def test_many_cases_are_rows_of_as_many_tables_as_they_need(n):
    made = cases("cluster.count=" + ",".join(str(8 * k) for k in range(1, n + 1)))
    grids = side_by_side(made)
    assert len(grids) > 1
    shown = {}
    for grid in grids:
        assert width(grid) - 2 <= WIDTH
        assert [row[0] for row in grid.rows] == [case.changes["cluster.count"] for case in made]
        for name, *values in zip(grid.columns[1:], *[row[1:] for row in grid.rows], strict=True):
            assert name.startswith(">")
            shown[name.lstrip(">").replace("\n", " ")] = tuple(values)
    assert shown == figures(made)


@pytest.mark.long_but("2")  # nine cases by test_size
@pytest.mark.parametrize("n", [2, 9])
def test_every_tier_stands_in_every_case_in_lines_that_fit(n):
    made = cases("cluster.count=" + ",".join(str(8 * k) for k in range(1, n + 1)))
    grids = tiers_side_by_side(made)
    assert (len(grids) == 1) == (n == 2)
    assert all(width(grid) - 2 <= WIDTH for grid in grids)
    shown = [" ".join(cell.split()) for g in grids for row in g.rows for cell in row]
    for told in tier_figures([case.sheet for case in made]).values():
        assert all(shown.count(cell) >= told.count(cell) for cell in told)
