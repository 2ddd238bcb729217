"""`tokenmill serve`: what it refuses, and what it would serve; runs of it are in tests/cluster."""

import os
import re
import shlex
import subprocess
import sys
import threading
from itertools import takewhile
from pathlib import Path

import pytest
import yaml

from tests.e2e.corpus import write_corpus
from tests.pages import PAGES, command_lines
from tokenmill.flows.cli import main, parser
from tokenmill.flows.commands.serve import parse_parameters
from tokenmill.pipelines.core.places import VARIABLE

ROOT = Path(__file__).parent.parent.parent


@pytest.fixture
def alone(monkeypatch, tmp_path):
    """No server is named."""
    monkeypatch.delenv("PREFECT_API_URL", raising=False)
    monkeypatch.setenv("PREFECT_HOME", str(tmp_path / "home"))


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (
            [],
            "no Prefect server is named; start one: DO_NOT_TRACK=1 PREFECT_SERVER_",
        ),
        (["--cron", "0 3 * * *"], "--cron is of a run that is served; give RECIPE and --out too"),
        (["c4"], "RECIPE is of a run that is served; give --out too"),
        (["nothing", "--out", "run"], "no recipe file 'nothing', and none of that name ships"),
        (["--limit", "0"], "--limit 0: must be 1 at least"),
        (["--interval", "0"], "--interval 0.0: must be over 0, and 1e13 at most"),
        (["--interval", "inf"], "--interval inf: must be over 0"),
        (["--cron", "every day"], "--cron 'every day': Prefect takes no such schedule; write it"),
        (["--cron", ""], "--cron '': Prefect takes no such schedule"),
    ],
)
def test_a_mistake_is_one_line(alone, capsys, words, told):
    assert main(["serve", *words]) == 2
    captured = capsys.readouterr()
    assert captured.err.startswith(f"tokenmill serve: {told}")
    assert captured.err.count("\n") == 1
    assert captured.out == ""


def test_roots_that_say_nothing_are_told_before_anything_is_served(alone, capsys, monkeypatch):
    monkeypatch.setenv(VARIABLE, "")
    assert main(["serve"]) == 2
    assert "TOKENMILL_ROOTS is empty" in capsys.readouterr().err


def test_a_recipe_is_where_the_form_begins(tmp_path):
    recipe = write_corpus(tmp_path)
    words = ["serve", str(recipe), "--out", str(tmp_path / "run"), "--workers", "2"]
    assert parse_parameters(parser().parse_args([*words, "--set", "name=mine"])) == {
        "recipe": str(recipe),
        "out": str(tmp_path / "run"),
        "settings": {"name": "mine", "run.workers": 2},
    }


def test_each_flow_is_a_deployment_with_its_schema(server):
    from tokenmill.flows.serve import FLOWS, deployments

    made = deployments({"recipe": "c4", "out": "/run"}, cron="0 3 * * *", interval_s=None)
    assert [d.flow_name for d in made] == [flow.name for flow in FLOWS]
    assert [bool(d.schedules) for d in made] == [True, False, False, False, False, False]
    ingesting = deployments({"recipe": "c4", "into": "/c"}, cron="0 3 * * *", interval_s=None)
    assert [d.flow_name for d in ingesting if d.schedules] == ["ingest-collection"]
    for d in made:
        module, _, name = d.entrypoint.rpartition(".")
        assert (module, name) in {(f.__module__, f.__name__) for f in FLOWS}
        schema = d._parameter_openapi_schema
        told = [p.get("description") for p in schema.properties.values()]
        assert all(told), (d.flow_name, dict(zip(schema.properties, told, strict=True)))


def test_every_option_reaches_what_is_served(server, tmp_path, monkeypatch, capsys):
    import tokenmill.flows.serve as module

    served = []
    monkeypatch.setattr(module, "serve", lambda *made, **how: served.append((made, how)))
    words = ["serve", str(write_corpus(tmp_path)), "--out", str(tmp_path / "run")]
    assert main([*words, "--cron", "0 3 * * *", "--limit", "3", "--json"]) == 130
    assert main([*words, "--interval", "90"]) == 130
    assert main(["serve"]) == 130
    assert "outages" not in {thread.name for thread in threading.enumerate()}
    at, every, never = [made[0].schedules for made, _ in served]
    assert (at[0].schedule.cron, every[0].schedule.interval.seconds) == ("0 3 * * *", 90)
    assert (len(at), len(every), len(never)) == (1, 1, 0)
    out = str(tmp_path / "run")
    assert [made[0].parameters.get("out") for made, _ in served] == [out, out, None]
    assert [how for _, how in served] == [
        {"limit": 3, "print_starting_message": False},
        {"limit": 1, "print_starting_message": True},
        {"limit": 1, "print_starting_message": True},
    ]


