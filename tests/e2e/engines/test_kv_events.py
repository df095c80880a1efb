"""Events of prefix caches: the router's index follows what simulated engines publish."""
import os
import resource
import signal
import socket
import threading

from fleet_file import MODEL, FleetEngines
from processes import Metrics, Process, Router, descriptors, free_port, wait_until
from raw_http import chat, request_bytes, send

# A pool of 375 blocks of 16 tokens.
ENGINE = f"  - {{{{id: a, url: 'http://127.0.0.1:{{{{port0}}}}', gpus: [g0], model: {MODEL}, kv_tokens: 6000, {{events}}simulated: {{{{time_scale: 50}}}}}}}}\n"


def events(at, replay=True):
    more = f", replay: 'tcp://127.0.0.1:{at + 1}'" if replay else ""
    return f"kv_events: {{endpoint: 'tcp://127.0.0.1:{at}'{more}}}, "


def ports():
    """Two free ports in a row."""
    while True:
        first = free_port()
        with socket.socket() as probe:
            try:
                probe.bind(("127.0.0.1", first + 1))
                return first
            except OSError:
                continue


def router_config(engines, keys):
    return f"poll: {{interval: 50ms}}\nreplicas:\n  - {{id: a, url: 'http://127.0.0.1:{engines.ports[0]}', {keys}model: {MODEL}}}\n"


def prompt(name, tokens=2000):
    """About so many tokens, of four bytes, with a begin of their own."""
    return (f"{name} " * 2000)[: 4 * tokens]


def ask(address, name):
    """A chat. The engine names its request in the events."""
    answer = send(address, request_bytes(body=chat(prompt=prompt(name), max_tokens=4)), timeout=60)
    assert answer.status == 200, answer.body


def confirmed(router):
    return router.metrics().sum("penstock_kv_event_confirmed_blocks")


def hits(engines):
    """Prompt tokens that the engine found in its cache."""
    return Metrics(engines.page("/metrics")).sum("vllm:prefix_cache_hits_total")


def start(folder, keys):
    return FleetEngines(folder, "replicas:\n" + ENGINE.format(events=keys))


def test_an_address_without_a_publisher_is_named_once(folder):
    at = ports()
    with start(folder, "") as engines, Router(folder, config=router_config(engines, events(at))) as router:
        router.wait_for_log(f"tcp://127.0.0.1:{at} does not connect")
        ask(router.address, "first")
        warned = [line for line in router.log().splitlines() if "does not connect" in line]
        assert len(warned) == 1 and '"level":"warning"' in warned[0] and '"replica":"a"' in warned[0]


def test_cache_events_without_descriptors_are_tried_again(folder):
    at = ports()
    with start(folder, events(at)) as engines, Router(folder, config=router_config(engines, "")) as router:
        ask(router.address, "first")
        before = len(descriptors(router.process))
        clients = [socket.create_connection(router.address, timeout=20) for _ in range(60)]
        # Some from before may have closed.
        wait_until(lambda: len(descriptors(router.process)) > before + 50, 20, router.log)
        few = len(descriptors(router.process)) + 12
        resource.prlimit(router.process.pid, resource.RLIMIT_NOFILE, (few, few))
        router.write_config(router_config(engines, events(at)))
        router.signal(signal.SIGHUP)
        router.wait_for_log("kv_events: ", "Too many open files", "the router goes on trying")
        for client in clients:
            client.close()
        router.wait_for_count("penstock_kv_event_followed", 1)


def test_what_others_evict_is_known_to_the_router(folder):
    at = ports()
    with start(folder, events(at)) as engines, Router(folder, config=router_config(engines, events(at))) as router:
        router.wait_for_count("penstock_kv_event_followed", 1)
        ask(router.address, "first")
        wait_until(lambda: confirmed(router) >= 3, 20, router.log)
        # Requests of others take the whole cache.
        for other in ("second", "third", "fourth", "fifth", "sixth", "seventh"):
            ask(("127.0.0.1", engines.ports[0]), other)
        wait_until(lambda: confirmed(router) == 0, 20, router.log)
        before = hits(engines)
        ask(router.address, "first")
        assert hits(engines) == before, "the engine has nothing of it, as the router knew"


