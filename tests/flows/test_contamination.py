"""The command as a user types it, and the flow's artifacts, against the tests' own server."""

import json
import urllib.request

import pyarrow.parquet as pq
import pytest

from tests.pipelines.contamination.corpus import QUESTIONS, one_in_ten_replaced, write_check
from tokenmill.dedup.text.fold import FOLDINGS
from tokenmill.flows.cli import main, parser
from tokenmill.flows.commands.contamination import examples, parse_check
from tokenmill.pipelines.contamination.copies import Copies
from tokenmill.sizing.document.section import Comparison, Comparisons, Passage, Section

SIDE = Passage("item", ())


class Corpus:
    """What `write_check` has written, as the words of a command."""

    def __init__(self, folder):
        self.check = write_check(folder)
        self.paths = [i.path for i in self.check.inputs]
        self.specs = [f"{b.name}={b.path}" for b in self.check.matching.benchmarks]

    def command(self, out, *more):
        given = [word for spec in self.specs for word in ("--benchmark", spec)]
        return ["contamination", *self.paths, *given, "--out", str(out), *more]


@pytest.fixture(scope="module")
def corpus(tmp_path_factory):
    return Corpus(tmp_path_factory.mktemp("corpus"))


@pytest.fixture(scope="module")
def finished(corpus, tmp_path_factory, server):
    """A finished run; asked again it answers without the server."""
    out = tmp_path_factory.mktemp("finished") / "run"
    assert main(corpus.command(out, "--workers", "2", "--json")) == 0
    return out


@pytest.fixture
def artifact(server):
    """The newest artifact of a key, as the server has it."""

    def newest(key):
        with urllib.request.urlopen(f"{server}/artifacts/{key}/latest") as answer:
            return json.load(answer)

    return newest


def test_tables_show_what_was_found(corpus, finished, capsys):
    assert main(corpus.command(finished)) == 0
    shown = capsys.readouterr().out
    sums, riddles = shown.partition(" N\nsums")[2].splitlines()[:2]
    assert sums.split() == ["8", "3", "3", "37.5", "%", "1", "4", "4", "0", "0", "13"]
    assert riddles.split()[1:] == ["9", "1", "1", "12.5", "%", "0", "2", "7", "1", "1", "8"]
    for word in (
        "compat",
        "of its words, in pairs or in place",
        "document a-3 (doc_id",
        "Documents",
        "items.parquet",
    ):
        assert word in shown
    assert max(map(len, shown.splitlines())) <= 110


def test_json_is_all_of_stdout(corpus, finished, capsys):
    assert main(corpus.command(finished, "--json")) == 0
    captured = capsys.readouterr()
    report = json.loads(captured.out)
    assert [b["dirty"] for b in report["benchmarks"]] == [3, 1]
    assert captured.err == ""
    assert report == json.loads((finished / "contamination.json").read_text())


def test_fail_on_hit_is_for_ci(corpus, finished, tmp_path, capsys, server):
    assert main(corpus.command(finished, "--fail-on-hit", "--json")) == 1
    (tmp_path / "clean.jsonl").write_text('{"text": "nothing of the sort"}\n')
    corpus_of_one = ["contamination", str(tmp_path / "clean.jsonl"), "--benchmark", corpus.specs[0]]
    out = ["--out", str(tmp_path / "run"), "--json", "--fail-on-hit"]
    assert main([*corpus_of_one, *out]) == 0


def test_a_file_that_fails_is_told_and_exits_with_3(corpus, tmp_path, capsys, server):
    (tmp_path / "x.jsonl").write_text('{"prose": "x"}\n')
    command = corpus.command(tmp_path / "run")
    command.insert(1, str(tmp_path / "x.jsonl"))
    assert main(command) == 3
    assert "failed input: " in capsys.readouterr().out
    assert main([*command, "--fail-on-hit"]) == 1


def test_lines_that_are_no_documents_end_the_command_with_3(corpus, tmp_path, capsys, server):
    (tmp_path / "x.jsonl").write_text('{"text": "nothing of the sort"}\nno JSON\n')
    words = ["contamination", str(tmp_path / "x.jsonl"), "--benchmark", corpus.specs[0]]
    assert main([*words, "--out", str(tmp_path / "run"), "--json"]) == 3
    assert sum(json.loads(capsys.readouterr().out)["documents"]["failed"].values()) == 1