def test_prefects_telemetry_is_off_in_every_command_that_a_page_tells():
    from tokenmill.flows.prefect.noted import START

    def settings(line, exported):
        words = shlex.split(line, comments=True)
        if words[0] == "export":
            exported |= dict(word.split("=", 1) for word in words[1:])
            return None
        own = [words.pop(0).split("=", 1) for _ in takewhile(lambda w: "=" in w, list(words))]
        return words, exported | dict(own)

    of_pages = [command_lines(page) for page in PAGES]
    comments = (ROOT / "prefect.yaml").read_text().splitlines()
    of_comments = [line[4:] for line in comments if re.match("#   [a-z]", line)]
    told = 0
    for lines in [*of_pages, of_comments, [START]]:
        exported = {}
        for words, env in filter(None, (settings(line, exported) for line in lines)):
            if words[0] == "prefect":
                told += 1
                assert env.get("DO_NOT_TRACK") == "1", words
            if words[:3] == ["prefect", "server", "start"]:
                assert env["PREFECT_SERVER_ANALYTICS_ENABLED"] == "false"
    assert told > 8


IMPORTING = """
import os, sys
from importlib.abc import MetaPathFinder
class Told(MetaPathFinder):
    def find_spec(self, name, path, target=None):
        if name == "prefect":
            sys.exit(77 if os.environ.get("DO_NOT_TRACK") == "1" else 78)
sys.meta_path.insert(0, Told())
from tokenmill.flows.cli import main
main(sys.argv[1:])
"""


@pytest.mark.long_but("serve")  # one command of the two
@pytest.mark.parametrize("line", ["serve", "prepare {recipe} --out run"])
def test_our_own_commands_set_it_before_prefect_is_imported(line, tmp_path):
    told = line.format(recipe=write_corpus(tmp_path)).split()
    env = {**os.environ, "PREFECT_API_URL": "http://127.0.0.1:1/api"}
    env.pop("DO_NOT_TRACK", None)
    command = [sys.executable, "-c", IMPORTING, *told]
    ended = subprocess.run(command, cwd=tmp_path, env=env, capture_output=True)
    assert ended.returncode == 77, ended.stderr


def test_no_run_is_called_after_what_is_not_given(server):
    from tokenmill.flows.serve import FLOWS

    for flow in FLOWS:
        named = re.findall(r"{(\w+)}", str(flow.flow_run_name))
        assert all(flow.parameters.properties[n].get("default", n) is not None for n in named)


def test_zombies_are_looked_for_once(server):
    from prefect.client.orchestration import get_client

    from tokenmill.flows.serve import ZOMBIES, crash_zombies

    crash_zombies()
    crash_zombies()
    with get_client(sync_client=True) as client:
        (made,) = client.read_automations_by_name(ZOMBIES)
    assert made.enabled
    assert made.trigger.within.total_seconds() > 180


def test_prefect_yaml_deploys_every_flow_and_runs_none_by_itself(server):
    from tokenmill.flows.serve import FLOWS

    config = yaml.safe_load((ROOT / "prefect.yaml").read_text())
    entrypoints = {d["entrypoint"] for d in config["deployments"]}
    assert entrypoints == {f"{f.__module__}.{f.__name__}" for f in FLOWS}
    assert config["pull"] == []
    for d in config["deployments"]:
        assert all(not s["active"] for s in d.get("schedules", ()))
        assert d["work_pool"]["name"] == "tokenmill"


def test_no_flow_module_has_annotations_that_are_text():
    for path in (ROOT / "flows").glob("*.py"):
        assert not re.search("^from __future__ import annotations", path.read_text(), re.M), path


def test_every_setting_in_a_form_says_what_it_is(server):
    from tokenmill.flows.serve import deployments

    told = 0
    for d in deployments(None, cron=None, interval_s=None):
        for name, section in d._parameter_openapi_schema.definitions.items():
            for key, setting in section["properties"].items():
                assert "description" in setting or "$ref" in setting, f"{d.flow_name}: {name}.{key}"
                told += "description" in setting
    assert told > 40
