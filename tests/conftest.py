"""Hypothesis profiles, where the shared real data lies, and one Prefect server for all tests."""

import gc
import importlib
import os
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

from tests import prefect_home
from tests.apart import synced, unsynced
from tests.kernels import compile_once
from tests.strategies import THOROUGH
from tests.turns import import_in_turns, in_stretches
from tokenmill.flows.prefect.own import drain
from tokenmill.flows.prefect.server import EMBEDDED_SETTINGS, own_server

# The first call of a kernel compiles it, so no deadline. What CI found it finds again.
EXAMPLES = {"quick": 12, "all": 200}  # `make test` and `make test-all`
for name, number in EXAMPLES.items():
    settings.register_profile(
        name,
        deadline=None,
        max_examples=number,
        derandomize="CI" in os.environ,
        suppress_health_check=[HealthCheck.too_slow],
    )
settings.load_profile("all" if THOROUGH else "quick")

# a thread of Prefect's that outlives its server would start another, with all services
os.environ.setdefault("PREFECT_SERVER_EPHEMERAL_ENABLED", "false")
os.fsync = unsynced
compile_once()
gc.disable()  # until all is collected: a fifth of the time that takes

SHARED_DATA = Path(__file__).parent.parent.parent / "shared" / "data"


def pytest_sessionstart(session):
    import_in_turns(session.config.args)


@pytest.hookimpl(wrapper=True)
def pytest_pycollect_makeitem():
    """Of a test marked `long_but` all cases are `long` but those whose ids the marks name."""
    made = yield
    cases = {c.callspec.id: c for c in made if hasattr(c, "callspec")} if type(made) is list else {}
    quick = {i for c in cases.values() for mark in c.iter_markers("long_but") for i in mark.args}
    assert quick <= cases.keys(), f"no case of {made[0].nodeid} is called {quick - cases.keys()}"
    for name in cases.keys() - quick if quick else ():
        cases[name].add_marker("long")
    return made


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(items):
    in_stretches(items)


def pytest_collection_finish():
    """What was collected lives to the end: none of it is looked at again, and the rest seldom."""
    gc.freeze()
    importlib.import_module("tests.collected_seldom")  # else it takes a twentieth of all time
    gc.enable()


@pytest.fixture
def disk_waited_for(monkeypatch):
    """For tests of what the disk itself does."""
    monkeypatch.setattr(os, "fsync", synced)


@pytest.fixture(scope="session")
def shared_data() -> Path:
    """The folder of real corpora beside the checkout; tests that need it skip without it."""
    if not SHARED_DATA.is_dir():
        pytest.skip("needs the real corpora in ../shared/data, which are not here")
    return SHARED_DATA


@pytest.fixture(scope="session")
def server(tmp_path_factory):
    """The address of a Prefect API, started as `tokenmill` itself would start it.

    Prefect reads its settings when it is imported, which collecting tests may have done.
    """
    with pytest.MonkeyPatch.context() as patch:
        home = prefect_home.filled(tmp_path_factory.mktemp("prefect"))
        patch.setenv("PREFECT_HOME", str(home))
        patch.delenv("PREFECT_API_URL", raising=False)
        for name, value in EMBEDDED_SETTINGS.items():
            patch.setenv(name, os.environ.get(name, value))
        patch.setenv("PREFECT_API_SSL_CERT_FILE", str(prefect_home.one_authority(home)))
        with own_server() as started:
            url = started.up()
            patch.setenv("PREFECT_API_URL", url)
            from prefect import context
            from prefect.settings import get_current_settings

            from tokenmill.flows.prefect.noting import without_heartbeats

            context.refresh_global_settings_context()
            patch.setattr(context, "GLOBAL_SETTINGS_CONTEXT", without_heartbeats())
            assert get_current_settings().api.url == url
            prefect_home.keep(home)
            yield url
            drain()  # else Prefect tries at exit, for a server that is gone
