"""Tables of what is known of hardware, storage and training; row says what a table is.

Files of data/ ── shipped: a model of the cells of each ── find(name), a user's own rows first
"""
