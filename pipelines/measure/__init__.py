"""A run predicted before it is made: the corpus, or what may be read of it, is read once.

    parts of the inputs ── scan ──┬── keys of all documents ── copies of those drawn
                                  ├── all steps, of documents chosen ── what filters keep, tokens
                                  └── bytes as stored, of a sample of parts
    all of it ── scanned, left, unseen ── predict

Open `run` first, then `scan`, which reads, and `predict`, which puts the figures together. What has
no files (`drawn`, `chosen`, `unique`, `unseen`, `weights`, `joint`) is statistics: numbers in,
numbers out. Every estimate is a `Drawn`: a value and its joint draws; its quantiles are those of an
interval whose coverage was simulated (`python -m tests.bench.coverage`), and what a sample says
together of two quantities is told by the order of the draws alone.

A corpus-wide step tells by `probe` what is predicted of it; one that tells nothing is named in
estimate.json and on the screen, and bounds of figures behind it reach down to what it surely leaves
unchanged.

The room owns these nouns: a part (of the inputs, which is read by itself), a probe (a document
drawn of those chosen), a unit (what parts are drawn by), a figure drawn jointly with others.
"""
