"""What is printed, held to a file beside this one: a changed word is a reviewed diff.

`GOLDEN=write pytest TEST` writes the files of a test anew.
"""

import os
from difflib import unified_diff
from pathlib import Path


def held(name: str, text: str) -> None:
    """Fail where a text differs from the file of its name."""
    path = Path(__file__).with_name(name)
    if os.environ.get("GOLDEN") == "write":
        path.write_text(text, encoding="utf-8")
    before = path.read_text(encoding="utf-8")
    changed = unified_diff(before.splitlines(), text.splitlines(), "was", "is", lineterm="", n=1)
    assert text == before, "\n".join(changed)


def printed(main, capsys, commands, **places) -> str:
    """What commands print, one after another, with their exit codes where they are not 0.

    places: names of paths in it.
    """
    told = []
    for command in commands:
        code = main([*map(str, command)])
        out, err = capsys.readouterr()
        lines = [*out.splitlines(), *err.splitlines(), *([f"[{code}]"] if code else [])]
        told += [f"$ {' '.join(map(str, command))}", *(line.rstrip() for line in lines), ""]
    text = "\n".join(told)
    for name, path in sorted(places.items(), key=lambda p: -len(str(p[1]))):
        text = text.replace(str(path), name)
    return text
