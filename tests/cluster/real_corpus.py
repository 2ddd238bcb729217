"""A recipe over the real text that may lie beside the checkout: 17 MB of four kinds."""

from pathlib import Path

import yaml

END = "<|endoftext|>"


def write_real_recipe(shared_data: Path, folder: Path) -> Path:
    """Write a recipe over all of it, with every kind of step; return its path."""
    text, gsm8k = shared_data / "text", shared_data / "bench" / "gsm8k" / "test.jsonl"
    items = {"name": "gsm8k", "path": str(gsm8k), "fields": ["question", "answer"]}
    recipe = {
        "name": "real",
        "inputs": [
            {"path": str(text / "*.jsonl.gz"), "source": "docs"},
            {"path": str(text / "c4_sample_wimbd" / "**" / "*.json.gz"), "source": "c4"},
            {"path": str(text / "wikitext2" / "**" / "*.txt"), "source": "wikitext"},
        ],
        "shard_bytes": "512kB",
        "steps": [
            "normalize",
            {"gopher_quality": {}},
            {"gopher_repetition": {}},
            "exact",
            "near",
            {"decontaminate": {"benchmarks": [items]}},
        ],
        "tokenizer": {"path": str(shared_data / "tokenizers" / "gpt2.json"), "eos": END},
        "output": {"shard_bytes": "1MB", "validation_frac": 0.01},
        "run": {"task_seconds": 2},
    }
    path = folder / "real.yaml"
    path.write_text(yaml.safe_dump(recipe))
    return path
