"""Text files: one document each."""

import gzip

import pytest

from tests.pipelines.read.corpus import read_all, read_plan
from tokenmill.pipelines.read.options import Limits


def write(folder, files):
    for name, data in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(data)
    return folder


def test_tiny_files_share_shards_and_keep_their_paths_as_ids(tmp_path):
    names = [f"{a}/{b}.md" for a in "abc" for b in range(5)]
    got = read_all(write(tmp_path, {n: n.encode() for n in names}), shard_bytes=20)
    assert got.ids == got.texts == names
    assert [len(s.paths) for s in got.plan.shards] == [3, 3, 3, 3, 3]


def test_a_file_that_is_not_utf8_fails_alone(tmp_path):
    files = {"a.txt": b"a", "b.txt": b"\xef\xbb\xbfab\xff", "c.txt": b"\xef\xbb\xbfc", "d.txt": b""}
    files["e.txt"] = "\ufeffé".encode("utf-16-be")
    got = read_all(write(tmp_path, files))
    assert got.texts == ["a", "c", ""]
    failure, wide = got.failures
    assert wide["detail"].endswith("byte; `iconv -f utf-16 -t utf-8` makes it UTF-8")
    assert (failure["reason"], failure["id"], failure["text_bytes"]) == ("invalid_utf8", "b.txt", 6)
    why = "not UTF-8: invalid start byte; `iconv -f CHARSET -t utf-8` makes it UTF-8"
    assert failure["detail"] == f"{tmp_path}/b.txt byte 5: {why}"


@pytest.mark.parametrize(
    ("data", "why"),
    [
        ("漢字".encode("iso2022_jp"), "it is ISO-2022-JP; `iconv -f iso-2022-jp -t utf-8` makes"),
        ("Привет, мир. Как твои дела?".encode("utf-16-le"), "27 of its 54 bytes are 0, 4, 6 or 1"),
        (
            "ประเทศไทย".encode("utf-16-le"),
            "9 of its 18 bytes are 0, 4, 6 or 14; `iconv -f utf-16le",
        ),
        ("plain".encode("utf-16-be"), "5 of its 10 bytes are 0, 4, 6 or 14; `iconv -f utf-16le"),
        (bytes(4096), "4,096 of its 4,096 bytes are 0, 4, "),
        (b"\0" + b"x" * 48, "1 of its 49 bytes are 0, 4, "),
        (b"\0" + b"x" * 49, None),
        (b"bold\x1b(B\x1b[m of a terminal, $B and \x1b$A", None),
        ("a mail of 漢字 among those of UTF-8, \x1b$B4A;z\x1b(B".encode(), None),
    ],
)
def test_what_decodes_as_utf8_and_is_not_fails_alone(tmp_path, data, why):
    got = read_all(write(tmp_path, {"a.txt": data, "b.txt": b"b"}))
    assert got.texts == [data.decode(), "b"][bool(why) :]
    assert got.reasons == ["invalid_utf8"] * bool(why)
    assert all(f["detail"].startswith(f"{tmp_path}/a.txt: not UTF-8: {why}") for f in got.failures)


def test_pointers_of_git_lfs_are_no_files(tmp_path):
    pointer = b"version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 24264603\n"
    names = ["a.csv", "b.jsonl", "c.parquet", "d.arrow"]
    about = pointer + b"is how a pointer begins" * 50
    texts = ["e.txt", "e.txt.gz", "e.txt.zst"]
    got = read_all(write(tmp_path, {**dict.fromkeys([*names, *texts], pointer), "f.md": about}))
    assert got.texts == [about.decode()]
    told = [f.message for f in got.plan.failed] + [f["detail"] for f in got.failures]
    why = "a pointer of Git LFS in place of the file; `git lfs pull` fetches it"
    assert told == [f"{tmp_path / name}: {why}" for name in [*names, *texts]]
    assert {f.cause for f in got.plan.failed} == {*got.reasons} == {"lfs_pointer"}
    (failed,) = read_all(tmp_path / "a.csv", header=["text"]).plan.failed
    assert failed.cause == "lfs_pointer"


def test_a_large_file_fails_alone(tmp_path):
    got = read_all(
        write(tmp_path, {"a.txt": b"x" * 11, "b.txt": b"x" * 10}),
        limits=Limits(max_document_bytes=10),
    )
    assert (got.texts, got.reasons) == (["x" * 10], ["too_large"])


def test_compressed_text_is_read_and_damage_named(tmp_path):
    packed = gzip.compress(b"hello")
    got = read_all(write(tmp_path, {"a.txt.gz": packed, "b.txt.gz": packed[:-4]}))
    assert (got.texts, got.reasons) == (["hello"], ["truncated_gzip"])


def test_any_name_is_text_if_the_recipe_says_so(tmp_path):
    write(tmp_path, {"LICENSE": b"l", "x.py": b"p", "y.txt": b"t"})
    assert read_all(tmp_path, format="text").texts == ["l", "p", "t"]
    assert read_all(tmp_path).texts == ["t"]


@pytest.mark.parametrize("gone", ["a.txt", "b.txt"])
def test_a_file_that_went_away_after_planning_fails_alone(tmp_path, gone):
    plan = read_all(write(tmp_path, {"a.txt": b"a", "b.txt": b"b"})).plan
    (tmp_path / gone).unlink()
    got = read_plan(plan)
    assert got.reasons == ["not_found"]
    assert len(got.texts) == 1
