"""Corpora that the tests of sizing share."""

from tokenmill.sizing.corpus import CorpusImages, CorpusMeasurement


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


def illustrated(**changes):
    """The same corpus, were it 9,000 samples of an image with a caption."""
    images = CorpusImages(
        images=9_000,
        images_per_sample=1.0,
        tokens_per_image=200.0,
        text_tokens=22.25,
        text_bytes=90.0,
        image_bytes={"value": 195_680, "low": 176_080, "high": 215_280},
        pixels_per_image=300_000.0,
        samples_per_batch=50.0,
        images_per_core_s={"value": 400.0, "low": 380.4, "high": 419.6},
        decoded_on="Z80, Pillow 13.0",
    )
    return measured(images=images.model_copy(update=changes))


def illustrated_report(**total):
    """What a run's report.json says of `illustrated`."""
    made = report(**total)
    ratios = {
        "images_per_doc": (1.0, 0.0),
        "tokens_per_image": (200.0, None),
        "text_tokens_per_doc": (22.25, None),
        "text_bytes_per_doc": (90.0, None),
        "bytes_per_image": (195_680.0, 10_000.0),
        "pixels_per_image": (300_000.0, None),
    }
    made["measurement"]["total"]["images"] = {
        "images": 9_000,
        **{name: {"value": value, "se": se} for name, (value, se) in ratios.items()},
    }
    made["images"] = {
        "store": "bytes",
        "decoding": {
            "images_per_core_s": {"value": 400.0, "se": 10.0},
            "docs_per_batch": 50.0,
            "machine": {"processor": "Z80", "cores": 1, "pillow": "13.0"},
        },
    }
    return made


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
