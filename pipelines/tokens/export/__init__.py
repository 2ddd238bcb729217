"""The dataset of a finished run in the files of other loaders: Megatron, MDS, Parquet.

    run ─ rows ─► batches of ids ─ megatron, mds, parquet ─► parts ─ Journal ─► manifest.json

Open `run` first; each format is a module, whose docstring has its bytes.

Nouns: an *export* is what is asked for; a *part* is files that are finished together and never
written again; the *journal* lists the parts, so that an export that was killed goes on.
"""
