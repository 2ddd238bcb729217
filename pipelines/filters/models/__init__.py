"""Steps that ask a model, and the models that they ask.

    language.py      ──►  language_models.py: py3langid's model, eldc, or fasttext.py
    quality.py       ──►  quality_model.py: words, hashed, with a weight each; or fasttext.py
    perplexity.py    ──►  ngram_model.py, text.py: n-grams of words; or kenlm.py

Open the step first. A model is a file that the recipe pins by its digest; nothing in one is
unpickled. Those of our own are trained in `pipelines.train`.
"""
