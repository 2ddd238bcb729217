"""The sheet as a document: in the order in which a buyer asks, every figure there once."""

from itertools import chain

import pytest

from tests.sizing.corpora import estimate, measured
from tests.sizing.document.pages import tables_of
from tokenmill.sizing.corpus import read_corpus
from tokenmill.sizing.document.section import Derivations, Table
from tokenmill.sizing.plan.plan import parse_plan
from tokenmill.sizing.report.outline import about, answer, first_rows, sections, sheet_markdown
from tokenmill.sizing.requirement import Input
from tokenmill.sizing.requirements import example_names, headline, requirement_sheet, size
from tokenmill.sizing.sections.capacity import switch


def row(unit, value, low=None, high=None):
    spread = {} if low is None else {"x": (low, high)}
    return Input(name="x", value=value, unit=unit, measured=False, source="s", spread=spread)


@pytest.mark.parametrize(
    ("unit", "values", "told"),
    [
        ("bytes", (1e12, 0.9e12, 1.1e12), "900 GB to 1.1 TB"),
        ("bytes/s", (33e6, 31e6, 38e6), "31 to 38 MB/s"),
        ("fraction", (0.4, 0.35, 0.45), "35 to 45 %"),
        ("USD", (1e6, 0.9e6, 1.1e6), "900,000 to 1.1 million USD"),
        ("USD", (2e6, 1.9e6, 2.1e6), "1.9 to 2.1 million USD"),
        ("bytes/s", (33e6, 33e6, 33.00001e6), ""),
        ("bytes", (1e12,), ""),
    ],
)
def test_an_interval_names_its_unit_once_where_both_ends_share_it(unit, values, told):
    assert row(unit, *values).between == told


def test_what_the_sheet_is_for():
    assert about(size("llama-405b-16384-h100")) == (
        "For a model of 405 billion parameters, trained on 15.6 trillion tokens by 16,384 H100 SXM"
        " in 67 days. No corpus was measured: every figure rests on what is stated or assumed."
    )
    plan = parse_plan("", where="p")
    assert "The corpus is as measured: docs." in about(
        requirement_sheet(plan, {"corpus": measured()})
    )
    stated = about(requirement_sheet(plan, {"corpus": measured(measured=False)}))
    assert "docs (not measured)" in stated


def test_of_several_jobs_what_to_buy_is_for_all():
    one, two = (parse_plan(text, where="p") for text in ("", "jobs: [{name: b}]"))
    assert ", that give the whole job " in answer(requirement_sheet(one, {}))
    assert ", that give all jobs together " in answer(requirement_sheet(two, {}))


@pytest.mark.long_but("None", "image-text-8b-1024-h100")  # the least and the longest sheet
@pytest.mark.parametrize("name", [None, *example_names()])
def test_every_row_is_shown_and_explained_once(name):
    sheet = size(name)
    parts = {section.key: section for section in sections(sheet)}
    assert list(parts)[:4] == ["summary", "headline", "warnings", "tiers"]
    assert list(parts)[-2:] == ["assumptions", "derivations"]
    first, beside, *_ = [b for b in parts["headline"].blocks if isinstance(b, Table)]
    assert [cells[0] for cells in first.rows] == [r.name for r in headline(sheet)]
    switches = {row[0]: row[-1] for row in beside.rows}
    assert switches == {p: switch(sheet, p) for p in ("inputs", "scratch")}
    keys = list(parts)[4:-2]
    listed = [cells[:2] for key in keys for b in parts[key].blocks for cells in b.rows]
    assert listed == [(r.name, r.shown) for r in sheet]
    explained = [d for b in parts["derivations"].blocks for d in b.rows]
    assert all(isinstance(b, Derivations) for b in parts["derivations"].blocks)
    assert [d.name for d in explained] == [r.name for r in sheet]
    assert all(len(d.given) == len(r.inputs) for d, r in zip(explained, sheet, strict=True))
    assert len(parts["warnings"].blocks) == len(sheet.warnings)


