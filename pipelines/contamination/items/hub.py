"""Benchmarks on the hub, read with `datasets` into its cache, from where they are read offline.

    hf://openai/gsm8k/main/test                        owner, name, config, split
    hf://allenai/ai2_arc/ARC-Challenge,ARC-Easy/test   several configs, one after the other
    hf://baber/piqa/validation                         the only config

No code of a dataset is run: sets that need it are refused. Configs are named, not found: the
cache does not know whether it has them all.
"""

from typing import NamedTuple

from tokenmill.pipelines.contamination.items.formats import Row
from tokenmill.pipelines.storage.inputs import is_outage

SCHEME = "hf://"
FORM = f"{SCHEME}OWNER/NAME/CONFIG/SPLIT"
_OFFLINE = (
    "load it once where the hub can be reached, with the same HF_HOME,"
    " or download a file of it and name that"
)


class HubSet(NamedTuple):
    """One split of a dataset; a config or split of None is the only one that it has."""

    repo: str
    configs: tuple[str | None, ...]
    split: str | None


def is_hub(path: str) -> bool:
    return path.startswith(SCHEME)


def parse_hub(path: str) -> HubSet:
    """Read a path of the forms above.

    Raises:
        ValueError: it is of none of them.
    """
    owner, *parts = path.removeprefix(SCHEME).split("/")
    if not owner or not 1 <= len(parts) <= 3 or not all(parts):
        raise ValueError(f"is no set on the hub; write {FORM}")
    configs = tuple(parts[1].split(",")) if len(parts) == 3 else (None,)
    return HubSet(f"{owner}/{parts[0]}", configs, parts[-1] if len(parts) > 1 else None)


def hub_rows(wanted: HubSet) -> list[Row]:
    """The rows of a set on the hub, or of a folder of data files if `repo` is one.

    Raises:
        ValueError: it is not to be had; names the way out.
        OSError: the disk of the cache failed.
    """
    import datasets  # takes 0.6 s, and only those who name a set on the hub need it

    try:
        return [row for c in wanted.configs for row in _rows(wanted.repo, c, wanted.split)]
    except datasets.exceptions.DatasetNotFoundError as e:
        raise ValueError(f"{e}; check the id, or log in with `hf auth login`") from e
    except ConnectionError as e:
        raise ValueError(f"{e}; {_OFFLINE}") from e
    except (OSError, RuntimeError, datasets.exceptions.DatasetsError) as e:
        if is_outage(e):
            raise
        raise ValueError(f"{e}; download a file of it and name that") from e


def _rows(repo: str, config: str | None, split: str | None) -> list[Row]:
    import datasets

    found = datasets.load_dataset(repo, config, split=split)
    if isinstance(found, dict):
        if len(found) != 1:
            raise ValueError(f"has splits {', '.join(found)}; write {FORM}")
        (found,) = found.values()
    rows: list[Row] = found.with_format("arrow")[:].to_pylist()  # images stay undecoded bytes
    return rows
