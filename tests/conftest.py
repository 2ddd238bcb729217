"""Hypothesis profiles, and where the shared real data lies."""

import os
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

# The first call of a kernel compiles it, so no deadline.
settings.register_profile("dev", deadline=None, max_examples=100)
settings.register_profile(
    "ci",
    deadline=None,
    max_examples=200,
    derandomize=True,
    suppress_health_check=[HealthCheck.too_slow],
)
settings.load_profile("ci" if os.environ.get("CI") else "dev")

SHARED_DATA = Path(__file__).parent.parent.parent / "shared" / "data"


@pytest.fixture(scope="session")
def shared_data() -> Path:
    """The folder of real corpora beside the checkout; tests that need it skip without it."""
    if not SHARED_DATA.is_dir():
        pytest.skip("needs the real corpora in ../shared/data, which are not here")
    return SHARED_DATA
