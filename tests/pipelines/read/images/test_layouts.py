"""Interleaved documents by the layouts of published corpora: every text and image in its place.

Each layout is written here from its specification:
OBELICS and OmniCorpus, their cards (texts, images, metadata; null where the other is); MINT-1T,
its card (a TIFF with a page for each image, a .json with texts and images); MMC4, its README
(text_list, image_info); LLaVA, docs/Finetune_Custom_Data.md (conversations, image).
"""

import base64
import io
import json
import tarfile

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from datasets import load_from_disk
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from PIL import Image

from tests.pipelines.read.images.shards import encoded, jpeg, picture, png, tar_bytes
from tests.pipelines.read.pictured import read_pictured
from tests.running import one_by_one, prepare
from tokenmill.pipelines.core.errors import ConfigError
from tokenmill.pipelines.core.schema import PLACEHOLDER as P
from tokenmill.pipelines.core.shard import Input, InputFile
from tokenmill.pipelines.prepare.recipe import make_recipe
from tokenmill.pipelines.read.images import webdataset
from tokenmill.pipelines.read.images.layouts import laid_out, layout_in
from tokenmill.pipelines.read.options import Images, Limits
from tokenmill.pipelines.read.stream import read_blocks

# A document: texts, and numbers of images; some of each follow one another.
nodes = st.lists(st.one_of(st.sampled_from(["one", "two 2", "drei\nvier"]), st.just(0)), min_size=1)
documents = st.lists(nodes, min_size=1, max_size=4)
quick = settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)


def numbered(made):
    """Documents with a number for each image, in order over all."""
    count = iter(range(10**6))
    return [[next(count) if node == 0 else node for node in nodes] for nodes in made]


def told(nodes):
    """The slow and obvious way: each node in its place."""
    return "\n\n".join(P if isinstance(node, int) else node for node in nodes)


def images_of(nodes):
    return [node for node in nodes if isinstance(node, int)]


