"""What is left of documents, where filters were asked of some alone."""

import numpy as np

from tests.strategies import examples
from tokenmill.pipelines.measure.chosen import moments, ratio_of
from tokenmill.pipelines.measure.copies import Probed
from tokenmill.pipelines.measure.drawn import exact
from tokenmill.pipelines.measure.left import share_of

LONG, COPIES = 500, 10  # taken for certain, all of them pass
SHORT, PASS, CHANCE = 200, 100, 0.5  # of which some are asked, and half pass
TRUTH = (LONG / COPIES + PASS) / (LONG + PASS)


def told(seed: int) -> tuple[float, float]:
    chosen = np.random.default_rng([7, seed]).random(SHORT) < CHANCE
    passes = np.arange(SHORT)[chosen] < PASS
    chance = np.concatenate([np.ones(LONG), np.full(len(passes), CHANCE)])
    asked = np.concatenate([np.ones(LONG), passes.astype(float)])
    kept = ratio_of("filter docs", moments("filter docs", np.ones(len(asked)), asked, chance), seed)
    there = chance[asked > 0]
    left = np.where(there == 1, 1 / COPIES, 1.0)
    ids = np.arange(len(there), dtype=np.uint64)
    probed = Probed(LONG + SHORT, ids, there, ids, {}, {}, None)
    whole = exact(LONG + SHORT) * kept
    return share_of(probed, np.ones(len(there)), left, whole=whole, seed=seed).limits()


def test_how_many_passed_is_not_known_and_so_is_what_is_left_of_them():
    limits = np.array([told(seed) for seed in range(examples(300, 100))])
    held = (limits[:, 0] <= TRUTH) & (limits[:, 1] >= TRUTH)
    assert held.mean() > 0.93
    assert np.median(limits[:, 1] - limits[:, 0]) < 0.1
