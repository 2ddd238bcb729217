import sys

import pytest

from tokenmill.flows.pools.choose import check_pool
from tokenmill.pipelines.core.errors import ConfigError
from tokenmill.pipelines.core.options import RunOptions


@pytest.mark.parametrize("runner", ["dask", "slurm"])
def test_a_runner_that_is_not_installed_is_told_before_anything_starts(runner, monkeypatch):
    monkeypatch.delitem(sys.modules, f"tokenmill.flows.pools.{runner}", raising=False)
    monkeypatch.setitem(sys.modules, "distributed", None)
    with pytest.raises(ConfigError, match=r"needs distributed\S*, which is not inst"):
        check_pool(RunOptions(runner=runner))
