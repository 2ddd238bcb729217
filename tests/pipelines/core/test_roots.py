"""Roots: what lies outside is refused, whatever it is called; no path of a recipe is forgotten."""

import contextlib
import os
from collections.abc import Iterable
from pathlib import Path
from typing import Any, get_args

import pyarrow as pa
import pytest

from tokenmill.pipelines.contamination.check import Check
from tokenmill.pipelines.contamination.items.rows import read_rows
from tokenmill.pipelines.core.config import Config
from tokenmill.pipelines.core.errors import ConfigError
from tokenmill.pipelines.core.options import RunOptions, Slurm
from tokenmill.pipelines.core.places import (
    ADDRESSES,
    VARIABLE,
    file_or_model,
    file_or_name,
    folder_here,
    place,
    within_roots,
)
from tokenmill.pipelines.core.step import STEPS
from tokenmill.pipelines.filters.bad_words import WordFile
from tokenmill.pipelines.measure.job import Measuring
from tokenmill.pipelines.prepare.recipe import Recipe, load_recipe, make_recipe
from tokenmill.pipelines.storage.inputs import expand, open_input
from tokenmill.sizing.errors import PlanError
from tokenmill.sizing.roots import roots_of

# fields of text that name no file: columns, words, tokens, names, addresses
NO_PATHS = {
    "BadWords": {"words"},
    "Benchmark": {"name", "fields"},
    "DocumentScores": {"sha256", "least", "most", "columns"},
    "DomainFile": {"sha256"},
    "FineWeb": {"words"},
    "FineWeb2": {"keep", "language", "words"},
    "GopherQuality": {"stop_words", "words"},
    "GopherRepetition": {"words"},
    "Html": {"types"},
    "ImageRules": {"url_parts", "formats"},
    "ImageScores": {"sha256", "least", "most"},
    "Images": {"token"},
    "Input": {
        "exclude",
        "format",
        "source",
        "header",
        "split",
        "text",
        "id",
        "url",
        "images",
        "join",
        "columns",
    },
    "InterleavedText": {"stop_words", "flagged_words", "common_words", "spam_words"},
    "Language": {"keep"},
    "LanguageFile": {"sha256"},
    "ListFile": {"sha256"},
    "LmFile": {"sha256"},
    "Bucket": {"of", "names"},
    "Mix": {"buckets", "by", "shares", "weights"},
    "ModelFile": {"sha256"},
    "PiecesFile": {"sha256"},
    "Pii": {"email_replacements", "ipv4_replacements", "ipv6_replacements", "phone_replacements"},
    "Quality": {"label"},
    "Recipe": {"name"},
    "Select": {"where"},
    "RunOptions": {"address"},  # see `allowed_address`
    "SameUrl": {"drop_parameters"},
    "Slurm": {"walltime", "queue", "account", "directives", "interface"},
    "Tokenizer": {"eos", "bos"},
    "UrlFilter": {"domains", "urls", "words", "soft_words", "subwords"},
    "WordFile": {"sha256"},
}
# what holds the text of a field, a parameter or an option to the roots
DOORS = {within_roots, file_or_model, file_or_name}


@pytest.fixture
def data(tmp_path, monkeypatch):
    """A root with a corpus and a tokenizer in it."""
    folder = tmp_path / "data"
    folder.mkdir()
    (folder / "a.jsonl").write_text('{"text": "hello"}\n')
    (folder / "t.json").write_text("{}")
    (tmp_path / "secret.jsonl").write_text('{"text": "secret"}\n')
    monkeypatch.setenv(VARIABLE, f"{folder}{os.pathsep}s3://corpora/2026")
    return folder


def recipe(data, **changes):
    given = {"inputs": [str(data / "a.jsonl")], "tokenizer": {"path": str(data / "t.json")}}
    return make_recipe({**given, **changes}, where="r")


def test_what_lies_below_a_root_is_allowed(data):
    assert recipe(data).inputs[0].path == str(data / "a.jsonl")
    for path in (f"{data}", f"{data}/new/run", f"file://{data}/x", "s3://corpora/2026/a/*.jsonl"):
        assert within_roots(path) == path
    assert within_roots("hf://openai/gsm8k/main/test")
    assert recipe(data, tokenizer={"path": "openai-community/gpt2"})


