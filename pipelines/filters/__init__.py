"""Steps that look at one batch of documents, and at nothing else.

    batch ── measure each text ──► quantities ── rules ──► verdicts ── keep_where ──► StageResult
                    │
       text/: words, lines, …  ──  kernels/: loops over bytes  ──  models/: scores

Open `length.py` first, the smallest whole step, then `gopher_quality.py`, which measures words and
lines by kernels. `stages.py` lists all steps, in the order in which they are shown. A filter of
your own needs its module, a line there, golden verdicts and its row in README.md.

    *.py           rules for texts: C4, FineWeb, Gopher, length, words, URLs, identifiers
    images/        rules for images and captions, and for texts around images
    models/        steps that ask a model: language, quality, perplexity; and the models
    text/          what rules measure: words, sentences, lines and windows that repeat
    kernels/       the loops, compiled; each stands for a function of `text/`, or of a step

Nouns of this room: a rule (a quantity and its limit; the first that fails gives the reason), a
quantity (one number a document, NaN where it has none), a class (of the character that a byte is
part of: a letter, a digit, …), a node (a part of a text between images).
"""
