"""What `url_filter` removes, one URL at a time, with sets and `str`."""

import re
import string

ALNUM = re.compile("[^a-zA-Z0-9]+")
SCHEME = re.compile("([a-zA-Z0-9+.-]+:)?//")


def normalized(entry):
    return ALNUM.sub("", entry).lower()


def lower(text):
    return "".join(c.lower() if c in string.ascii_uppercase else c for c in text)


def host_of(url):
    """As tldextract has it."""
    scheme = SCHEME.match(url)
    rest = url[scheme.end() :] if scheme else url
    host = re.split("[/?#]", rest)[0].rpartition("@")[2]
    literal = re.match(r"\[[^]]*", host)
    port = host.find(":", literal.end() if literal else 0)
    host = host if port < 0 else host[:port]
    while host and (host[-1] == "." or host[-1] <= " "):
        host = host[:-1]
    return lower(host)


def blocked(url, config):
    """(reason, value, detail), or None: it stays."""
    if not url:
        return None
    domains = {lower(d).lstrip("*.").rstrip(".") for d in config.domains}
    labels = host_of(url).split(".")
    for n in range(len(labels) - 1, -1, -1):
        if ".".join(labels[n:]) in domains:
            return "blocked_domain", None, ".".join(labels[n:])
    scheme = SCHEME.match(url)
    listed = set(config.urls) - {""}
    if url in listed or (scheme and url[scheme.end() :] in listed):
        return "blocked_url", None, url
    read = lower if config.ignore_case else str
    words = [read(w) for w in ALNUM.split(url) if w]
    for word in words:
        if word in set(map(normalized, config.words)):
            return "blocked_word", None, word
    soft = set(map(normalized, config.soft_words)) & set(words)
    if len(soft) >= config.least_soft_words:
        return "blocked_soft_words", float(len(soft)), None
    return blocked_subword(normalized(url), config)


def blocked_subword(letters, config):
    for end in range(1, len(letters) + 1):
        for word in sorted(set(map(normalized, config.subwords)) - {""}, key=len):
            if letters[:end].endswith(word):
                return "blocked_subword", None, word
    return None
