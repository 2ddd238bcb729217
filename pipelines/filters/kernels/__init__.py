"""Loops over bytes of text, compiled: arrays in, counts or bytes out.

`characters.py` names the bits that the other kernels read in one byte a byte of text. The rules
that every kernel keeps stand in `dedup.kernels._jit`.
"""
