"""Which columns are a document's, by their names and types, and how what is missing is told."""

import pyarrow as pa
import pytest

from tokenmill.pipelines.core.errors import InputError
from tokenmill.pipelines.core.shard import Input
from tokenmill.pipelines.read.columns import (
    CAPTION,
    ID,
    MOST_DEPTH,
    TEXT,
    URL,
    find_columns,
    holds_bytes,
    likeliest,
    paths_in,
    table_columns,
    type_at,
    way_into,
)

PATH = "/a.parquet"


def found(names, **told):
    return find_columns(dict.fromkeys(names, False), Input(path=PATH, **told), PATH)


@pytest.mark.parametrize("name", TEXT)
def test_a_common_name_is_taken_in_any_case_of_letters(name):
    assert found(["x", name.upper()]).text == name.upper()
    assert found([name.upper(), name]).text == name
    assert found([*reversed(TEXT)]).text == TEXT[0]
    assert found(["x", "text"]) == ("text", None, None, None, ())


def test_ids_and_addresses_have_common_names_too():
    for name in ID:
        assert found(["text", name]).id == name
    for name in URL:
        assert found(["text", name.title()]).url == name.title()
    assert found(["text", *reversed(ID), *reversed(URL)])[1:3] == (ID[0], URL[0])
    told = found(["text", "id", "mine", "url", "there"], id="mine", url="there")
    assert told[:3] == ("text", "mine", "there")


@pytest.mark.parametrize("name", CAPTION)
def test_a_caption_is_text_beside_images_alone(name):
    assert found(["images", name], images="images")[0] == name
    assert found(["images", name, "text"], images="images")[0] == "text"
    if name not in ("turns", "sentences", "texts"):
        with pytest.raises(InputError, match="no text column among: x, "):
            found(["x", name])


@pytest.mark.parametrize(
    ("names", "told", "cause", "message"),
    [
        (["a"], {"text": "b"}, "missing_column",
         "no column 'b' among: a; name the text column in the recipe, as {path: …, text: NAME}"),
        (["text"], {"id": "b"}, "missing_column",
         "no column 'b' among: text; name the id column in the recipe, as {path: …, id: NAME}"),
        (["text"], {"columns": {"b": "string"}}, "missing_column",
         "no column 'b' among: text; name one that is there, or leave it out"),
        ([], {}, "missing_column",
         "no text column among: none; name the text column in the recipe, as"
         " {path: …, text: NAME}"),
        (["a", "input_ids"], {}, "only_tokens",
         "holds tokens (input_ids), not text; name the text that was tokenized"),
        (["meta", "meta.text"], {}, "missing_column",
         "no text column among: meta, meta.text; name the text column in the recipe, as"
         ' {path: "/a.parquet", text: meta.text}'),
    ],
)  # fmt: skip
def test_what_is_missing_is_told_with_the_way_out(names, told, cause, message):
    with pytest.raises(InputError) as e:
        found(names, **told)
    assert (e.value.cause, str(e.value)) == (cause, f"{PATH}: {message}")


@pytest.mark.parametrize(("n", "more"), [(20, ""), (21, ", …")])
def test_twenty_names_are_shown(n, more):
    names = [f"c{i}" for i in range(n)]
    with pytest.raises(InputError) as e:
        found(names)
    assert f" among: {', '.join(names[:20])}{more}; name" in str(e.value)


def test_of_several_texts_each_is_there_and_none_has_the_name_of_all():
    told = {"text": ["q", "a"], "join": "\n"}
    assert found(["q", "a"], **told)[:1] + found(["q", "a"], **told)[4:] == ("q + a", ("q", "a"))
    with pytest.raises(InputError, match="no column 'a' among: q; name the text column"):
        found(["q"], **told)
    with pytest.raises(InputError, match="a column is called 'q . a', as text of several is"):
        found(["q", "a", "q + a"], **told)


def test_the_likeliest_path_is_the_first_of_a_common_name_that_leads_nowhere_on():
    assert likeliest(["a.x", "b.content", "c.text", "d.text"]) == "c.text"
    assert likeliest(["a.text", "a.text.x", "b.body"]) == "b.body"
    assert likeliest(["a.x"]) is None
    assert way_into(None, "a.text", True) == r'{path: …, text: a.text, join: "\n\n"}'
    assert way_into(Input(path="/é"), "a: b", False) == '{path: "/é", text: "a: b"}'


