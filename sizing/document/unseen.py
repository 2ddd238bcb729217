"""Characters that a reader cannot see, or that would turn the text around them, made visible.

Controls, bidirectional marks and overrides, zero-width characters, soft hyphens, variation
selectors, tags, blank letters, half characters and what is no character. Tabs and line breaks
stay; so do the marks of Arabic and Syriac numbers that are of category Cf but are seen.
"""

import re

_UNSEEN = (
    "\x00-\x08\x0b-\x1f\x7f-\x9f\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f"
    "\u200b-\u200f\u2028-\u202e\u2060-\u206f\u3164\ud800-\udfff\ufdd0-\ufdef\ufe00-\ufe0f\ufeff"
    "\uffa0\ufff0-\ufffb\ufffe\uffff\U0001bca0-\U0001bca3\U0001d173-\U0001d17a"
    "\U000e0000-\U000e0fff"
    + "".join(chr(plane << 16 | last) for plane in range(1, 17) for last in (0xFFFE, 0xFFFF))
)
RUN = re.compile(f"([{_UNSEEN}])\\1*")  # of one such character


def name_of(run: str) -> str:
    """What stands for a run of one character.

    >>> name_of("\\u200b"), name_of("\\u200b" * 3)
    ('U+200B', 'U+200B x 3')
    """
    times = f" x {len(run):,}" if len(run) > 1 else ""
    return f"U+{ord(run[0]):04X}{times}"


def named(text: str, others: str = "") -> str:
    """The text with what is not seen, and every one of `others`, by its name.

    >>> named("a\\u202eb [c]", "[]")
    'a⟨U+202E⟩b ⟨U+005B⟩c⟨U+005D⟩'
    """
    text = RUN.sub(lambda found: f"⟨{name_of(found[0])}⟩", text.replace("\r\n", "\n"))
    return (
        re.sub(f"[{re.escape(others)}]", lambda c: f"⟨{name_of(c[0])}⟩", text) if others else text
    )
