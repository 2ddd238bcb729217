"""Language models the slow, obvious way: words by regular expression, n-grams as tuples."""

import math
import re
import unicodedata
from collections import Counter
from functools import cache

FALLBACK = (0.5, 1.0, 1.5)
UNKNOWN, BOUNDARY = "<unk>", "<s>"

# cc_net/text_normalizer.py of facebookresearch/cc_net, MIT, as it stands there
UNICODE_PUNCT = {
    "，": ",", "。": ".", "、": ",", "„": '"', "”": '"', "“": '"', "«": '"', "»": '"', "１": '"',
    "」": '"', "「": '"', "《": '"', "》": '"', "´": "'", "∶": ":", "：": ":", "？": "?", "！": "!",
    "（": "(", "）": ")", "；": ";", "–": "-", "—": " - ", "．": ". ", "～": "~", "’": "'",
    "…": "...", "━": "-", "〈": "<", "〉": ">", "【": "[", "】": "]", "％": "%", "►": "-",
}  # fmt: skip
NON_PRINTING_CHARS_RE = re.compile(
    f"[{''.join(map(chr, list(range(0, 32)) + list(range(127, 160))))}]"
)
DIGIT_RE = re.compile(r"\d")


def strip_accents(line):
    nfd = unicodedata.normalize("NFD", line)
    return "".join(c for c in nfd if unicodedata.category(c) != "Mn")


def normalize(line):
    line = line.strip()
    if not line:
        return line
    line = line.lower()
    line = strip_accents(line)
    line = DIGIT_RE.sub("0", line)
    line = "".join(UNICODE_PUNCT.get(c, c) for c in line)
    return NON_PRINTING_CHARS_RE.sub("", line)


WITHOUT_SPACES = (
    "\u0e00-\u0fff\u1000-\u109f\u1780-\u17ff\u3005-\u3007\u3040-\u30ff\u31f0-\u31ff"
    "\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U0001b000-\U0001b16f\U00020000-\U0003ffff"
)


def words(line):
    """The words of a line, character by character."""
    found, word = [], ""
    for char in line:
        if unicodedata.category(char) == "Cf":
            continue
        for c in normalize(char.replace("ς", "σ")) if not char.isspace() else " ":
            kind = unicodedata.category(c)
            if re.match(f"[{WITHOUT_SPACES}]", c) and kind[0] in "LNM":
                found += [word, c]
                word = ""
            elif kind[0] in "LNM" or c == "_":
                word += c
            else:
                found += [word, "" if kind[0] in "ZC" and kind not in ("Cn", "Co") else c]
                word = ""
    return [w for w in [*found, word] if w]


def lines(text):
    """The lines of a text that have words, as lists of them."""
    return [found for line in text.split("\n") if (found := words(line))]


class KneserNey:
    """Interpolated modified Kneser-Ney, straight from the formula of Chen and Goodman.

    sentences: lists of words of `vocabulary`, others are one word.
    """

    def __init__(self, sentences, vocabulary, order, prune=0):
        self.vocabulary = [UNKNOWN, BOUNDARY, *vocabulary]
        self.order, self.prune = order, prune
        self.counts = [Counter() for _ in range(order + 1)]
        for sentence in sentences:
            line = [BOUNDARY, *(self.known(w) for w in sentence), BOUNDARY]
            for n in range(1, order + 1):
                for i in range(1, len(line)):
                    if i - n + 1 >= 0:
                        self.counts[n][tuple(line[i - n + 1 : i + 1])] += 1
        self.a = [Counter() for _ in range(order + 1)]
        for n in range(1, order + 1):
            for gram, count in self.counts[n].items():
                if n == order or (n > 1 and gram[0] == BOUNDARY):
                    self.a[n][gram] = count
                else:
                    self.a[n][gram] = sum(longer[1:] == gram for longer in self.counts[n + 1])
        self.discounts = [None, *(self.estimated(n) for n in range(1, order + 1))]
        self.prob = cache(self._prob)

    def known(self, word):
        return word if word in self.vocabulary[2:] else UNKNOWN

    def estimated(self, n):
        t = [None, *(sum(a == k for a in self.a[n].values()) for k in (1, 2, 3, 4))]
        if 0 in t[1:]:
            return FALLBACK
        y = t[1] / (t[1] + 2 * t[2])
        found = tuple(k - (k + 1) * y * t[k + 1] / t[k] for k in (1, 2, 3))
        return found if min(found) > 0 else FALLBACK

    def discount(self, n, a):
        return self.discounts[n][min(a, 3) - 1]

    def is_kept(self, gram):
        return len(gram) < 3 or self.counts[len(gram)][gram] > self.prune

    def _prob(self, word, context):
        """P(word | context), by recursion; BOUNDARY is the end of a line as a word."""
        n = len(context) + 1
        seen = {g: a for g, a in self.a[n].items() if g[:-1] == context}
        total = sum(seen.values())
        shorter = self.prob(word, context[1:]) if context else 1 / len(self.vocabulary)
        if total == 0:
            return shorter
        own, left = 0.0, 0.0
        for gram, a in seen.items():
            taken = self.discount(n, a) if self.is_kept(gram) else a
            left += taken
            if gram[-1] == word:
                own = a - taken
        return own / total + left / total * shorter

    def log_prob(self, sentence, unseen):
        """log10 of a line's words and its end; an unknown word is one of `unseen` that are."""
        line = [BOUNDARY, *(self.known(w) for w in sentence), BOUNDARY]
        total = 0.0
        for i in range(1, len(line)):
            p = self.prob(line[i], tuple(line[max(0, i - self.order + 1) : i]))
            total += math.log10(p / unseen if line[i] == UNKNOWN else p)
        return total


def perplexity(text, model, unseen):
    found = lines(text)
    if not found:
        return math.nan
    log = sum(model.log_prob(line, unseen) for line in found)
    return 10 ** (-log / sum(len(line) + 1 for line in found))