def test_fail_on_paraphrase_needs_a_search_for_them(corpus, tmp_path, capsys):
    words = corpus.command(tmp_path / "run", "--fail-on-hit", "--fail-on", "dirty,paraphrase")
    assert main(words) == 2
    told = "--fail-on paraphrase: none is looked for; give --paraphrases on too"
    assert told in capsys.readouterr().err
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize("score", ["yes", "0", "-1"])
def test_a_score_that_is_none_is_refused(corpus, tmp_path, capsys, score):
    assert main(corpus.command(tmp_path / "run", f"--paraphrases={score}")) == 2
    told = f"--paraphrases '{score}': write on, a score above 0, or none"
    assert told in capsys.readouterr().err


def test_fail_on_names_the_kinds_that_end_with_1(corpus, tmp_path, capsys, server):
    (tmp_path / "x.jsonl").write_text(json.dumps({"text": " ".join(QUESTIONS[0].split()[:14])}))
    words = ["contamination", str(tmp_path / "x.jsonl"), "--benchmark", corpus.specs[0], "--json"]
    words += ["--out", str(tmp_path / "run"), "--fail-on-hit"]
    assert [main(words), main([*words, "--fail-on", "part, edited"])] == [0, 1]
    capsys.readouterr()
    assert main([*words, "--fail-on", "parts"]) == 2
    assert "--fail-on 'parts': no such kind; did you mean 'part'?" in capsys.readouterr().err


def test_artifacts_are_a_table_a_benchmark_and_the_report(corpus, tmp_path, artifact, server):
    assert main(corpus.command(tmp_path / "run", "--json")) == 0
    table = json.loads(artifact("contamination-sums")["data"])
    found = [(row["item"], row["docs"], row["foldings"]) for row in table]
    assert found == [
        *(("sums:0", 2, ""), ("sums:1", 1, ""), ("sums:2", 1, "compat")),
        ("sums:5", 0, ""),  # an edited copy
    ]
    described = artifact("contamination-riddles")["description"]
    assert described.startswith(
        "1 of 8 items that can be tested are dirty by n-grams of 8 words, 1 of"
    )
    assert artifact("contamination")["data"] == (tmp_path / "run/contamination.md").read_text()


def test_the_flow_leaves_out_what_it_is_told_to(tmp_path, server):
    from tokenmill.flows.contamination import contamination_flow

    for name in ("a.jsonl", "b.jsonl"):
        (tmp_path / name).write_text(json.dumps({"body": QUESTIONS[0]}))
    (tmp_path / "quiz.jsonl").write_text(json.dumps({"q": QUESTIONS[0]}))
    report = contamination_flow(
        [f"{tmp_path}/*.jsonl:body"],
        [f"quiz={tmp_path}/quiz.jsonl"],
        str(tmp_path / "run"),
        exclude=["b.*", "quiz.*"],
    )
    assert report["documents"]["read"] == 1


def test_keys_of_artifacts_are_never_alike(server):
    from tokenmill.flows.doing.contamination import artifact_keys

    keys = artifact_keys(["A b", "a-B", "a/b!", "東京", "a b 2"])
    assert keys == [
        *("contamination-a-b", "contamination-a-b-2", "contamination-a-b-3"),
        *("contamination-2", "contamination-a-b-2-2"),
    ]


MISTAKES = [
    (["--ngram", "0"], "--ngram '0': write a number of words, 1 to 256, or auto"),
    (["--most-docs", "-1"], "--most-docs '-1': write a number of documents, 1 at least; none is"),
    (["--most-docs", "0"], "--most-docs '0': write a number of documents, 1 at least; none is no"),
    (
        ["--folding", "compat,entity"],
        "--folding 'entity': no such folding; did you mean 'entities'?",
    ),
    (["--folding", "accents"], "'accents': no such folding; did you mean 'marks'? write all,"),
    (["--folding", "invisable"], "'invisable': no such folding; did you mean 'invisible'? write"),
    (["--containment", "120%"], "--containment '120%': write a share above 0, up to 1 (100%), or"),
    (["--containment", "half"], "--containment 'half': write a share above 0, up to 1 (100%), or"),
    (["--workers", "0"], "--workers 0: must be 1 at least"),
    (["--text-column", "prose"], "no column 'prose' among: id, text; name the one that holds the"),
    (["--benchmark", "sums=/x.jsonl"], "--benchmark 'sums' stands twice; give each its own name"),
    (["--benchmark", "other=/nowhere.jsonl"], "benchmark 'other': /nowhere.jsonl: no such file"),
    (["--benchmark", "gsm9k"], "did you mean 'gsm8k'?"),
]


@pytest.mark.parametrize(("words", "message"), MISTAKES, ids=[w[1] for w, _ in MISTAKES])
def test_mistakes_are_one_line_and_start_no_server(
    corpus, tmp_path, capsys, monkeypatch, words, message
):
    monkeypatch.setattr("tokenmill.flows.prefect.server.own_server", None)
    assert main(corpus.command(tmp_path / "run", *words)) == 2
    told = capsys.readouterr().err
    assert message in told
    assert told.count("\n") == 1


