"""`tokenmill serve` on a real server: a run from its form, one that the roots refuse, its end."""

import json
import re
import time
import urllib.request

import psutil
import pytest

from tests.cluster import runs
from tests.cluster.browser import CHROMIUM, WHY_NOT, tab_of
from tests.cluster.prefect_server import ASKED_EVERY_S
from tests.cluster.processes import eventually, running
from tests.cluster.test_prefect import flow_runs, rows
from tests.e2e.corpus import prose, write_corpus
from tests.receipts import receipts
from tokenmill.flows.serve import FLOWS
from tokenmill.pipelines.core.places import VARIABLE

WITHIN_S = 180
CANCELLED_S = 180  # Prefect kills what is there then
ENDED = ("COMPLETED", "FAILED", "CRASHED", "CANCELLED")


@pytest.fixture
def served(prefect_server, tmp_path):
    """A process that serves with `tmp_path` as its only root."""
    recipe, out = write_corpus(tmp_path), tmp_path / "run"
    command = [str(runs.TOKENMILL), "serve", str(recipe), "--out", str(out), "--json"]
    env = {**prefect_server.client_env, VARIABLE: str(tmp_path)}
    with running(command, log=tmp_path / "log", env=env) as program:
        program.wait_until(lambda: found(prefect_server), within_s=WITHIN_S, pause_s=ASKED_EVERY_S)
        yield program


def found(server):
    """The ids of served deployments, by flow."""
    names = {flow["id"]: flow["name"] for flow in rows(server, "flows")}
    made = [d for d in rows(server, "deployments") if d["name"] == "served"]
    ids = {names[d["flow_id"]]: d["id"] for d in made}
    return ids if len(ids) == len(FLOWS) else {}


def asked(server, deployment, **parameters):
    """The id of a new flow run of a deployment."""
    body = json.dumps({"parameters": parameters}).encode()
    return json.loads(server.post(f"/deployments/{deployment}/create_flow_run", body))["id"]


def ended(server, flow_run):
    """A flow run, once it has ended."""

    def found():
        run = json.loads(server.get(f"/flow_runs/{flow_run}"))
        return run if run["state"]["type"] in ENDED else None

    return eventually("a run", found, within_s=WITHIN_S, pause_s=0.5)


def ran(server, deployment, **parameters):
    """The flow run of a deployment, once it has ended."""
    return ended(server, asked(server, deployment, **parameters))


def test_a_form_runs_what_it_begins_with_and_nothing_beyond_the_roots(
    served, prefect_server, tmp_path
):
    deployments = found(prefect_server)
    refused = ran(prefect_server, deployments["size-cluster"], corpus="/etc/passwd")
    assert refused["state"]["type"] == "FAILED"
    told = f"size-cluster: corpus: /etc/passwd: lies outside of {VARIABLE} ({tmp_path})"
    assert refused["state"]["message"] == told
    relative = ran(prefect_server, deployments["prepare-corpus"], out="run")
    assert "'run': give the whole path" in relative["state"]["message"]
    done = ran(prefect_server, deployments["prepare-corpus"])
    assert done["state"]["type"] == "COMPLETED", done["state"]
    assert done["name"] == f"prepare stdlib, {tmp_path / 'run'}"
    assert not runs.unbalanced(tmp_path / "run")

    def groups():
        logs = rows(prefect_server, "logs", logs={"flow_run_id": {"any_": [done["id"]]}})
        lines = [log["message"] for log in logs]
        return [line for line in lines if "documents in" in line and line.startswith("pass-0 ")]

    eventually("logs of groups, which come behind the state", groups, within_s=WITHIN_S)
    served.process.terminate()
    assert served.process.wait(WITHIN_S) is not None
    log = (tmp_path / "log").read_text()
    assert not re.search(r'File ".*/flows/', log), (
        log
    )  # Prefect's own tracebacks at its end are its


FIELD = (  # of the run form, with its label, its description and what is typed into
    "[...document.querySelectorAll('label span')].find(s => s.innerText === '{name}')"
    "?.closest('label').parentElement.parentElement"
)
SUBMIT = "document.querySelector('button[type=submit]')"
LEFT = "!location.pathname.endsWith('/run')"
MISSING = """document.body.innerText.includes("'out' is a required property")"""


