"""What annotating costs beside the steps: a run that removes nothing, and one that annotates.

    python -m tests.bench.annotate TOKENIZER PATH …

Both runs have the same steps, which keep every document, exact duplicates between two passes, and
keep their text; the second also tells what each step found. CPU seconds, in interleaved pairs; the
first pair, which compiles, is left out.
"""

import statistics
import sys
import tempfile
import time
from pathlib import Path

from tests.running import one_by_one, prepare
from tokenmill.pipelines.prepare.recipe import make_recipe

OFF = {
    "length": {"min_chars": None},
    "gopher_quality": dict.fromkeys(
        [
            *("min_words", "max_words", "min_avg_word_length", "max_avg_word_length"),
            *("max_symbol_word_ratio", "max_bullet_lines_ratio", "max_ellipsis_lines_ratio"),
            *("min_alpha_words_ratio", "min_stop_words"),
        ]
    ),
    "language": {"least": 0.0, "keep": ["en", "de", "fr"]},
}
PAIRS = 5


def cpu_seconds(tokenizer: str, paths: list[str], *, annotate: bool) -> float:
    more = {"action": "annotate"} if annotate else {}
    steps = [{name: {**settings, **more}} for name, settings in OFF.items()]
    recipe = make_recipe(
        {
            "inputs": paths,
            "steps": [*steps[:2], "exact", *steps[2:]],
            "tokenizer": {"path": tokenizer},
            "output": {"text": "parquet"},
        },
        where="bench",
    )
    with tempfile.TemporaryDirectory() as folder:
        started = time.process_time()
        prepare(recipe, Path(folder) / "run", one_by_one)
        return time.process_time() - started


def main() -> None:
    tokenizer, *paths = sys.argv[1:]
    pairs = [
        [cpu_seconds(tokenizer, paths, annotate=annotate) for annotate in (False, True)]
        for _ in range(PAIRS + 1)
    ][1:]
    ratios = [told / plain for plain, told in pairs]
    for plain, told in pairs:
        print(f"{plain:.2f} s, annotated {told:.2f} s")
    print(f"median ratio {statistics.median(ratios):.3f}, {min(ratios):.3f} to {max(ratios):.3f}")


if __name__ == "__main__":
    main()
