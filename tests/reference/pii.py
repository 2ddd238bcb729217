"""What `pii` masks, by regular expressions, a text at a time."""

import ipaddress
import re

OCTET = "(?:25[0-5]|2[0-4][0-9]|[01]?[0-9][0-9]?)"
ATOM = "[A-Za-z0-9!#$%&'*+/=?^_`{|}~-]+"
LABEL = "[A-Za-z0-9](?:[A-Za-z0-9-]*[A-Za-z0-9])?"
EMAIL = re.compile(
    rf"\b{ATOM}(?:\.{ATOM})*@(?:(?:{LABEL}\.)+{LABEL}"
    rf"|\[(?:{OCTET}\.){{3}}(?:{OCTET}|[A-Za-z0-9-]*[A-Za-z0-9]:)])"
)
IPV4 = re.compile(rf"(?:{OCTET}\.){{3}}{OCTET}")
IPV6 = re.compile(r"[0-9A-Fa-f.:]*:[0-9A-Fa-f.:]*")
# as many digits as follow, or none: what goes on in letters has no number within
INTERNATIONAL = re.compile(r"(?<![A-Za-z0-9_])\+[1-9](?:[-./() ]{0,2}[0-9])*+(?![A-Za-z0-9_])")
FREE = r"(?<![A-Za-z0-9_.+/-])"
NORTH_AMERICAN = re.compile(
    rf"{FREE}(?:1[-. ])?(?:\([2-9][0-9]{{2}}\) ?|[2-9][0-9]{{2}}[-. ])"
    r"[2-9][0-9]{2}[-. ][0-9]{4}(?![A-Za-z0-9_])"
)
WORD = re.compile("[A-Za-z0-9_]")
RESERVED = [ipaddress.ip_network(n) for n in ("2001::/23", "2001:db8::/32", "3fff::/20")]


def emails(text):
    return [m.span() for m in EMAIL.finditer(text)]


def ipv4(text, *, public_only):
    return [m.span() for m in IPV4.finditer(text) if _is_ipv4(m.group(), public_only)]


def _is_ipv4(written, public_only):
    try:
        return ipaddress.IPv4Address(written).is_global or not public_only
    except ValueError:
        return False


def ipv6(text, *, public_only):
    found = []
    for m in IPV6.finditer(text):
        start, end = m.span()
        edges = text[start - 1 : start] if start else "", text[end : end + 1]
        run = text[start:end].lstrip(".")
        start = end - len(run)
        while run.endswith(".") or (run.endswith(":") and not run.endswith("::")):
            run = run[:-1]
        if not any(map(WORD.match, edges)) and _is_ipv6(run, public_only):
            found.append((start, start + len(run)))
    return found


def _is_ipv6(written, public_only):
    try:
        address = ipaddress.IPv6Address(written)
    except ValueError:
        return False
    here = address in ipaddress.ip_network("2000::/3") and not any(address in n for n in RESERVED)
    return here or not public_only


def international_phones(text):
    return [m.span() for m in INTERNATIONAL.finditer(text) if 8 <= _n_digits(m.group()) <= 15]


def north_american_phones(text):
    return [m.span() for m in NORTH_AMERICAN.finditer(text)]


def _n_digits(text):
    return sum(c.isdigit() for c in text)


def replaced(text, spans, replacements):
    """The text with replacements in place of the spans, over and over."""
    parts, at = [], 0
    for n, (start, end) in enumerate(spans):
        parts += [text[at:start], replacements[n % len(replacements)]]
        at = end
    return "".join([*parts, text[at:]])


def masked(text, pii):
    """The text that a `Pii` leaves, and its notes."""
    notes = {}
    for kind, spans, replacements in (
        ("emails", pii.emails and emails, pii.email_replacements),
        ("ipv6", pii.ipv6 and (lambda t: ipv6(t, public_only=pii.public_only)),
         pii.ipv6_replacements),
        ("ipv4", pii.ipv4 and (lambda t: ipv4(t, public_only=pii.public_only)),
         pii.ipv4_replacements),
        ("phones", "international" in pii.phones and international_phones, pii.phone_replacements),
        ("phones", "north_american" in pii.phones and north_american_phones,
         pii.phone_replacements),
    ):  # fmt: skip
        found = spans(text) if spans else []
        if found:
            notes[f"pii_{kind}"] = notes.get(f"pii_{kind}", 0) + len(found)
            text = replaced(text, found, replacements)
    return text, notes
