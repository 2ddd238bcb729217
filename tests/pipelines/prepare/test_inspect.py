"""A piece and its document, looked at when the run has ended and its intermediates are gone."""

import json
import re

import pytest
import yaml
from datasets import load_from_disk

from tests.pipelines.conftest import train
from tests.running import one_by_one, prepare
from tokenmill.flows.cli import main
from tokenmill.pipelines.prepare.inspect import cut_out, documents, pieces, removals
from tokenmill.pipelines.prepare.recipe import load_recipe, make_recipe

LEAK = "Natalia sold clips to 48 of her friends in April, and then she sold half as many in May"


def words(of):
    return " ".join(f"{of}{i}" for i in range(120))


# line ends and a decomposed letter: what is cut has other bytes than what was read
URL = "https://a.example/?of="
WHOLE = f"e\u0301 {words('a')}\r\n{LEAK}\r\nshort {LEAK} {words('b')}\r\n"


@pytest.fixture(scope="module")
def out(tmp_path_factory):
    folder = tmp_path_factory.mktemp("pieces")
    docs = [{"id": "other", "text": words("c")}, {"id": "whole", "text": WHOLE}]
    docs.append({"id": "copy", "text": f"{LEAK} {words('b')}", "url": f"{URL}copy"})
    (folder / "docs.jsonl").write_text("".join(json.dumps(doc) + "\n" for doc in docs))
    (folder / "items.json").write_text(json.dumps([{"q": LEAK}]))
    benchmark = {"name": "items", "path": str(folder / "items.json")}
    recipe = {
        "inputs": [{"path": str(folder / "docs.jsonl")}],
        "steps": ["normalize", {"decontaminate": {"benchmarks": [benchmark]}}, "near"],
        "tokenizer": {"path": str(train(folder))},
    }
    (folder / "recipe.yaml").write_text(yaml.safe_dump(recipe))
    prepare(load_recipe(folder / "recipe.yaml"), folder / "run", one_by_one)
    return folder / "run"


PIECE = 1 | 1 << 28
COPY = 2 | 1 << 28


def test_a_piece_is_shown_as_it_was_cut(out):
    ids = {row["id"]: row["doc_id"] for row in load_from_disk(str(out / "dataset"))}
    assert ids == {"other": 0, "whole#piece-1": PIECE, "whole#piece-2": 1 | 2 << 28}
    shown = documents(out, [0, 1, *ids.values()])
    normal = WHOLE.replace("\r\n", "\n").replace("e\u0301", "é")
    assert shown[1]["text"] == WHOLE
    assert shown[PIECE]["text"] == f"é {words('a')}\n"[:-200]
    assert shown[1 | 2 << 28]["text"] == f" {words('b')}\n"[200:]
    assert all(shown[d]["text"] in normal for d in (PIECE, 1 | 2 << 28))


def test_links_are_found_from_both_ends(out):
    both = pieces(out, [1])
    assert [row["id"] for row in both] == ["whole#piece-1", "whole#piece-2"]
    assert pieces(out, [PIECE]) == both[:1]
    assert pieces(out, [0]) == []


def test_a_piece_that_duplicates_another_is_shown_beside_it(out, capsys):
    (receipt,) = removals(out, reason="near_duplicate").to_pylist()
    assert (receipt["doc_id"], receipt["duplicate_of"]) == (COPY, 1 | 2 << 28)
    assert main(["inspect", str(out), "--doc", str(COPY), "--json"]) == 0
    shown = json.loads(capsys.readouterr().out)
    assert shown["kept"]["id"] == "whole#piece-2"
    assert [link["parent_id"] for link in shown["pieces"]] == ["copy"]


