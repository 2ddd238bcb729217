"""Stretches of words that the corpus has more than once, cut out or with their paragraphs."""