@pytest.mark.parametrize(
    "path",
    [
        "/etc/passwd",
        "{data}/../secret.jsonl",
        "{data}2/x",
        "{data}*/x",
        "{data}/../*.jsonl",
        "file:///etc/passwd",
        "file://{data}/..%2Fsecret.jsonl",
        "s3://corpora/2026b/x",
        "s3://corpora/2026/../2025/x",
        "s3://corpora",
        "s3://other/2026",
        "https://a.org/x.jsonl",
        "{data}/link/x",
        "{data}/link[1]",
    ],
)
def test_what_does_not_is_refused_with_its_name_and_the_roots(data, tmp_path, path):
    (data / "link").symlink_to(tmp_path)
    (data / "link[1]").symlink_to(tmp_path)
    path = path.format(data=data)
    with pytest.raises(ConfigError) as e:
        within_roots(path)
    leads = f", it leads to {tmp_path}" if "link" in path else ""
    told = f"{path}: lies outside of {VARIABLE} ({data}:s3://corpora/2026){leads}"
    assert str(e.value).startswith(told)


@pytest.mark.parametrize(
    "name",
    [
        "../secret",
        "a/../../b",
        "/etc/passwd",
        "a//b",
        "a",
        "a/..",
        ".a/b",
        "a/b?c",
        "a%2F/b",
        "a\n/b",
        "a/b/..",
        "a/b/../c",
    ],
)
def test_a_set_of_the_hub_has_a_name_and_no_path(data, name, monkeypatch):
    for roots in (True, False):
        if not roots:
            monkeypatch.delenv(VARIABLE)
        with pytest.raises(ConfigError, match="is no set on the hub; write hf://OWNER/NAME"):
            within_roots(f"hf://{name}")


def test_a_folder_called_as_a_set_of_the_hub_is_not_read_in_its_place(data, monkeypatch):
    """The library that reads sets takes it before it asks the hub."""
    (data / "owner" / "name").mkdir(parents=True)
    monkeypatch.chdir(data)
    for of in (within_roots, read_rows):
        with pytest.raises(ConfigError, match="hf://owner/name/test: a folder owner/name lies"):
            of("hf://owner/name/test")
    monkeypatch.delenv(VARIABLE)
    assert within_roots("hf://owner/name/test")


@pytest.mark.parametrize("name", ["gpt2", "a/b/..", "../b", "/etc/passwd", "a/b/c", "a//b"])
def test_a_tokenizer_is_a_file_or_has_a_name_on_the_hub(data, name):
    with pytest.raises(ConfigError, match=r"which is OWNER/NAME|lies outside of"):
        recipe(data, tokenizer={"path": name})


@pytest.mark.parametrize("take", [place, folder_here])
@pytest.mark.parametrize("scheme", ["gs", "az", "abfs", "https", "S3", "hf", "s3", "file", "FILE"])
@pytest.mark.parametrize("slashes", ["/", "//", "///"])
def test_an_address_that_nothing_can_be_written_to_is_refused(take, scheme, slashes):
    text = f"{scheme}:{slashes}bucket/run"
    if (scheme, slashes) == ("file", "///"):
        assert take(text) == Path("/bucket/run") == take("file://localhost/bucket/run")
    elif (scheme, slashes[:2], take) == ("s3", "//", place):
        assert take(text.replace("///", "//")) == "s3://bucket/run"
    else:
        with pytest.raises(ConfigError, match=scheme):
            take(text)


@pytest.mark.parametrize("of", [within_roots, place, folder_here, expand, open_input])
@pytest.mark.parametrize("roots", [True, False])
def test_a_file_of_another_machine_is_not_looked_for_here(data, of, roots, monkeypatch):
    if not roots:
        monkeypatch.delenv(VARIABLE)
    for host in ("elsewhere", "10.0.0.1:80", "LOCALHOST.example", "%2e"):
        with pytest.raises(ConfigError, match=f"'{host}' is another machine; write file:///path"):
            of(f"file://{host}{data}/a.jsonl")
    assert of(f"file://localhost{data}/a.jsonl")


