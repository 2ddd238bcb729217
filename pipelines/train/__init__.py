"""Models that steps take, trained from inputs: `tokenmill train-lm` and `tokenmill train-quality`.

    inputs ─ sample ─► Documents, drawn by id ─┬─ lm ───────► lm.npz: what `perplexity` takes
                                               └─ quality ──► quality.npz: what `quality` takes

Open `lm.train` or `quality.train` first: each reads, fits and measures in one function.

Nouns: a *sample* is the documents that fit into memory, as hashed words; of these some are *held
out* and measure the model, and the model is fitted to the others. The *account* says what became
of the inputs; the file of a model carries it, with all else that is known *about* the model.
"""
