"""What a sample says of a corpus, with intervals: numbers in, numbers out, no files.

    probes ── unique ────────────┐
    hash sample ── hash_space ───┤
    nested subsets ── growth ────┼── joint: documents, bytes, tokens, hours ── estimate.json
    clusters read ── local ──────┘

Every estimate is a `Drawn`: a value and its joint draws. Its quantiles are those of an interval
whose coverage was simulated (`python -m tests.bench.coverage`); what the sample says together of
two quantities is told by the order of the draws alone.
"""
