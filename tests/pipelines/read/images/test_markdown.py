"""Folders of Markdown with images."""

import base64
import json
import os

import pytest

from tests.pipelines.read.images.shards import jpeg, png
from tests.pipelines.read.pictured import read_pictured
from tokenmill.pipelines.core.errors import ConfigError
from tokenmill.pipelines.core.schema import PLACEHOLDER as P
from tokenmill.pipelines.read.options import Images, Limits


def write(folder, files):
    for name, data in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data if isinstance(data, bytes) else data.encode())
    return folder


def test_documents_of_a_folder_with_their_images(tmp_path):
    folder = write(
        tmp_path / "docs",
        {
            "guide/a.md": "# A\n\n![cat](../img/my%20cat.png?raw=true#x) and ![b](b.jpg)\n",
            "guide/b.jpg": jpeg(),
            "img/my cat.png": png(),
            "b.markdown": f"no image {P}\n",
            "c.txt": "text",
            "other.png": png(),
        },
    )
    got = read_pictured(folder, format="markdown")
    assert got.ids == ["b.markdown", "guide/a.md"]
    assert got.texts == ["no image \ufffd\n", f"# A\n\ncat and b\n\n{P}\n\n{P}"]
    assert got.blobs == [[], [png(), jpeg()]]
    assert [i["path"] for i in got.images[1]] == ["img/my cat.png", "guide/b.jpg"]
    assert got.plan.skipped == (str(folder / "c.txt"),)  # images are there to be referred to


def test_without_its_format_markdown_is_text(tmp_path):
    folder = write(tmp_path / "docs", {"a.md": "![a](a.png)", "a.png": png()})
    assert read_pictured(folder).texts == ["![a](a.png)"]


def test_what_cannot_be_read_is_named(tmp_path):
    write(tmp_path, {"outside.png": png(), "docs/large.png": png(900, 900, mode="L") + b"x" * 5000})
    folder = tmp_path / "docs"
    (folder / "link.png").symlink_to(tmp_path / "outside.png")
    os.mkfifo(folder / "fifo.png")
    references = [
        ("../outside.png", "outside_input"),
        ("/etc/hostname", "outside_input"),
        ("file:///etc/hostname", "outside_input"),
        ("link.png", "outside_input"),
        ("x/../../docs/../outside.png", "outside_input"),
        ("none.png", "not_found"),
        ("fifo.png", "not_found"),
        ("a%00b.png", "not_found"),
        ("large.png/x", "not_found"),
        ("n" * 300, "not_found"),
        ("large.png", "too_large"),
        ("http://[bad", None),
        ("https://a.org/x.png", None),
    ]
    text = "".join(f"![{i}]({r})\n\n" for i, (r, _) in enumerate(references))
    write(folder, {"a.md": text})
    got = read_pictured(folder, format="markdown", options=Images(max_bytes=4000))
    assert got.image_causes == [cause for _, cause in references if cause]
    assert [i["url"] for i in got.images[0]] == ["http://%5Bbad", "https://a.org/x.png"]
    assert got.texts[0].count(P) == 2
    for row, number in zip(got.failed_images, range(len(references)), strict=False):
        assert row["number"] == number
        assert row["detail"].startswith(f"{folder / 'a.md'} line {2 * number + 1}: ")


def test_images_outside_name_the_way_and_are_read_by_it(tmp_path):
    write(tmp_path, {"static/img/a.png": png(), "shared/b.png": jpeg(), "secret.png": png()})
    text = "![a](/img/a.png) ![b](../shared/b.png) ![c](../secret.png) ![d](/img/none.png)"
    folder = write(tmp_path / "docs", {"a.md": text})
    got = read_pictured(folder, format="markdown")
    assert got.image_causes == ["outside_input"] * 4
    way = "is not below the input's folder; name the one it lies in, as {path: …, roots: [FOLDER]}"
    assert all(f["detail"].endswith(way) for f in got.failed_images)
    roots = [str(tmp_path / "shared"), str(tmp_path / "static")]
    got = read_pictured(folder, format="markdown", roots=roots)
    assert got.blobs == [[png(), jpeg()]]
    assert [i["path"] for i in got.images[0]] == ["../static/img/a.png", "../shared/b.png"]
    assert got.image_causes == ["outside_input", "not_found"]
    assert got.failed_images[0]["detail"].endswith(way)
    (tmp_path / "shared" / "link.png").symlink_to(tmp_path / "secret.png")
    (folder / "a.md").write_text("![x](../shared/link.png)")
    got = read_pictured(folder, format="markdown", roots=roots)
    assert got.image_causes == ["outside_input"]


