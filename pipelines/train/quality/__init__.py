"""A classifier of good and bad documents: logistic regression over counts of hashed words.

    good, bad documents ─ train ─► counts of features ─ fit ─► weights ─► LinearModel
                                └─ held out ─ evaluation ─► AUC, calibration, what is kept

Open `train` first. `fit` alone needs scikit-learn.
"""
