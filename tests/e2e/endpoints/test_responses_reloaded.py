"""Stored responses and work in the background whose replica a reload renames, moves or removes."""
import signal

import openai
import pytest
from processes import MODEL, Engine, Router, replicas, wait_until


OTHER = "qwen2.5-7b"


def sdk(router):
    return openai.OpenAI(base_url=router.url + "/v1", api_key="any", max_retries=0, timeout=30)


def ask(client, **more):
    return client.responses.create(model=MODEL, input="a", max_output_tokens=3, **more)


def work(client, tokens):
    return client.responses.create(model=MODEL, input="a long story", background=True,
                                   extra_headers={"x-simulated-output-tokens": str(tokens)})


def reload(router, config):
    before = router.metrics().sum("penstock_config_reloads_total")
    router.write_config(config)
    router.signal(signal.SIGHUP)
    wait_until(lambda: router.metrics().sum("penstock_config_reloads_total") > before, 20, "the reload")


def known(router, name):
    """The router has a healthy replica of this name."""
    return lambda: router.metrics().sum("penstock_replica_up", replica=name) == 1


def test_a_replica_that_got_another_name_still_has_its_responses(folder):
    with Engine(folder, name="renamed") as engine:
        with Router(folder, config=replicas([engine], id="old")) as router, sdk(router) as client:
            made, running = ask(client), work(client, 100_000)
            reload(router, replicas([engine], id="new"))
            wait_until(known(router, "new"), 20, router.log)
            assert client.responses.retrieve(made.id).id == made.id
            assert ask(client, previous_response_id=made.id).status in ("completed", "incomplete")
            assert client.responses.retrieve(running.id).status == "in_progress"
            assert client.responses.cancel(running.id).status == "cancelled"
            router.wait_for_nothing([engine])


def test_work_of_a_renamed_replica_is_watched_to_its_end(folder):
    with Engine(folder, name="watched") as engine:
        with Router(folder, config=replicas([engine], id="old")) as router, sdk(router) as client:
            running = work(client, 1500)
            reload(router, replicas([engine], id="new"))
            wait_until(known(router, "new"), 20, router.log)
            router.wait_for_nothing([engine], seconds=60)
            assert client.responses.retrieve(running.id).status in ("completed", "incomplete")
            metrics = router.metrics()
            assert metrics.sum("penstock_engine_errors_total") == 0
            assert metrics.sum("penstock_requests_total", endpoint="responses", outcome="ok") == 1


def test_work_of_a_removed_replica_ends_its_lease(folder):
    with Engine(folder, name="stays") as stays, Engine(folder, name="leaves", model=OTHER) as leaves:
        config = replicas([stays, leaves])
        with Router(folder, config=config) as router, sdk(router) as client:
            running = client.responses.create(model=OTHER, input="a long story", background=True,
                                              extra_headers={"x-simulated-output-tokens": "1500"})
            reload(router, replicas([stays]))

            def gone():
                with pytest.raises(openai.APIStatusError) as error:
                    client.responses.retrieve(running.id)
                return error.value.code == "response_lost"

            wait_until(gone, 20, "the departure")
            assert leaves.running() == 1
            router.wait_for_nothing([stays, leaves], seconds=60)
            with sdk(leaves) as direct:
                assert direct.responses.retrieve(running.id).status in ("completed", "incomplete")