def test_a_prompt_that_the_engine_still_has_stays_confirmed(folder):
    at = ports()
    with start(folder, events(at)) as engines, Router(folder, config=router_config(engines, events(at))) as router:
        router.wait_for_count("penstock_kv_event_followed", 1)
        ask(router.address, "first")
        wait_until(lambda: confirmed(router) >= 3, 20, router.log)
        before = hits(engines)
        ask(router.address, "first")
        assert hits(engines) > before + 1000
        assert confirmed(router) >= 3
        assert router.metrics().sum("penstock_kv_event_resyncs_total", cause="loss") == 0


def test_prompts_in_the_memory_of_the_host_are_told_and_followed(folder):
    at = ports()
    tier = "host_cache: {memory: 8GB}, " + events(at)
    with start(folder, tier) as engines, Router(folder, config=router_config(engines, tier)) as router:
        router.wait_for_count("penstock_kv_event_followed", 1)
        for name in ("first", "second", "third", "fourth", "fifth", "sixth", "seventh"):
            ask(router.address, name)
        router.wait_for_count("penstock_kv_event_matches_total", 7, result="named")
        metrics = router.metrics()
        assert metrics.sum("penstock_kv_event_batches_total", result="garbage") == 0
        assert metrics.sum("penstock_kv_event_resyncs_total", cause="loss") == 0


def test_a_router_that_comes_late_asks_for_what_it_missed(folder):
    at = ports()
    with start(folder, events(at)) as engines:
        ask(("127.0.0.1", engines.ports[0]), "first")
        with Router(folder, config=router_config(engines, events(at))) as router:
            router.wait_for_count("penstock_kv_event_followed", 1)
            assert router.metrics().sum("penstock_kv_events_total", kind="stored") >= 1


def test_the_death_of_the_engine_leaves_an_estimate_and_a_new_one_is_followed(folder):
    at = ports()
    with start(folder, events(at)) as engines, Router(folder, config=router_config(engines, events(at))) as router:
        router.wait_for_count("penstock_kv_event_followed", 1)
        ask(router.address, "first")
        wait_until(lambda: confirmed(router) >= 3, 20, router.log)
        router.wait_for_count("penstock_kv_event_matches_total", 1, result="named")
        engines.kill()
        router.wait_for_count("penstock_kv_event_followed", 0)
        assert confirmed(router) == 0
        again = Process(engines.arguments, engines.port, folder / "again.log")
        try:
            again.wait_for("/health")
            router.wait_for_count("penstock_replica_up", 1)
            wait_until(lambda: router.metrics().sum("penstock_kv_event_resyncs_total", cause="restart") >= 1, 30, router.log)
            ask(router.address, "second")
            wait_until(lambda: confirmed(router) >= 3, 30, router.log)
        finally:
            again.kill()


def test_a_port_that_speaks_something_else_changes_nothing(folder):
    at = ports()
    with socket.create_server(("127.0.0.1", at)) as liar, start(folder, "") as engines:
        stop = threading.Event()

        def babble():
            liar.settimeout(0.2)
            while not stop.is_set():
                try:
                    peer, _ = liar.accept()
                except OSError:
                    continue
                with peer:
                    try:
                        peer.sendall(os.urandom(100_000))
                    except OSError:
                        pass

        thread = threading.Thread(target=babble)
        thread.start()
        try:
            with Router(folder, config=router_config(engines, events(at))) as router:
                router.wait_for_count("penstock_replica_up", 1)
                ask(router.address, "first")
                ask(router.address, "first")
                assert router.metrics().sum("penstock_kv_event_followed") == 0
        finally:
            stop.set()
            thread.join()
