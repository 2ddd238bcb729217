"""The demo's own input: text and a benchmark that every installation of Python carries.

Licences, READMEs and package descriptions, which packages copy from one another, and
source text make a corpus of thousands of documents with natural duplicates.
"""

import ast
import glob
import json
import sysconfig
import textwrap
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import yaml
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers

from tokenmill.pipelines.core.errors import ConfigError
from tokenmill.pipelines.prepare.recipe import SHIPPED, Recipe, make_recipe
from tokenmill.pipelines.storage.atomic import write_text
from tokenmill.pipelines.storage.mirror import write_changed

VOCAB_SIZE = 16_384
TRAINING_BYTES = 12_000_000  # text the tokenizer is trained on: every n-th document up to this
END = "<|endoftext|>"
# pure-Python packages that this one installs: source text of the size a demo can take
SOURCES = ("datasets", "rich", "pydantic", "fsspec", "numpy")
# modules whose functions have worked examples in their documentation
EXAMPLE_MODULES = (
    "bisect", "heapq", "statistics", "textwrap", "fractions", "shutil", "random", "difflib",
    "calendar", "colorsys", "string", "glob", "fnmatch", "tempfile",
)  # fmt: skip


def demo_recipe(folder: Path) -> Recipe:
    """Write the demo's benchmark, tokenizer and recipe, and return this; ConfigError: it cannot."""
    folder = folder.absolute()  # the recipe is made before the tokenizer is there to be found
    data: dict[str, Any] = yaml.safe_load((SHIPPED / "demo.yaml").read_text("utf-8"))
    data["inputs"] = found_inputs()
    benchmark = folder / "benchmark.jsonl"
    try:
        write_benchmark(benchmark)
    except OSError as e:
        raise ConfigError(
            f"--out {folder}: cannot write there ({e.strerror or e}); choose another"
        ) from e
    for step in data["steps"]:
        if "decontaminate" in step:
            step["decontaminate"]["benchmarks"] = [
                {
                    "name": "stdlib-functions",
                    "path": str(benchmark),
                    "fields": ["prompt", "solution"],
                }
            ]
    tokenizer = folder / "tokenizer.json"
    data["tokenizer"]["path"] = str(tokenizer)
    recipe = make_recipe(data, where="demo.yaml")
    if not tokenizer.is_file():
        write_text(tokenizer, train_tokenizer(recipe).to_str())
    write_changed(folder / "recipe.yaml", yaml.safe_dump(data, sort_keys=False))
    return recipe


def found_inputs() -> list[dict[str, Any]]:
    """Where text lies on this machine: the standard library and the installed packages."""
    stdlib, packages = sysconfig.get_path("stdlib"), Path(pa.__file__).parent.parent
    patterns = [
        ("licences", f"{packages}/**/LICEN[CS]E*"),
        ("descriptions", f"{packages}/*.dist-info/METADATA"),
        ("readmes", f"{packages}/**/*.md"),
        ("stdlib", f"{stdlib}/*.py"),
        # site-packages may lie in the standard library's folder; its tests are large
        ("stdlib-packages", f"{stdlib}/[!st]*/**/*.py"),
        *((name, f"{packages}/{name}/**/*.py") for name in SOURCES),
    ]
    return [
        {"path": path, "source": name, "format": "text"}
        for name, path in patterns
        if any(glob.iglob(path, recursive=True))
    ]


def write_benchmark(path: Path) -> int:
    """Write completion tasks made of documented functions of the standard library.

    An item has the form of HumanEval's: a prompt (signature and documentation) and its
    solution. The functions lie in the corpus too, so the demo finds them leaked.
    """
    items = [item for module in EXAMPLE_MODULES for item in _items(module)]
    # one that says this stays: a benchmark of another date is another run
    write_changed(path, "".join(json.dumps(item) + "\n" for item in items))
    return len(items)


def train_tokenizer(recipe: Recipe) -> Tokenizer:
    """Train a byte-level BPE on an even sample of the recipe's own documents."""
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=VOCAB_SIZE,
        special_tokens=[END],
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    tokenizer.train_from_iterator(_sample(recipe), trainer)
    return tokenizer


def _sample(recipe: Recipe) -> Iterator[list[str]]:
    plan = recipe.plan()
    every = max(sum(s.bytes for s in plan.shards) // TRAINING_BYTES, 1)
    for shard in plan.shards:
        for batch in recipe.read(shard):
            rows = pa.array(range(0, batch.documents.num_rows, every), pa.int64())
            yield batch.documents["text"].take(rows).to_pylist()


def _items(module: str) -> Iterator[dict[str, str]]:
    path = Path(sysconfig.get_path("stdlib")) / f"{module}.py"
    if not path.is_file():
        return
    source = path.read_text(encoding="utf-8")
    for node in ast.parse(source).body:
        if not isinstance(node, ast.FunctionDef) or not ast.get_docstring(node):
            continue
        text = textwrap.dedent(ast.get_source_segment(source, node) or "")
        head = node.body[0].end_lineno or node.lineno
        lines = text.splitlines()
        cut = head - node.lineno + 1
        yield {
            "task_id": f"{module}.{node.name}",
            "prompt": "\n".join(lines[:cut]),
            "solution": "\n".join(lines[cut:]),
        }
