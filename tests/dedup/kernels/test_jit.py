"""Numba's disk cache holds a kernel until its file changes, or one that it takes something from."""

import ast
import os
import shutil
import time
from pathlib import Path

import numpy as np
import pytest

from tests.apart import apart
from tests.dedup.kernels import ask
from tokenmill.dedup.kernels import _jit, images

ROOT = Path(__file__).parent.parent.parent.parent
KERNELS = sorted(
    path
    for package in ("dedup", "pipelines")
    for path in (ROOT / package).rglob("*.py")
    if "_jit import" in path.read_text() or path.parent.name == "kernels"
)
SHARED = "from tokenmill.dedup.kernels.constants import STEP\n"
SHARED += "from tokenmill.dedup.kernels._jit import inlined\n\n"
SHARED += "@inlined\ndef more(x: int) -> int:\n    return x + STEP\n"
KERNEL = "from tokenmill.dedup.kernels._jit import kernel\n"
KERNEL += "from tokenmill.dedup.kernels.shared import more\n\n"
KERNEL += "@kernel\ndef twice_more(x: int) -> int:\n    return more(more(x))\n"
COMPILED, LOADED = 0, 1  # hits


@pytest.fixture
def folder(tmp_path):
    """Of a tokenmill with a kernel in one file, its helper in a second, a constant in a third."""
    folder = tmp_path / "tokenmill" / "dedup" / "kernels"
    folder.mkdir(parents=True)
    (folder.parent / "__init__.py").touch()
    (folder / "__init__.py").touch()
    shutil.copy(_jit.__file__, folder)
    (folder / "constants.py").write_text("STEP = 1\n")
    (folder / "shared.py").write_text(SHARED)
    (folder / "user.py").write_text(KERNEL)
    return folder


def asked(folder, argument="1"):
    """What a process of its own gets from the kernel, and whether from the cache."""
    ended = apart(ask.main, str(folder.parents[2]), argument)
    assert ended.returncode == 0, ended.stderr
    return tuple(map(int, ended.stdout.split()))


def test_a_kernel_is_compiled_once(folder):
    assert asked(folder) == (3, COMPILED)
    assert asked(folder) == (3, LOADED)


@pytest.mark.parametrize(
    ("name", "old", "new"),
    [("shared.py", "x + STEP", "x - STEP"), ("constants.py", "STEP = 1", "STEP = -1")],
)
def test_an_edited_helper_or_constant_is_compiled_anew(folder, name, old, new):
    asked(folder)
    edited = (folder / name).read_text().replace(old, new)
    (folder / name).write_text(edited)
    later = time.time() + 2  # Python tells an edit of the same size by the second
    os.utime(folder / name, (later, later))
    assert asked(folder) == (-1, COMPILED)
    assert asked(folder) == (-1, LOADED)


def test_a_cache_that_speaks_of_a_module_that_is_gone_is_made_anew(folder):
    """As after an upgrade in place: arguments that are tuples are cached with their class."""
    shape = "from typing import NamedTuple\n\nclass Shape(NamedTuple):\n    x: int\n"
    taking = "from tokenmill.dedup.kernels._jit import kernel\n"
    taking += "from tokenmill.dedup.kernels.shapes import Shape\n\n"
    taking += "@kernel\ndef twice_more(shape):\n    return shape.x + 2\n"
    (folder / "shapes.py").write_text(shape)
    (folder / "user.py").write_text(taking)
    assert asked(folder, "user.Shape(1)") == (3, COMPILED)
    assert asked(folder, "user.Shape(1)") == (3, LOADED)
    (folder / "shapes.py").rename(folder / "forms.py")
    (folder / "user.py").write_text(taking.replace("kernels.shapes", "kernels.forms"))
    assert asked(folder, "user.Shape(1)") == (3, COMPILED)
    assert asked(folder, "user.Shape(1)") == (3, LOADED)


@pytest.mark.parametrize("path", KERNELS, ids=lambda path: str(path.relative_to(ROOT)))
def test_what_a_kernel_file_takes_from_others_is_seen_by_the_cache(path):
    """By `from tokenmill.… import name` alone, at the top, and of files, not of folders."""
    tree = ast.parse(path.read_text())
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            assert not any(name.name.startswith("tokenmill") for name in node.names)
        if isinstance(node, ast.ImportFrom) and str(node.module).startswith("tokenmill"):
            assert node in tree.body
            assert (ROOT / Path(*str(node.module).split(".")[1:])).with_suffix(".py").is_file()


def test_a_helper_is_called_by_kernels_alone():
    with pytest.raises(TypeError, match="spread_of is called by kernels alone"):
        images.spread_of(np.zeros(images.LOOK_BYTES, np.uint8))
