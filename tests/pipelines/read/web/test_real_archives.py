"""Real archives: records by type as warcio 1.8.1 counts them, or more where it gives up.

It does at files packed as one member, at a record whose header and block are members of their own,
and at files with empty lines, or none, where it does not expect it.
"""

from tests.pipelines.read.web.archives import read
from tokenmill.pipelines.read.options import Html

# what warcio raises at, and what we read of it
FURTHER = {
    "example-bad.warc.gz.bad": {"warcinfo": 1, "response": 2, "request": 2, "revisit": 1},
    "example-bad-non-chunked.warc.gz": {"warcinfo": 2, "response": 1, "request": 2, "revisit": 1},
    "example-wrong-chunks.warc.gz": {"response": 1, "request": 1},
    "IAH-20080430204825-00000-blackbook-truncated.arc": {"arc_header": 1, "response": 8},
    "link-extraction-test.warc": {"warcinfo": 1, "response": 7},
}
DAMAGED = {  # of the others; warcio reads over the damage
    "bad.arc": ["damaged_record"] * 2,
    "example.warc": ["damaged_record"],
    "example-space-in-url.arc": ["truncated_warc"],
    "example-trunc.warc": ["damaged_record"],
}
NO_TEXT = {"mutliple-headers.warc": 1, "link-extraction-test.warc": 1}  # a video, no words


def test_records_are_those_that_warcio_counts(shared_data):
    folder = shared_data / "warc"
    lines = (folder / "EXPECTED.tsv").read_text().splitlines()
    rows = [line.split("\t") for line in lines if not line.startswith(("#", "file\t"))]
    documents = 0
    for name, *_, by_type, error in (row + [""] * (7 - len(row)) for row in rows):
        own = name.rpartition("/")[2]
        counted = {k: int(n) for k, n in (item.split("=") for item in by_type.split(";"))}
        got = read(folder / name, format="warc", options=Html(main_content=False))
        assert got.plan.failed == ()
        assert got.kinds == (FURTHER[own] if error else counted), name
        assert counted.items() <= got.kinds.items() or all(
            got.kinds[k] >= counted[k] for k in counted
        )
        cut = [told.partition(":")[0] for told in got.damage]
        causes = [f["reason"] for f in got.failed] + cut
        if not (own == "example.warc" and not causes):  # one of two files of that name is sound
            assert causes == DAMAGED.get(own, []) + ["no_text"] * NO_TEXT.get(own, 0), name
        documents += len(got.documents)
    assert (len(rows), documents) == (46, 95)  # one of them a part, of a file that ends inside it
