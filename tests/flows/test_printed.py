"""What commands print that need no corpus, word by word."""

from tests.golden.held import held, printed
from tokenmill.flows.cli import main

COMMANDS = [
    ("size", "gpt2-124m-8-h100"),
    ("size", "llama-8b-1024-h100", "--set", "cluster.cuont=1"),
    ("size", "lama"),
    ("steps",),
    ("steps", "near"),
    ("steps", "nera"),
]


def test_what_is_printed_is_what_it_was(capsys):
    held("printed.txt", printed(main, capsys, COMMANDS))
