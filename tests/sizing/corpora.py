"""Corpora that the tests of sizing share."""

from sizing.corpus import CorpusMeasurement


def measured(**changes):
    """A small corpus, measured, with standard errors of its bytes per token."""
    facts = {
        "name": "docs",
        "docs": 9_000,
        "tokens": 2_000_000,
        "text_bytes": 8_100_000,
        "stored_bytes": {"inputs": 9_000_000, "10-docs": 3_000_000, "dataset": 4_400_000},
        "text_bytes_per_token": 4.05,
        "text_bytes_per_token_se": 0.03,
        "stored_bytes_per_token": 2.2,
        "stored_bytes_per_token_se": 0.01,
        "token_width_bytes": 2,
        "measured": True,
    }
    return CorpusMeasurement(**{**facts, **changes})


def report(**total):
    """What a run's report.json says of the same corpus, with what else stands in it left out."""
    facts = {
        "docs": 9_000,
        "chars": 8_000_000,
        "text_bytes": 8_100_000,
        "tokens": 2_000_000,
        "stored_bytes": 4_400_000.0,
        "shards": 30,
        "text_bytes_per_token": 4.05,
        "text_bytes_per_token_se": 0.03,
        "stored_bytes_per_token": 2.2,
        "stored_bytes_per_token_se": 0.01,
    }
    return {
        "report": "1",
        "name": "docs",
        "inputs": {"files": 3, "bytes": 9_000_000, "shards": 30},
        "measurement": {"web": facts, "total": {**facts, **total}},
        "dataset": {"dtype": "uint16"},
        "stored_bytes": {"10-docs": 3_000_000, "dataset": 4_400_000},
    }
