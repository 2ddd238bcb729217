"""Whole sheets of small plans, of which each test looks at some rows."""

from tokenmill.sizing.plan.plan import parse_plan
from tokenmill.sizing.requirements import requirement_sheet


def sheet(text, **measurements):
    """The sheet of a plan in YAML."""
    return requirement_sheet(parse_plan(text, where="plan"), measurements)


def values(made, *names):
    return [made[name].value for name in names]


# Llama 3 405B as published: 400 TFLOP/s of each accelerator, 419 failures in 54 days
OF_405B = """
model: {params: 405.7B}
cluster: {count: 16384, mfu: 0.40445, mttf_hours: 50677}
training: {tokens: 15.6T, data_parallel: 128, batch_tokens: 16M}
"""
