"""Does this storage feed the planned cluster? MLPerf Storage's rule, without an accelerator.

    plan ── demand ──┐
    shards ── order ── loader ── worker ┐
                     └──────────── team ── search ── verdict ── report
                    checkpoint ── writer ┘

Workers read the dataset as training would, the team lets them take a step when all have their
batch, and a step's compute is a sleep. Nothing is decoded twice or cached on purpose: what the
page cache served all the same is counted (`cache`), and no figure it made is a PASS.
"""
