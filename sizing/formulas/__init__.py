"""Formulas of sizing: each a plain function with its unit, its equation and where it comes from.

A module a subject. A formula is a row of the sheet by its name in `sections`, recomputes a claim
by its name in data/claims, or is called by one that does; a test finds those that are none.
"""
