"""A corpus of real prose with items of two benchmarks planted, plain and in disguise."""

import json
from pathlib import Path
from random import Random

from tests.e2e.corpus import prose
from tokenmill.pipelines.contamination.check import Check
from tokenmill.pipelines.contamination.index import Matching
from tokenmill.pipelines.contamination.items.spec import Benchmark

WORDS = """
able acid army away baby back ball band bank base bath bear beat bell belt bird blue boat body bone
book born both bowl busy cake call calm camp card care case cash cell chip city clay coal coat cold
cook copy corn cost crew crop dark date dawn deal deep desk dish door dose draw drop drum duck dust
each earn east edge farm fast fear feed fill fire fish five flag flat flow food foot fork free fuel
gain gate gift girl give glad goat gold gray hair half hall hand hill hold home hope hour idea iron
"""


def questions(seed: str) -> list[str]:
    """Eight that have nothing in common."""
    return [" ".join(Random(f"{seed} {n}").sample(WORDS.split(), 34)) + "?" for n in range(8)]


def one_in_ten_replaced(text: str) -> str:
    return " ".join("something" if i % 10 == 5 else w for i, w in enumerate(text.split()))


QUESTIONS = questions("sums")
WHOLE = "Who painted the night watch"
RIDDLES = [WHOLE, *questions("riddles")]
WIDE = str.maketrans({c: chr(ord(c) + 0xFEE0) for c in "abcdefghijklmnopqrstuvwxyz"})

EDITED = 420
# document of `prose` -> what stands behind it
PLANTED = {
    3: QUESTIONS[0],
    17: QUESTIONS[1].upper(),
    40: QUESTIONS[2].translate(WIDE),
    400: f"{RIDDLES[1]}\n\n{QUESTIONS[0]}",
    EDITED: one_in_ten_replaced(QUESTIONS[5]),
    500: f"Asked: {WHOLE}?",
}


def documents() -> list[str]:
    return [f"{text}\n\n{PLANTED[i]} …" if i in PLANTED else text for i, text in enumerate(prose())]


def write_benchmark(folder: Path, name: str, questions) -> Benchmark:
    path = folder / f"{name}.jsonl"
    path.write_text("".join(json.dumps({"q": q}) + "\n" for q in questions))
    return Benchmark(name=name, path=str(path))


def write_check(folder: Path, **settings) -> Check:
    """Write the corpus as two JSONL files, sources "a" and "b", and the benchmarks."""
    texts = documents()
    half = len(texts) // 2
    for name, part in (("a", texts[:half]), ("b", texts[half:])):
        lines = (json.dumps({"id": f"{name}-{i}", "text": t}) + "\n" for i, t in enumerate(part))
        (folder / f"{name}.jsonl").write_text("".join(lines))
    matching = Matching(
        benchmarks=(
            write_benchmark(folder, "sums", QUESTIONS),
            write_benchmark(folder, "riddles", RIDDLES),
        )
    )
    return Check(
        inputs=[{"path": str(folder / f"{name}.jsonl")} for name in ("a", "b")],
        **{"matching": matching, "shard_bytes": "60kB", **settings},
    )
