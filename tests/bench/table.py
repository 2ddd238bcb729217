"""The table of tests/README.md, made of results.json and of nothing else."""

import textwrap
from collections import Counter
from pathlib import Path
from typing import Any

WIDTH = 118
START, END = "<!-- bench -->\n", "<!-- /bench -->"
HEAD = "| step | tokenmill | others, and how many times as long they take |\n|---|---|---|\n"


class MarkerError(Exception):
    """The file has no place for the table."""


def put_in(path: Path, results: dict[str, Any]) -> None:
    """Write the table between the markers of a file.

    Raises:
        MarkerError: they are not there.
    """
    text = path.read_text(encoding="utf-8")
    before, start, rest = text.partition(START)
    _, end, after = rest.partition(END)
    if not start or not end:
        raise MarkerError(
            f"{path}: no lines {START.strip()} and {END}; put them where the table goes"
        )
    path.write_text(before + START + render(results) + END + after, encoding="utf-8")


def render(results: dict[str, Any]) -> str:
    """Markdown: what and where, the table, what is unfair, what is missing."""
    lines = [_line(step) for step in results["steps"]]
    notes = [
        *_other_days(results), *results["unfair"], *_unfair(results), *_whole_runs(results),
        *_missing(results),
    ]  # fmt: skip
    below = "".join(_filled(f"- {note}", indent="  ") for note in notes)
    return f"{_filled(_intro(results))}\n{HEAD}{''.join(lines)}\n{below}"


def _filled(text: str, indent: str = "") -> str:
    return textwrap.fill(text, WIDTH, subsequent_indent=indent, break_on_hyphens=False) + "\n"


def _intro(results: dict[str, Any]) -> str:
    machine, corpus = results["machine"], results["corpus"]
    kind = "A quick run" if results["quick"] else "Measured"
    day, *others = _days(results)
    but = " unless another day is told below" if others else ""
    sizes = sorted(step["real_mb"] for step in results["steps"])
    text = " to ".join(dict.fromkeys(f"{sizes[at]:.0f}" for at in (0, -1)))
    return (
        f"{kind} on {day}{but}: {machine['processor']}, {machine['processors']} processors,"
        f" Python {machine['python']}; `make bench` repeats it. MB of text per CPU second of one"
        f" processor, median of {results['repeats']} runs in turn, each in a process of its own;"
        f" start-up is apart. Text: {text} MB of documentation, licences, source"
        " and web text; what is larger repeats it with words replaced. Tokenizer:"
        f" {corpus['tokenizer']}."
    )


def _days(results: dict[str, Any]) -> list[str]:
    """The days on which steps were measured; that of most first."""
    return [day for day, _ in Counter(step["date"] for step in results["steps"]).most_common()]


def _other_days(results: dict[str, Any]) -> list[str]:
    of = {day: [s["name"] for s in results["steps"] if s["date"] == day] for day in _days(results)}
    return [f"Measured on {day}: {', '.join(of[day])}." for day in sorted([*of][1:])]


def _line(step: dict[str, Any]) -> str:
    ours, *others = step["rows"]
    unit = " µs a document" if step["unit"] != "MB/s" else ""
    cells = [step["title"], _speed(ours) + unit, " · ".join(_peer(r) for r in others) or "-"]
    return f"| {' | '.join(cells)} |\n"


def _peer(row: dict[str, Any]) -> str:
    ratio = f" ({_times(row['ratio'])}x)" if "ratio" in row else ""
    return f"{row['tool']} {_speed(row)}{ratio}"


def _speed(row: dict[str, Any]) -> str:
    return "-" if "failed" in row else f"{_number(row['speed'])}"


def _times(ratio: float) -> str:
    return f"{ratio:.0f}" if ratio >= 10 else f"{ratio:.2g}"


def _number(x: float) -> str:
    if x >= 100:
        return f"{x:,.0f}"
    return f"{x:.1f}" if x >= 1 else f"{x:.2g}"


def _unfair(results: dict[str, Any]) -> list[str]:
    """Each thing once: "TOOL at STEP, STEP: what"."""
    found: dict[tuple[str, str], list[str]] = {}
    for step in results["steps"]:
        for row in step["rows"]:
            if row["unfair"]:
                found.setdefault((row["tool"], row["unfair"]), []).append(step["name"])
    return [
        f"{tool}: {what}" + ("" if len(steps) > 3 else f" ({', '.join(steps)})") + "."
        for (tool, what), steps in found.items()
    ]


def _whole_runs(results: dict[str, Any]) -> list[str]:
    """What whole runs left to tokenize, and their memory: no two tools keep the same."""
    notes = []
    for step in results["steps"]:
        rows = [r for r in step["rows"] if step["name"].startswith("run") and "failed" not in r]
        left = [
            (r["tool"], r["counts"]["tokens"] / r["mb"]) for r in rows if "tokens" in r["counts"]
        ]
        if left:
            shown = " · ".join(f"{tool} {tokens:,.0f}" for tool, tokens in left)
            peaks = " · ".join(f"{r['tool']} {r['peak_mb']:,}" for r in rows)
            notes.append(
                f"{step['name']}: tokens left of each MB: {shown}; peak memory, MB: {peaks}."
            )
    return notes


def _missing(results: dict[str, Any]) -> list[str]:
    return [
        f"Not measured: {row['tool']} at {step['name']}: {row['failed']}"
        for step in results["steps"]
        for row in step["rows"]
        if "failed" in row
    ]
