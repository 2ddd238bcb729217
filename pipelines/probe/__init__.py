"""Does this storage feed the planned cluster? MLPerf Storage's rule, without an accelerator.

    plan ── demand ─────┐
    shards ── loader ───┼─ team: workers ── demand.search ── report: verdicts, figures
          checkpoints ──┘

What a dataset lies on, a folder or a bucket, is a `medium`; `objects` is the loader of a bucket.

Workers read the dataset as training would, the team lets them take a step when all have their
batch, and a step's compute is a sleep. The page cache is emptied between runs; what it served all
the same is counted (`cache`), and a figure that comes from it is never a PASS.

Open `run` first: a whole probe, phase by phase. README.md lists the keys of probe.json.

Nouns: a *demand* is what the plan asks of one host; an *order* is the order of rows that training
reads; a *run* is all ranks reading together for some steps; its *utilisation* is compute time over
total time; a *verdict* is PASS, FAIL or UNDECIDED, with the reason.
"""
