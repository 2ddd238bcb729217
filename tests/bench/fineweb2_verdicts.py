"""Of how many documents the filters of `fineweb2` have datatrove's verdict, by language.

    .venv-peers/bin/python -m tests.bench.fineweb2_verdicts FOLDER [WORDS]

FOLDER has a folder of texts for each language, by its code (`ru/chapter.txt`), UTF-8, whose pieces
are documents; each is asked of each of the three filters. Both sides take the published limits of
our table; datatrove finds words by its own library for each language, and a language whose library
is missing is named. WORDS is a kind of words for ours: "published" takes the same libraries.
"""

import sys
from itertools import islice
from pathlib import Path

from tests.bench.charsets import texts_below
from tests.pipelines.filters.verdicts import verdicts
from tokenmill.pipelines.filters.fineweb2 import (
    DUPLICATE,
    TOP,
    rules_of,
    table,
    words_of_language,
)

CHARS, MOST = 4000, 100  # of a document at least; documents of a language


def theirs_of(code):
    """Their filters in the order of fineweb-2-pipeline.py."""
    from datatrove.pipeline import filters

    one = table()[code]
    language = one["published"]
    return (
        filters.GopherRepetitionFilter(
            dup_line_frac=one["lines"],
            dup_para_frac=None,
            dup_line_char_frac=None,
            dup_para_char_frac=None,
            top_n_grams=tuple(zip(TOP, one["top"], strict=True)),
            dup_n_grams=tuple(zip(DUPLICATE, one["duplicate"], strict=True)),
            language=language,
        ),
        filters.FineWebQualityFilter(
            line_punct_thr=one["terminal"],
            short_line_thr=999,
            char_duplicates_ratio=0.1,
            new_line_ratio=one["newlines"],
            language=language,
        ),
        filters.GopherQualityFilter(
            min_avg_word_length=one["length"][0],
            max_avg_word_length=one["length"][1],
            max_non_alpha_words_ratio=one["alpha"],
            stop_words=one["stop_words"],
            language=language,
        ),
    )


def documents(folder):
    """Pieces of files, at line ends."""
    for text in texts_below(folder):
        held = ""
        for line in text.splitlines(keepends=True):
            held += line
            if len(held) >= CHARS:
                yield held
                held = ""
        yield held


def kept_by_theirs(one, text):
    from datatrove.data import Document

    return one.filter(Document(text=text, id="0")) is True


def main(folder: Path, words: str | None = None) -> None:
    seen = agreed = 0
    for code in sorted(set(table()) & {here.name for here in folder.iterdir()}):
        texts = list(islice(documents(folder / code), MOST))
        same = kept = 0
        try:
            for ours, theirs in zip(rules_of(code, words).filters, theirs_of(code), strict=True):
                found = [reason is None for reason, _ in verdicts(ours, texts)]
                wanted = [kept_by_theirs(theirs, text) for text in texts]
                same += sum(a == b for a, b in zip(found, wanted, strict=True))
                kept += sum(wanted)
        except Exception as e:  # noqa: BLE001 whatever library is missing
            print(f"{code:6} not compared: {' '.join(str(e).split())[:90]}")
            continue
        n = 3 * len(texts)
        seen, agreed = seen + n, agreed + same
        kind = words_of_language(code, words)
        print(
            f"{code:6} {kind:10} {same:4} of {n:4} verdicts, {same / n:.4f}; {kept} keep",
            flush=True,
        )
    print(f"all: {agreed} of {seen}")


if __name__ == "__main__":
    main(Path(sys.argv[1]), *sys.argv[2:])
