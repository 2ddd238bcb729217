"""Whole runs from web archives to a dataset: the same whatever packs, cuts and orders them."""

import json

import pytest
import yaml
from datasets import load_from_disk

from tests.pipelines.conftest import train
from tests.pipelines.read.web.archives import (
    DATE,
    SUFFIX,
    archive,
    html,
    http,
    page,
    record,
    response,
    words,
)
from tests.running import one_by_one, prepare
from tokenmill.flows.cli import main
from tokenmill.pipelines.core.errors import ConfigError
from tokenmill.pipelines.prepare.dry_run import dry_run
from tokenmill.pipelines.prepare.inspect import documents, removals
from tokenmill.pipelines.prepare.prepare import run_recipe
from tokenmill.pipelines.prepare.recipe import load_recipe, make_recipe

SAME = words(0)
STEPS = ["normalize", {"same_url": {}}, {"exact": {}}, {"c4": {"min_sentences": 1}}]


def crawl():
    """Records with all that can become of them."""
    pages = [page(i, f"This is page {i}. {words(i).replace(',', '.')}") for i in range(40)]
    return [
        record("warcinfo", b"software: x"),
        *pages,
        page(3, "This is page 3, crawled again some time later, and its text is another one."),
        response(90, http(html("a"), status="404 Not Found")),
        response(91, http(b"<div>" * 1000)),
        response(92, http(b"GIF89a", type="image/gif")),
        record("conversion", b"Text of a page. It was made by others.", Content_Type="text/plain",
               WARC_Record_ID="<c>", WARC_Target_URI="http://c/"),
    ]  # fmt: skip


def run(folder, tokenizer, name, **settings):
    data = {
        "inputs": [{"path": str(folder / "in"), "source": "web"}],
        "tokenizer": {"path": str(tokenizer), "eos": "<|endoftext|>"},
        "html": {},
        "steps": STEPS,
        **settings,
    }
    path = folder / f"{name}.yaml"
    path.write_text(yaml.safe_dump(data))
    return prepare(load_recipe(path), folder / name, one_by_one)


@pytest.fixture(scope="module")
def tokenizer(tmp_path_factory):
    return train(tmp_path_factory.mktemp("tokenizer"))


@pytest.mark.parametrize("packing", [None, "gzip", "zstd", "lz4"])
def test_a_dataset_does_not_depend_on_how_its_archive_is_packed_and_cut(
    tmp_path, tokenizer, packing
):
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / f"crawl.warc{SUFFIX[packing]}").write_bytes(archive(crawl(), packing))
    report = run(tmp_path, tokenizer, "run", shard_bytes=20_000)
    shards = report["inputs"]["shards"]
    assert (shards > 1) == (packing != "lz4")
    read = report["ledger"][0]
    assert (read["docs_in"], read["docs_out"], read["failed"]) == (43, 42, {"too_deep": 1})
    rows = load_from_disk(str(tmp_path / "run" / "dataset"))
    assert rows.column_names[4:] == ["url", "date", "content_type", "copies_exact"]
    by_url = {row["url"]: row for row in rows}
    assert by_url["http://example.org/7"]["date"].isoformat() == DATE.replace("Z", "+00:00")
    assert by_url["http://c/"]["content_type"] == "text/plain"
    assert len(rows) == 41
    assert report["notes"] == {
        "records_response": 44,
        "records_conversion": 1,
        "records_warcinfo": 1,
        "skipped_image/gif": 1,
        "skipped_status_404": 1,
        "skipped_warcinfo": 1,
    }


