"""How many benchmark items are found in other words, and what of clean text is like one.

    python -m tests.bench.paraphrases [--repositories FOLDER]

Paraphrases are made by rule of items of the sample data (synonyms, number words, order of
sentences, voice), and taken from the rephrased sets of llm-decontaminator (Yang et al. 2023,
arXiv:2311.04850), a bare clone FOLDER/lm-sys+llm-decontaminator/repo, and from questions of SQuAD
that people rephrased (Gan and Ng 2019), FOLDER/nusnlp+paraphrasing-squad/repo. *Siblings* are the
same wording with other numbers. Clean text is that of the sample data, and of the repositories of
CLEAN that are in FOLDER. 7,473 questions of GSM8K's training set stand beside the items.

The score is chosen on every second document and item: the least without a false positive, and with
at most one in 10,000 windows of 100 words. Recall and false positives are those of the others.
"""

import argparse
import csv
import io
import json
import random
import re
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from scipy.stats import binomtest

from tests.bench.tiers import git_of
from tests.conftest import SHARED_DATA
from tests.pipelines.contamination.planting import index_of, read_documents
from tokenmill.dedup.arrays import F64, Bools
from tokenmill.dedup.overlap.paraphrase import (
    NUMBERS,
    SCORE,
    ParaphraseIndex,
    Paraphrases,
    paraphrased,
)
from tokenmill.dedup.text.fold import Folding, fold
from tokenmill.dedup.text.gram_words import count_words
from tokenmill.pipelines.contamination.items.spec import QUESTION

REPHRASED, SQUAD = "lm-sys+llm-decontaminator", "nusnlp+paraphrasing-squad"
CLEAN = {
    "moodHappy+bbc-news-archive": "",
    "python+peps": ".rst",
    "wuodar+reuters_text_classification": "",
    "allenai+OLMo-core": ".md",
}
MOST_CHARS, DOCUMENT_CHARS = 6_000_000, 20_000
WINDOW_WORDS, A_FALSE_ONE = 100, 10_000
SHOWN = 5
LEAST = 1.0  # score from which on everything is looked at
MADE = {"gsm8k": 400, "arc-easy": 300, "arc-challenge": 200, "mbpp": 300}
SYNONYMS = {
    "has": "owns", "buys": "purchases", "bought": "purchased", "many": "numerous",
    "gives": "hands", "gave": "handed", "makes": "produces", "made": "produced", "big": "large",
    "small": "little", "begins": "starts", "began": "started", "sells": "vends",
    "gets": "receives", "needs": "requires", "wants": "wishes", "each": "every",
    "total": "overall", "kids": "children", "friend": "pal", "house": "home", "money": "cash",
    "write": "develop", "find": "determine", "given": "supplied", "function": "routine",
    "list": "sequence", "string": "text", "number": "figure", "check": "verify", "which": "what",
    "best": "most suitable", "likely": "probable", "cause": "reason", "happens": "occurs",
    "called": "named", "main": "chief", "describes": "characterizes", "explains": "accounts for",
    "students": "pupils", "scientists": "researchers", "change": "alteration",
    "results": "outcomes", "different": "distinct", "important": "significant", "help": "assist",
    "show": "demonstrate", "more": "additional", "left": "remaining", "day": "daily period",
}  # fmt: skip


class Pair(NamedTuple):
    """An item, by its kind and number among all texts, and what it reads in other words."""

    kind: str
    text: int
    other: str


def reworded(text: str, draw: random.Random) -> str:
    """A text with synonyms, number words for digits and back, its sentences in another order."""
    digits = {digit: word for word, digit in reversed(NUMBERS.items())}
    words = []
    for word in text.split():
        bare = word.strip(".,?!").lower()
        other = SYNONYMS.get(bare) or digits.get(bare) or NUMBERS.get(bare)
        if other is None and draw.random() < 0.08 and bare.isalpha():
            continue
        words.append(word.lower().replace(bare, other) if other and bare else word)
    sentences = re.split(r"(?<=[.?!])\s+", " ".join(words))
    if len(sentences) > 2:
        sentences[:-1] = draw.sample(sentences[:-1], len(sentences) - 1)
    made = " ".join(sentences)
    return re.sub(r"\b(\w+) (?:purchased|owns|produced) (\w+ \w+)\b", r"\2 were taken by \1", made)


