"""Libraries that warn while they are imported, of which we make nothing."""

import warnings

import pytest


def loaded(name):
    """The module, or a skip where it is not installed."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return pytest.importorskip(name)
