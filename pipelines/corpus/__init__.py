"""Steps that need something of all documents: duplicates, what stands too often, what stands twice.

    documents, keys ──► shuffle: equal keys together ──► what leaves ──► a file for each shard
    step.CorpusStep     shuffle, spill                   verdicts, units  applier, in the next pass

Read first `step`, the protocol that every step follows, then `passes`, which cuts a recipe into
passes by it, and `equal`, the shortest of the steps. A duplicate is decided in `equal.find_equal`
and `near.join_forests`; which document leaves is written by `verdicts.write_verdicts`.

The room owns these nouns: a corpus-wide step, a pass, a row (the number of a document among all), a
group (shards that are done in one work), a range (keys that are compared in one work), a verdict (a
document leaves, or is kept), a unit (an image, or a paragraph, that is counted).
"""
