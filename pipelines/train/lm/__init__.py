"""A language model of n-grams, and where its perplexity parts head, middle and tail.

    words of text ─ names ─► vocabulary ─ smoothing ─► probabilities ─ fit ─► LanguageModel, ARPA
    held-out documents, cutoffs ─ train ─► perplexity, percentiles

Open `train` first. `smoothing` has the formula, `report` what is said of a model.
"""
