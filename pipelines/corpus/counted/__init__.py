"""Steps that count units over the corpus, exactly, and take out those that stand too often.

    units of every shard ── whose are they: a file ── count: by range of keys ── what leaves

Read `count` first. `images` and `paragraphs` are the two steps: settings, keys, and
what is applied.
"""
