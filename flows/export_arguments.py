"""What `tokenmill export` takes."""

import argparse

ABOUT = (
    "Write the dataset of a finished run as files of another loader: its token ids, document by"
    " document or, packed, sequence by sequence. The text itself is not in a run's dataset, and"
    " so in no export. The same command continues an export that was stopped."
)
FORMATS = ("megatron", "parquet", "mds")  # those of pipelines.export, which imports Arrow


def add_export_arguments(export: argparse.ArgumentParser) -> None:
    """Add the arguments of the command to its parser."""
    export.description = ABOUT
    export.add_argument("run", help="run directory, here or on s3://")
    export.add_argument(
        "--format",
        required=True,
        choices=FORMATS,
        help="megatron: a .bin and .idx for each split; parquet: all columns, compressed by zstd;"
        " mds: a folder of shards for each split, for mosaicml-streaming",
    )
    export.add_argument("--out", required=True, metavar="FOLDER", help="empty or new, or an export")
    export.add_argument(
        "--shard-bytes",
        metavar="SIZE",
        help="of a file, as 256MB: by default 512 MB of parquet, 67 MB of mds",
    )
    export.add_argument(
        "--by-source",
        action="store_true",
        help="megatron: a pair of files for each source, to be blended by weight",
    )
    export.add_argument(
        "--tokens-only",
        action="store_true",
        help="parquet, mds: without doc_id, id, source, url and the like",
    )
