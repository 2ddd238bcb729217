"""Garbage is looked for as seldom as in a command, by the process that others are forked from."""

import gc

gc.set_threshold(50_000, 20, 20)
