"""Texts that spaCy splits in odd ways, and kinds of words to try them with."""

from importlib.util import find_spec

import pytest
from hypothesis import strategies as st

HAS_SPACY = find_spec("spacy") is not None
needs_spacy = pytest.mark.skipif(not HAS_SPACY, reason="spacy is not installed")
KINDS = ["whitespace", "unicode", "scripts", pytest.param("spacy", marks=needs_spacy)]

# rules of its own, their parts, what it takes off at the ends and splits inside, and units
ODD = """
    :) :( ): :-) (: :)) ;) 8) 8-) <3 </3 ^_^ (>_<) :'( : ) ( - ' . , ... .. … ! ? / _ * = < > + ~ &
    Dr. Mr e.g. i.e. a.m. p.m. 8 8a.m. 10km km 5 % $ US$ °C. C++ can't cannot cant Im I'm gonna
    don\u2019t He's it's 's \u2019s doin' y'all o.O xD and/or w/o U.S. N.Y. Ph.D. Co. a. B. z the
    Word UPPER lower x b-c mother-in-law 3-4 1,000.5 a,b A.B a:b http://a.bc/d?e=f www.x.org
    me@x.com @you #tag naïve ß 東京 。 \uff01 « » “ ” \u2018 \u2019 — \u2013 -- 🙂 © \u0301 \ufeff
    \u200b ä. İ nt ² ½ \x00
"""
PARTS = ODD.split()
GAPS = [" "] * 6 + [""] * 3 + ["  ", "\n", "\n\n", " \n", "\t", "\u00a0", "\u2028", "\x85", "\x1f"]

odd_texts = st.lists(st.tuples(st.sampled_from(PARTS), st.sampled_from(GAPS)), max_size=25).map(
    lambda pairs: "".join(part + gap for part, gap in pairs)
)


def random_text(rng, n):
    """Up to n parts and gaps; rng: a random.Random."""
    return "".join(rng.choice(PARTS) + rng.choice(GAPS) for _ in range(rng.randrange(n + 1)))
