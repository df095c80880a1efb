import os
import sys

import pytest
from processes import Router

sys.path.insert(0, os.path.dirname(__file__))

from embedding_engine import EmbeddingEngine, config_of  # noqa: E402


@pytest.fixture(scope="module")
def engine():
    with EmbeddingEngine() as running:
        yield running


@pytest.fixture(scope="module")
def router(folder, engine):
    with Router(folder, config=config_of(engine)) as running:
        running.wait_for_count("penstock_replica_up", 1)
        yield running
