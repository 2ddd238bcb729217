"""Documents that are the same, or nearly: digests; signatures, bands, edges and clusters.

    text ── digest ── the first row of each       minhash ── lsh: buckets ── verify: clusters

`partition` groups rows by a prefix of their keys, so that tables fit a cache.
"""
