"""The flow that a schedule runs each night: what it says of a collection, and shows of it."""

import gzip
import json
import urllib.request

import yaml

from tests.e2e.corpus import prose, write_corpus


def test_a_night_takes_what_is_new_and_one_without_says_so(server, tmp_path):
    from tokenmill.flows.ingest import ingest_flow  # once the server's address is set

    def artifact(key):
        with urllib.request.urlopen(f"{server}/artifacts/{key}/latest") as answer:
            return json.load(answer)

    def night():
        state = ingest_flow(str(path), str(into), return_state=True)
        assert state.is_completed(), state.message
        return state

    path, into = write_corpus(tmp_path, steps=["exact"]), tmp_path / "collection"
    data = yaml.safe_load(path.read_text())
    data["inputs"] = [str(tmp_path / "*.jsonl*")]
    path.write_text(yaml.safe_dump(data))
    (tmp_path / "docs.jsonl").write_text(json.dumps({"text": prose()[0]}))
    (first,) = night().result()["made"]
    (tmp_path / "more.jsonl").write_text(
        "".join(json.dumps({"text": text}) + "\n" for text in prose()[:3])
    )
    second = night()
    assert second.message.startswith(f"new: {second.result()['made'][0]}; ")
    nothing = night()
    assert nothing.message.startswith("nothing new; ")
    (tmp_path / "docs.jsonl").write_text(json.dumps({"text": prose()[4]}))
    assert "1 file changed, gone or begun anew, see the log" in night().message
    growth = artifact("growth-stdlib")
    shown = json.loads(growth["data"])
    assert [row["run"] for row in shown] == [first, *second.result()["made"], "all runs"]
    assert str(into) in growth["description"]
    assert "docs.jsonl has changed" in artifact("changed-stdlib")["data"]
    (tmp_path / "cut.jsonl.gz").write_bytes(gzip.compress(b'{"text": "a"}\n')[:-9])
    assert ingest_flow(str(path), str(into), return_state=True).is_failed()
