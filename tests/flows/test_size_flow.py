"""The flow as a deployment runs it, against the tests' own server: artifacts, files, mistakes."""

import json
import urllib.request

import pytest

from tests.sizing.corpora import report
from tokenmill.pipelines.core.errors import ConfigError
from tokenmill.sizing.errors import PlanError
from tokenmill.sizing.report.outline import sheet_markdown
from tokenmill.sizing.requirements import size

EXAMPLE = "image-text-8b-1024-h100"


@pytest.fixture
def size_cluster(server):
    from tokenmill.flows.size import size_cluster  # once the server's address is set

    return size_cluster


@pytest.fixture
def artifact(server):
    """The newest artifact of a key, as the server has it."""

    def newest(key):
        with urllib.request.urlopen(f"{server}/artifacts/{key}/latest") as answer:
            return json.load(answer)["data"]

    return newest


def test_the_sheet_is_published_as_a_table_and_as_a_document(size_cluster, artifact, tmp_path):
    data = size_cluster(EXAMPLE, changes={"model.params": "70B"}, out=tmp_path)
    sheet = size(EXAMPLE, changes={"model.params": "70B"})
    table = json.loads(artifact("storage-requirements"))
    assert [row["requirement"] for row in table] == [row.name for row in sheet]
    (one,) = [row for row in table if row["requirement"] == "one checkpoint"]
    assert one == {
        "section": "Checkpoints",
        "requirement": "one checkpoint",
        "value": "980 GB",
        "95 % interval": "",
        "rests on": "stated, chosen",
    }
    assert artifact("storage-requirements-sheet") == sheet_markdown(sheet)
    assert json.loads((tmp_path / "requirements.json").read_text()) == json.loads(json.dumps(data))


def test_a_measured_corpus_is_read(size_cluster, artifact, tmp_path):
    (tmp_path / "report.json").write_text(json.dumps(report()))
    data = size_cluster(corpus=tmp_path)
    assert data["corpora"]["corpus"]["name"] == "docs"
    assert "measured" in json.loads(artifact("storage-requirements"))[3]["rests on"]


def test_a_mistake_in_the_plan_fails_the_run_with_its_message(size_cluster):
    with pytest.raises(PlanError, match="examples: gpt2-124m"):
        size_cluster("nothing-of-this-name")
    with pytest.raises(PlanError, match="unknown key 'param'; did you mean 'params'"):
        size_cluster(changes={"model.param": 1})


def test_parameters_are_typed(size_cluster):
    with pytest.raises(ConfigError, match=r"^size-cluster: changes: Input should be a valid dict"):
        size_cluster(changes=["model.params"])
    with pytest.raises(TypeError, match="unexpected keyword argument 'change'"):
        size_cluster(change={})


def test_a_run_without_a_plan_has_a_name(size_cluster, server):
    state = size_cluster(return_state=True)
    with urllib.request.urlopen(f"{server}/flow_runs/{state.state_details.flow_run_id}") as answer:
        assert json.load(answer)["name"] == "size by defaults"
