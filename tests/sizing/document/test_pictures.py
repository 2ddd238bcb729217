"""Pictures on a page: shown from within it, and named whatever they are."""

import base64
from html.parser import HTMLParser

from tokenmill.sizing.document.passages import Picture, sheet


class Images(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.found: list[dict[str, str | None]] = []
        self.text = ""

    def handle_starttag(self, tag, attrs):
        if tag in ("img", "script"):
            self.found.append({"tag": tag, **dict(attrs)})

    def handle_data(self, data):
        self.text += data


def parsed(html: str) -> Images:
    parser = Images()
    parser.feed(html)
    return parser


def test_a_picture_is_within_the_page_and_named():
    page = parsed(sheet("Kept", "2 images", [Picture(b"\xff\xd8 jpeg", "a.jpg", "dir/a.jpg")]))
    (image,) = page.found
    assert image["alt"] == "dir/a.jpg"
    head, _, data = (image["src"] or "").partition(",")
    assert head == "data:image/jpeg;base64"
    assert base64.b64decode(data) == b"\xff\xd8 jpeg"
    assert "Kept2 imagesa.jpg" in page.text


def test_what_cannot_be_shown_says_so_and_names_are_escaped():
    name = '"><script>alert(1)</script>'
    page = parsed(sheet(name, "", [Picture(None, name, name), Picture(b"x", name, name)]))
    assert [i["tag"] for i in page.found] == ["img"]
    assert page.found[0]["alt"] == name
    assert "no picture" in page.text
