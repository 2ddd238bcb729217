"""Steps that need something of all documents: duplicates, what stands too often, what stands twice.

    documents, keys ──► shuffle: equal keys together ──► what leaves ──► the rest, in the next pass
    step.CorpusStep     spill, shuffle                   verdicts, units  `applier` of the step

Read first `step`, the protocol that every step follows, then `passes`, which cuts a recipe into
passes by it, and a step:

    equal.py         exact, same_url, same_images: `find_equal` decides
    near.py          near: its settings and keys; `cluster: components`, as published pipelines
                     have it: `find_edges` decides which two are alike, `join_forests` who stays
    stars.py         near by default: `find_alike` compares, `decide` says who leaves for whom;
                     buckets.py has what they look at
    near_images.py   images that look the same, as looks.py tells
    counted/         images, paragraphs and lines that stand too often
    spans/           spans of words that stand twice, and are cut

A step that compares documents by keys derives from `spill.KeyedStep`. One that takes documents out
whole derives from `verdicts.VerdictStep` too, which brings the applier, and writes `key_fields`,
`key_columns`, `shuffled` and `phases`. Any other writes `sidecar`, `phases` and `applier`.

Memory: a work asks `rows.Corpus.memory_left` for its share of `run.memory_budget`, and reads keys
by `shuffle.parts` within that.

The room owns these nouns: a corpus-wide step, a pass, a row (the number of a document among all), a
group (shards that are done in one work), a range (keys that are compared in one work), a verdict (a
document leaves, or is kept), a unit (an image, or a paragraph, that is counted).
"""
