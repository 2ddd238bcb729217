import numpy as np
import pytest

from tokenmill.pipelines.core.errors import ConfigError
from tokenmill.pipelines.measure.drawn import Drawn, exact
from tokenmill.pipelines.measure.joint import HOUR_S, LEAST_S, Step, predict
from tokenmill.pipelines.measure.unique import unique_frac
from tokenmill.sizing.corpus import Estimate, read_corpus

SCALE = np.linspace(0.9, 1.1, 400)
UNIQUE = unique_frac(1 / np.repeat([1, 2, 4], 300), np.ones(900))
KEPT = Drawn(0.5, 0.5 * np.random.default_rng(0).permutation(SCALE))
STEPS = [
    Step(
        name="filter",
        kept_docs_frac=KEPT,
        kept_text_frac=KEPT * 1.2,
        cpu_s=exact(1e-8),
    ),
    Step(name="near", kept_docs_frac=UNIQUE, kept_text_frac=UNIQUE, serial_s=exact(36)),
    Step(name="tokenize", cpu_s=exact(2e-8)),
]


def prediction(**changed):
    given = {
        "shard_bytes": [1e9] * 8,
        "docs": exact(1e7),
        "text_bytes": Drawn(2e10, 2e10 * SCALE),
        "text_bytes_per_token": exact(4.0),
        "stored_bytes_per_token": exact(2.1),
        "cores": 4,
    }
    return predict(changed.pop("steps", STEPS), **(given | changed))


def test_each_step_passes_on_what_it_keeps():
    made = prediction()
    unique = UNIQUE.value
    assert list(made.docs) == ["inputs", "filter", "near", "tokenize"]
    assert made.docs["filter"].value == 5e6
    assert made.text_bytes["filter"].value == pytest.approx(1.2e10)
    assert made.docs["tokenize"].value == pytest.approx(5e6 * unique)
    assert made.tokens.value == pytest.approx(1.2e10 * unique / 4)
    assert made.stored_bytes["inputs"].limits() == (8e9, 8e9)
    assert made.stored_bytes["dataset"].value == pytest.approx(made.tokens.value * 2.1)
    assert list(made.kept_frac) == ["filter", "near"]


def test_hours_are_those_of_all_cores_and_of_what_runs_alone():
    made = prediction()
    side_by_side = 2e10 * 1e-8 + 1.2e10 * UNIQUE.value * 2e-8
    assert made.cpu_hours.value == pytest.approx((side_by_side + 36) / 3600)
    assert made.wall_hours.value == pytest.approx((side_by_side / 4 + 36) / 3600)
    alone = prediction(shard_bytes=[8e9])
    assert alone.wall_hours.value == pytest.approx(alone.cpu_hours.value)


def test_draws_belong_together():
    made = prediction()
    assert (made.stored_bytes["dataset"] / made.tokens).limits() == pytest.approx((2.1, 2.1))
    low, high = made.tokens.limits()
    assert low < 0.9 * made.tokens.value
    assert high > 1.1 * made.tokens.value


def test_sizing_reads_the_estimate():
    estimate = prediction().estimate(
        name="web",
        recipe="0123",
        sample="900 probes",
        token_width_bytes=2,
        unique_frac=UNIQUE,
        clustering_memory_bytes=exact(5e9),
        files={"dataset": exact(40)},
    )
    text = estimate.model_dump_json(exclude_defaults=True)
    assert Estimate.model_validate_json(text) == estimate
    corpus = read_corpus(estimate.model_dump(mode="json"), where="estimate.json")
    assert corpus.tokens.limits() == pytest.approx(prediction().tokens.limits())
    assert corpus.files["dataset"].value == 40
    assert corpus.docs.value == prediction().docs["tokenize"].value
    assert corpus.source == "estimated: corpus web, from 900 probes"
    assert estimate.cores == 4
    assert estimate.unique_frac.value == UNIQUE.value
    assert set(estimate.kept_frac) == {"filter", "near"}


def test_steps_need_names_of_their_own_and_inputs_shards():
    with pytest.raises(ConfigError, match="steps \\['a', 'a'\\] need names of their own"):
        prediction(steps=[Step(name="a"), Step(name="a")])
    with pytest.raises(ConfigError, match="need names of their own, not 'inputs', 'dataset'"):
        prediction(steps=[Step(name="dataset")])
    with pytest.raises(ConfigError, match="there are no inputs; nothing to predict"):
        prediction(shard_bytes=[])


@pytest.mark.parametrize(("text_bytes", "is_timed"), [(2e10, True), (1e9, False)])
def test_hours_of_a_run_of_less_than_a_minute_are_not_told(text_bytes, is_timed):
    made = prediction(text_bytes=exact(text_bytes))
    estimate = made.estimate(name="web", recipe="0", sample="some", token_width_bytes=2)
    assert (
        (estimate.cpu_hours is not None) == (made.cpu_hours.value * HOUR_S >= LEAST_S) == is_timed
    )
    assert (estimate.wall_hours is not None) == is_timed
