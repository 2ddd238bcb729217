"""Steps that look at images by their facts (size, format, URL), at captions, and at texts between.

Open `rules.py` first. A step takes images out of documents by `edit.py`, which writes a row for
each; `keys.py` says when two images are the same. No step decodes an image: reading has done it.
"""