def test_what_can_be_here_only_is_a_path_however_it_is_written(data):
    (data / "words.txt").write_text("word\n")
    words = WordFile(file=f"file://{data}/words.txt")
    assert words.file == str(data / "words.txt")
    assert words.words() == ["word", ""]
    assert RunOptions(scratch=f"file://localhost{data}/x").scratch == str(data / "x")
    for of in (lambda path: WordFile(file=path), lambda path: RunOptions(scratch=path)):
        with pytest.raises(ValueError, match="only inputs and runs of prepare can be on s3://"):
            of("s3://corpora/2026/x")


def test_a_path_of_this_machine_is_no_address(tmp_path):
    for text in ("run", "/data/run", "a:b/run", "./gs://b", "C:/run", "2026-11-23T10:00/run"):
        assert place(text) == folder_here(text) == Path(text)


def test_a_link_that_a_pattern_finds_leads_nowhere_else(data, tmp_path):
    (data / "b.jsonl").symlink_to(tmp_path / "secret.jsonl")
    names = [f.path for f in expand(str(data / "*.jsonl"))]
    with pytest.raises(ConfigError, match=r"b\.jsonl: lies outside of"):
        open_input(names[1])


@pytest.mark.parametrize(
    ("changes", "place"),
    [
        ({"inputs": ["/etc"]}, "inputs.0.path"),
        ({"tokenizer": {"path": "/etc/passwd"}}, "tokenizer.path"),
        ({"against": ["/etc"]}, "against.0"),
        (
            {"steps": [{"decontaminate": {"benchmarks": [{"name": "b", "path": "/etc"}]}}]},
            "steps.0: decontaminate: benchmarks.0.path",
        ),
        (
            {"images": {}, "steps": [{"image_scores": {"file": "/etc/passwd", "most": {"a": 1}}}]},
            "steps.0: image_scores",
        ),
        (
            {"steps": [{"bad_words": {"words": {"file": "/etc/passwd"}}}]},
            "steps.0: bad_words: words: a file of words",
        ),
        (
            {"steps": [{"url_filter": {"domains": [{"file": "/etc/passwd"}]}}]},
            "steps.0: url_filter: domains: a file of a list",
        ),
        ({"steps": [{"quality": {"model": "/etc/passwd"}}]}, "steps.0: quality: model"),
        ({"steps": [{"perplexity": {"model": "/etc/passwd"}}]}, "steps.0: perplexity: model"),
        ({"steps": [{"language": {"model": "/etc/passwd"}}]}, "steps.0: language: model"),
    ],
)
def test_each_path_of_a_recipe_is_held_against_them(data, changes, place):
    with pytest.raises(ConfigError) as e:
        recipe(data, **changes)
    assert str(e.value).startswith(f"r: {place}: /etc")
    assert f"lies outside of {VARIABLE}" in str(e.value)


def test_a_new_field_of_text_is_a_path_or_is_known_to_be_none():
    for model in models():
        for name, field in model.model_fields.items():
            if not is_behind_the_door(field.annotation, field.metadata):
                known = NO_PATHS.get(model.__name__, set()) | {"column"}
                assert name in known, f"{model.__name__}.{name}: make it a FilePath, or list it"


def models() -> set[type[Config]]:
    """Every model that a recipe, a check or a prediction is made of."""
    found: set[type[Config]] = set()
    waiting: list[type[Config]] = [Recipe, Check, Measuring, *STEPS.values()]
    while waiting:
        model = waiting.pop()
        if model not in found:
            found.add(model)
            inner = [k for f in model.model_fields.values() for k in kinds(f.annotation)]
            waiting += [k for k in inner if isinstance(k, type) and issubclass(k, Config)]
    return found


def kinds(annotation: Any) -> list[Any]:
    inner = get_args(annotation)
    return [k for part in inner for k in kinds(part)] if inner else [annotation]


def is_text(annotation: Any) -> bool:
    return bool({str, object, Any, Path} & {k for k in kinds(annotation) if isinstance(k, type)})