@pytest.mark.skipif(CHROMIUM is None, reason=WHY_NOT)
def test_a_check_is_begun_by_typing_into_its_form(served, prefect_server, tmp_path):
    items, out = tmp_path / "items.jsonl", tmp_path / "check"
    items.write_text("".join(json.dumps({"question": text}) + "\n" for text in prose()[:3]))
    deployment = found(prefect_server)["check-contamination"]
    page = f"{prefect_server.ui}/deployments/deployment/{deployment}/run"
    with tab_of(page, tmp_path / "browser.log") as tab:
        typed = {"corpus": tmp_path / "docs.jsonl", "benchmarks": f"quiz={items}:question"}
        for name, value in typed.items():
            field = FIELD.format(name=name)
            tab.click(f"{field}?.querySelector('fieldset button')")  # Add item
            tab.type(f"{field}?.querySelector('textarea')", str(value))
        tab.click(SUBMIT)
        tab.wait_for(f"{MISSING} === true")
        tab.type(f"{FIELD.format(name='out')}?.querySelector('textarea')", str(out))
        while not tab.finds(LEFT):  # what is typed counts a second later, or at the next click
            tab.wait_for(f"{MISSING} === false")
            tab.click(SUBMIT)
            tab.wait_for(f"{LEFT} || {MISSING}")

        def of_form():
            made = flow_runs(prefect_server, "check-contamination")
            runs_of = [run for run in made if run["deployment_id"] == deployment]
            return [run for run in runs_of if run["state"]["type"] in ENDED]

        (done,) = eventually("its run", of_form, within_s=WITHIN_S, pause_s=0.5)
    assert done["state"]["type"] == "COMPLETED", done["state"]
    assert done["name"] == f"check {out}"
    (benchmark,) = json.loads((out / "contamination.json").read_text())["benchmarks"]
    assert (benchmark["name"], benchmark["dirty"]) == ("quiz", 3)
    assert "quiz" in (out / "contamination.html").read_text()


def test_a_run_that_the_ui_cancels_leaves_no_process_and_is_continued(
    served, prefect_server, tmp_path
):
    folder, out = tmp_path / "many", tmp_path / "cancelled"
    folder.mkdir()
    recipe = write_corpus(folder, shard_bytes="2kB")
    deployment, others = found(prefect_server)["prepare-corpus"], set(served.children())
    flow_run = asked(prefect_server, deployment, recipe=str(recipe), out=str(out))
    served.wait_until(lambda: runs.n_done(out) > 3, within_s=WITHIN_S)
    at_work = [process for process in served.children() if process not in others]
    assert at_work
    cancel = {"state": {"type": "CANCELLING", "name": "Cancelling"}, "force": False}
    prefect_server.post(f"/flow_runs/{flow_run}/set_state", json.dumps(cancel).encode())
    _, living = psutil.wait_procs(at_work, timeout=CANCELLED_S)
    assert not living
    assert ended(prefect_server, flow_run)["state"]["type"] == "CANCELLED"
    done = receipts(out)
    assert len(done) > 3
    assert not (out / "dataset").exists()
    runs.prepared(recipe, out, env=prefect_server.client_env)
    continued = receipts(out)
    assert {name: continued[name] for name in done} == done  # none was done again
    assert not runs.unbalanced(out)


def test_an_artifact_links_to_a_page_that_a_browser_can_open(served, prefect_server, tmp_path):
    deployment = found(prefect_server)["size-cluster"]
    out = tmp_path / "sheet"
    done = ran(prefect_server, deployment, plan="gpt2-124m-8-h100", out=str(out))
    assert done["state"]["type"] == "COMPLETED", done["state"]
    made = json.loads(prefect_server.get("/artifacts/storage-requirements/latest"))
    (link,) = re.findall(r"\((http://127\.0\.0\.1:\d+/\S+)\)", made["description"])
    with urllib.request.urlopen(link, timeout=60) as page:
        assert page.read() == (out / "requirements.html").read_bytes()


def test_a_server_that_goes_and_comes_back_is_two_lines(served, prefect_server, tmp_path):
    def told(line):
        return lambda: line in (tmp_path / "log").read_text()

    def served_again():
        return (tmp_path / "log").read_text().count('"deployments": [') > 1

    ran(prefect_server, found(prefect_server)["size-cluster"])  # it serves
    prefect_server.kill()
    served.wait_until(told("is gone; runs at work go on"), within_s=WITHIN_S)
    time.sleep(35)  # Prefect's own loops give up by then
    prefect_server.start()
    served.wait_until(told("is back"), within_s=WITHIN_S)
    eventually("deployments", served_again, within_s=WITHIN_S)
    eventually("deployments", lambda: found(prefect_server), within_s=WITHIN_S)
    done = ran(prefect_server, found(prefect_server)["size-cluster"])
    assert done["state"]["type"] == "COMPLETED", done["state"]
    assert done["name"] == "size by defaults"
    assert "Traceback" not in (tmp_path / "log").read_text()
