"""Nothing outside of the roots is opened, listed or written, whatever is named and whoever meddles.

The kernel tells of each: also what Arrow and other libraries open, which Python would not tell.
"""

import contextlib
import ctypes
import json
import os
import shutil
import struct
import sys
import threading
from itertools import count
from pathlib import Path

import pyarrow as pa
import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from tests.pipelines.conftest import train
from tokenmill.flows.asked import read_recipe
from tokenmill.pipelines.contamination.items.rows import read_rows
from tokenmill.pipelines.contamination.items.spec import parse_benchmark
from tokenmill.pipelines.core.config import PinnedFile, readable
from tokenmill.pipelines.core.errors import TokenmillError
from tokenmill.pipelines.core.places import VARIABLE, file_or_model, folder_here, place
from tokenmill.pipelines.core.shard import Input, SourceShard
from tokenmill.pipelines.filters.bad_words import WordFile
from tokenmill.pipelines.filters.models.quality import ModelFile
from tokenmill.pipelines.measure.compare import load_estimate
from tokenmill.pipelines.prepare.against import earlier_runs, holder
from tokenmill.pipelines.prepare.recipe import make_recipe
from tokenmill.pipelines.probe.shards import open_dataset
from tokenmill.pipelines.read.images.folder import Folder, Place
from tokenmill.pipelines.read.images.layouts import Value
from tokenmill.pipelines.read.options import Images, Limits
from tokenmill.pipelines.read.plan import plan_inputs
from tokenmill.pipelines.runs.manifest import locked, read_manifest
from tokenmill.pipelines.storage.atomic import write_text
from tokenmill.pipelines.storage.inputs import expand, open_input
from tokenmill.pipelines.storage.mirror import remove, viewed
from tokenmill.pipelines.tokens.dataset import first_rows
from tokenmill.pipelines.tokens.reference import open_reference
from tokenmill.sizing.requirements import size

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="inotify tells what is opened")

IN_ACCESS, IN_MODIFY, IN_OPEN, IN_CREATE, IN_DELETE = 0x1, 0x2, 0x20, 0x100, 0x200
SEEN = IN_ACCESS | IN_MODIFY | IN_OPEN | IN_CREATE | IN_DELETE
RENAME_EXCHANGE = 2
AT_FDCWD = -100
NAMES = (
    "secret.jsonl",
    "manifest.json",
    "report.json",
    "tokenizer.json",
    "plan.yaml",
    "state.json",
)
REFUSED = (TokenmillError, ValueError, OSError)
libc = ctypes.CDLL(None, use_errno=True)


class Watch:
    """What happens in folders from now on."""

    def __init__(self, *folders):
        self._queue = libc.inotify_init1(os.O_NONBLOCK)
        for folder in folders:
            assert libc.inotify_add_watch(self._queue, os.fsencode(folder), SEEN) >= 0

    def names(self):
        """Of the files, or "" of a folder itself, since this was asked before; less the root's."""
        found, data = [], b""
        with contextlib.suppress(BlockingIOError):
            while True:
                data += os.read(self._queue, 1 << 20)
        while data:
            *_, n = struct.unpack_from("iIII", data)
            found.append(data[16 : 16 + n].rstrip(b"\0").decode())
            data = data[16 + n :]
        return [name for name in found if name != "data"]

    def close(self):
        os.close(self._queue)


@pytest.fixture(scope="module")
def tree(tmp_path_factory):
    """A root with ways out of it, and beside it what must not be seen."""
    above = tmp_path_factory.mktemp("tree")
    data, outside = above / "data", above / "outside"
    for folder in (data, data / "in", outside, outside / "dataset"):
        folder.mkdir()
        (folder / "secret.jsonl").write_text('{"text": "a secret", "question": "which?"}\n')
        (folder / "manifest.json").write_text(
            json.dumps({"status": "complete", "identity": {"recipe": {"steps": ["exact"]}}})
        )
        (folder / "report.json").write_text('{"measurement": {}}')
        (folder / "plan.yaml").write_text("inputs: [a]\ntokenizer: {path: a/b}\n")
        (folder / "gone").write_text("")
        (folder / "state.json").write_text('{"_data_files": [{"filename": "x.arrow"}]}')
        train(folder)
    for name, to in (
        ("link", outside),
        ("around", data),
        ("secret.json", outside / "secret.jsonl"),
        ("in/link", "../../outside"),
    ):
        (data / name).symlink_to(to)
    shutil.copytree(data / "in", data / "swapped", symlinks=True)
    (data / "way").symlink_to(outside)
    run = data / "run"  # with ways out of it
    run.mkdir()
    (run / "manifest.json").symlink_to(outside / "manifest.json")
    (run / "dataset").symlink_to(outside / "dataset")
    return data