def is_behind_the_door(annotation: Any, metadata: Iterable[Any] = ()) -> bool:
    """Whether all its text is checked, alone or in a list."""
    if any(getattr(m, "func", None) in DOORS for m in metadata):
        return True
    if annotation in (dict[str, Any], dict[str, Any] | None):  # settings, which have a model
        return True
    inner = get_args(annotation)
    if hasattr(annotation, "__metadata__"):
        return is_behind_the_door(inner[0], annotation.__metadata__)
    return all(is_behind_the_door(k) for k in inner) if inner else not is_text(annotation)


def test_without_the_variable_any_path_will_do(monkeypatch):
    monkeypatch.delenv(VARIABLE, raising=False)
    assert within_roots("/etc/passwd") == "/etc/passwd"
    assert RunOptions(runner="dask", address="tcp://10.0.0.1:8786").address


@pytest.mark.parametrize(
    ("value", "told"),
    [
        ("", "is empty: nothing may be read; name folders, or unset it"),
        ("data", "'data' is no absolute folder and no s3://bucket/…"),
        ("/data:s3://", "'s3:' is no absolute folder and no s3://bucket/…"),
    ],
)
def test_roots_that_say_nothing_are_refused(value, told):
    with pytest.raises(PlanError, match=told):
        roots_of(value)


def test_a_root_may_be_a_link_and_may_end_with_a_slash(data, tmp_path, monkeypatch):
    (tmp_path / "way").symlink_to(data)
    monkeypatch.setenv(VARIABLE, f"{tmp_path}/way/")
    assert within_roots(str(data / "a.jsonl"))
    assert within_roots(str(tmp_path / "way" / "a.jsonl"))


def test_with_roots_only_schedulers_that_are_named_may_be_connected_to(data, monkeypatch):
    with pytest.raises(ConfigError, match=f"tcp://a:1: not among {ADDRESSES}"):
        recipe(data, run={"runner": "dask", "address": "tcp://a:1"})
    monkeypatch.setenv(ADDRESSES, "tcp://b:1, tcp://a:1")
    assert recipe(data, run={"runner": "dask", "address": "tcp://a:1"})


def test_lines_of_a_jobs_script_are_for_the_operator(data):
    with pytest.raises(ConfigError, match="'--output=/etc/x': not from a recipe where"):
        recipe(data, run={"slurm": {"directives": ["--output=/etc/x"]}})


@pytest.mark.parametrize(
    "settings",
    [
        {"directives": ["--constraint=rome\nrm -rf /"]},
        {"directives": ["rm -rf /"]},
        {"queue": "main\nrm"},
        {"account": "a; rm"},
        {"interface": "lo; rm -rf ~"},
        {"interface": "$(rm)"},
    ],
)
def test_nothing_in_a_recipe_becomes_a_command_of_a_jobs_script(settings):
    with pytest.raises(ValueError, match="no option of sbatch|should match pattern"):
        Slurm(**settings)


def test_a_recipe_cannot_run_code(tmp_path):
    path, mark = tmp_path / "r.yaml", tmp_path / "mark"
    for tag in ("object/apply:os.system", "object/new:os.system", "name:os.system", "module:os"):
        path.write_text(f"name: !!python/{tag} ['touch {mark}']\n")
        with pytest.raises(ConfigError, match="not YAML: could not determine a constructor"):
            load_recipe(path)
    assert not mark.exists()


def test_an_arrow_file_cannot_run_code(tmp_path):
    """A type that older libraries unpickled from a file's own metadata stays what it is stored as.

    The metadata is what pickles to a call of os.system.
    """
    code = b"cos\nsystem\n(S'touch " + str(tmp_path / "mark").encode() + b"'\ntR."
    field = pa.field(
        "text",
        pa.binary(),
        metadata={
            "ARROW:extension:name": "arrow.py_extension_type",
            "ARROW:extension:metadata": code,
        },
    )
    with pa.ipc.new_file(tmp_path / "x.arrow", pa.schema([field])) as writer:
        writer.write_batch(pa.record_batch([pa.array([b"x"])], schema=pa.schema([field])))
    with contextlib.suppress(Exception):  # to refuse it is as good
        pa.ipc.open_file(tmp_path / "x.arrow").read_all()
    assert not (tmp_path / "mark").exists()
