"""Inputs become batches of documents.

    inputs ── plan_inputs ──► SourceShard, SourceShard, … ── read_shard ──► ReadBatch, ReadBatch, …
                   │                                             │
               Reader.cut ─────── one Reader a format ────── Reader.read

Open `readers.py` first: a `Reader` says which files are of a format, how a file is cut into shards
and how a shard becomes batches. All formats are registered there by one call, and formats of others
by the same call in a plug-in (`core.plugins`). Nothing else asks for a format by its name.

    plan.py        finds the files of each input, has them cut, and numbers the shards
    jsonl.py       JSON Lines: ranges of lines of a stream of bytes
    table.py       rows of a table; parquet.py and arrow.py cut the files and yield the tables
    pages.py       what columns of Parquet unpack to; weights.py what rows of any table take
    text.py        files that are one document each
    images/        documents with images: tars of samples, Markdown, and columns of the above
    web/           web archives
    stream.py      bytes of a file from some place on, decompressed by the ending of its name
    columns.py     which columns are text, id, address and images
    batch.py       what a reader says of a document, and the batches it yields
    options.py     the sections `images`, `html` and `limits` of a recipe

Nouns of this room:

    piece          a shard's part of a file, before shards are numbered
    failure        a document that could not be read, with its cause; it has a row as others do
    damage         what breaks a file off: the rest of its shard is lost, other shards are not
    note           a count of what was met and is no failure, as "animated"
"""