def recipe_of(**more):
    return make_recipe(
        {"inputs": ["x"], "tokenizer": {"path": "a/b"}, "steps": ["exact"], **more}, where="r"
    )


def seen_in(folder):
    read_manifest(folder)
    return list(first_rows(folder, 1))


def written(path):
    folder = folder_here(path)
    write_text(folder / "new" / "x", "text")


def run_in(path):
    folder = folder_here(path)
    with locked(folder):
        write_text(folder / "dataset" / "x", "text")


def viewed_at(path):
    with viewed(place(path)) as folder:
        seen_in(folder)


def content(path):
    with readable(path) as f:
        return f.read()


def image(path):
    shard = SourceShard(
        key="",
        ordinal=0,
        input=0,
        source="",
        format="markdown",
        paths=(str(Path("in/a.md").absolute()),),
        names=("a.md",),
    )
    folder = Folder(shard, Images())
    folder.image(Value(reference=path), Place("a", "a"))


USES = {
    "input": lambda p: [open_input(f.path).read() for f in expand(p)],
    "inputs": lambda p: plan_inputs([Input(path=p)], 1000, limits=Limits()),
    "recipe": read_recipe,
    "of a recipe": lambda p: recipe_of(inputs=[p]),
    "plan": size,
    "corpus": lambda p: size(corpus=Path(p)),
    "of a plan": lambda p: size(changes={"corpus.path": p}),
    "estimate": lambda p: load_estimate(Path(p), recipe_of()),
    "benchmark": lambda p: read_rows(parse_benchmark(f"b={p}").path),
    "tokenizer": lambda p: open_reference(file_or_model(p)),
    "tokenizer of a run": open_reference,
    "run": viewed_at,
    "against": lambda p: earlier_runs(recipe_of(against=[p])),
    "scratch": lambda p: recipe_of(run={"scratch": p}),
    "list": lambda p: WordFile(file=p).words(),
    "model": lambda p: ModelFile(file=p),
    "pinned": lambda p: content(PinnedFile(file=p).checked()),
    "dataset": lambda p: open_dataset(Path(p)),
    "image": image,
    "output": written,
    "run directory": run_in,
}
PARTS = ["..", ".", "link", "around", "in", "run", "dataset", "secret.json", *NAMES]
PARTS += ["%2e%2e", "..%2foutside", "*", "**", "[l-s]*", "?ink", "outside", "", "~", "new"]


def paths(tree):
    outside = tree.parent / "outside"
    begins = ["", ".", "/", "~", str(tree), str(outside), str(tree.parent), f"{tree}/*"]
    begins += [f"{s}{b}" for s in ("file://", "file://localhost", "FILE://") for b in begins]
    begins += ["hf://", "s3://bucket", "gs://b", "hf://owner/name"]
    parts = st.lists(st.sampled_from(PARTS), max_size=4)
    return st.builds(lambda b, p: "/".join([b, *p]), st.sampled_from(begins), parts)


@pytest.fixture
def here(tree, monkeypatch):
    """Work in the root, at home outside of it."""
    monkeypatch.setenv(VARIABLE, str(tree))
    monkeypatch.setenv("HOME", str(tree.parent / "outside"))
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", True)
    monkeypatch.chdir(tree)
    outside = tree.parent / "outside"
    watch = Watch(tree.parent, outside, outside / "dataset")
    yield watch
    watch.close()