def test_without_a_benchmark_the_known_ones_are_listed(corpus, tmp_path, capsys):
    assert main(["contamination", *corpus.paths, "--out", str(tmp_path / "run")]) == 2
    told = capsys.readouterr().err
    assert "no --benchmark; write --benchmark NAME=PATH[:FIELD,FIELD], or the name alone" in told
    assert "gsm8k, " in told
    assert told.count("\n") == 1


def test_an_edited_copy_is_a_hit(corpus, tmp_path, server):
    (tmp_path / "x.jsonl").write_text(json.dumps({"text": one_in_ten_replaced(QUESTIONS[3])}))
    words = ["contamination", str(tmp_path / "x.jsonl"), "--benchmark", corpus.specs[0], "--json"]
    assert main([*words, "--fail-on-hit", "--out", str(tmp_path / "a")]) == 1
    high = ["--containment", "0.9", "--out", str(tmp_path / "b")]
    assert main([*words, "--fail-on-hit", *high]) == 0


def test_an_item_in_many_documents_is_a_hit(corpus, tmp_path, server, capsys):
    path = tmp_path / "x.jsonl"
    lines = (json.dumps({"text": f"{n} {QUESTIONS[3]}"}) + "\n" for n in range(11))
    path.write_text("".join(lines))
    words = ["contamination", str(path), "--benchmark", corpus.specs[0], "--containment", "none"]
    assert main([*words, "--fail-on-hit", "--out", str(tmp_path / "a")]) == 1
    shown = capsys.readouterr().out
    assert "warning: 1 item stands in more than 10 documents: not dirty" in shown
    assert "widespread" in shown
    assert main([*words, "--fail-on-hit", "--json", "--out", str(tmp_path / "a")]) == 1


def test_a_benchmark_too_short_to_test_does_not_pass_in_silence(tmp_path, server, capsys):
    (tmp_path / "x.jsonl").write_text('{"text": "nothing of the sort"}\n')
    (tmp_path / "b.jsonl").write_text('{"q": "Who wrote it?"}\n{"q": "Who ate that?"}\n')
    words = ["contamination", str(tmp_path / "x.jsonl"), "--benchmark", f"b={tmp_path}/b.jsonl"]
    assert main([*words, "--out", str(tmp_path / "run")]) == 0
    shown = " ".join(capsys.readouterr().out.split())
    assert shown.startswith("1 document, 19 B of text, searched for 2 items None of 0 items that")
    assert "2 are not testable." in shown
    assert "warning: No item of b is long enough to be tested by n-grams." in shown


def test_what_is_not_searched_is_told_before_and_behind_the_first_sentence(
    corpus, tmp_path, server, capsys
):
    lines = {"a": {"text": QUESTIONS[0]}, "b": {"raw": ["x", QUESTIONS[1]]}, "c": {"text": {}}}
    for name, row in lines.items():
        (tmp_path / f"{name}.jsonl").write_text(json.dumps(row) + "\n")
    with (tmp_path / "a.jsonl").open("ab") as more:
        more.write(b'{"text": "\xff"}\n' * 2)
    paths = [f"{tmp_path}/a.jsonl", f"{tmp_path}/b.jsonl:raw", f"{tmp_path}/c.jsonl"]
    words = ["contamination", *paths, "--benchmark", corpus.specs[0]]
    assert main([*words, "--out", str(tmp_path / "run")]) == 3
    shown = capsys.readouterr()
    before = " ".join(shown.err.split("starting")[0].split())
    assert "text is taken from columns text (a), raw (b)" in before
    assert f"cannot be read: {tmp_path}/c.jsonl: column 'text' is an object, not text" in before
    out = " ".join(shown.out.split())
    assert "2 are in the corpus" in out
    lost = "Not searched, so that nothing is known of it: 2 documents, 1 input file."
    assert f"in 2 of 2 documents. {lost}" in out
    place = f"{tmp_path}/a.jsonl byte {len(json.dumps(lines['a'])) + 1}: "
    assert f"2 documents failed as invalid_utf8, the first: {place}" in out


def test_a_share_may_be_in_percent(corpus):
    for words in ("60%", "0.6", "60 %"):
        args = parser().parse_args(corpus.command("out", "--containment", words))
        assert parse_check(args).copies == Copies(threshold=0.6)


def test_the_help_lists_the_foldings(capsys):
    with pytest.raises(SystemExit):
        main(["contamination", "--help"])
    shown = capsys.readouterr().out
    assert all(name in shown for name in FOLDINGS)


