"""No text that a form, a command or a plan takes is a place that nothing holds to the roots."""

import argparse
import inspect
from typing import get_origin

import pytest
from pydantic import BaseModel

from tests.pipelines.core.test_roots import is_behind_the_door, kinds
from tokenmill.flows.cli import FileOrName, Named, main, parser
from tokenmill.pipelines.core.errors import ConfigError
from tokenmill.pipelines.core.places import VARIABLE
from tokenmill.sizing.plan.plan import Plan

# of flows: names and sizes
NO_PLACES = {
    "prepare-corpus": set(),
    "ingest-collection": set(),
    "measure-corpus": {"sample", "budget", "grow_to"},
    "check-contamination": {"benchmarks", "exclude", "text_column"},  # see `parse_benchmark`
    "size-cluster": set(),
    "probe-storage": set(),
}
# of commands: words, names, sizes, and what is read as settings of a recipe or plan
NO_PLACES_HERE = {
    "account", "address", "benchmark", "budget", "checkpoint_bytes", "containment", "cron", "doc",
    "exclude", "fail_on", "fill", "folding", "format", "grow_to", "id", "most_docs", "name",
    "ngram", "order", "paraphrases", "reason", "runner", "sample", "set", "shard_bytes", "split",
    "text_column", "vary", "verdict",
}  # fmt: skip
PLAN_PLACES = {"path"}  # opened by `sizing.roots.held`
# of rows of tables, and what is said of them
NAMES_OF_A_PLAN = {
    "access", "accelerator", "aliases", "candidates", "name", "note", "recipe", "redundancy",
    "source", "sources", "unverified",
}  # fmt: skip


@pytest.fixture
def flow(request):
    from tokenmill.flows.serve import FLOWS  # Prefect takes a second that few processes need

    assert {flow.name for flow in FLOWS} == NO_PLACES.keys()
    return next(flow for flow in FLOWS if flow.name == request.param)


@pytest.mark.parametrize("flow", NO_PLACES, indirect=True)
def test_each_parameter_of_a_flow_that_is_text_is_behind_the_door(flow):
    taken = inspect.signature(flow.fn).parameters
    open_ones = {n for n, p in taken.items() if not is_behind_the_door(p.annotation)}
    assert open_ones == NO_PLACES[flow.name], "make it Named or FileOrName, or list it"


def commands():
    (choices,) = (a.choices for a in parser()._actions if isinstance(a, argparse._SubParsersAction))
    return choices.items()


@pytest.mark.parametrize(("name", "command"), list(commands()))
def test_each_option_of_a_command_that_is_text_is_behind_the_door(name, command):
    for action in command._actions:
        takes_text = action.nargs != 0 and action.type not in (int, float, Named, FileOrName)
        told = f"{name} {action.dest}: make it Named, or list it"
        assert not takes_text or action.dest in NO_PLACES_HERE, told


def test_each_field_of_a_plan_that_is_text_is_known():
    waiting, found = [Plan], set()
    while waiting:
        model = waiting.pop()
        for name, field in model.model_fields.items():
            found |= set() if is_behind_the_door(field.annotation, field.metadata) else {name}
            of = [k for k in kinds(field.annotation) if isinstance(k, type)]
            waiting += [k for k in of if issubclass(k, BaseModel)]
    assert found == PLAN_PLACES | NAMES_OF_A_PLAN


@pytest.fixture
def data(tmp_path, monkeypatch):
    """A root, and a secret outside of it that nobody may see."""
    folder = tmp_path / "data"
    folder.mkdir()
    (tmp_path / "secret").mkdir()
    (tmp_path / "secret" / "plan.yaml").write_text("model: {params: 8e9}\n")
    (tmp_path / "secret" / "report.json").write_text('{"measurement": {}}')
    monkeypatch.setenv(VARIABLE, str(folder))
    monkeypatch.chdir(folder)
    return folder


def named():
    """Each option of a command that names a place, as a command line that names one outside."""
    for name, command in commands():
        for action in command._actions:
            if not (isinstance(action.type, type) and issubclass(action.type, Named)):
                continue
            given = [name]
            for other in command._actions:
                text = "{secret}" if other is action else "{data}/new"
                flag = other.option_strings[-1:]
                needed = other.required or other is action
                if needed and other.choices:
                    given += [*flag, next(iter(other.choices))]
                elif needed and other.nargs != 0:
                    given += [*flag, text]
            yield pytest.param(given, id=f"{name} {action.dest}")


@pytest.mark.parametrize("line", list(named()))
@pytest.mark.parametrize("way", ["{secret}/plan.yaml", "../secret/plan.yaml", "link/plan.yaml"])
def test_what_a_command_names_outside_is_refused_in_one_line(data, line, way, capsys):
    (data / "link").symlink_to(data.parent / "secret")
    secret = way.format(secret=data.parent / "secret")
    assert main([part.format(secret=secret, data=data) for part in line]) == 2
    (told,) = capsys.readouterr().err.splitlines()
    assert f"{secret}: lies outside of {VARIABLE}" in told


@pytest.mark.parametrize(
    "line",
    [
        ["size", "--vary", "corpus.path=../secret/report.json"],
        ["size", "plan.yaml"],
        ["prepare", "r.yaml", "--out", "run", "--plan", "plan.yaml"],
        ["prepare", "r.yaml", "--out", "run", "--set", "against=[../secret]"],
        ["prepare", "r.yaml", "--out", "run", "--set", "run.scratch=../secret"],
        ["contamination", "a.jsonl", "--out", "c", "--benchmark", "b=../secret/report.json"],
    ],
)
def test_nor_does_what_is_named_in_a_setting_or_a_file(data, line, capsys):
    (data / "a.jsonl").write_text('{"text": "a"}\n')
    (data / "plan.yaml").write_text("corpus: {path: ../secret/report.json}\n")
    (data / "r.yaml").write_text("inputs: [a.jsonl]\ntokenizer: {path: a/b}\n")
    assert main(line) == 2
    (told,) = capsys.readouterr().err.splitlines()
    assert f"outside of {VARIABLE}" in told


@pytest.mark.parametrize("flow", NO_PLACES, indirect=True)
def test_what_a_form_names_outside_is_refused(data, flow):
    from tokenmill.flows.prefect.flow_run import checked

    taken = inspect.signature(flow.fn).parameters
    several = {n for n, p in taken.items() if get_origin(p.annotation) is list}
    needed = {
        n: ["new"] if n in several else "new" for n, p in taken.items() if p.default is p.empty
    }
    places = {
        n
        for n, p in taken.items()
        if "within_roots" in repr(p.annotation) or "file_or_name" in repr(p.annotation)
    } | several
    assert {"out", "into"} & places
    for name in places - NO_PLACES[flow.name]:
        value = ["/etc/passwd"] if name in several else "/etc/passwd"
        with pytest.raises(ConfigError, match=rf"{name}.*: /etc/passwd: lies outside of"):
            checked(flow.fn, {**needed, name: value}, flow.name)
