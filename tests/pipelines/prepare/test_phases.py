"""What the stages of a run cost beside one another, for its progress."""

from tokenmill.pipelines.prepare import phases
from tokenmill.pipelines.prepare.recipe import make_recipe
from tokenmill.pipelines.runs.work import Phase


def costs(tokenizer, *, steps=(), **output):
    """Of each stage, in their order."""
    data = {"inputs": ["x.jsonl"], "tokenizer": tokenizer, "steps": list(steps), "output": output}

    def unforeseen():
        yield Phase(name="another", works=())

    course = phases.course_of(make_recipe(data, where="test"))
    return {stage.name: stage.cost for stage in next(course.take("another", unforeseen())).behind}


def test_the_last_stage_costs_what_it_writes(tokenizer_path):
    of_ids = {"path": str(tokenizer_path)}
    for tokenizer, output, cost in (
        (of_ids, {}, phases.DATASET),
        (None, {"text": "parquet"}, phases.TEXT),
        (of_ids, {"text": "parquet"}, phases.DATASET + phases.TEXT),
    ):
        *_, last = costs(tokenizer, **output).values()
        assert last == cost


def test_each_step_and_pass_adds_to_what_a_run_costs(tokenizer_path):
    of_ids = {"path": str(tokenizer_path)}
    fewer, *others = [
        sum(costs(of_ids, steps=steps, shuffle=shuffle).values())
        for steps, shuffle in (
            ([], False),
            (["c4"], False),
            (["c4", "exact"], False),
            (["c4", "exact", "near"], False),
            (["c4", "exact", "near"], True),
        )
    ]
    for more in others:
        assert more > fewer
        fewer = more
    encoded = costs(of_ids).values(), costs(None, text="parquet").values()
    assert next(iter(encoded[0])) - next(iter(encoded[1])) == phases.TOKENIZE
