"""Predict a run of a recipe before it is made: the corpus, or what may be read of it, is read once.

    parts of the inputs ── scan ──┬── counts of every stage before duplicates are looked for
                                  ├── keys ── copies: of documents drawn, all that is like them
                                  └── local: of a sample of parts, tokens and bytes as stored
    counts ── scanned: of all inputs      copies ── left, unseen: of all inputs
    scanned, left, local ── predict ── estimate.json

The statistics are those of `pipelines.estimate`; here is what reads files for them.
"""