def renumbered(text: str, draw: random.Random) -> str:
    """A text with other numbers."""

    def other(match: re.Match[str]) -> str:
        return str(int(match[0]) + draw.randrange(1, 40) if len(match[0]) < 9 else 7)

    return re.sub(r"\d+", other, text)


def git_file(repository: Path, name: str) -> str:
    command = [*git_of(repository.parent, repository.name), "cat-file", "blob", f"HEAD:{name}"]
    return subprocess.check_output(command).decode()


def squad(folder: Path, name: str) -> list[str]:
    """Questions; those in other words are in the same order."""
    articles = json.loads(git_file(folder / SQUAD, f"datasets/{name}.json"))["data"]
    paragraphs = (paragraph for article in articles for paragraph in article["paragraphs"])
    return [qa["question"] for paragraph in paragraphs for qa in paragraph["qas"]]


def published(folder: Path) -> Iterator[tuple[str, list[str], list[str]]]:
    """Name, items, and each in other words, "" where nobody rephrased it."""
    of = folder / REPHRASED

    def lines(name: str) -> list[str]:
        return [json.loads(line)["text"] for line in git_file(of, name).splitlines()]

    items = (SHARED_DATA / "bench/gsm8k/test.jsonl").read_text(encoding="utf-8").splitlines()
    others = [
        text.partition("Question: ")[2].partition("\nAnswer:")[0]
        for text in lines("data/rephrase/rephrase_gsm8k.jsonl")
    ]
    yield "GSM8K", [json.loads(item)["question"] for item in items], others
    for name in ("abstract_algebra", "sociology", "high_school_us_history"):
        rows = csv.reader(io.StringIO(git_file(of, f"data/rephrase/{name}_test.csv")))
        questions = [row[0].strip().split("\n")[-1] for row in rows]
        rephrased = lines(f"data/rephrase/{name}_test_rephrase_english_filtered_question.jsonl")
        yield f"MMLU {name}", questions, rephrased
    yield (
        "HumanEval",
        lines("data/test/HumanEval.jsonl"),
        lines("data/rephrase/humaneval_python.jsonl"),
    )

    if (folder / SQUAD).is_dir():
        for kind in ("dev", "adv"):
            asked, other = (squad(folder, f"{kind}_{wording}") for wording in ("orig", "para"))
            yield f"SQuAD {kind}", asked, other


def clean_of(folder: Path) -> Iterator[str]:
    for repository, ending in CLEAN.items():
        if not (folder / repository).is_dir():
            continue
        git = ["git", f"--git-dir={folder / repository / 'repo'}"]
        tree = subprocess.check_output([*git, "ls-tree", "-r", "-z", "HEAD"], text=True)
        n_chars = 0
        for line in tree.strip("\0").split("\0"):
            facts, name = line.split("\t")
            if n_chars > MOST_CHARS or not name.endswith(ending):
                continue
            blob = subprocess.run([*git, "cat-file", "blob", facts.split()[2]], stdout=-1).stdout
            text = blob.decode(errors="replace")
            if "\ufffd" not in text:
                yield from (
                    text[i : i + DOCUMENT_CHARS] for i in range(0, len(text), DOCUMENT_CHARS)
                )
                n_chars += len(text)


class Items:
    """The texts of all benchmarks, and the pairs of each kind."""

    def __init__(self) -> None:
        self.texts: list[str] = []
        self.starts: list[int] = []
        self.pairs: list[Pair] = []

    def add(self, texts: list[str]) -> int:
        self.starts.append(len(self.texts))
        self.texts += texts
        return self.starts[-1]


def read_items(folder: Path | None) -> Items:
    items, draw = Items(), random.Random(1)
    for name, texts, others in published(folder) if folder else ():
        first = items.add(texts)
        items.pairs += [Pair(name, first + i, o) for i, o in enumerate(others) if o.strip()]
    paths = {"gsm8k": "gsm8k/test.jsonl", "mbpp": "mbpp/mbpp.jsonl"}
    paths |= {
        f"arc-{x}": f"ai2_arc_arrow/ARC-{x.title()}/validation" for x in ("easy", "challenge")
    }
    for name, path in paths.items():
        index = index_of({name: SHARED_DATA / "bench" / path})
        rows = np.flatnonzero(index.texts.roles == QUESTION)
        texts = index.texts.texts.take(pa.array(rows)).to_pylist()
        first = items.starts[0] if folder and name == "gsm8k" else items.add(texts)
        for i in draw.sample(range(len(texts)), min(MADE[name], len(texts))):
            items.pairs.append(Pair(f"{name}, by rule", first + i, reworded(texts[i], draw)))
            if name == "gsm8k":
                items.pairs.append(Pair("gsm8k, siblings", first + i, renumbered(texts[i], draw)))
    train = (SHARED_DATA / "bench/gsm8k/train.jsonl").read_text(encoding="utf-8").splitlines()
    items.add([json.loads(line)["question"] for line in train])
    return items