@pytest.mark.parametrize("use", USES.values(), ids=USES)
def test_nothing_outside_is_opened_whatever_is_named(tree, here, use):
    outside = tree.parent / "outside"

    @settings(suppress_health_check=list(HealthCheck), deadline=None)
    @given(paths(tree))
    @example(str(outside))
    @example(str(outside / "secret.jsonl"))
    @example("link/secret.jsonl")
    @example("link")
    @example("secret.json")
    @example("run")
    @example("**")
    @example("../outside/plan.yaml")
    @example(f"file://{outside}/report.json")
    @example(f"file://{tree}/..%2foutside/secret.jsonl")
    def tried(path):
        with contextlib.suppress(*REFUSED):
            use(path)
        assert here.names() == []

    tried()


@pytest.mark.parametrize("use", sorted(set(USES) - {"of a recipe", "scratch", "image"}))
def test_without_roots_the_same_is_opened(tree, here, use, monkeypatch):
    """So that the test above tries what would be seen."""
    monkeypatch.delenv(VARIABLE)
    outside = tree.parent / "outside"
    for name in ("", *NAMES):
        with contextlib.suppress(*REFUSED):
            USES[use](str(outside / name))
    assert here.names()


def test_nor_what_a_file_names_in_turn(tree, here):
    outside, away = tree.parent / "outside", "../../outside"
    saved, run = tree / "saved", tree / "earlier"
    for folder in (saved, run / "dataset"):
        folder.mkdir(parents=True)
        (folder / "dataset_dict.json").write_text(json.dumps({"splits": [f"../{away}"]}))
        named = {"_data_files": [{"filename": f"{away}/secret.jsonl"}]}
        (folder / "state.json").write_text(json.dumps(named))
    (saved / "b.jsonl").write_text(json.dumps({"text": "a", "images": [f"{away}/secret.jsonl"]}))
    report = {"against": {"runs": [{"path": str(outside), "shards": 1}]}}
    manifest = {"identity": {"recipe": {"tokenizer": {"path": "x.json"}}}, "report": report}
    (run / "manifest.json").write_text(json.dumps({"status": "complete", **manifest}))
    (saved / "plan.yaml").write_text(f"corpus: {{path: {away}/report.json}}")
    (saved / "link.yaml").symlink_to(outside / "plan.yaml")
    tries = {
        "rows": lambda: read_rows(str(saved)),
        "first rows": lambda: seen_in(run),
        "splits": lambda: open_dataset(run, f"../{away}"),
        "files": lambda: open_dataset(saved),
        "inputs": lambda: plan_inputs([Input(path=str(saved), format="dataset")], 1000).shards[0],
        "earlier": lambda: holder(manifest, 0),
        "plan": lambda: size(str(saved / "plan.yaml")),
        "recipe": lambda: read_recipe(str(saved / "link.yaml")),
    }
    for name, tried in tries.items():
        with pytest.raises((*REFUSED, LookupError)):
            tried()
        assert here.names() == [], name


def swapping(one, other, until):
    """Put one in the place of the other and back, without end."""
    a, b = os.fsencode(one), os.fsencode(other)
    while not until.is_set():
        libc.renameat2(AT_FDCWD, a, AT_FDCWD, b, RENAME_EXCHANGE)


ALONG = {
    "input": lambda p: open_input(str(p / "secret.jsonl")).read(),
    "mapped": lambda p: open_input(str(p / "secret.jsonl"), mapped=True).read(),
    "plan": lambda p: size(str(p / "plan.yaml")),
    "corpus": lambda p: size(corpus=p),
    "tokenizer": lambda p: open_reference(str(p / "tokenizer.json")),
    "list": lambda p: content(p / "secret.jsonl"),
    "manifest": read_manifest,
    "output": lambda p: write_text(p / "x", "text"),
    "new folder": lambda p: write_text(p / str(next(NUMBERS)) / "x", "text"),
    "removal": lambda p: remove([p / "gone"]),
}
NUMBERS = count()


@pytest.mark.parametrize("use", ALONG.values(), ids=ALONG)
def test_nor_where_a_link_is_put_in_its_way(tree, here, use):
    folder = tree / "swapped"
    done = threading.Event()
    swapper = threading.Thread(target=swapping, args=(folder, tree / "way", done))
    swapper.start()
    met, times = set(), count()
    try:
        while next(times) < 200 or len(met) < 2:
            try:
                use(folder)
                met.add("read")
            except (*REFUSED, pa.ArrowException) as e:
                met.add(str(e))
            assert here.names() == []
    finally:
        done.set()
        swapper.join()
