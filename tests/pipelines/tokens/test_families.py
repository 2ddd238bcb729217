"""Vocabularies other than GPT-2's kind: who encodes them, and that the ids are the reference's."""

import sys
from importlib.util import find_spec

import pyarrow as pa
import pytest
from hypothesis import given

from tests.e2e.corpus import prose
from tests.pipelines.tokens import families
from tests.pipelines.tokens.test_fast import same_ids
from tests.strategies import text_columns
from tokenmill.pipelines.tokens.engines import adversarial, fast_engine
from tokenmill.pipelines.tokens.options import Tokenizer
from tokenmill.pipelines.tokens.reference import open_reference
from tokenmill.pipelines.tokens.tokenize import load_engine

FALLING_BACK = (families.llama, families.gemma, families.mistral)
OF_WORDS = (families.t5, families.mt5, families.albert, families.bert)
MADE = {}


@pytest.fixture(scope="session")
def path(request, tmp_path_factory):
    """A vocabulary of the family, trained once."""
    train = request.param
    if train not in MADE:
        MADE[train] = train(tmp_path_factory.mktemp("family"))
    return MADE[train]


def each(*trained):
    return pytest.mark.parametrize("path", trained, indirect=True, ids=lambda of: of.__name__)


@each(*FALLING_BACK, *OF_WORDS)
@given(text=text_columns())
def test_texts_of_any_kind(path, text):
    same_ids(path, text.to_pylist())


@each(*FALLING_BACK)
def test_byte_fallback_is_encoded_fast(path):
    engine, by = same_ids(path, list(prose()[200:240]))
    assert engine.why == ""
    assert by == {engine.name: 40}
    assert engine.name.startswith("gigatoken")


@each(families.mistral)
def test_where_gigatoken_has_moved_what_reads_a_model_the_reference_encodes(path, monkeypatch):
    monkeypatch.setitem(sys.modules, "gigatoken._load.sentencepiece", None)
    made, why = fast_engine(open_reference(str(path)))
    assert made is None
    assert why.startswith("gigatoken cannot be used with this vocabulary (ModuleNotFoundError: ")


@each(*OF_WORDS)
def test_unigram_is_encoded_word_by_word_and_wordpiece_by_nanotoken(path):
    engine, by = same_ids(path, list(prose()[200:240]))
    assert engine.why == ""
    assert by == {engine.name: 40}
    nano = path.stem == "bert" and find_spec("nanotoken")
    assert engine.name.startswith("nanotoken") if nano else engine.name.endswith("word by word")


@each(*FALLING_BACK, *OF_WORDS)
def test_adversarial_texts(path):
    tokens = [*families.ENDS, "[INST]", "[DOC_1]", " " * 40, "th", "[MASK]"]
    long = [" " * 3000, "▁" * 500, "x" * 3000, "\x01\ue000" * 500, "語" * 2000, "\n" * 900]
    texts = [*adversarial(tokens), *long]
    engine, by = same_ids(path, texts)
    assert by[engine.name] > len(texts) / 2


@each(*FALLING_BACK, *OF_WORDS)
def test_control_tokens_in_text_are_text_and_other_added_tokens_are_tokens(path):
    """As the README has it; see test_tokenize.py for byte-level vocabularies, and for `id`."""
    engine = load_engine(Tokenizer(path=str(path), eos=False))
    control, added = (
        next(filter(None, map(engine.reference.token_to_id, names)), None)
        for names in (("</s>", "[SEP]"), ("[DOC_1]",))
    )
    found = engine.encode(pa.array(["a</s>b[SEP]c [DOC_1]"])).ids.tolist()
    assert (control in found) == (path.stem in ("t5", "mt5", "albert"))
    assert (added in found) == (added is not None)
