"""Benchmark items in a corpus: looked for, counted, shown side by side, and cut out.

    items ─► index ─► found: documents with n-grams of items ─┬─ analysis ─► summary ─► report
               ├────► copies: documents with edited copies ───┤      └─► rows: Parquet files
               └────► paraphrases: with items in other words ─┘
                        found ─► decontaminate: documents without items

Open `check` first, which is all of `tokenmill contamination`; `decontaminate` is a recipe's step.

Nouns: an *item* is one question of a *benchmark* (`items`). It is *dirty* if a document has enough
of its n-grams (`analysis` says so, by `shares`; as published: one), *some* of it is found if
fewer, *clean* if none, *untestable* under 8 words or without n-grams of its own, *widespread* if
too many documents have it for its n-grams to count, *edited* if only a changed copy of it is
there, and *paraphrased* if only most of its words are, in any order. A *hit* is an n-gram at its
place in a document; an *overlap* is a stretch of a document made of hits. N-grams that say nothing
(in many documents, of many items, without a letter) are *ignored*.
`model` holds the keys of the reports, schema.json their JSON schema.
"""
