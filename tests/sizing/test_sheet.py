"""A sheet under construction: rows by name, arguments from keys, rows and inputs."""

import pytest

from tokenmill.sizing.errors import PlanError
from tokenmill.sizing.formula import Formula, formula
from tokenmill.sizing.plan.plan import parse_plan, sections
from tokenmill.sizing.requirement import Input
from tokenmill.sizing.requirements import requirement_sheet
from tokenmill.sizing.sheet import SETTINGS, USUAL, Sheet


def product(*, left: float, right: float) -> float:
    return left * right


def added(**parts: float) -> float:
    return sum(parts.values())


PRODUCT = Formula(function=product, said="left x right", unit="bytes", source="definition")
SUM = Formula(function=added, said="sum of the parts", unit="bytes", source="definition")
NONE = {"attention_width", "storage_bytes_per_s"}  # settings without a default
PLAN = "model: {params: 7B}\ncluster: {count: {value: 100, low: 80, high: 120}}"


def begun(text=PLAN):
    sheet = Sheet(parse_plan(text, where="p"), {})
    sheet.begin("First")
    return sheet


def given(value=3.0, name="any"):
    return Input(name=name, value=value, unit="bytes", measured=True, source="measured: it")


def test_arguments_are_keys_rows_or_inputs_and_bear_the_formulas_names():
    sheet = begun()
    first = sheet.add("first", PRODUCT, left="model.params", right=given())
    second = sheet.add("second", PRODUCT, left=first, right="cluster.count")
    assert (first.value, second.value) == (21e9, 21e11)
    assert [(i.name, i.source, i.key) for i in first.inputs] == [
        ("left", "stated: model.params", "model.params"),
        ("right", "measured: it", None),
    ]
    assert [i.computed_by for i in second.inputs] == ["first", None]
    assert second.interval == pytest.approx((21e9 * 80, 21e9 * 120))


def test_an_argument_that_a_row_leaves_out_is_what_it_usually_is():
    shared = formula(unit="bytes/s", equation="rate x each / all")(
        lambda *, rate, per_node, accelerators, spare=0.0: rate * per_node / accelerators + spare
    )
    row = begun().add("shared", shared, rate=given(50.0))
    assert [(i.name, i.value) for i in row.inputs] == [
        ("rate", 50.0),
        ("per_node", 8.0),
        ("accelerators", 100.0),
    ]
    own = begun().add("shared", shared, rate=given(50.0), accelerators=given(10.0))
    assert own.value == 40


def test_what_an_argument_usually_is_is_a_setting_or_a_row():
    sheet = requirement_sheet(parse_plan("training: {epochs: 2}", where="p"), {})
    assert [of for of in USUAL.values() if "." not in of and of not in sheet] == []
    assert all(sheet.plan.input(of) for name, of in USUAL.items() if "." in of and name not in NONE)


def test_else_it_is_the_one_row_of_the_formula_of_its_name_or_the_setting_of_its_name():
    left = formula(unit="bytes", equation="each")(lambda *, each: each)
    left.function.__name__ = "left"
    double = formula(unit="bytes", equation="left x keep_last")(
        lambda *, left, keep_last: left * keep_last
    )
    sheet = begun()
    row = sheet.add("first", left, each=given())
    used = sheet.add("double", double)
    assert [(i.name, i.computed_by, i.key) for i in used.inputs] == [
        ("left", row.name, None),
        ("keep_last", None, "checkpoints.keep_last"),
    ]
    sheet.add("second", left, each=given())
    with pytest.raises(TypeError, match="left"):  # which of the two is for the caller to say
        sheet.add("unclear", double)


def test_no_two_sections_have_a_setting_of_one_name_and_a_corpus_is_asked_for_its_own():
    others = [
        name for of, model in sections().items() if of != "corpus" for name in model.model_fields
    ]
    assert sorted(SETTINGS) == sorted(others)
    assert "kept_frac" not in SETTINGS


def test_a_row_that_is_added_once_is_found_the_second_time():
    sheet = begun()
    row = sheet.once("first", PRODUCT, left=given(), right=given())
    assert sheet.once("first", PRODUCT, left=given(), right=given()) is row
    assert list(sheet) == [row]


def test_rows_are_found_by_name_and_stand_in_their_sections():
    sheet = begun()
    first = sheet.add("first", PRODUCT, left=given(), right=given())
    sheet.begin("Second")
    second = sheet.add("second", SUM, a=given(1.0), b=given(2.0))
    assert sheet["first"] is first
    assert second.value == 3
    assert "third" not in sheet
    with pytest.raises(KeyError):
        sheet["third"]
    assert list(sheet) == [first, second]
    assert [(s.title, s.rows) for s in sheet.sections] == [("First", [first]), ("Second", [second])]


def test_a_second_row_of_a_name_is_refused():
    sheet = begun()
    sheet.add("first", PRODUCT, left=given(), right=given())
    with pytest.raises(ValueError, match="two rows of the name 'first'"):
        sheet.add("first", PRODUCT, left=given(), right=given())


def test_an_argument_too_few_is_refused():
    with pytest.raises(TypeError, match="right"):
        begun().add("first", PRODUCT, left=given())


def test_a_setting_that_is_no_number_is_refused():
    with pytest.raises(TypeError, match="cluster.accelerator is 'H100 SXM', no number"):
        begun().add("first", PRODUCT, left="cluster.accelerator", right=given())


def test_an_assumption_is_unverified_where_its_source_says_so():
    sheet = begun()
    found = sheet.assume(1, unit="s", source="a data sheet", key="training.days")
    assert (found.verified, found.measured, found.key) == (True, False, "training.days")
    assert not sheet.assume(1, unit="s", source="memory (unverified)").verified


def test_an_accelerator_is_the_plans_own_or_else_the_tables():
    table = begun("cluster: {accelerator: GB200}").accelerator("dense_flops_per_s")
    assert table.value == 2.5e15
    assert table.source.startswith("stated: cluster.accelerator GB200; GB200: ")
    assert table.key == "cluster.dense_flops_per_s"
    own = begun("cluster: {accelerator: GB200, hbm: 100 GB}").accelerator("hbm_bytes")
    assert (own.value, own.source, own.name) == (100e9, "stated: cluster.hbm", "hbm_bytes")
    fp8 = begun("cluster: {accelerator: H100}").accelerator("fp8_flops_per_s")
    assert fp8.key == "cluster.dense_flops_per_s"
    assert begun().accelerator("matmul_frac").key is None  # no setting takes its place


def test_an_unverified_cell_is_flagged_where_it_is_used():
    found = begun("cluster: {accelerator: V100}").accelerator("scale_out_bits_per_s")
    assert found.source.endswith("(unverified)")
    assert not found.verified


def test_what_neither_plan_nor_table_has_is_asked_for():
    sheet = begun("cluster: {accelerator: ours, dense_flops_per_s: 1e15, per_node: 8}")
    assert sheet.accelerator_row is None
    assert sheet.accelerator("dense_flops_per_s").value == 1e15
    assert sheet.accelerator_if_known("hbm_bytes") is None
    with pytest.raises(PlanError, match="'ours' has no hbm_bytes in the table; give cluster.hbm"):
        sheet.accelerator("hbm_bytes")