def folded(texts: list[str]) -> pa.Array:
    return fold(pa.array(texts, pa.large_string()), Folding()).text


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--repositories", type=Path)
    folder = parser.parse_args().repositories
    items = read_items(folder)
    index = ParaphraseIndex.build(
        folded(items.texts),
        np.arange(len(items.texts)),
        wanted=np.ones(len(items.texts), bool),
        benchmark_starts=np.array(items.starts),
        n_items=len(items.texts),
    )
    documents = [d.text for d in read_documents(SHARED_DATA)]
    documents += clean_of(folder) if folder else ()
    clean = folded(documents)
    paraphrased(clean[:10], index)  # compiled
    begun = time.process_time()
    paraphrased(clean, index)
    megabytes, seconds = pc.sum(pc.binary_length(clean)).as_py() / 1e6, time.process_time() - begun
    write(f"{len(items.texts):,} items, {megabytes:.1f} MB, {megabytes / seconds:.0f} MB/s of CPU")
    by_chance = paraphrased(clean, index, score=LEAST)
    windows = count_words(clean) / WINDOW_WORDS
    found = paraphrased(folded([p.other for p in items.pairs]), index, score=LEAST)
    own = found.texts == np.array([p.text for p in items.pairs])[found.docs]
    result = Found(
        items, np.zeros(len(items.pairs)), np.zeros(len(items.pairs), bool), by_chance, windows
    )
    result.scores[found.docs[own]] = found.scores[own]
    result.siblings[found.docs[own]] = 2 * found.agreeing[own] < found.numbers[own]
    for half in (0, 1):
        descending = np.sort(by_chance.scores[by_chance.docs % 2 == half])[::-1]
        for n in (0, int(windows[half::2].sum() // A_FALSE_ONE)):
            limit = float(np.nextafter(descending[n], 9)) if len(descending) > n else LEAST
            write(f"score {limit:.2f}, chosen on half {half} with {n} false:")
            report(result, limit, slice(1 - half, None, 2))
    write(f"score {SCORE}, the default:")
    report(result, SCORE, slice(None))
    for k in np.argsort(-by_chance.scores)[:SHOWN].tolist():
        text = documents[by_chance.docs[k]].encode()[by_chance.starts[k] : by_chance.ends[k]]
        item = items.texts[by_chance.texts[k]]
        write(f"  {by_chance.scores[k]:.2f} {item[:200]!r} | {text.decode()[:300]!r}")


class Found(NamedTuple):
    """Of each pair its score and whether it is told as a sibling; what clean text has by chance.

    windows: of each document.
    """

    items: Items
    scores: F64
    siblings: Bools
    by_chance: Paraphrases
    windows: F64


def report(found: Found, limit: float, half: slice) -> None:
    """Recall of each kind at a limit, and false positives, on a half."""
    docs = np.arange(len(found.windows))[half]
    false = np.isin(found.by_chance.docs, docs) & (found.by_chance.scores >= limit)
    write(f"  {false.sum()} false in {found.windows[half].sum():,.0f} windows")
    kinds = np.array([p.kind for p in found.items.pairs])
    for kind in dict.fromkeys(kinds.tolist()):
        mine = np.flatnonzero(kinds == kind)[half]
        hit = found.scores[mine] >= limit
        low, high = binomtest(int(hit.sum()), len(hit)).proportion_ci(method="wilson")
        told = (found.siblings[mine] & hit).sum()
        interval = f"{hit.mean():.3f} ({low:.3f} to {high:.3f})"
        write(f"  {kind:28s} {interval} of {len(hit)}; {told} told as siblings")


def write(line: str) -> None:
    sys.stdout.write(f"{line}\n")


if __name__ == "__main__":
    main()
