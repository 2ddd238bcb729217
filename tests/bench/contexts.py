"""What is told of items that ask about a passage, where that stands alone, or with the question.

    python -m tests.bench.contexts NAME.json … [--items 400]

Of each file in the form of SQuAD up to so many items of two thirds of its passages are looked for.
Planted between two passages of the last third, each in a document of its own, are their passages,
as they are and with every sixth word replaced; then the passage and the question of each item, with
every sixth word of both replaced; at last each passage and the question of its first item, edited
likewise, where the other items are looked for: none is there, and what is `edited` is told wrongly.
Where most characters are words by themselves, two are one.
"""

import argparse
import json
import re
import sys
import tempfile
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from random import Random

import pyarrow as pa
import pyarrow.parquet as pq

from tests.bench.tiers import UNIT, every
from tests.running import one_by_one
from tokenmill.dedup.text.gram_words import count_words, dense
from tokenmill.pipelines.contamination.check import Check, check_contamination
from tokenmill.pipelines.contamination.items.items import read_items
from tokenmill.pipelines.contamination.items.spec import parse_benchmark


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("files", type=Path, nargs="+", metavar="NAME.json")
    parser.add_argument("--items", type=int, default=400)
    options = parser.parse_args()
    for path in options.files:
        rows = read_items(parse_benchmark(f"squad={path}"))
        passages = list(dict.fromkeys(rows["context"].to_pylist()))
        asked = set(passages[: len(passages) * 2 // 3])
        some = [row for row in rows.to_pylist() if row["context"] in asked][: options.items]
        others = passages[len(asked) :]
        edit = editing(others)
        items = [(row["context"], row["question"]) for row in some]
        firsts = dict(reversed(items))
        rest = [row for row in some if row["question"] != firsts[row["context"]]]
        told: dict[str, tuple[list[dict[str, str]], list[list[str]]]] = {
            "passage": (some, [[p] for p in dict.fromkeys(p for p, _ in items)]),
            "passage, edited": (some, [[edit(p)] for p in dict.fromkeys(p for p, _ in items)]),
            "with question, edited": (some, [[edit(p), edit(q)] for p, q in items]),
            "with another's question, edited": (
                rest,
                [[edit(p), edit(q)] for p, q in firsts.items()],
            ),
        }
        for kind, (wanted, planted) in told.items():
            if not wanted:
                continue
            counts = status_of(wanted, planted, others)
            sys.stdout.write(f"{path.stem}, {len(wanted)} items, {kind}: {dict(counts)}\n")
            sys.stdout.flush()


def editing(texts: list[str]) -> Callable[[str], str]:
    """Replace every sixth word by one of these texts."""
    column, draw = pa.array(texts, pa.large_string()), Random(1)
    alone = dense(column, count_words(column)).mean() > 1.5
    cut: Callable[[str], list[str]] = (
        (lambda text: re.findall(UNIT, "".join(text.split()))) if alone else str.split
    )
    words = [word for text in texts for word in cut(text)]
    return lambda text: ("" if alone else " ").join(every(6)(cut(text), words, draw))


def status_of(
    rows: list[dict[str, str]], planted: list[list[str]], around: list[str]
) -> Counter[str]:
    """Items by what is told of them, and those of which the context was found."""
    draw = Random(2)
    docs = ["\n".join([draw.choice(around), *parts, draw.choice(around)]) for parts in planted]
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        fields = [{k: v for k, v in row.items() if k != "item"} for row in rows]
        (folder / "items.jsonl").write_text("\n".join(map(json.dumps, fields)))
        (folder / "web.jsonl").write_text("\n".join(json.dumps({"text": d}) for d in docs))
        check = Check.model_validate(
            {
                "inputs": [{"path": str(folder / "web.jsonl")}],
                "matching": {
                    "benchmarks": [f"squad={folder / 'items.jsonl'}:{','.join(fields[0])}"]
                },
            }
        )
        report = check_contamination(check, folder / "out", one_by_one)
        found = Counter(pq.read_table(folder / "out/items.parquet")["status"].to_pylist())
    return found + Counter({"context found": report.benchmarks[0].context_found})


if __name__ == "__main__":
    main()