def test_documents_and_receipts_are_found_again(tmp_path, tokenizer, capsys):
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "crawl.warc.gz").write_bytes(archive(crawl()))
    run(tmp_path, tokenizer, "run")
    (failed,) = removals(tmp_path / "run", reason="too_deep").to_pylist()
    assert (failed["id"], failed["url"]) == ("<urn:uuid:0091>", "http://example.org/91")
    (again,) = removals(tmp_path / "run", reason="same_url").to_pylist()
    assert again["url"] == "http://example.org/3"
    assert main(["inspect", str(tmp_path / "run"), "--reason", "same_url"]) == 0
    assert "http://example.org/3" in capsys.readouterr().out
    assert main(["inspect", str(tmp_path / "run"), "--doc", "8"]) == 0
    assert "url: http://example.org/8" in capsys.readouterr().out
    (found,) = documents(tmp_path / "run", [8]).values()
    assert found["url"] == "http://example.org/8"
    assert found["text"].startswith("This is page 8. word8x0 is here.")
    assert main(["inspect", str(tmp_path / "run"), "--doc", "8", "--json"]) == 0
    kept = json.loads(capsys.readouterr().out)["kept"]
    assert kept["date"] == found["date"].isoformat() == DATE.replace("Z", "+00:00")
    assert main(["inspect", str(tmp_path / "run"), "--documents", "--json"]) == 0
    shown = json.loads(capsys.readouterr().out)
    assert {row["date"] for row in shown if row["id"] == found["id"]} == {kept["date"]}


def test_a_run_is_known_by_its_extractor(tmp_path, tokenizer):
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "crawl.warc.gz").write_bytes(archive(crawl()[:5]))
    run(tmp_path, tokenizer, "run", steps=[])
    identity = json.loads((tmp_path / "run" / "manifest.json").read_text())["identity"]
    assert identity["recipe"]["html"]["extractor"] == "resiliparse"
    assert identity["versions"]["resiliparse"]
    with pytest.raises(ConfigError, match="html"):
        run(tmp_path, tokenizer, "run", steps=[], html={"main_content": False})


def test_runs_of_text_know_nothing_of_pages(tmp_path, tokenizer):
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "docs.jsonl").write_text('{"text": "one", "url": "http://a/"}\n')
    run(tmp_path, tokenizer, "run", steps=[], html=None)
    identity = json.loads((tmp_path / "run" / "manifest.json").read_text())["identity"]
    assert identity["recipe"]["html"] is None
    assert "resiliparse" not in identity["versions"]
    names = load_from_disk(str(tmp_path / "run" / "dataset")).column_names
    assert names == ["input_ids", "doc_id", "id", "source"]


@pytest.mark.parametrize(
    ("html", "images", "message"),
    [
        ({"extractor": "lynx"}, None, "html.extractor: "),
        ({"max_dept": 3}, None, "html: unknown key 'max_dept'; did you mean 'max_depth'?"),
        ({}, {}, "images of web pages are not read yet; leave out 'images' or 'html'"),
    ],
)
def test_mistakes_are_named(tmp_path, tokenizer, html, images, message):
    with pytest.raises(ConfigError) as e:
        run(tmp_path, tokenizer, "run", steps=[], html=html, images=images)
    assert message in str(e.value)


def test_a_dry_run_takes_all_of_archives_for_text_however_they_begin(tmp_path, tokenizer, capsys):
    markup = "<script>var x = 1;</script>" * 200
    pages = [page(i, f"{words(i)}</p>{markup}<p>") for i in range(60)]
    pages += [page(i, " ".join(map(words, range(i, i + 30)))) for i in range(60, 120)]
    (tmp_path / "pages.warc").write_bytes(archive(pages, None))
    (tmp_path / "docs.jsonl").write_text('{"text": "one"}\n')
    inputs = [str(tmp_path / name) for name in ("pages.warc", "docs.jsonl")]
    data = {"inputs": inputs, "tokenizer": {"path": str(tokenizer)}, "html": {}}
    recipe = make_recipe(data, where="test")
    planned = dry_run(recipe, tmp_path / "run")
    made = run_recipe(recipe, tmp_path / "run", one_by_one).total
    assert made.text_bytes <= planned["text_bytes"]
    assert planned["page_bytes"] == planned["text_bytes"] - 16
    (tmp_path / "recipe.yaml").write_text(yaml.safe_dump(data))
    arguments = ["prepare", str(tmp_path / "recipe.yaml"), "--out", str(tmp_path / "new")]
    assert main([*arguments, "--dry-run"]) == 0
    assert "web archives are text, markup too: " in capsys.readouterr().out
