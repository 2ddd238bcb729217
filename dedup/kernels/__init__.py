"""The compiled loops, a module for each idea; what they share: table, swar, utf8, u64.

The rules that every kernel keeps stand in `_jit`, the only module that imports Numba.
"""
