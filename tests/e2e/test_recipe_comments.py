"""The commands in the comments of recipes that ship, each on a few files of the kind it names."""

import shlex
import shutil

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tests.e2e.corpus import prose
from tests.e2e.crawled import write_crawl
from tests.e2e.paged import lines_of, write_benchmarks, write_images
from tests.pages import ROOT
from tests.pipelines.conftest import train
from tests.pipelines.read.images.shards import jpeg
from tests.pipelines.train.lm import models as lm
from tests.pipelines.train.quality import models as quality
from tokenmill.flows.cli import main

RECIPES = ROOT / "pipelines" / "prepare" / "recipes"


def commands():
    """Of each recipe; options in a line of their own are of its last command, once more."""
    for path in sorted(RECIPES.glob("*.yaml")):
        command = ""
        for line in path.read_text().splitlines():
            text = line.strip().removeprefix("#").strip()
            if not line.startswith("#   "):
                continue
            command = f"{command} {text}" if text.startswith("--") else text
            yield pytest.param(command, id=f"{path.stem} {command[:60]}")


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    made = tmp_path_factory.mktemp("named")
    for name in ("wet", "warc"):
        write_crawl(made / name)
    texts = [{"text": text} for text in prose()]
    for name, some in (("wikipedia", texts[:30]), ("books", texts[30:60]), ("crawl", texts[60:])):
        (made / name).mkdir()
        (made / name / "a.jsonl").write_text(lines_of(some))
    write_images(made)
    rows = pa.table({"text": ["A harbour at dawn"], "images": [[jpeg(160, 200, (1, 2, 3))]]})
    pq.write_table(rows, made / "web" / "a.parquet")
    shutil.copy(train(made), made / "gpt2.json")
    quality.saved(made).rename(made / "quality.npz")
    quality.saved_fasttext(made).rename(made / "fasttext_oh_eli5.bin")
    (made / "my.jsonl").write_text(lines_of(texts[:30]))
    lm.saved(made)
    write_benchmarks(made)
    return made


@pytest.mark.parametrize("command", list(commands()))
def test_a_command_of_a_comment_does_what_it_says(command, folder, monkeypatch, capsys):
    monkeypatch.chdir(folder)
    program, name, *words = shlex.split(command)
    assert program == "tokenmill"
    made = main([name, *words, *(["--dry-run"] if name == "prepare" else [])])
    assert made == 0, capsys.readouterr().err
