"""Where bytes lie: on this machine or in a bucket, whole or not at all.

    inputs    path or pattern ── expand ──► InputFile, … ── open_input ──► bytes
    outputs   work ── atomic_path ──► file of the run directory ── mirror.publish ──► bucket
              work ◄── open_sidecar, mapped ── file ◄── mirror.present ─────────────┘

Open `inputs` first for what is read, `mirror` for what a run writes. Where a run directory lies
here, `present` and `publish` do nothing; so other rooms never ask where it lies.

Nouns of this room: a mirror (a folder here that stands for a prefix), an outage (a store that does
not answer: tried again, no fault of a file), a sidecar.
"""
