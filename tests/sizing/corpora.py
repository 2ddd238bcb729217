"""Corpora that the tests of sizing share."""

from sizing.corpus import CorpusMeasurement


def measured(**changes):
    """A small corpus, measured, with intervals of its bytes per token."""
    facts = {
        "name": "docs",
        "docs": 9_000,
        "tokens": 2_000_000,
        "text_bytes": 8_100_000,
        "stored_bytes": {"inputs": 9_000_000, "10-docs": 3_000_000, "dataset": 4_400_000},
        "text_bytes_per_token": {
            "value": 4.05,
            "low": 4.05 - 1.96 * 0.03,
            "high": 4.05 + 1.96 * 0.03,
        },
        "stored_bytes_per_token": {
            "value": 2.2,
            "low": 2.2 - 1.96 * 0.01,
            "high": 2.2 + 1.96 * 0.01,
        },
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


def estimate(**changes):
    """What a sample says of a corpus of 10 TB before it is processed: joint draws of it."""
    unique = [0.30 + 0.001 * i for i in range(-50, 51)]
    corpus = {
        "name": "crawl",
        "docs": drawn(3e9, unique),
        "tokens": drawn(2e12, unique),
        "text_bytes": drawn(8e12, unique),
        "stored_bytes": {
            "inputs": 10e12,
            "10-docs": drawn(4e12, unique),
            "dataset": drawn(8e12, unique),
        },
        "text_bytes_per_token": {"value": 4.0, "low": 3.9, "high": 4.1},
        "stored_bytes_per_token": 4.0,
        "token_width_bytes": 4,
        "measured": True,
        "sample": "10,000 probes",
    }
    return {"estimate": "1", "recipe": "9f2c", "corpus": {**corpus, **changes}}


def drawn(value, unique):
    return {"value": value, "draws": [value * u / 0.30 for u in unique]}