def test_a_document_that_left_is_shown_by_its_url_too(out, capsys):
    assert main(["inspect", str(out), "--doc", f"{URL}copy", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["removed"]["doc_id"] == COPY
    assert main(["inspect", str(out), "--doc", URL]) == 2
    assert f"--doc {URL}: no document that left, or is kept" in capsys.readouterr().err


def test_documents_that_left_are_listed_with_their_ids_as_they_are_asked_for(out, capsys):
    (receipt,) = removals(out, reason="near_duplicate").to_pylist()
    assert main(["inspect", str(out), "--reason", "near_duplicate"]) == 0
    row = rf"{receipt['doc_id']}\W+{receipt['id']}\s.*\s{receipt['duplicate_of']}\s"
    assert re.search(row, capsys.readouterr().out)


def test_the_command_tells_what_a_document_was_cut_into(out, capsys):
    assert main(["inspect", str(out), "--doc", "1"]) == 0
    shown = capsys.readouterr().out
    assert shown.startswith("cut into pieces: whole (docs)\n")
    assert main(["inspect", str(out), "--doc", str(PIECE)]) == 0
    assert capsys.readouterr().out.startswith("kept: whole#piece-1 (docs), as its tokens have it\n")
    assert main(["inspect", str(out), "--doc", "1", "--json"]) == 0
    shown = json.loads(capsys.readouterr().out)
    assert (shown["receipt"], shown["cut"]["text"], len(shown["pieces"])) == (None, WHOLE, 2)


def test_what_was_cut_out_is_marked_with_the_items_it_went_for(out, capsys):
    assert main(["inspect", str(out), "--doc", "1", "--json"]) == 0
    (cut,) = json.loads(capsys.readouterr().out)["cut_out"]
    normal = WHOLE.replace("\r\n", "\n").replace("e\u0301", "é").encode()
    assert cut["text"] == normal[cut["start_byte"] : cut["end_byte"]].decode()
    assert cut["text"].count(LEAK) == 2
    assert cut["items"] == ["items:0"]
    assert main(["inspect", str(out), "--doc", "1"]) == 0
    shown = " ".join(capsys.readouterr().out.split())
    n = len(cut["text"])
    assert (
        f"1 bytes {cut['start_byte']} to {cut['end_byte']}, {n} characters: items:0 'Natalia"
        in shown
    )
    assert f"⟦1: {' '.join(cut['text'][:40].split())}" in shown
    assert f"… {n - 240} characters …" in shown
    assert f"piece 1 of 2: whole#piece-1 ({PIECE}), bytes 0 to {cut['start_byte']}, kept" in shown


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("0", "kept: other (docs)"),
        ("other", "kept: other (docs)"),
        ("docs: other", "kept: other (docs)"),
        ("document other (doc_id 0) of docs", "kept: other (docs)"),
        (f"{PIECE:,}", "kept: whole#piece-1 (docs)"),
        (f"piece 1 of 2: whole#piece-1 ({PIECE}), bytes 0 to 9", "kept: whole#piece-1 (docs)"),
        ("copy#piece-1", "removed at near: near_duplicate"),
        ("whole", "cut into pieces: whole (docs)"),
    ],
)
def test_a_document_is_found_in_any_form_in_which_it_is_printed(out, capsys, text, told):
    assert main(["inspect", str(out), "--doc", text]) == 0
    assert capsys.readouterr().out.startswith(told)


