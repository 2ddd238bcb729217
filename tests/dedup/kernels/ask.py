"""Ask a kernel of a tokenmill of its own, in a process of its own; see test_jit.py."""

import importlib
import sys


def main(folder: str, argument: str) -> None:
    """Print what `twice_more` makes of an argument, and how often it came from the cache."""
    for name in [name for name in sys.modules if name.partition(".")[0] == "tokenmill"]:
        del sys.modules[name]
    sys.path.insert(0, folder)
    user = importlib.import_module("tokenmill.dedup.kernels.user")
    asked = user.twice_more(eval(argument, {"user": user}))
    sys.stdout.write(f"{asked} {sum(user.twice_more.stats.cache_hits.values())}")
