"""Predict a run of a recipe before it is made: the corpus is read once, a part of it tokenized.

    parts of the inputs ── scan ──┬── counts of every stage before duplicates are looked for
                                  ├── keys ── copies: of documents drawn, all that is like them
                                  └── local: of a sample of parts, tokens and bytes as stored
    counts, copies, local ── predict ── estimate.json

The statistics are those of `pipelines.estimate`; here is what reads files for them.
"""
