"""The filters the slow, obvious way: text in; (reason, value) out, reason None if it is kept.

value is None where no quantity decides. A rule whose limit is None is off.
"""

import re
from collections import Counter

from tests.reference.words import n_sentences
from tests.reference.words import words as words_of
from tokenmill.dedup.text.unicode import code_points
from tokenmill.pipelines.filters.text.characters import SYMBOLS, TERMINAL_MARKS

SYMBOL_SET = {chr(c) for c in code_points(SYMBOLS)}
TERMINAL_SET = {chr(c) for c in code_points(TERMINAL_MARKS)}
NO_RATIO = None  # of nothing: breaks no rule


def ratio(part, whole):
    return part / whole if whole else NO_RATIO


def below(value, least):
    return value is not None and least is not None and value < least


def above(value, most):
    return value is not None and most is not None and value > most


def first_broken(rules):
    for reason, broken, value in rules:
        if broken:
            return reason, value
    return None, None


def gopher_quality(text, f):
    words = words_of(text, f.words)
    content = [w for w in words if not set(w) <= SYMBOL_SET]
    mean = ratio(sum(map(len, content)), len(content))
    hashes = ratio(text.count("#"), len(words))
    ellipses = ratio(text.count("...") + text.count("…"), len(words))
    lines = text.splitlines()
    bullets = ratio(sum(li.lstrip().startswith(("•", "-")) for li in lines), len(lines))
    trailing = ratio(sum(li.rstrip().endswith(("...", "…")) for li in lines), len(lines))
    alpha = ratio(sum(any(map(str.isalpha, w)) for w in words), len(words))
    stop = len(set(words) & set(f.stop_words))
    return first_broken(
        [
            ("too_few_words", below(len(content), f.min_words), len(content)),
            ("too_many_words", above(len(content), f.max_words), len(content)),
            ("words_too_short", below(mean, f.min_avg_word_length), mean),
            ("words_too_long", above(mean, f.max_avg_word_length), mean),
            ("too_many_hashes", above(hashes, f.max_symbol_word_ratio), hashes),
            ("too_many_ellipses", above(ellipses, f.max_symbol_word_ratio), ellipses),
            ("too_many_bullet_lines", above(bullets, f.max_bullet_lines_ratio), bullets),
            ("too_many_ellipsis_lines", above(trailing, f.max_ellipsis_lines_ratio), trailing),
            ("too_few_alpha_words", below(alpha, f.min_alpha_words_ratio), alpha),
            ("too_few_stop_words", below(stop, f.min_stop_words), stop),
        ]
    )


def repeated(parts):
    """How many parts equal one before, and their characters."""
    again = [p for i, p in enumerate(parts) if p in parts[:i]]
    return len(again), sum(map(len, again))


def top_chars(words, n):
    grams = Counter(" ".join(words[i : i + n]) for i in range(len(words) - n + 1))
    if not grams:
        return 0
    most = max(grams.values())
    first = next(g for g in grams if grams[g] == most)  # a dict keeps the order of insertion
    return len(first) * most


def duplicate_chars(words, n):
    met, chars, i = set(), 0, 0
    while i + n <= len(words):
        gram = "".join(words[i : i + n])
        if gram in met:
            chars += len(gram)
            i += n
        else:
            met.add(gram)
            i += 1
    return chars


def gopher_repetition(text, f):
    if not text:
        return "empty", None
    paragraphs, lines = re.split("\n{2,}", text.strip()), re.split("\n+", text)
    n_para, para_chars = repeated(paragraphs)
    n_line, line_chars = repeated(lines)
    p, pc = n_para / len(paragraphs), para_chars / len(text)
    ln, lc = n_line / len(lines), line_chars / len(text)
    rules = [
        ("duplicate_paragraphs", above(p, f.max_duplicate_paragraphs_ratio), p),
        ("duplicate_paragraph_chars", above(pc, f.max_duplicate_paragraph_chars_ratio), pc),
        ("duplicate_lines", above(ln, f.max_duplicate_lines_ratio), ln),
        ("duplicate_line_chars", above(lc, f.max_duplicate_line_chars_ratio), lc),
    ]
    words = words_of(text, f.words)
    for n, limit in f.top_ngrams or ():
        share = top_chars(words, n) / len(text)
        rules.append((f"top_{n}_gram", share > limit, share))
    for n, limit in f.duplicate_ngrams or ():
        share = duplicate_chars(words, n) / len(text)
        rules.append((f"duplicate_{n}_grams", share > limit, share))
    return first_broken(rules)


def fineweb(text, f):
    lines = [line for line in text.split("\n") if line.strip()]
    if not lines:
        return "empty", None
    terminal = sum(line[-1] in TERMINAL_SET for line in lines) / len(lines)
    short = sum(len(line) <= f.short_line_chars for line in lines) / len(lines)
    duplicate = repeated(lines)[1] / len(text.replace("\n", ""))
    newlines = ratio(text.count("\n"), len(words_of(text, f.words)))
    excused = f.keep_no_terminal_lines and terminal == 0
    too_few = below(terminal, f.min_terminal_lines_ratio) and not excused
    return first_broken(
        [
            ("too_few_terminal_lines", too_few, terminal),
            ("too_many_short_lines", above(short, f.max_short_lines_ratio), short),
            (
                "duplicate_line_chars",
                above(duplicate, f.max_duplicate_line_chars_ratio),
                duplicate,
            ),
            ("too_many_newlines", above(newlines, f.max_newlines_ratio), newlines),
        ]
    )


POLICIES = re.compile("terms of use|(privacy|cookie) policy|(uses|use of|use) cookies")
SENTENCE_END = re.compile(
    "[" + re.escape("".join(sorted(TERMINAL_SET))) + "][\"')\\]}\u00bb\u2019\u201d]*\\s+(?=\\S)"
)


def sentences(line):
    """How many sentences a line has, at least 1."""
    return 1 + len(SENTENCE_END.findall(line))


def c4_line(line, f):
    """(what is left of a line or None, reason to remove its document or None)."""
    words = line.split()
    line = line.strip()
    if f.max_word_chars is not None and any(len(w) > f.max_word_chars for w in words):
        return None, None
    if f.remove_citations:
        line = re.sub(r"\[\d*]|\[edit]|\[citation needed]", "", line)
    if f.terminal_mark and (line[-1:] not in tuple(".?!\"'") or line.endswith("...")):
        return None, None
    if below(len(words), f.min_words_per_line):
        return None, None
    lower = line.lower()
    if f.lorem_ipsum and "lorem ipsum" in lower:
        return None, "lorem_ipsum"
    if f.javascript and "javascript" in lower:
        return None, None
    if f.curly_bracket and "{" in line:
        return None, "curly_bracket"
    if f.policy and POLICIES.search(lower):
        return None, None
    return line, None


def c4(text, f):
    """(reason, value, text that is left)."""
    kept = []
    for line in text.splitlines():
        left, reason = c4_line(line, f)
        if reason:
            return reason, None, None
        if left is not None:
            kept.append(left)
    n = sum(map(n_sentences if f.sentences == "spacy" else sentences, kept))
    if below(n, f.min_sentences):
        return "too_few_sentences", n, None
    return None, None, "\n".join(kept).strip()
