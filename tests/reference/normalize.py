"""Normalizing the slow, obvious way."""

import re
import unicodedata


def normalize(text: str, unicode: str | None = "nfc") -> str:
    text = re.sub("\r\n|[\r\x0b\x0c\x1c\x1d\x1e\x85]", "\n", text)
    text = text.replace("\x1f", " ").replace("\ufeff", "")
    text = "".join(c for c in text if unicodedata.category(c) != "Cc" or c in "\t\n")
    return text if unicode is None else unicodedata.normalize("NFC", text)
