"""A classifier of good and bad documents: logistic regression over counts of hashed words.

    good, bad documents ─ examples ─► counts of features ─ fit ─► weights ─ train ─► LinearModel
                                   └─ held out ─ evaluation ─► AUC, calibration, what is kept

Open `train` first. `fit` alone needs scikit-learn; `report` has what is said of a model.
"""
