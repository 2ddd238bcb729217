"""The options of `tokenmill probe`."""

import argparse


def add_probe_arguments(probe: argparse.ArgumentParser) -> None:
    """Say what the command does, and what it takes."""
    probe.description = (
        "Read a dataset as training would, without an accelerator, and tell whether its storage"
        " feeds the planned cluster, by MLPerf Storage's rule. Exit code 0 is PASS, 1 is FAIL or"
        " UNDECIDED."
    )
    probe.epilog = (
        "One host is probed, this one. For a storage that many hosts share, start the same command"
        " on several of them at the same time, each on a dataset of its own there (--fill, once"
        " before): accelerators fed, bytes and requests a second add up, utilisation does not."
        " Where twice the hosts no longer give twice the sum, the storage is what limits."
    )
    probe.add_argument("dataset", help="a saved dataset, or a run directory, on the storage")
    probe.add_argument("--plan", help="plan file, or the name of an example that ships")
    probe.add_argument("--split", help="of the dataset (train)")
    probe.add_argument(
        "--order",
        choices=("sequential", "chunked", "random", "mmap"),
        help="in which training reads (as the plan says): record batches one after another, runs"
        " of rows at random, single rows at random, or single rows through a memory map that the"
        " kernel reads ahead in",
    )
    probe.add_argument("--chunk-rows", type=int, metavar="N", help="of a run in order chunked (64)")
    probe.add_argument(
        "--accelerators", type=int, metavar="N", help="this host must feed (those of a node)"
    )
    probe.add_argument("--most", type=int, metavar="N", help="to be tried (those of the job)")
    probe.add_argument(
        "--processes",
        type=int,
        metavar="N",
        help="that stand for accelerators (twice the cores, 8 at most)",
    )
    probe.add_argument(
        "--seconds", type=float, default=120.0, help="for reading, in all (%(default)g)"
    )
    probe.add_argument(
        "--checkpoint", metavar="FOLDER", help="write checkpoints here too, and read them back"
    )
    probe.add_argument(
        "--checkpoint-bytes", metavar="SIZE", help="of a node's checkpoint, at most (1GB)"
    )
    probe.add_argument(
        "--fill",
        metavar="SIZE",
        help="first write a dataset of random token ids, as 150GB, into a new folder; one that is"
        " there from an earlier --fill of the same size is read again",
    )
    probe.add_argument(
        "--remove", action="store_true", help="delete what --fill wrote when all is read"
    )
    probe.add_argument("--out", metavar="FOLDER", help="write probe.md, .html and .json")
