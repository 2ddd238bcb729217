"""A language model of n-grams, and where its perplexity parts head, middle and tail.

    words of text ─ train ─► vocabulary ─ fit ─► probabilities ─► LanguageModel, ARPA
    held-out documents, cutoffs ─ train ─► perplexity, percentiles

Open `train` first, which says what a model is worth too. `fit` has the formula.
"""
