"""What rules measure of texts: characters, words, sentences, lines, and windows that repeat.

    text column ── characters ──► a class for each byte ── words_of ──► words ── kernels ──► counts

Open `characters.py` first, then `words.py`: a text is classified once, and all rules of a step read
the same bytes and classes.
"""