def nested(depth, name="a", leaf=None):
    kind = leaf or pa.string()
    for _ in range(depth):
        kind = pa.struct([(name, kind)])
    return pa.schema([(name, kind)])


def test_paths_lead_into_structs_of_eight_levels_and_names_of_256_characters():
    paths = paths_in(nested(MOST_DEPTH + 3))
    assert [*paths] == [".".join("a" * n) for n in range(1, MOST_DEPTH + 2)]
    for length, n in ((256, 2), (257, 1)):
        assert len(paths_in(nested(1, "x" * length))) == n


def test_types_of_paths_are_those_of_what_they_lead_to():
    turn = pa.struct([("text", pa.string()), ("n", pa.list_(pa.int64()))])
    schema = pa.schema([("talk", pa.list_(turn)), ("one", turn), ("a.b", pa.int8()),
                        ("grid", pa.list_(pa.list_(pa.string())))])  # fmt: skip
    expected = {
        "talk": schema.field("talk").type, "one": turn, "a.b": pa.int8(),
        "grid": schema.field("grid").type, "talk.text": pa.large_list(pa.string()),
        "talk.n": pa.large_list(pa.int64()), "one.text": pa.string(), "one.n": pa.list_(pa.int64()),
    }  # fmt: skip
    assert paths_in(schema) == expected
    assert {path: type_at(schema, path) for path in expected} == expected
    for path in ("none", "one.none", "one.text.x", "a.c", "talk.none"):
        assert type_at(schema, path) is None


TEXTS = [pa.string(), pa.large_string(), pa.string_view(), pa.binary(), pa.large_binary(),
         pa.dictionary(pa.int8(), pa.string())]  # fmt: skip
STRUCT = pa.struct([("bytes", pa.binary()), ("path", pa.string())])
PICTURES = [pa.binary(), pa.string(), STRUCT, pa.struct([("path", pa.string())]),
            pa.struct([("bytes", pa.null()), ("path", pa.string())])]  # fmt: skip


def columns_of(*fields, **told):
    return table_columns(pa.schema([*fields]), Input(path=PATH, **told), PATH)


@pytest.mark.parametrize("kind", TEXTS, ids=str)
def test_text_may_be_of_any_type_that_holds_it_and_of_lists_where_something_joins_them(kind):
    assert columns_of(("text", kind)).text == "text"
    lists = pa.list_(kind) if not pa.types.is_dictionary(kind) else pa.list_(pa.string())
    assert columns_of(("text", lists), join="\n").text == "text"
    with pytest.raises(InputError) as e:
        columns_of(("text", lists))
    assert (e.value.cause, str(e.value)) == (
        "text_not_string",
        f"{PATH}: column 'text' is {lists}, not text; say what stands between them, as"
        r' {path: "/a.parquet", text: text, join: "\n\n"}',
    )


@pytest.mark.parametrize(
    ("kind", "way"),
    [
        (pa.int64(), "name another in the recipe, as {path: …, text: NAME}"),
        (pa.struct([("n", pa.int8()), ("en", pa.string())]),
         'name text in it, as {path: "/a.parquet", text: text.en}'),
        (pa.list_(pa.struct([("x", pa.string()), ("content", pa.string())])),
         r'name text in it, as {path: "/a.parquet", text: text.content, join: "\n\n"}'),
    ],
    ids=str,
)  # fmt: skip
def test_a_column_that_is_no_text_is_told_with_the_text_in_it(kind, way):
    with pytest.raises(InputError) as e:
        columns_of(("text", kind))
    assert str(e.value) == f"{PATH}: column 'text' is {kind}, not text; {way}"


@pytest.mark.parametrize("kind", PICTURES, ids=str)
def test_images_are_bytes_addresses_structs_of_these_or_lists(kind):
    has = kind == pa.binary() or (pa.types.is_struct(kind) and kind.get_field_index("bytes") >= 0)
    for of in (kind, pa.list_(kind)):
        assert columns_of(("text", pa.string()), ("i", of), images="i").images == "i"
        assert holds_bytes(of) == has


@pytest.mark.parametrize(
    "kind",
    [pa.int8(), pa.struct([("x", pa.binary())]), pa.list_(pa.float32()),
     pa.struct([("bytes", pa.string())]), pa.struct([("path", pa.int8())])],
    ids=str,
)  # fmt: skip
def test_other_types_are_no_images(kind):
    with pytest.raises(InputError, match=r"column 'i' is .*, not images: bytes, structs of") as e:
        columns_of(("text", pa.string()), ("i", kind), images="i")
    assert e.value.cause == "no_images"
