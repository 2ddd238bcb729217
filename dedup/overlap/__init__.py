"""What documents have in common in part: with benchmark items, or with each other.

items ── index ──────────────┐
documents ───────────────── find ── hits ── counts: those that count for nothing ── cut
items ── containment_index ─ containment: edited copies
documents ── ngrams: what stands more than once in a corpus ─────────────────────── cut
"""
