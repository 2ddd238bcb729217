"""Documents to what trainers read: ids, datasets, mixtures, exports.

    documents ── tokenize ── ids by shard ──┬── dataset: Arrow files of a split, packed or not
                                            └── mix: copies by weight, in an order of chance
    dataset ── export ── Parquet, MDS, Megatron

Open `run` first (what decides how ids are made, and where they lie), then `shards`, which writes
what a shard comes to, and `dataset`. `tokenize` loads a tokenizer once a process and makes the ids;
`engines` is the fast way to the same ones, `reference` the library that a file belongs to.

The room owns these nouns: an engine, a token shard, a split, a layout (which file of the dataset
has which documents), a bucket (a stretch of a mixture).
"""
