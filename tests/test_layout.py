"""The shape of the repository: a module is one idea; and all that a new filter must bring along."""

import ast
import re
from functools import cache
from graphlib import TopologicalSorter
from pathlib import Path

import pytest
import yaml

import tokenmill.pipelines
from tests.pages import FIRST, ROOMS, blocks
from tests.pipelines.train.lm import models as perplexity
from tests.pipelines.train.quality import models as quality
from tokenmill.pipelines.filters.stages import STAGES
from tokenmill.pipelines.prepare.recipe import make_recipe
from tokenmill.sizing.plan.plan import parse_plan
from tokenmill.sizing.requirements import requirement_sheet

ROOT = Path(__file__).parent.parent
PACKAGES = ("pipelines", "flows", "dedup", "sizing")
MODULES = sorted(p.relative_to(ROOT) for d in PACKAGES for p in (ROOT / d).rglob("*.py"))
RECIPES = ROOT / "pipelines" / "prepare" / "recipes"
MOST_LINES, LEAST_LINES = 600, 60
MOST_LINES_OF_A_PAGE = 150  # the first: what it is, how to start, where to read on
ALONE = "# stands alone: "  # begins the comment that says why a small module is one


def test_a_module_fits_in_one_reading():
    """Told are those that are to be split, by the noun that each half knows."""
    lines = {str(module): (ROOT / module).read_text().count("\n") for module in MODULES}
    assert not {module: n for module, n in lines.items() if n > MOST_LINES}


@cache
def imported(module):
    """The files of ours that a module imports from."""
    return set(_imported(module))


def _imported(module):
    for node in ast.walk(ast.parse((ROOT / module).read_text())):
        if isinstance(node, ast.ImportFrom) and str(node.module).startswith("tokenmill."):
            folder = Path(*str(node.module).split(".")[1:])
            for path in (folder / name.name for name in node.names):
                yield (path if (ROOT / path).with_suffix(".py").is_file() else folder).with_suffix(
                    ".py"
                )


def test_no_file_imports_itself_by_way_of_others():
    """Not in functions either, nor for types alone."""
    own = set(MODULES)
    TopologicalSorter({m: own.intersection(imported(m)) - {m} for m in MODULES}).prepare()


def test_a_small_module_with_one_reader_says_why_it_stands_alone():
    """One that a single module of its folder imports is read together with that: let it be part."""
    readers = {module: set() for module in MODULES}
    for module in MODULES:
        for path in imported(module) & readers.keys():
            readers[path].add(module)
    small = {m: (ROOT / m).read_text() for m in MODULES if m.name != "__init__.py"}
    small = {m: text for m, text in small.items() if text.count("\n") < LEAST_LINES}
    alone = [m for m, of in readers.items() if len(of) == 1 and next(iter(of)).parent == m.parent]
    assert [str(m) for m in alone if m in small and f"\n{ALONE}" not in small[m]] == []


def test_the_first_page_is_one_page_and_leads_to_every_other():
    text = FIRST.read_text()
    assert text.count("\n") <= MOST_LINES_OF_A_PAGE
    led = {target for target in re.findall(r"\]\(([^):]+)\)", text)}
    assert led == {page.relative_to(ROOT).as_posix() for page in ROOMS}


def test_the_map_of_the_code_names_what_is_there():
    """Files below pipelines/ or the root, and in brackets what is defined there."""
    places = re.findall(r"([\w/]+\.py)(?:\s+\(`([\w.]+)`)?", tokenmill.pipelines.__doc__)
    assert len(places) > 40
    for name, defined in places:
        (file,) = [p for p in (ROOT / "pipelines" / name, ROOT / name) if p.is_file()]
        last = defined.rpartition(".")[2]
        assert re.search(rf"^ *(def|class) {last}\b|^{last}\b", file.read_text(), re.MULTILINE), (
            name
        )


@pytest.mark.parametrize("stage", sorted(set(STAGES) - {"decontaminate"}))
def test_every_filter_has_golden_verdicts(stage):
    assert (ROOT / "tests" / "golden" / f"{stage}.jsonl").is_file()


@pytest.fixture(scope="module")
def models(tmp_path_factory):
    folder = tmp_path_factory.mktemp("models")
    return {"quality": quality.saved(folder), "perplexity": perplexity.saved(folder)}


@pytest.mark.parametrize("path", sorted(RECIPES.glob("*.yaml")), ids=str)
def test_every_shipped_recipe_is_valid_once_it_has_what_it_takes(path, models, tmp_path):
    """Inputs, benchmarks, and models that are trained for it."""
    data = {**yaml.safe_load(path.read_text()), "inputs": [{"path": "docs.jsonl"}]}
    for step in data["steps"]:
        ((name, settings),) = step.items()
        if name == "decontaminate":
            settings["benchmarks"] = [{"name": "gsm8k", "path": "gsm8k.jsonl"}]
        if name in models:
            settings["model"] = str(models[name])
        if "label" in settings:
            settings["model"] = str(quality.saved_fasttext(tmp_path))
    assert make_recipe(data, where=path.name).steps


def yaml_block(name):
    """The block of a page that begins with `# name`."""
    (found,) = [block for block in blocks("yaml") if block.startswith(f"# {name}")]
    return found


def test_recipes_and_plans_of_the_pages_are_valid():
    given = {"tokenizer": {"path": "gpt2.json"}}
    assert make_recipe(yaml.safe_load(yaml_block("recipe.yaml")), where="a page").steps
    assert make_recipe(yaml.safe_load(yaml_block("pictures.yaml")), where="a page").images
    assert make_recipe({**yaml.safe_load(yaml_block("web.yaml")), **given}, where="a page").html
    mixed = make_recipe({**yaml.safe_load(yaml_block("mixed.yaml")), **given}, where="a page")
    assert [i.weight for i in mixed.inputs] == [0.25, 2.5]
    plan = parse_plan(yaml_block("plan.yaml"), where="a page")
    assert plan.stated("model.params")
    own = parse_plan(yaml_block("own.yaml"), where="a page")
    assert own.storage.candidates == tuple(tier.name for tier in own.tiers)
    assert own.remarks() == []
    assert requirement_sheet(own, {}).warnings == []
