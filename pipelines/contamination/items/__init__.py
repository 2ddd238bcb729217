"""Benchmarks as tables of items: what must not be found in a corpus.

    NAME=PATH:FIELDS, known.yaml ─ spec ─► Benchmark ─ rows ─► rows ─ items ─► texts

Open `items` first: it puts the other modules together.

Nouns: a *benchmark* has a name and lies somewhere; a *row* is what its file has of one question; an
*item* is a row as it is looked for: named "gsm8k:17", the texts of its *fields* by themselves and
all together. A *known* benchmark has its fields and its place on the hub in known.yaml.
"""
