"""The normalization of CCNet, before its language models: text as they were trained on it.

    strip --> lower case --> no accents --> digits as 0 --> ASCII punctuation --> no control

Source: cc_net/text_normalizer.py of facebookresearch/cc_net (MIT), `normalize`. With its slip of a
full-width 1 among the punctuation, which never matters: digits are 0 by then. With the
interpreter's version of Unicode, as it.
"""

import unicodedata

PUNCTUATION = {
    "，": ",",
    "。": ".",
    "、": ",",
    "„": '"',
    "”": '"',
    "“": '"',
    "«": '"',
    "»": '"',
    "」": '"',
    "「": '"',
    "《": '"',
    "》": '"',
    "´": "'",
    "∶": ":",
    "：": ":",
    "？": "?",
    "！": "!",
    "（": "(",
    "）": ")",
    "；": ";",
    "–": "-",
    "—": " - ",
    "．": ". ",
    "～": "~",
    "’": "'",
    "…": "...",
    "━": "-",
    "〈": "<",
    "〉": ">",
    "【": "[",
    "】": "]",
    "％": "%",
    "►": "-",
}


def normalize(text: str) -> str:
    """Text as CCNet's models read it; a whole document loses its newlines so, as there.

    >>> normalize(" Café, 1984 — „so“ ")
    'cafe, 0000  -  "so"'
    """
    return unicodedata.normalize("NFD", text.strip().lower()).translate(_CHARACTERS)


def became(char: str) -> str:
    """What is made of one character in lower case, the characters around it aside.

    >>> became("é"), became("…")
    ('e', '...')
    """
    return unicodedata.normalize("NFD", char).translate(_CHARACTERS)


class _Characters(dict[int, str]):
    """What each character of decomposed text becomes; found when it is first met."""

    def __missing__(self, cp: int) -> str:
        self[cp] = made = _made(chr(cp))
        return made


def _made(char: str) -> str:
    kind = unicodedata.category(char)
    if kind in ("Mn", "Cc"):
        return ""
    return "0" if kind == "Nd" else PUNCTUATION.get(char, char)


_CHARACTERS = _Characters()
