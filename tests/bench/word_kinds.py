"""How many documents get another verdict when words are split otherwise than datatrove splits them.

    python -m tests.bench.word_kinds FOLDER

of a folder with *.jsonl.gz of a field "text", and *.txt whose lines are documents. MB/s are of CPU
seconds, of texts whose words have all been met before.
"""

import argparse
import gzip
import json
import time
from pathlib import Path

from tests.pipelines.filters.verdicts import verdicts
from tests.strategies import document_batch
from tokenmill.pipelines.filters.c4 import C4
from tokenmill.pipelines.filters.fineweb import FineWeb
from tokenmill.pipelines.filters.gopher_quality import GopherQuality
from tokenmill.pipelines.filters.gopher_repetition import GopherRepetition

BY_WORDS = (GopherQuality, GopherRepetition, FineWeb)
OTHERWISE = ({"words": "unicode"}, {"words": "whitespace"})
CASES = [(stage, {"words": "spacy"}, other) for stage in BY_WORDS for other in OTHERWISE]
CASES.append((C4, {"sentences": "spacy"}, {"sentences": "marks"}))


def main():
    folder = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    folder.add_argument("folder", type=Path)
    print(
        "| filter | otherwise | corpus | documents | kept by spacy | other verdict | other reason"
        " | MB/s | by spacy |"
    )
    print("|---|---|---|---|---|---|---|---|---|")
    for name, texts in corpora(folder.parse_args().folder):
        for stage, theirs, ours in CASES:
            expected, slow = reasons(stage(**theirs), texts)
            found, fast = reasons(stage(**ours), texts)
            kept = sum(reason is None for reason in expected)
            pairs = list(zip(found, expected, strict=True))
            other = sum((a is None) != (b is None) for a, b in pairs)
            reason = sum(a != b for a, b in pairs) - other
            kind = ", ".join(f"{k}: {v}" for k, v in ours.items())
            print(
                f"| {stage.name} | {kind} | {name} | {len(texts)} | {kept} | {other} | {reason}"
                f" | {fast:.0f} | {slow:.0f} |"
            )


def corpora(folder):
    """The texts of each file, by its name."""
    for file in sorted(folder.rglob("*.jsonl.gz")) + sorted(folder.rglob("*.json.gz")):
        with gzip.open(file, "rt", encoding="utf-8") as lines:
            yield file.name.split(".")[0], [json.loads(line)["text"] for line in lines]
    for file in sorted(folder.rglob("*.txt")):
        yield file.name, [li for li in file.read_text("utf-8").split("\n") if li.strip()]


def reasons(stage, texts):
    """Why each leaves, and MB/s of the second time."""
    found = [reason for reason, _ in verdicts(stage, texts)]
    batch = document_batch(texts)
    begun = time.process_time()
    stage(batch)
    return found, batch["text"].nbytes / (time.process_time() - begun) / 1e6


if __name__ == "__main__":
    main()
