"""What is compared of a text: its words, shingles and gram words, and the disguises it is freed of.

Open `words` first. `unicode` and `fold_tables` are frozen, so that no figure hangs on the machine.
"""
