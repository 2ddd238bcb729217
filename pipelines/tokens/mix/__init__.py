"""Mixtures: documents weighed by source, repeated by epochs, in an order of chance.

    token shards ── spill: copies, by bucket ── buckets, in order of keys ── the stream of a split

Open `phases` first. `weights` says how often each source counts, `draws` which copies there are.
"""
