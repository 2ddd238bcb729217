"""Small vocabularies of each family, trained here: as Llama's, Gemma's, Mistral's, T5's, BERT's."""

import base64
import io
import json

import sentencepiece
from gigatoken._load.sentencepiece import sentencepiece_to_tokenizer_json
from tokenizers import Regex, decoders, models, normalizers, pre_tokenizers, trainers
from tokenizers import Tokenizer as Tokenizers

from tests.e2e.corpus import prose

BYTES = [f"<0x{b:02X}>" for b in range(256)]
ENDS = ["<unk>", "<s>", "</s>"]


def learnt():
    return [*prose()[:20], "naïve café über  été\n\tif (a) {  b }\n" * 20, "日本語の文章。" * 20]


def falling_back(path, *, prefix):
    """Byte-fallback BPE over whole texts, as Llama 2 (`prefix`) and Gemma have it."""
    made = Tokenizers(models.BPE(unk_token="<unk>", fuse_unk=True, byte_fallback=True))
    made.pre_tokenizer = pre_tokenizers.Metaspace()
    trainer = trainers.BpeTrainer(
        vocab_size=900, special_tokens=[*ENDS, *BYTES], show_progress=False, limit_alphabet=80
    )
    made.train_from_iterator(learnt(), trainer)
    spaces = normalizers.Replace(" ", "▁")
    made.normalizer = normalizers.Sequence([normalizers.Prepend("▁"), spaces]) if prefix else spaces
    made.decoder = decoders.Sequence([decoders.Replace("▁", " "), decoders.ByteFallback()])
    data = json.loads(made.to_str())
    data["pre_tokenizer"] = None
    if not prefix:
        split = {"pattern": {"String": " "}, "behavior": "MergedWithPrevious", "invert": False}
        data["pre_tokenizer"] = {"type": "Split", **split}
    data["added_tokens"] = [t for t in data["added_tokens"] if t["content"] in ENDS]
    added = {**data["added_tokens"][0], "content": "[DOC_1]", "special": False}
    data["added_tokens"].append({**added, "id": max(data["model"]["vocab"].values()) + 1})
    path.write_text(json.dumps(data))
    return path


def llama(folder):
    return falling_back(folder / "llama.json", prefix=True)


def gemma(folder):
    return falling_back(folder / "gemma.json", prefix=False)


def spiece(path, kind="bpe", **settings):
    """A SentencePiece model."""
    model = io.BytesIO()
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter(learnt()),
        model_writer=model,
        vocab_size=700,
        model_type=kind,
        hard_vocab_limit=False,
        minloglevel=2,
        **settings,
    )
    path.write_bytes(model.getvalue())
    return path


def mistral(folder):
    """Byte fallback, no normalization, symbols of the user's own and control tokens."""
    return spiece(
        folder / "mistral.model",
        byte_fallback=True,
        normalization_rule_name="identity",
        remove_extra_whitespaces=False,
        allow_whitespace_only_pieces=True,
        user_defined_symbols=["[DOC_1]", "▁" * 40],
        control_symbols=["[INST]", "th"],
    )


def nmt_nfkc(folder):
    """SentencePiece's own normalization, as vocabularies that were converted have it."""
    whole = spiece(folder / "nfkc.model", byte_fallback=True, remove_extra_whitespaces=False)
    data = json.loads(sentencepiece_to_tokenizer_json(whole.read_bytes()))
    found = data["normalizer"]["normalizers"][0]["precompiled_charsmap"]
    return normalizers.Precompiled(base64.b64decode(found))


def unigram(path, normalizer, pre_tokenizer):
    made = Tokenizers(models.Unigram())
    made.normalizer, made.pre_tokenizer = normalizer, pre_tokenizer
    trainer = trainers.UnigramTrainer(
        vocab_size=500, special_tokens=ENDS, unk_token="<unk>", show_progress=False
    )
    made.train_from_iterator(learnt(), trainer)
    made.save(str(path))
    return path


def t5(folder):
    words = [pre_tokenizers.WhitespaceSplit(), pre_tokenizers.Metaspace()]
    return unigram(folder / "t5.json", nmt_nfkc(folder), pre_tokenizers.Sequence(words))


def mt5(folder):
    """Two spaces are one, and words keep the one before them."""
    one_space = normalizers.Replace(Regex(" {2,}"), " ")
    both = normalizers.Sequence([nmt_nfkc(folder), one_space])
    return unigram(folder / "mt5.json", both, pre_tokenizers.Metaspace())


def albert(folder):
    parts = [normalizers.Replace("``", '"'), normalizers.NFKD(), normalizers.StripAccents()]
    words = [pre_tokenizers.WhitespaceSplit(), pre_tokenizers.Metaspace(prepend_scheme="first")]
    lower = normalizers.Sequence([*parts, normalizers.Lowercase()])
    return unigram(folder / "albert.json", lower, pre_tokenizers.Sequence(words))


def bert(folder):
    made = Tokenizers(models.WordPiece(unk_token="[UNK]"))
    made.normalizer = normalizers.BertNormalizer()
    made.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    trainer = trainers.WordPieceTrainer(
        vocab_size=600, special_tokens=["[UNK]", "[CLS]", "[SEP]"], show_progress=False
    )
    made.train_from_iterator(learnt(), trainer)
    made.add_tokens(["[DOC_1]"])
    made.save(str(folder / "bert.json"))
    return folder / "bert.json"
