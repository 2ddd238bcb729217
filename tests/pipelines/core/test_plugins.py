"""Plug-ins: named by the environment, imported before a name is looked up, refused by name."""

import sys

import pytest

from tests.pages import blocks
from tests.pipelines.plugged import plug
from tests.strategies import document_batch
from tokenmill.pipelines.core.errors import ConfigError
from tokenmill.pipelines.core.plugins import VARIABLE, Registry, plugin_versions, plugins
from tokenmill.pipelines.core.step import STEPS
from tokenmill.pipelines.prepare.recipe import make_recipe
from tokenmill.pipelines.runs.bundle import check_process, versions
from tokenmill.pipelines.runs.work import Job

SOURCE = "from tests.pipelines.core.test_plugins import THINGS\nTHINGS.register('ours', {})\n"
GIVEN = {"inputs": ["a"], "tokenizer": {"path": "t.json"}}
THINGS: Registry[dict[str, int]] = Registry("thing")


@pytest.fixture
def plugin(tmp_path, monkeypatch):
    """The path of a module `thing_of_ours`, named in the environment."""
    path = tmp_path / "thing_of_ours.py"
    path.write_text(SOURCE)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setenv(VARIABLE, " thing_of_ours ,")
    monkeypatch.setattr(THINGS, "_things", {})
    yield path
    sys.modules.pop("thing_of_ours", None)


def test_a_look_imports_what_the_environment_names(plugin):
    assert "thing_of_ours" not in sys.modules
    assert dict(THINGS) == {"ours": {}}
    assert [module.__file__ for module in plugins()] == [str(plugin)]


def test_our_own_are_there_at_the_first_look(plugin, monkeypatch):
    monkeypatch.delenv(VARIABLE)
    assert len(THINGS) == 0
    monkeypatch.setattr(THINGS, "_own", ("thing_of_ours",))
    assert list(THINGS) == ["ours"]


def test_a_name_is_given_once(plugin):
    THINGS.register("mine", {"a": 1})
    mine = THINGS["mine"]
    THINGS.register("mine", mine)
    with pytest.raises(ConfigError) as e:
        THINGS.register("mine", {"a": 1})
    assert str(e.value) == (
        "thing 'mine' is registered twice; give the one of TOKENMILL_PLUGINS (thing_of_ours)"
        " another name"
    )


@pytest.mark.parametrize("name", ["", "Mine", "my-thing", "../mine", "1"])
def test_a_name_can_stand_in_recipes_and_paths(name):
    with pytest.raises(ConfigError, match="a name is of letters a-z, digits and _, as 'my_thing'"):
        Registry("thing").register(name, {})


@pytest.mark.parametrize("name", ["not_there_at_all", ".relative", "json."])
def test_a_plugin_that_is_not_there_is_the_users_mistake(monkeypatch, name):
    monkeypatch.setenv(VARIABLE, name)
    with pytest.raises(ConfigError) as e:
        make_recipe({**GIVEN, "steps": ["normalize"]}, where="r")  # of no place in it
    assert str(e.value).startswith(f"TOKENMILL_PLUGINS: cannot import {name!r} (")
    assert str(e.value).endswith("; install it or add its folder to PYTHONPATH")


NOT_A_MODULE = """from tokenmill.pipelines.core.step import Step, register
import sys
{line}
"""


@pytest.mark.parametrize(
    ("line", "told"),
    [
        (
            "class A(Step):\n    name = 'a'\n    least = 3",
            "3: PydanticUserError: A non-annotated attribute was detected: `least = 3`.",
        ),
        (
            "@register\nclass A(Step):\n    name = 'exact'",
            "3: step 'exact' is registered twice; give the one of TOKENMILL_PLUGINS (thing_of_ours)"
            " another name",
        ),
        ("import typingg", "3: ModuleNotFoundError: No module named 'typingg'"),
        ("sys.gone", "3: AttributeError: module 'sys' has no attribute 'gone'"),
        ("def f(:", "3: SyntaxError: invalid syntax (thing_of_ours.py, line 3)"),
    ],
)
def test_what_a_plugin_raises_is_told_with_its_place_and_no_other(plugin, line, told):
    plugin.write_text(NOT_A_MODULE.format(line=line))
    given = {**GIVEN, "steps": ["normalize"]}
    for look in (lambda: len(THINGS), lambda: make_recipe(given, where="r")):
        with pytest.raises(ConfigError) as e:
            look()
        assert str(e.value).startswith(f"TOKENMILL_PLUGINS: thing_of_ours: thing_of_ours.py:{told}")
        assert "\n" not in str(e.value)
        assert "PYTHONPATH" not in str(e.value)


def test_a_recipe_cannot_name_a_module(plugin, monkeypatch):
    monkeypatch.delenv(VARIABLE)
    for name in ("thing_of_ours", "thing_of_ours.Step", "thing_of_ours:Step"):
        with pytest.raises(ConfigError, match="unknown step"):
            make_recipe({**GIVEN, "steps": [name]}, where="r")
    for key in ("plugins", "modules"):
        with pytest.raises(ConfigError, match="unknown key"):
            make_recipe({**GIVEN, key: ["thing_of_ours"]}, where="r")
    assert "thing_of_ours" not in sys.modules


def test_two_processes_must_have_the_same_plugins(plugin, monkeypatch):
    ((name, digest),) = plugin_versions().items()
    assert (name, len(digest)) == ("plug-in thing_of_ours", 16)
    assert versions()[name] == digest
    plugin.write_text(SOURCE + "# another\n")
    assert plugin_versions()[name] != digest
    monkeypatch.delenv(VARIABLE)
    assert name not in versions()


def test_a_worker_without_the_plugin_is_refused_by_name(plugin, monkeypatch):
    wanted = versions()
    monkeypatch.delenv(VARIABLE)
    with pytest.raises(
        ConfigError, match="has plug-in thing_of_ours none, not [0-9a-f]{16}; install"
    ):
        check_process(Job(out=plugin.parent, identity="x"), wanted)


def test_the_plugin_of_the_page_filters(tmp_path, monkeypatch):
    (source,) = [block for block in blocks("python") if block.startswith("# my_steps.py")]
    (tmp_path / "my_steps.py").write_text(source)
    monkeypatch.syspath_prepend(tmp_path)
    plug(monkeypatch, "my_steps", STEPS)
    result = STEPS["lines"](min_lines=2)(document_batch(["one", "one\ntwo"]))
    assert result.kept["text"].to_pylist() == ["one\ntwo"]
    assert result.stats.removed == {"too_few_lines": 1}
