"""What storage a corpus and a cluster ask for, each figure with what it rests on.

plan + corpus ── requirements ── sheet of sections, rows by formulas ─┬─ verdict: which tiers do
                                                                     ├─ report
                                                                     └─ comparison, of several
Begin with requirements. claims recompute what documents say, by the same formulas.
"""