def test_an_assumption_shows_the_key_that_changes_it_and_whether_it_is_verified():
    text = "cluster: {mfu: 0.38}\nmodel: {params: 70B}"
    found = sections(requirement_sheet(parse_plan(text, where="p"), {}))[-2]
    (table,) = [b for b in found.blocks if isinstance(b, Table)]
    cells = {c[0]: c[1:] for c in table.rows}
    assert cells["mfu"] == ("38 %", "stated", "cluster.mfu", "stated: cluster.mfu")
    assert cells["params"][:3] == ("70 billion parameters", "stated", "model.params")
    assert cells["fill frac"][:3] == ("80 %", "assumed", "storage.fill_frac")
    assert cells["tokens per doc"][:3] == (
        "700 tokens/document",
        "unverified",
        "corpus.tokens_per_doc",
    )
    assert cells["hbm"][2] == "cluster.hbm"
    assert cells["drive reads per s"][1:3] == ("unverified", "—")


PLAN = parse_plan("corpus: {tokens: 2T}\nmodel: {params: 70B}", where="plan")


def lines(plan=PLAN, **measurements):
    return sheet_markdown(requirement_sheet(plan, measurements)).splitlines()


@pytest.mark.long_but("None", "image-text-8b-1024-h100")  # the least and the longest sheet
@pytest.mark.parametrize("name", [None, *example_names()])
def test_tables_have_equal_columns_and_every_row_stands_in_one(name):
    sheet = size(name)
    tables = list(tables_of(sheet_markdown(sheet)))
    assert all(len({len(row) for row in rows}) == 1 for rows in tables)
    cells = [row[0].strip() for rows in tables for row in rows]
    assert {row.name for row in sheet} <= set(cells)


def test_the_headline_comes_first_with_value_interval_and_what_it_rests_on():
    text = lines(corpus=measured())
    assert text[0] == "# Storage requirements"
    assert text[4].startswith("For a model of 70 billion parameters, trained on 2 trillion tokens")
    assert text[6].startswith(
        "What to buy: 13 TB of drives, 10.4 TB usable, that give the whole job"
    )
    assert text[8].startswith("The capacity is for 8.34 TB at once: dataset 4.4 TB (53 %), ")
    assert text[10] == "## What matters first"
    assert text[12] == "| requirement | value | 95 % interval | rests on |"
    assert text[14].startswith("| raw capacity | ")
    dataset = "| stored: dataset | 4.4 TB | 4.36 to 4.44 TB | extrapolated, stated |"
    assert dataset in text
    assert "| one checkpoint | 980 GB | — | stated, chosen |" in text


def test_a_column_of_intervals_stands_only_where_there_are_any():
    title, headers = "", {}
    for line in lines():
        title = line.removeprefix("## ") if line.startswith("## ") else title
        if line.startswith("| requirement | value |"):
            headers[title] = line.removeprefix("| requirement | value |")
    with_intervals = {of for of, rest in headers.items() if rest == " 95 % interval | rests on |"}
    assert with_intervals == {"Stored, by stage", "Room to prepare the corpus"}  # sets, of no plan
    assert {headers[of] for of in headers.keys() - with_intervals} == {" rests on |"}


def test_a_corpus_that_is_not_the_measured_one_is_never_told_as_measured():
    def summary(tokens, **facts):
        plan = parse_plan(f"corpus: {{tokens: {tokens}}}", where="p")
        return lines(plan, corpus=measured(**facts))[4]

    assert summary("2M").endswith("The corpus is as measured: docs.")
    assert "1.5 times what was measured (docs): how duplicates grow was not" in summary("3M")
    law = {"growth_exponent": {"value": 0.8, "low": 0.7, "high": 0.9}}
    assert "the measured growth of duplicates is carried on" in summary("3M", **law)
    far = summary("190B", **law)
    assert "The corpus is 95,000 times what was measured" in far
    assert "duplicates at that size are not known" in far
    assert "the least that it takes" in summary("190B")
    assert "is as measured" not in far


