"""The chaos run in a bounded time; tests/chaos/chaos.py describes its faults and checks."""
import os
import pathlib
import sys

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "chaos"))

import chaos  # noqa: E402


@pytest.mark.long
@pytest.mark.parametrize(("seed", "seconds"), [(1, 25), (2, 120), (3, 300)])
def test_nothing_is_lost_in_chaos(folder, seed, seconds):
    seed = int(os.environ.get("PENSTOCK_CHAOS_SEED", seed))
    problems = chaos.run(seed, seconds, folder)
    assert not problems, "\n".join([chaos.replay_command(seed, seconds), *problems[:20]])