def test_an_id_that_no_document_or_several_have_is_told(tmp_path, capsys):
    lines = [{"id": "twice", "text": words(of), "url": f"{URL}two"} for of in "ab"]
    lines.append({"id": "777", "text": words("c"), "url": URL})
    (tmp_path / "docs.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    recipe = {"inputs": [{"path": str(tmp_path / "docs.jsonl")}], "tokenizer": None}
    recipe["output"] = {"text": "parquet"}
    prepare(make_recipe(recipe, where="recipe"), tmp_path / "run", one_by_one)
    for text, told in (
        ("twice", "--doc twice: 2 documents have it: 0, 1; name one"),
        (f"{URL}two", f"--doc {URL}two: 2 documents have it: 0, 1; name one"),
        ("once", "--doc once: no document that left, or is kept, has this id; write its number"),
        (str(2**64), "no document that left, or is kept, has this id"),
        ("Titanic (0) film", "no document that left, or is kept, has this id"),
        ("778", "no document 778 in this run"),
    ):
        assert main(["inspect", str(tmp_path / "run"), "--doc", text]) == 2
        assert told in capsys.readouterr().err
    for text in ("777", URL):  # which kept text has too
        assert main(["inspect", str(tmp_path / "run"), "--doc", text]) == 0
        assert capsys.readouterr().out.startswith("kept: 777 (docs)")


def test_documents_that_were_cut_are_listed(out, capsys):
    assert main(["inspect", str(out), "--json"]) == 0
    rows = [(row["reason"], row["docs"]) for row in json.loads(capsys.readouterr().out)]
    assert rows == [("near_duplicate", 1), ("cut", 2)]
    assert main(["inspect", str(out), "--reason", "cut", "--json"]) == 0
    whole, copy = json.loads(capsys.readouterr().out)
    assert whole == {"doc_id": 1, "id": "whole", "pieces": 2, "items": ["items:0"]}
    assert (copy["id"], copy["pieces"]) == ("copy", 1)
    assert main(["inspect", str(out), "--reason", "cut", "--limit", "1"]) == 0
    shown = capsys.readouterr().out
    assert "whole" in shown
    assert "copy" not in shown


def test_a_reason_that_no_document_has_lists_those_there_are(out, capsys):
    assert main(["inspect", str(out), "--reason", "nonsense"]) == 2
    assert capsys.readouterr().err == (
        f"tokenmill inspect: {out}: no document left for the reason 'nonsense'; there are:"
        " near_duplicate, cut\n"
    )


def test_a_run_of_contamination_is_not_looked_into(tmp_path, capsys):
    (tmp_path / "manifest.json").write_text('{"status": "complete", "identity": {"check": {}}}')
    assert main(["inspect", str(tmp_path)]) == 2
    assert capsys.readouterr().err == (
        f"tokenmill inspect: {tmp_path}: made by contamination, not by prepare; see"
        f" {tmp_path}/contamination.html\n"
    )


def test_what_no_piece_has_was_cut_out():
    spans = [
        {"start_byte": a, "end_byte": b, "item": i, "ngrams": n, "excerpt": f"{i} {n}"}
        for a, b, i, n in ((2, 4, "q:1", 1), (2, 5, "q:2", 3), (3, 4, "q:1", 1), (8, 9, "q:3", 1))
    ]
    pieces_of = [{"start_byte": a, "end_byte": b} for a, b in ((6, 7), (0, 1))]
    cuts = cut_out(b"0123456789", pieces_of, spans)
    assert cuts == [(1, 6, "12345", ("q:2", "q:1"), "q:2 3"), (7, 10, "789", ("q:3",), "q:3 1")]
    kept = ({"start_byte": 0, "end_byte": 1}, {"start_byte": 6, "end_byte": 7})
    beside = [{**spans[0], **at, "item": "q:0", "ngrams": 9} for at in kept]
    assert cut_out(b"0123456789", pieces_of, [*spans, *beside]) == cuts, "what a piece has"
    # of a document without pieces: what repeats items
    assert cut_out(b"0123456789", [], spans) == [
        (2, 5, "234", ("q:2", "q:1"), "q:2 3"),
        (8, 9, "8", ("q:3",), "q:3 1"),
    ]
    assert cut_out(b"", [], []) == []


MENU = "This page needs javascript to be shown.\n"  # a line that c4 drops


@pytest.fixture
def edited(tmp_path):
    """A function: a run whose steps edit two near duplicates before and behind `near`."""
    body = "".join(f"This is sentence {i} of all the text. It is one of many.\n" for i in range(40))
    mail = "Write to someone@mail.org about it.\n"
    docs = [
        {"id": "kept", "text": f"{MENU}{body}{mail}"},
        {"id": "gone", "text": f"{body}{mail}{MENU}And one more sentence at the end.\n"},
    ]
    (tmp_path / "docs.jsonl").write_text("".join(json.dumps(doc) + "\n" for doc in docs))

    def make(**settings):
        recipe = {
            "inputs": [{"path": str(tmp_path / "docs.jsonl")}],
            "steps": ["normalize", "c4", "near", "pii"],
            "tokenizer": {"path": str(train(tmp_path))},
            **settings,
        }
        prepare(make_recipe(recipe, where="test"), tmp_path / "run", one_by_one)
        return tmp_path / "run"

    return make


@pytest.mark.parametrize(
    ("output", "how"),
    [
        ({}, "as its tokens have it"),
        ({"text": "parquet"}, "as the run kept it"),
        ({"seq_len": 16}, "as it went to the tokenizer"),
    ],
    ids=["tokens", "text", "packed"],
)
def test_a_document_that_stays_is_shown_as_it_was_trained_on(edited, capsys, output, how):
    out = edited(output=output)
    assert main(["inspect", str(out), "--doc", "0"]) == 0
    shown = capsys.readouterr().out
    assert shown.startswith(f"kept: kept (docs), {how}\n")
    main(["inspect", str(out), "--doc", "0", "--json"])
    text = json.loads(capsys.readouterr().out)["kept"]["text"]
    assert "javascript" not in text
    assert "someone@" not in text
    assert text.startswith("This is sentence 0 of")


def test_duplicates_are_shown_as_they_were_compared(edited, capsys):
    out = edited()
    assert main(["inspect", str(out), "--doc", "1", "--json"]) == 0
    pair = json.loads(capsys.readouterr().out)
    for side in ("removed", "kept"):
        assert "javascript" not in pair[side]["text"]  # dropped before
        assert "someone@mail.org" in pair[side]["text"]  # masked behind
    assert main(["inspect", str(out), "--doc", "1"]) == 0
    assert "as they came to near\n" in capsys.readouterr().out


def test_what_cannot_be_shown_of_a_comparison_is_named(edited, capsys):
    out = edited(steps=["normalize", "repeated_paragraphs", "near"])
    (receipt,) = removals(out).to_pylist()
    assert main(["inspect", str(out), "--doc", str(receipt["doc_id"])]) == 0
    shown = capsys.readouterr().out
    assert "as they came to near, but for what repeated_paragraphs changed" in shown


def test_an_id_that_two_sources_have_is_found_by_its_source(tmp_path, capsys):
    inputs = []
    for name, text in (("docs", "a"), ("laws", "b")):
        path = tmp_path / f"{name}.jsonl"
        path.write_text(json.dumps({"id": "974", "text": words(text)}) + "\n")
        inputs.append({"path": str(path), "source": name})
    recipe = {"inputs": inputs, "tokenizer": None, "output": {"text": "parquet"}}
    prepare(make_recipe(recipe, where="recipe"), tmp_path / "run", one_by_one)
    for source in ("docs", "laws"):
        assert main(["inspect", str(tmp_path / "run"), "--doc", f"{source}: 974"]) == 0
        assert capsys.readouterr().out.startswith(f"kept: 974 ({source})")
    for text, told in (
        ("974", "--doc 974: 2 documents have it: 0, 4294967296; name one"),
        ("Doc: 974", "--doc Doc: 974: no source 'Doc'; did you mean 'docs'?"),
        ("zzz: 974", "--doc zzz: 974: no source 'zzz'; there are: docs, laws"),
        ("docs: 975", "--doc docs: 975: no document that left, or is kept, has this id"),
    ):
        assert main(["inspect", str(tmp_path / "run"), "--doc", text]) == 2
        assert told in capsys.readouterr().err