def test_the_files_of_a_folder_are_told(corpus, tmp_path, capsys, server):
    folder = tmp_path / "bench"
    folder.mkdir()
    for name in ("train.jsonl", "test.jsonl", "README.md"):
        (folder / name).write_text(json.dumps({"q": QUESTIONS[0]}))
    words = ["contamination", *corpus.paths, "--benchmark", f"gsm={folder}:q"]
    assert main([*words, "--out", str(tmp_path / "run"), "--json"]) == 0
    captured = capsys.readouterr()
    assert json.loads(captured.out)["benchmarks"][0]["files"] == ["test.jsonl", "train.jsonl"]
    assert captured.err == ""
    assert main([*words, "--out", str(tmp_path / "run")]) == 0
    told = f"benchmark 'gsm': 2 files of {folder}: test.jsonl, train.jsonl\n"
    assert capsys.readouterr().err == told


def test_options_reach_the_search(corpus, tmp_path, capsys, server):
    words = ["--ngram", "9", "--most-docs", "none", "--folding", "none", "--json"]
    words += ["--containment", "none"]
    out = tmp_path / "run"
    assert main(corpus.command(out, *words)) == 0
    report = json.loads(capsys.readouterr().out)
    assert report["settings"]["most_docs"] is None
    assert set(report["settings"]["folding"].values()) == {False}
    assert report["settings"]["copies"] is None
    assert [b["ngram"] for b in report["benchmarks"]] == [9, 9]
    # the edited one has 9 words in a row left, the one in full-width letters none
    assert (report["benchmarks"][0]["dirty"], report["benchmarks"][0]["some"]) == (2, 1)
    assert main(corpus.command(tmp_path / "gpt3", *words, "--verdict", "gpt3")) == 0
    assert json.loads(capsys.readouterr().out)["benchmarks"][0]["dirty"] == 3
    assert pq.read_table(out / "items.parquet").num_rows == 17


def test_kinds_of_hits_are_refused_where_no_hit_ends_with_1(capsys):
    words = ["contamination", "x.jsonl", "--benchmark", "a=b.jsonl", "--out", "found"]
    assert main([*words, "--fail-on", "dirty"]) == 2
    assert "--fail-on dirty: says which hits --fail-on-hit is for; give both" in (
        capsys.readouterr().err
    )


def test_a_document_cannot_steer_the_terminal(corpus, tmp_path, capsys, server):
    evil, item = "\x1b]0;pwned\x07\x1b[31m[red]", QUESTIONS[0]
    (tmp_path / "x.jsonl").write_text(json.dumps({"id": evil, "text": f"{evil} {item} {evil}"}))
    words = ["contamination", str(tmp_path / "x.jsonl"), "--benchmark", corpus.specs[0]]
    assert main([*words, "--out", str(tmp_path / "run")]) == 0
    shown = capsys.readouterr().out
    assert "\\x1b]0;pwned\\x07\\x1b[31m[red]" in shown.replace("\n", "")
    assert "\x1b" not in shown


def test_tables_say_how_many_rows_they_leave_out_and_what_counts_for_nothing(
    corpus, tmp_path, capsys, server
):
    docs = [f"{n} {QUESTIONS[k]}" for k, times in ((0, 12), (1, 7)) for n in range(times)]
    (tmp_path / "x.jsonl").write_text("".join(json.dumps({"text": d}) + "\n" for d in docs))
    words = ["contamination", str(tmp_path / "x.jsonl"), "--benchmark", corpus.specs[0]]
    assert main([*words, "--out", str(tmp_path / "run")]) == 0
    shown = " ".join(capsys.readouterr().out.split())
    assert "Documents: 5 of 7 shown, those with most first " in shown
    assert [f"x.jsonl#{at}" in shown for at in (2962, 3147, 3332)] == [True, False, False]
    report = json.loads((tmp_path / "run" / "contamination.json").read_text())
    n = report["n_ignored"]["frequent"]
    assert n > 1
    assert (
        f"Of the items' n-grams that stand in the corpus {n} make no item dirty: {n} in too many"
        " documents. Passages words"
    ) in shown


def test_examples_are_of_every_benchmark_first():
    def of(*names):
        rows = tuple(Comparison(title=n, facts=(), sides=(SIDE, SIDE)) for n in names)
        return Comparisons(caption="", rows=rows, n_open=1, n_all=9, noun="item")

    blocks = [of("a1", "a2"), of("b1"), of("c1", "c2")]
    pages = [Section(key, "", blocks) for key in ("examples", "widespread", "others")]
    assert [row.title for row in examples(pages)] == ["a1", "b1", "c1", "a1", "b1"]
