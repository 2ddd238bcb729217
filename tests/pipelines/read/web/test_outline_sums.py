"""What is counted of pages of every two tags, and of tags with every character at every place.

Each row of outlines.json is the sum of some outlines: tags, attributes, depth, nodes, options.
`python -m tests.pipelines.read.web.test_outline_sums` writes them anew.
"""

import json
from pathlib import Path

import numpy as np
import pytest

from tests.pipelines.read.web.test_outline import BOUNDS, TAGS
from tokenmill.pipelines.read.web.extract import outline

GOLDEN = Path(__file__).with_name("outlines.json")
PLACES = [
    *("<{}div>", "<d{}iv>", "<div{}>", "<div{}a=1>", "<div a{}=1>", "<div a={}1>", "<div a{}b c>"),
    *("<div a='{}'>x</div>", '<div a="{}>">', "<div a= {}b>", "</{}div>", "</div{}>", "<{}/div>"),
    *("<!{}-- <b> -->", "<!-{}- <b> -->", "<!-- <b> -{}->", "<!-- <b> --{}>", "<!--{}> <b>"),
    *("<!--{}<b>-->", "<!-- <b> --!{}>", "<?{}<b>>", "<script>{}<b></script>", "<br{}/><svg/>"),
    *("<script><b></script{}<b>", "<script><b><{}/script><b>", "<svg><b{}/><i>", "<option{}>"),
]


def summed(pages: list[str]) -> list[int]:
    return np.sum([outline(page.encode(), BOUNDS)[0] for page in pages], axis=0).tolist()


def pages_of(name: str) -> list[str]:
    if "{}" in name:
        return [name.replace("{}", chr(c)) + "<i>" for c in range(128)]
    return [f"<{name}>x<{other} id=1>y</{name}>z</{other}>" * 3 for other in TAGS]


@pytest.mark.parametrize("name", [*TAGS, *PLACES])
def test_outlines_are_what_they_were(name):
    assert summed(pages_of(name)) == json.loads(GOLDEN.read_text())[name]


if __name__ == "__main__":
    rows = [f"{json.dumps(name)}: {summed(pages_of(name))}" for name in [*TAGS, *PLACES]]
    GOLDEN.write_text("{\n" + ",\n".join(rows) + "\n}\n")
