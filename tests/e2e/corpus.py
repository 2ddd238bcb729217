"""A small corpus of real prose: the documentation inside the standard library, with duplicates."""

import ast
import json
import os
import sys
import sysconfig
import zlib
from functools import cache
from pathlib import Path

import yaml

from tests.pipelines.conftest import train

MODULES = (
    "argparse", "ast", "bdb", "bisect", "calendar", "cmd", "codecs", "contextlib", "copy", "csv",
    "dataclasses", "datetime", "decimal", "difflib", "dis", "doctest", "enum", "fractions",
    "ftplib", "functools", "gzip", "heapq", "inspect", "ipaddress", "locale", "mailbox", "optparse",
    "os", "pathlib", "pdb", "pickle", "platform", "plistlib", "pprint", "random", "shutil",
    "smtplib", "socket", "ssl", "statistics", "string", "subprocess", "tarfile", "tempfile",
    "textwrap", "threading", "timeit", "traceback", "turtle", "types", "typing", "uuid", "zipfile",
)  # fmt: skip


OF_THIS = f"{sys.hexversion:x}-{zlib.crc32(Path(__file__).read_bytes()):x}"
KEPT = Path(__file__).parents[2] / ".pytest_cache" / f"prose-{OF_THIS}.json"


@cache
def prose() -> tuple[str, ...]:
    """Documentation strings of the standard library, 200 bytes and more, in a fixed order.

    Finding them takes a second of every process, so the first one keeps them.
    """
    if KEPT.is_file():
        return tuple(json.loads(KEPT.read_text(encoding="utf-8")))
    found = list[str]()
    for module in MODULES:
        path = Path(sysconfig.get_path("stdlib")) / f"{module}.py"
        tree = ast.parse(path.read_text(encoding="utf-8"))
        nodes = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
        texts = [ast.get_docstring(n) for n in ast.walk(tree) if isinstance(n, nodes)]
        found += [t for t in texts if t and len(t.encode()) >= 200]
    KEPT.parent.mkdir(exist_ok=True)
    part = KEPT.with_suffix(f".{os.getpid()}")
    part.write_text(json.dumps(found), encoding="utf-8")
    part.replace(KEPT)
    return tuple(found)


def corpus() -> list[str]:
    """Prose, every fifth document twice, every seventh once more with a few words changed."""
    docs = prose()
    near = [doc.replace("the", "that", 1) for doc in docs[::7] if len(doc.split()) > 80]
    return [*docs, *docs[::5], *near]


def write_corpus(folder: Path, **settings) -> Path:
    """Write the corpus as JSONL, a tokenizer and a recipe; return the recipe's path."""
    with (folder / "docs.jsonl").open("w", encoding="utf-8") as f:
        for i, text in enumerate(corpus()):
            f.write(json.dumps({"id": f"doc-{i}", "text": text}) + "\n")
    recipe = {
        "name": "stdlib",
        "inputs": [{"path": str(folder / "docs.jsonl")}],
        "shard_bytes": "80kB",
        "steps": ["normalize", {"exact": {}}, {"near": {}}],
        "tokenizer": {"path": str(train(folder)), "eos": True},
        "output": {"shard_bytes": "64kB"},
        "run": {"keep_intermediates": False},
        **settings,
    }
    path = folder / "recipe.yaml"
    path.write_text(yaml.safe_dump(recipe))
    return path