def test_every_derivation_shows_formula_inputs_and_sources():
    text = lines(corpus=measured())
    at = text.index("**read bandwidth, whole job** = 2.76 MB/s")
    assert text[at + 2] == "`tokens_per_s x stored_bytes_per_token x read_amplification`"
    assert text[at + 4].endswith("**computed** · training rate")
    assert text[at + 5] == (
        "- `stored_bytes_per_token` = 2.2 bytes/token (2.18 to 2.22 bytes/token) · **computed** ·"
        " stored bytes a token"
    )
    carried = "· **extrapolated** · carried on to 1,000,000 times what was measured: corpus docs"
    assert any(carried in line for line in text)
    assert any("· **unverified** · default of corpus.tokens_per_doc" in line for line in lines())


def test_warnings_stand_under_a_heading_of_their_own():
    high = lines(parse_plan("cluster: {mfu: 0.9}", where="p"))
    assert high[high.index("## Warnings") + 2].startswith("Warning: MFU 0.9 is above 0.803")
    assert "## Warnings" not in lines(parse_plan("", where="p"))


def test_a_bar_in_a_name_does_not_break_the_table():
    plan = parse_plan(
        "cluster: {accelerator: a|b, dense_flops_per_s: 1e15, per_node: 8, hbm: 80 GB}", where="p"
    )
    corpus = measured(stored_bytes={"a|b": 1, "dataset": 2})
    text = lines(plan, corpus=corpus)
    assert r"| stored: a\|b | 1 B | measured |" in text
    assert any(r"stated: cluster.accelerator a\|b" in line for line in text) or "a\\|b" in text[4]


def test_a_sample_is_not_bought_by_and_times_say_whose_they_are():
    jobs = "jobs: [{name: small, training: {tokens: 300B}}]"
    made = requirement_sheet(parse_plan(jobs, where="p"), {"corpus": measured()})
    (time,) = [row.shown for row in headline(made) if row.name == "training time"]
    assert answer(made).startswith(
        f"Do not buy by this, see the warning: this plan: training takes {time}, less than one"
        " restart. What to buy: "
    )
    told = [row.name for row in first_rows(made)]
    assert {"training time, this plan", "training time with failures, the longest job"} < set(told)
    one = "model: {params: 70B}\ncluster: {count: 1}"
    assert answer(requirement_sheet(parse_plan(one, where="p"), {})).startswith(
        "Do not buy by this, see the warning: training takes 17,203 days, longer than"
        " accelerators last; the memory of 1 accelerator does not hold the model in training, that"
        " of 20 does. What to buy: "
    )
    whole = requirement_sheet(parse_plan("", where="p"), {})
    assert answer(whole).startswith("What to buy: ")
    assert [row.name for row in first_rows(whole)] == [row.name for row in headline(whole)]


def test_of_a_larger_corpus_intervals_of_an_estimate_are_told_as_of_its_sample():
    plan = parse_plan("corpus: {tokens: 15T}", where="p")
    made = requirement_sheet(plan, {"corpus": read_corpus(estimate(), where="e")})
    assert "intervals are the error of sampling crawl, another part may differ" in about(made)
    assert made["documents that come in, of those measured"].shown == "7.5 times"


def test_no_figure_is_listed_under_the_key_of_another():
    """Bytes of a parameter, which tell replicas, are no replicas."""
    plan = parse_plan("model: {params: 8B}\ncluster: {count: 64}", where="p")
    blocks = chain(*(section.blocks for section in sections(requirement_sheet(plan, {}))))
    (inputs,) = (b for b in blocks if isinstance(b, Table) and b.caption == "Inputs")
    (told,) = (row for row in inputs.rows if row[1] == "18 bytes/parameter")
    key = "training.memory_bytes_per_param"
    assert told[:4] == ("memory bytes per param", "18 bytes/parameter", "assumed", key)
