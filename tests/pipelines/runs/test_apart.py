import json
import os

import pytest

from tokenmill.pipelines.core.errors import ConfigError
from tokenmill.pipelines.core.shard import Input
from tokenmill.pipelines.runs.manifest import check_apart, refuse_runs


@pytest.fixture
def corpus(tmp_path):
    (tmp_path / "corpus" / "deep").mkdir(parents=True)
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "corpus")
    return tmp_path / "corpus"


@pytest.mark.parametrize("out", ["corpus/run", "elsewhere/../corpus/run", "link/deep/run"])
def test_an_output_in_the_corpus_is_refused_whatever_it_is_called(corpus, out):
    with pytest.raises(ConfigError, match="lies inside the input"):
        check_apart([Input(path=str(corpus))], corpus.parent / out)


@pytest.mark.parametrize("out", ["run", "corpus/../run", "corpus-2/run", "link/../run"])
def test_an_output_beside_the_corpus_is_not(corpus, out):
    check_apart([Input(path=str(corpus))], corpus.parent / out)


def test_a_corpus_named_by_a_link_is_known(corpus):
    with pytest.raises(ConfigError, match="lies inside the input"):
        check_apart([Input(path=os.fspath(corpus.parent / "link"))], corpus / "run")


def test_what_a_run_made_is_not_read(tmp_path):
    out = tmp_path / "run"
    (out / "dataset").mkdir(parents=True)
    refuse_runs([Input(path=str(out)), Input(path="s3://bucket/run")])
    recipe = {"inputs": [{"path": f"/in/{n}"} for n in range(5)]}
    (out / "manifest.json").write_text(json.dumps({"identity": {"recipe": recipe}}))
    for path in (out, out / "dataset"):
        with pytest.raises(ConfigError) as e:
            refuse_runs([Input(path=str(tmp_path)), Input(path=str(path))])
        assert str(e.value) == (
            f"{path}: a run of prepare, holds tokens, not text; get its text by `tokenmill export"
            f" {out} --format jsonl --text --out FOLDER`, or name its inputs:"
            " /in/0, /in/1, /in/2 and 2 more"
        )
    for kept in ("text", "webdataset"):
        (out / kept).mkdir()
        refuse_runs([Input(path=str(out / kept))])
    for status in ("running", "complete"):
        manifest = {"identity": {"recipe": recipe}, "status": status}
        (out / "manifest.json").write_text(json.dumps(manifest))
        (out / "10-filtered").mkdir(exist_ok=True)
        for path in (out, out / "dataset", out / "10-filtered"):
            with pytest.raises(ConfigError) as e:
                refuse_runs([Input(path=str(path))])
            way = f"{{path: {out}, from: run}} in a recipe, elsewhere {out} by itself, reads it"
            kept_text = f"{path}: of a run of prepare that kept its text; {way}"
            assert (str(e.value) == kept_text) == (status == "complete")


@pytest.mark.parametrize("text", ["{", "[]", '{"files": []}', '{"identity": 5}'])
def test_a_manifest_of_others_is_no_run(tmp_path, text):
    (tmp_path / "manifest.json").write_text(text)
    refuse_runs([Input(path=str(tmp_path))])
