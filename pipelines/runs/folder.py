"""The run directory: what lies where in it.

OUT/manifest.json      what this run is, and at its end what it did
OUT/10-filtered/…      documents after pass 0 (20-… after pass 1), deleted at the end, as is all
                       else whose name begins with two digits
OUT/11-keys/…          sidecars: what corpus-wide steps compare of each of these documents
OUT/17-images/…        bytes of the images of 10-filtered, one behind the other
OUT/90-tokens/…        ids by input shard
OUT/dataset/           what training reads
OUT/text/              its documents as text, where the recipe keeps them
OUT/removed/…          a row for every document that left
OUT/removed-images/…   a row for every image that left a document
OUT/thumbnails/…       some of the images kept and removed, small
OUT/index/…            keys of the documents in the dataset, for later runs to stand against
OUT/webdataset/…       what is left, as tars of samples
OUT/receipts/…         proof of each piece of work

What corpus-wide steps write besides, each names itself: a `Folder` of scratch beside its works, and
`corpus.step.CorpusStep.side_tables` for what stays.
"""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tokenmill.pipelines.core.shard import EarlierRun
from tokenmill.pipelines.runs.work import Job


@dataclass(frozen=True)
class Folder:
    """A folder of the run directory, and how its files are called.

    name: as "0-filtered", which is that of each pass behind the pass' number.
    file: with the fields that tell its files apart, as "part-{key}.arrow".
    of_pass: each pass has one; else the run has one.
    """

    name: str
    file: str
    of_pass: bool = True

    def named(self, pass_index: int) -> str:
        """The name in the run directory.

        >>> Folder("0-filtered", "part-{key}.arrow").named(1)
        '20-filtered'
        """
        return f"{pass_index + 1}{self.name}" if self.of_pass else self.name


FILTERED = Folder("0-filtered", "part-{key}.arrow")
KEYS = Folder("1-keys", "part-{key}.arrow")
SPOOL = Folder("17-images", "part-{key}.bin", of_pass=False)
REMOVED = Folder("removed", "part-{key}.{pass_index}.parquet", of_pass=False)
REMOVED_IMAGES = Folder("removed-images", "part-{key}.{pass_index}.parquet", of_pass=False)
THUMBNAILS = Folder("thumbnails", "part-{key}.{pass_index}.parquet", of_pass=False)
INDEX = Folder("index", "part-{key}.{number}.arrow", of_pass=False)


@dataclass(frozen=True, kw_only=True)
class RunFolder(Job):
    """A run directory.  against: the runs that stand before it, oldest first."""

    against: tuple[EarlierRun, ...] = ()

    def path(self, folder: Folder, pass_index: int = 0, **fields: Any) -> Path:
        """One file of a folder; fields: those that its `file` names."""
        name = folder.file.format(pass_index=pass_index, **fields)
        return self.out / folder.named(pass_index) / name
