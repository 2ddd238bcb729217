"""What a job was given is what it uses, not all of its host."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tokenmill.pipelines.core.options import RunOptions, cores, memory_bytes

HOST = len(os.sched_getaffinity(0))
ASK = (
    "from tokenmill.pipelines.core.options import RunOptions, cores, memory_bytes;"
    " print(cores(), memory_bytes(), RunOptions().n_workers)"
)
GROUPS = Path("/sys/fs/cgroup")


def tree(root, cgroup, files):
    """A root with what a process of some control group sees there."""
    (root / "proc" / "self").mkdir(parents=True)
    (root / "proc" / "self" / "cgroup").write_text(cgroup)
    for name, text in files.items():
        path = root / "sys" / "fs" / "cgroup" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return root


@pytest.mark.parametrize(
    ("cgroup", "files", "expected"),
    [
        ("0::/a/b\n", {"a/b/cpu.max": "100000 100000\n"}, 1),
        ("0::/a/b\n", {"a/b/cpu.max": "max 100000\n", "a/cpu.max": "50000 100000\n"}, 1),
        ("0::/a/b\n", {"a/b/cpu.max": "max 100000\n"}, HOST),
        ("0::/a/b\n", {"a/b/cpu.max": f"{100_001 * HOST} 100000\n"}, HOST),
        ("0::/../..\n", {"cpu.max": "1 100000\n"}, 1),  # a container that sees its group alone
        ("0::/host/docker/x\n", {"cpu.max": "100000 100000\n"}, 1),
        (
            "4:cpu,cpuacct:/job\n1:name=systemd:/\n",
            {"cpu/job/cpu.cfs_quota_us": "100000\n", "cpu/job/cpu.cfs_period_us": "100000\n"},
            1,
        ),
        (
            "4:cpu:/job\n0::/\n",
            {"cpu/job/cpu.cfs_quota_us": "-1\n", "cpu/job/cpu.cfs_period_us": "100000\n"},
            HOST,
        ),
        ("", {}, HOST),
    ],
)
def test_processors_are_those_of_the_narrowest_group(tmp_path, cgroup, files, expected):
    assert cores(tree(tmp_path, cgroup, files)) == expected


@pytest.mark.parametrize(
    ("cgroup", "files", "expected"),
    [
        ("0::/a/b\n", {"a/b/memory.max": "max\n", "a/memory.max": "1048576\n"}, 1 << 20),
        ("0::/a\n", {"a/memory.max": "2097152\n", "memory.max": "1048576\n"}, 1 << 20),
        ("3:memory:/job\n", {"memory/job/memory.limit_in_bytes": "4096\n"}, 4096),
    ],
)
def test_memory_is_that_of_the_narrowest_group(tmp_path, cgroup, files, expected):
    assert memory_bytes(tree(tmp_path, cgroup, files)) == expected


def test_without_groups_memory_is_that_of_the_machine(tmp_path):
    whole = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    huge = {"memory/memory.limit_in_bytes": f"{2**63 - 4096}\n"}  # how v1 says that there is none
    assert memory_bytes(tree(tmp_path / "v1", "3:memory:/\n", huge)) == whole
    assert memory_bytes(tmp_path / "none") == whole


def asked(before):
    """What a process tells of itself that `before` was done to."""
    command = [sys.executable, "-c", ASK]
    ended = subprocess.run(command, check=True, stdout=subprocess.PIPE, preexec_fn=before)
    return [int(word) for word in ended.stdout.split()]


def test_a_process_held_to_one_processor_has_one_worker():
    one = {min(os.sched_getaffinity(0))}
    assert asked(lambda: os.sched_setaffinity(0, one))[::2] == [1, 1]
    assert RunOptions(workers=7).n_workers == 7


def test_a_job_in_a_real_control_group_sees_its_limits():
    group = {name: GROUPS / name / "tokenmill-test" for name in ("cpu", "memory")}
    try:
        for folder in group.values():
            folder.mkdir()
        (group["cpu"] / "cpu.cfs_period_us").write_text("100000")
        (group["cpu"] / "cpu.cfs_quota_us").write_text("100000")
        (group["memory"] / "memory.limit_in_bytes").write_text(str(1 << 30))
    except OSError as e:
        pytest.skip(f"makes control groups of version 1, and may not here: {e}")
    else:

        def join():
            for folder in group.values():
                (folder / "cgroup.procs").write_text(str(os.getpid()))

        assert asked(join) == [1, 1 << 30, 1]
    finally:
        for folder in group.values():
            if folder.is_dir():
                folder.rmdir()
