"""Where bytes lie: on this machine or in a bucket, whole or not at all.

    inputs    path or pattern ── expand ──► InputFile, … ── open_input ──► bytes
    outputs   work ── atomic_path ──► file of the run directory ── mirror.publish ──► bucket
              work ◄── open_sidecar, mapped ── file ◄── mirror.present ─────────────┘

Open `inputs` first for what is read, `mirror` for what a run writes. Where a run directory lies
here, `present` and `publish` do nothing; so other rooms never ask where it lies.

    atomic.py      a file is written under another name and renamed
    bounds.py      how much memory a packed thing may take
    ipc.py         messages of Arrow IPC: where they lie, and what they would unpack to
    files.py       Arrow and Parquet; sidecars, in the row order of a shard, mapped and checked
    stores.py      other stores that inputs lie in
    aws.py         credentials, region and endpoint of S3
    s3.py          objects below a prefix
    mirror.py      the folder here of a run in a bucket, and how much of it lies here
    lock.py        one run at a time in a bucket

Nouns of this room: a mirror (a folder here that stands for a prefix), an outage (a store that does
not answer: tried again, no fault of a file), a sidecar.
"""