def test_paths_of_lines_are_looked_for_below_roots_too(tmp_path):
    write(tmp_path, {"coco/1.png": png(), "lines/own.png": jpeg()})
    names = ("1.png", "own.png", "2.png", str(tmp_path / "coco" / "1.png"))
    rows = [{"text": n[-7:], "image": n} for n in names]
    lines = tmp_path / "lines" / "d.jsonl"
    lines.write_text("".join(json.dumps(row) + "\n" for row in rows))
    got = read_pictured(lines, images="image", roots=[str(tmp_path / "coco")])
    assert got.texts == ["1.png", "own.png", "o/1.png"]
    assert got.blobs == [[png()], [jpeg()], [png()]]
    assert got.image_causes == ["not_found"]


@pytest.mark.parametrize(
    ("name", "fields"),
    [
        ("a.csv", {"images": "image"}),
        ("a.txt", {"images": "image"}),
        ("a.tar", {"images": "jpg"}),
        ("a.tar", {"roots": ["x"]}),
        ("a.csv", {"roots": ["x"]}),
    ],
)
def test_images_are_not_passed_over_in_formats_that_have_none(tmp_path, name, fields):
    (tmp_path / name).write_bytes(b"text,image\na,https://a.org/1.png\n")
    (key,) = fields
    with pytest.raises(ConfigError, match=f"{key}: files of format .* have none; leave it out"):
        read_pictured(tmp_path / name, **fields)


def test_a_csv_among_files_with_images_fails_with_the_way(tmp_path):
    write(tmp_path, {"a.csv": "text,image\na,https://a.org/1.png\n"})
    write(tmp_path, {"b.jsonl": '{"text": "b", "image": "https://a.org/2.png"}\n'})
    got = read_pictured(tmp_path, images="image")
    assert got.texts == ["b"]
    (failed,) = got.plan.failed
    assert failed.cause == "no_images"
    assert "images in column 'image' of a CSV are not read; write it as" in failed.message


def test_data_urls_are_read(tmp_path):
    data = base64.b64encode(png()).decode()
    text = f"![a](data:image/png;base64,{data}) ![b](data:image/png;base64,A)"
    got = read_pictured(write(tmp_path / "docs", {"a.md": text}), format="markdown")
    assert got.blobs == [[png()]]
    assert got.image_causes == ["invalid_data_url"]
    assert len(got.failed_images[0]["detail"]) < 500


def test_documents_that_are_no_text_fail_alone(tmp_path):
    files = {"a.md": b"\xff![a](b.png)", "b.md": "x" * 50, "c.md": "fine"}
    folder = write(tmp_path / "docs", files)
    got = read_pictured(folder, format="markdown", limits=Limits(max_document_bytes=49))
    assert (got.texts, got.causes) == (["fine"], ["invalid_utf8", "too_large"])


def test_tiny_files_share_shards_and_nothing_changes(tmp_path):
    files = {f"{i}.md": f"![a]({i}.png)" for i in range(9)}
    files |= {f"{i}.png": png(colour=(i, 0, 0)) for i in range(9)}
    folder = write(tmp_path / "docs", files)
    for shard_bytes, shards in ((1 << 28, 1), (30, 5)):
        got = read_pictured(folder, format="markdown", shard_bytes=shard_bytes)
        assert len(got.plan.shards) == shards
        assert got.blobs == [[png(colour=(i, 0, 0))] for i in range(9)]


@pytest.mark.filterwarnings("ignore::UserWarning")  # what Pillow says of damaged ones
def test_every_real_image_is_kept_or_named(tmp_path, shared_data):
    subset = shared_data / "images" / "decoder_subset"
    files = sorted(p for p in subset.rglob("*") if p.is_file() and p.suffix != ".tsv")
    folder = tmp_path / "docs"
    folder.mkdir()
    (folder / "images").mkdir()
    lines = []
    for i, path in enumerate(files):
        name = f"images/{i}{path.suffix}"
        (folder / name).write_bytes(path.read_bytes())
        lines.append(f"A paragraph about image {i}.\n\n![image {i}]({name})\n")
    for i in range(0, len(lines), 20):
        (folder / f"{i:03}.md").write_text("\n".join(lines[i : i + 20]))
    got = read_pictured(folder, format="markdown")
    assert len(got.documents) == -(-len(files) // 20)
    there = {i["path"] for images in got.images for i in images}
    named = {f["path"] for f in got.failed_images}
    assert not there & named
    assert len(there | named) == len(files)
    assert len(there) > 100