def picture_of(number):
    return png(4 + number % 7, 5 + number // 7)


def lists_of(nodes, name=lambda number: number):
    return {
        "texts": [None if isinstance(n, int) else n for n in nodes],
        "images": [name(n) if isinstance(n, int) else None for n in nodes],
    }


def url_of(number):
    return f"https://a.org/{number}.png"


def write_lines(path, rows):
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def tar_of(path, members):
    path.write_bytes(tar_bytes(members))
    return path


@quick
@given(documents, st.sampled_from(["whole", "suffix", "stem", "object"]), st.booleans())
def test_samples_of_several_images_are_read_by_the_names_in_their_json(
    tmp_path, made, naming, image_first
):
    made = numbered(made)
    members = []
    for key, nodes in enumerate(made):
        name = {
            "whole": lambda n, key=key: f"{key:03}.img{n}.png",
            "suffix": lambda n: f"img{n}.png",
            "stem": lambda n: f"img{n}",
            "object": lambda n: {"file": f"img{n}.png"},
        }[naming]
        said = [(f"{key:03}.json", json.dumps(lists_of(nodes, name)).encode())]
        # they lie in another order than they stand in the text
        there = [(f"{key:03}.img{n}.png", picture_of(n)) for n in sorted(images_of(nodes))[::-1]]
        members += there + said if image_first else said + there
    got = read_pictured(tar_of(tmp_path / "a.tar", members))
    assert got.texts == [told(nodes) for nodes in made]
    assert got.blobs == [[picture_of(n) for n in images_of(nodes)] for nodes in made]
    assert got.failures == got.failed_images == []


def test_an_image_that_its_json_names_and_one_that_it_does_not(tmp_path):
    said = {"texts": ["a", None, None], "images": [None, "img7", "img1"]}
    members = {"0.img1.png": png(), "0.img2.png": png(9, 9), "0.json": json.dumps(said).encode()}
    got = read_pictured(tar_of(tmp_path / "a.tar", members))
    assert (got.texts, got.blobs) == ([f"a\n\n{P}"], [[png()]])
    assert [(f["path"], f["reason"]) for f in got.failed_images] == [
        ("a.tar/0.json", "not_found"),
        ("a.tar/0.img2.png", "not_placed"),
    ]


def frames(data):
    with Image.open(io.BytesIO(data)) as image:
        for number in range(image.n_frames):
            image.seek(number)
            yield image.mode, image.size, image.tobytes()


def tiff(images, **options):
    return encoded(images[0], "TIFF", save_all=True, append_images=images[1:], **options)


@pytest.mark.parametrize("compression", [None, "tiff_lzw", "tiff_deflate", "jpeg"])
@pytest.mark.parametrize("big_tiff", [False, True])
def test_pages_of_a_tiff_stand_where_mint_says(tmp_path, compression, big_tiff):
    made = [["one", 0, 0, "two"], [0, "three"], ["none of them"]]
    members = {}
    whole = []
    for key, nodes in enumerate(made):
        n = len(images_of(nodes))
        drawn = [picture(8 + i, 9 + key, (40 * i, 90, 20), "L" if i else "RGB") for i in range(n)]
        fields = {
            **lists_of(nodes, lambda n: f"page_3_image_{85 + n}"),
            "image_metadata": [{"page": 3, "xref": 85, "width": 1, "height": 1}] * n,
            "url": f"https://a.org/{key}.pdf",
        }
        members[f"{key:032x}.json"] = json.dumps(fields).encode()
        if n:
            whole.append(tiff(drawn, compression=compression, big_tiff=big_tiff))
            members[f"{key:032x}.tiff"] = whole[-1]
    got = read_pictured(tar_of(tmp_path / "a.tar", members))
    assert got.texts == [told(nodes) for nodes in made]
    assert [d["url"] for d in got.documents] == [f"https://a.org/{k}.pdf" for k in range(3)]
    shown = [frame for blobs in got.blobs for blob in blobs for frame in frames(blob)]
    assert shown == [frame for data in whole for frame in frames(data)]
    assert [len(images) for images in got.images] == [2, 1, 0]
    assert [i["path"] for i in got.images[0]] == [f"a.tar/{0:032x}.tiff#{n}" for n in range(2)]


def test_a_tiff_of_other_pages_than_the_json_says_fails(tmp_path):
    drawn = [picture(8, 9), picture(9, 9)]
    good = {"9.json": b'{"texts": ["a", null], "images": [null, "page_0_image_1"]}'}
    good["9.tiff"] = tiff(drawn[:1])
    bad = {"0.json": b'{"texts": ["a", null], "images": [null, "page_0_image_1"]}'}
    got = read_pictured(tar_of(tmp_path / "a.tar", {**bad, "0.tiff": tiff(drawn), **good}))
    assert got.ids == ["9"]
    assert (got.causes, got.image_causes) == (["unequal_lists"], ["document_failed"])
    assert "1 places of images ('page_0_image_1'), 2 images ('tiff')" in got.failures[0]["detail"]


def test_a_tiff_of_several_pages_is_its_pages_wherever_it_stands(tmp_path):
    drawn = [picture(8, 9), picture(9, 9), picture(10, 9)]
    (tmp_path / "scan.tiff").write_bytes(tiff(drawn))
    got = read_pictured(
        write_lines(
            tmp_path / "d.jsonl",
            [
                {"text": "a scan", "image": "scan.tiff"},
                {"text": ["a", None, "b"], "image": [None, "scan.tiff", None]},
            ],
        ),
        images="image",
    )
    assert got.texts == ["a scan", f"a\n\n{P}{P}{P}\n\nb"]
    for blobs in got.blobs:
        assert [size for blob in blobs for _, size, _ in frames(blob)] == [
            (8, 9),
            (9, 9),
            (10, 9),
        ]


def mmc4(nodes, **entry):
    """A document of MMC4, and the text that it stands for."""
    sentences = [n for n in nodes if not isinstance(n, int)]
    infos, expected, run = [], [], []
    for at, node in enumerate(nodes):
        if isinstance(node, int):
            place = sum(not isinstance(n, int) for n in nodes[:at])
            of = {name: make(node) for name, make in entry.items()}
            infos.append({"image_name": f"{node}.png", "matched_text_index": place, **of})
            expected += [" ".join(run)] * bool(run) + [P]
            run = []
        else:
            run.append(node)
    expected += [" ".join(run)] * bool(run)
    return {"text_list": sentences, "image_info": infos, "url": "u"}, "\n\n".join(expected)


@quick
@given(st.lists(nodes.map(lambda n: [*n, "last"]), min_size=1, max_size=4), st.booleans())
def test_images_of_mmc4_stand_before_their_sentences(tmp_path, made, named):
    made = numbered(made)
    rows = [mmc4(nodes, raw_url=url_of, matched_sim=float) for nodes in made]
    options = {"text": "text_list", "images": "image_info"} if named else {}
    written = [row for row, _ in rows]
    lines = write_lines(tmp_path / "d.jsonl", written)
    info = pa.struct(
        [
            ("image_name", pa.string()),
            ("matched_text_index", pa.int64()),
            ("raw_url", pa.string()),
            ("matched_sim", pa.float64()),
        ]
    )
    kinds = [("text_list", pa.list_(pa.string())), ("image_info", pa.list_(info))]
    table = pa.Table.from_pylist(written, schema=pa.schema([*kinds, ("url", pa.string())]))
    pq.write_table(table, tmp_path / "d.parquet")
    for path in (lines, tmp_path / "d.parquet"):
        got = read_pictured(path, **options)
        assert got.texts == [text for _, text in rows]
        assert [[i["url"] for i in of] for of in got.images] == [
            [url_of(n) for n in images_of(nodes)] for nodes in made
        ]
        assert got.failures == got.failed_images == []


@pytest.mark.parametrize("written", [str, lambda data: data.decode()])
def test_mmc4_with_bytes_in_tars(tmp_path, written):
    made = numbered([["one", 0, "two", "three", 0, 0, "four"], ["five", "six"]])
    rows = [mmc4(n, image_base64=lambda n: written(base64.b64encode(picture_of(n)))) for n in made]
    members = {f"{k}.json": json.dumps(row).encode() for k, (row, _) in enumerate(rows)}
    got = read_pictured(tar_of(tmp_path / "a.tar", members))
    assert got.texts == [text for _, text in rows]
    assert got.texts[0] == f"one\n\n{P}\n\ntwo three\n\n{P}\n\n{P}\n\nfour"
    assert got.blobs == [[picture_of(n) for n in images_of(nodes)] for nodes in made]


def test_images_of_mmc4_at_no_sentence_fail_their_document(tmp_path):
    good, _ = mmc4(numbered([[0, "a"]])[0], raw_url=url_of)
    for place in (1, -1, None, "0"):
        bad = json.loads(json.dumps(good))
        bad["image_info"][0]["matched_text_index"] = place
        got = read_pictured(write_lines(tmp_path / "d.jsonl", [good, bad]))
        assert (got.texts, got.causes) == ([f"{P}\n\na"], ["unequal_lists"])
        assert f"image 0 stands at sentence {place} of 1" in got.failures[0]["detail"]


@quick
@given(documents, st.sampled_from(["nulls", "compact", "JSON"]), st.booleans())
def test_omnicorpus_and_mint_of_html(tmp_path, made, metadata, tagged):
    made = numbered(made)
    rows = []
    for nodes in made:
        row = lists_of(nodes, url_of)
        if tagged:
            row["texts"] = [t or "<image>" for t in row["texts"]]
        facts = [i and {"width": 6 + len(nodes), "d_hash": "x"} for i in row["images"]]
        row["metadata"] = [f for f in facts if f or metadata != "compact"]
        row["general_metadata"] = {"url": "https://a.org", "id": "7"}
        rows.append(row)
    strings = pa.list_(pa.string())
    facts = pa.struct([("width", pa.int64()), ("d_hash", pa.string())])
    general = pa.struct([("url", pa.string()), ("id", pa.string())])
    kinds = {"texts": strings, "images": strings, "metadata": pa.list_(facts)}
    kinds["general_metadata"] = general
    if metadata == "JSON":
        rows = [{**row, "metadata": json.dumps(row["metadata"])} for row in rows]
        kinds["metadata"] = pa.string()
    pq.write_table(pa.Table.from_pylist(rows, schema=pa.schema(kinds)), tmp_path / "d.parquet")
    for path in (write_lines(tmp_path / "d.jsonl", rows), tmp_path / "d.parquet"):
        got = read_pictured(path)  # nobody named the columns
        assert got.texts == [told(nodes) for nodes in made]
        assert [[(i["url"], i["width"]) for i in of] for of in got.images] == [
            [(url_of(n), 6 + len(nodes)) for n in images_of(nodes)] for nodes in made
        ]
        assert {d["url"] for d in got.documents} == {"https://a.org"}


PNG_BASE64 = base64.b64encode(png(3, 4)).decode()
TALK = [
    {"from": "human", "value": "<image>\nWhat is it?"},
    {"from": "gpt", "value": "A cat."},
    {"from": "human", "value": f"And {P}?"},
]
SPOKEN = f"{P}\nWhat is it?\n\nA cat.\n\nAnd \ufffd?"
BOTH = [{"from": "human", "value": "Is <image> like <image>?"}, {"from": "gpt", "value": "No"}]


def llava(tmp_path, kind, rows):
    if kind == "tar":
        members = {}
        for key, row in enumerate(rows):
            for n, name in enumerate(row.get("image") or ()):
                members[f"{key}.{n}.png"] = (tmp_path / name).read_bytes()
            said = {**row, "image": (row.get("image") or [None])[0] if key % 2 else None}
            members[f"{key}.json"] = json.dumps(said).encode()
        return tar_of(tmp_path / "a.tar", members)
    if kind == "array":  # as it is published
        (tmp_path / "d.json").write_text(json.dumps(rows, indent=2))
        return tmp_path / "d.json"
    if kind == "parquet":
        turn = pa.struct([("from", pa.string()), ("value", pa.string())])
        kinds = [("id", pa.string()), ("image", pa.list_(pa.string()))]
        schema = pa.schema([*kinds, ("conversations", pa.list_(turn))])
        pq.write_table(pa.Table.from_pylist(rows, schema=schema), tmp_path / "d.parquet")
        return tmp_path / "d.parquet"
    return write_lines(tmp_path / "d.jsonl", rows)


@pytest.mark.parametrize("kind", ["array", "jsonl", "parquet", "tar"])
def test_images_of_conversations_stand_where_they_are_spoken_of(tmp_path, kind):
    for n in range(3):
        (tmp_path / f"{n}.png").write_bytes(picture_of(n))
    rows = [
        {"id": "0", "image": ["0.png"], "conversations": TALK},
        {"id": "1", "image": ["1.png"], "conversations": TALK},
        {"id": "2", "image": ["1.png", "2.png"], "conversations": BOTH},
        {"id": "3", "conversations": TALK[1:2]},
    ]
    got = read_pictured(llava(tmp_path, kind, rows))
    assert got.texts == [SPOKEN, SPOKEN, f"Is {P} like {P}?\n\nNo", "A cat."]
    assert got.blobs == [
        [picture_of(0)],
        [picture_of(1)],
        [picture_of(1), picture_of(2)],
        [],
    ]
    assert got.failures == got.failed_images == []


def test_a_conversation_with_more_or_fewer_images_fails_and_so_does_one_without_its_image(tmp_path):
    (tmp_path / "0.png").write_bytes(png())
    rows = [
        {"image": "0.png", "conversations": TALK},
        {"image": "0.png", "conversations": BOTH},
        {"conversations": TALK},
        {"image": "gone.png", "conversations": TALK},
        {"image": "0.png", "conversations": TALK[1:2]},
    ]
    path = write_lines(tmp_path / "d.jsonl", rows)
    got = read_pictured(path)
    assert (got.texts, got.blobs) == ([SPOKEN, "A cat."], [[png()], [png()]])
    assert got.causes == ["unequal_lists", "unequal_lists", "no_image_left"]
    assert got.image_causes == ["document_failed", "not_found"]
    kept = read_pictured(path, options=Images(keep_text=True))
    assert kept.texts == [SPOKEN, SPOKEN.replace(P, ""), "A cat."]


@pytest.mark.parametrize(
    ("said", "found"),
    [
        ({"paragraphs": ["a", "b"], "pics": [{"at": 1}]}, "paragraphs: 2 strings, pics: 1 objects"),
        ([{"type": "text", "text": "a"}, {"type": "image"}], "2 objects with type, text"),
        ({"text": {"en": "a cat"}}, "text: an object"),
        ("a cat", ".json: a string"),
        ({"conversations": [{"role": "user", "content": "a"}]}, "conversations: 1 objects"),
        ({"texts": ["a", None], "images": [None, "img9"]}, "1 places of images ('img9')"),
        ({"texts": ["a"], "images": ["img0", "img1"]}, "1 texts, 2 images"),
    ],
)
def test_a_tar_in_no_known_layout_is_refused_before_the_run(tmp_path, said, found):
    members = {}
    for key in range(3):
        members |= {f"{key}.img{n}.png": png(5 + n, 5) for n in range(2)}
        members[f"{key}.json"] = json.dumps(said).encode()
    path = tar_of(tmp_path / "a.tar", members)
    with pytest.raises(ConfigError) as refused:
        read_pictured(path)
    assert found in str(refused.value)
    assert f"{path}: the first 3 samples have images, but no known text" in str(refused.value)
    assert "{path: …, text: NAME}" in str(refused.value)
    # one that can be read, and others are told as they are met
    members["3.jpg"], members["3.txt"] = jpeg(), b"a caption"
    assert "a caption" in read_pictured(tar_of(tmp_path / "a.tar", members)).texts


def test_a_field_of_a_tar_can_be_named_and_has_to_be_there(tmp_path):
    members = {"0.jpg": jpeg(), "0.json": b'{"label": "cat"}'}
    path = tar_of(tmp_path / "a.tar", members)
    assert read_pictured(path, text="label").texts == ["cat"]
    for fields in ({}, {"text": "lable"}):
        with pytest.raises(ConfigError, match="label: a string"):
            read_pictured(path, **fields)


@pytest.mark.parametrize(
    ("suffix", "data"),
    [
        ("jsonl", b'{"texts": ["a"], "images": [null]}'),
        ("interleaved", b"A cat <image> on a mat."),
        ("prompt", "一只坐在红色垫子上的黑白色的猫".encode()),
    ],
)
def test_text_under_another_name_is_told_before_the_run(tmp_path, suffix, data):
    members = {"0.jpg": jpeg(), f"0.{suffix}": data, "1.jpg": jpeg(), "1.cls": b"7"}
    path = tar_of(tmp_path / "a.tar", members)
    with pytest.raises(ConfigError, match=rf"\.{suffix}: .*text of samples is \.txt, \.text"):
        read_pictured(path)
    assert read_pictured(path, text="said").blobs == [[jpeg()], [jpeg()]]
    members["2.jpg"], members["2.txt"] = jpeg(), b"a caption"
    assert read_pictured(tar_of(tmp_path / "a.tar", members)).texts[-1].endswith("a caption")


@pytest.mark.parametrize(
    "data",
    [b"7", b"cat", b"[1, 2]", b"https://commons.wikimedia.org/a", b"\0\1 a b", b"\xff a b"],
)
def test_what_says_nothing_of_images_is_passed_over(tmp_path, data):
    path = tar_of(tmp_path / "a.tar", {"0.jpg": jpeg(), "0.other": data})
    assert read_pictured(path).blobs == [[jpeg()]]


@pytest.mark.parametrize("caption", [b"", b"a caption"], ids=["unknown", "known"])
def test_a_tar_is_looked_at_no_further_than_its_beginning(tmp_path, monkeypatch, caption):
    """Its second member is of 500 MB, of which there is nothing on the disk."""
    path, read = tmp_path / "large.tar", []
    first = tar_bytes({"0.jpg": jpeg(), "0.json": b'{"about": "words"}', "0.txt": caption})
    size = 500 * 10**6
    with path.open("wb") as file:
        file.write(first[: -(-len(first.rstrip(b"\0")) // 512) * 512])
        info = tarfile.TarInfo("0.png")
        info.size = size
        file.write(info.tobuf())
        file.truncate(file.tell() + size + 10240)

    def counted(*args, **options):
        for block in read_blocks(*args, **options):
            read.append(sum(map(len, block)))
            yield block

    monkeypatch.setattr(webdataset, "read_blocks", counted)
    file = InputFile(str(path), path.name, path.stat().st_size, 0)
    assert webdataset.cut_webdataset(file, Input(path=str(path)), 0, Limits())
    assert sum(read) < 50 * 10**6


@pytest.mark.parametrize(
    "said",
    [
        {},
        {"0.json": b'{"label": 3, "url": "https://a.org"}'},
        {"0.json": b'{"caption": null}'},
        {"0.txt": b""},
        {"0.cls": b"3"},
    ],
)
def test_tars_of_images_alone_are_read(tmp_path, said):
    assert read_pictured(tar_of(tmp_path / "a.tar", {"0.jpg": jpeg(), **said})).texts == [""]


@pytest.mark.parametrize(
    ("row", "found"),
    [
        ({"text": ["a"], "images": [{"name": "x"}]}, "images: 1 objects with name"),
        ({"text": ["a"], "images": ["x", "y"]}, "1 texts, 2 images"),
        ({"text": [{"type": "text"}], "images": ["x"]}, "text: 1 objects with type"),
        ({"text": {"a": 1}, "images": ["x"]}, "text: an object"),
    ],
)
def test_lines_in_no_known_layout_are_refused_before_the_run(tmp_path, row, found):
    path = write_lines(tmp_path / "d.jsonl", [row, {**row, "id": 7}])
    with pytest.raises(ConfigError) as refused:
        read_pictured(path, images="images")
    assert found in str(refused.value)
    assert str(path) in str(refused.value)
    good = {"text": "a", "images": ["https://a.org/1.png"]}
    got = read_pictured(write_lines(tmp_path / "d.jsonl", [row, good]), images="images")
    assert got.texts[-1] == f"{P}\n\na"


def test_texts_of_one_image_are_its_captions_and_of_a_list_of_images_its_context(tmp_path):
    texts = ["a", None, "b"]
    rows = [
        {"text": texts, "image": url_of(1)},
        {"text": texts, "image": [None, url_of(2), None]},
        {"text": texts, "image": None},
        {"text": "a", "image": None},
    ]
    for captions, caption in (("join", "a\nb"), ("first", "a")):
        path = write_lines(tmp_path / "d.jsonl", rows)
        got = read_pictured(path, images="image", captions=captions)
        assert got.texts == [caption, f"a\n\n{P}\n\nb", "a"]
        assert got.causes == ["unequal_lists"]  # 3 texts, and no image


def write_arrow(table, path):
    with pa.ipc.new_file(path, table.schema) as writer:
        writer.write_table(table, max_chunksize=2)


@pytest.mark.parametrize(
    ("name", "write"), [("d.parquet", pq.write_table), ("d.arrow", write_arrow)]
)
def test_tables_in_no_known_layout_are_refused_before_the_run(tmp_path, name, write):
    rows = [{"texts": ["a", "b"], "images": [url_of(n)]} for n in range(2)]
    write(pa.Table.from_pylist(rows), tmp_path / name)
    told = "the first 2 documents have texts and images that do not fit .*2 texts, 1 images"
    with pytest.raises(ConfigError, match=told):
        read_pictured(tmp_path / name)
    rows.insert(1, {"texts": ["a", None], "images": [None, url_of(7)]})
    write(pa.Table.from_pylist(rows), tmp_path / name)
    got = read_pictured(tmp_path / name)
    assert (got.texts, got.causes) == ([f"a\n\n{P}"], ["unequal_lists"] * 2)


def test_a_recipe_of_text_is_told_of_images_that_nobody_named(tmp_path):
    from tokenmill.pipelines.core.shard import Input
    from tokenmill.pipelines.read.plan import plan_inputs

    path = write_lines(tmp_path / "d.jsonl", [lists_of(["a", 0], url_of)])
    plan = plan_inputs([Input(path=str(path))], 1 << 20)
    (failed,) = plan.failed
    assert failed.cause == "no_images"
    assert "add images: {} to the recipe" in failed.message


def test_images_at_a_path_within_objects(tmp_path):
    row = {"content": {"words": "a", "picture": "https://a.org/1.png"}}
    path = write_lines(tmp_path / "d.jsonl", [row])
    got = read_pictured(path, text="content.words", images="content.picture")
    assert (got.texts, [[i["url"] for i in of] for of in got.images]) == (
        ["a"],
        [["https://a.org/1.png"]],
    )
    pq.write_table(pa.Table.from_pylist([row]), tmp_path / "d.parquet")
    got = read_pictured(tmp_path / "d.parquet", text="content.words", images="content.picture")
    assert [[i["url"] for i in of] for of in got.images] == [["https://a.org/1.png"]]


@quick
@given(documents)
def test_images_in_the_parts_of_messages_stand_between_their_texts(tmp_path, made):
    made = numbered([["one", 0], *made])
    rows = [
        {
            "messages": [
                {"content": [{"url": {"at": url_of(n)}} if isinstance(n, int) else {"text": n}]}
                for n in nodes
            ]
        }
        for nodes in made
    ]
    named = {"text": "messages.content.text", "images": "messages.content.url.at"}
    pq.write_table(pa.Table.from_pylist(rows), tmp_path / "d.parquet")
    for path in (write_lines(tmp_path / "d.jsonl", rows), tmp_path / "d.parquet"):
        got = read_pictured(path, **named)
        assert got.texts == [told(nodes) for nodes in made]
        assert [[i["url"] for i in of] for of in got.images] == [
            [url_of(n) for n in images_of(nodes)] for nodes in made
        ]


def test_a_run_of_several_layouts(tmp_path, tokenizer_path):
    """To the ids of the dataset, and to tars that are read again."""
    drawn = [picture(8 + n, 9) for n in range(3)]
    said = lists_of(["one", 0, 0, "two", 0], lambda n: f"page_1_image_{n}")
    tar_of(tmp_path / "mint.tar", {"0.json": json.dumps(said).encode(), "0.tiff": tiff(drawn)})
    (tmp_path / "7.png").write_bytes(png(20, 21))
    (tmp_path / "llava.json").write_text(json.dumps([{"image": "7.png", "conversations": TALK}]))
    row, _ = mmc4(numbered([["a", 0, "b", "c"]])[0], image_base64=lambda _: PNG_BASE64)
    write_lines(tmp_path / "mmc4.jsonl", [row])
    data = {
        "inputs": [str(tmp_path / name) for name in ("mint.tar", "llava.json", "mmc4.jsonl")],
        "steps": ["exact"],
        "images": {"verify": True, "webdataset": True},
        "tokenizer": {"path": str(tokenizer_path)},
    }
    recipe = make_recipe(data, where="test")
    report = prepare(recipe, tmp_path / "run", one_by_one)
    assert (report["failed_inputs"], report["failed_sources"]) == ([], [])
    dataset = load_from_disk(str(tmp_path / "run" / "dataset"))
    sizes = [[(8, 9), (9, 9), (10, 9)], [(20, 21)], [(3, 4)]]
    assert [[image.size for image in row["images"]] for row in dataset] == sizes
    engine = recipe.tokenizing().engine()
    assert [row.count(engine.image_id) for row in dataset["input_ids"]] == [3, 1, 1]
    again = read_pictured(tmp_path / "run" / "webdataset")
    assert again.texts == [f"one\n\n{P}\n\n{P}\n\ntwo\n\n{P}", SPOKEN, f"a\n\n{P}\n\nb c"]
    assert [[(i["width"], i["height"]) for i in of] for of in again.images] == sizes


def test_what_is_no_layout_stays():
    assert layout_in(["text", "images"]) is layout_in(["text_list"]) is None
    assert laid_out([{"from": "x"}], ["i"], "conversations") == ([{"from": "x"}], ["i"])
    assert laid_out([], None, "conversations") == ([], None)
    assert laid_out(["a"], "i", "text_list") == (["a"], "i")
