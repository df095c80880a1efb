"""Models that give their memory back and wake for waiting requests, with the real binary and simulated engines."""
import http.client
import re
import signal
import socket
import threading

import pytest
from openai import APIStatusError, OpenAI
from processes import Metrics, Process, Router, free_port, get, wait_until
from raw_http import chat, events, request_bytes, send

CHAT, CODE = "llama-3.1-8b", "qwen2.5-7b"


class Sleepers(Process):
    """`penstock engine` with two models on one GPU, which has the memory for one of them (or for both)."""

    def __init__(self, folder, memory=80, **sleep):
        self.ports = {CHAT: free_port(), CODE: free_port()}
        times = {"after": "60s", "wake": "300ms", "timeout": "10s", **sleep}
        keys = ", ".join(f"{key}: {value}" for key, value in times.items())
        self.config = f"gpus: [{{id: g, kind: h200, memory: {memory}GB}}]\nreplicas:\n" + "".join(
            f"  - {{id: {model}, url: 'http://127.0.0.1:{port}', gpus: [g], model: {model}, kv_memory: 30GB, "
            f"sleep: {{{keys}}}, simulated: {{}}}}\n"
            for model, port in self.ports.items()
        )
        path = folder / f"sleepers-{self.ports[CHAT]}.yml"
        path.write_text(self.config)
        super().__init__(["engine", "--config", str(path)], self.ports[CHAT], folder / f"sleepers-{self.ports[CHAT]}.log")
        self.wait_for("/health")

    def running(self):
        """The requests that both engines run or queue."""
        pages = [Metrics(get(("127.0.0.1", port), "/metrics")[2]) for port in self.ports.values()]
        return sum(page.sum("vllm:num_requests_running") + page.sum("vllm:num_requests_waiting") for page in pages)

    def post(self, model, path):
        connection = http.client.HTTPConnection("127.0.0.1", self.ports[model], timeout=30)
        connection.request("POST", path)
        status = connection.getresponse().status
        connection.close()
        return status

    def play(self, model, play):
        assert self.post(model, f"/simulated/sleep?play={play}") == 200


@pytest.fixture
def client():
    made = []

    def of(router):
        made.append(OpenAI(base_url=router.url + "/v1", api_key="x", max_retries=0, timeout=60))
        return made[-1]

    yield of
    for each in made:
        each.close()


def ask(client, model, **more):
    return client.chat.completions.create(
        model=model, messages=[{"role": "user", "content": "Say something."}], max_tokens=5, **more
    )


def wait_up(router, count=2):
    router.wait_for_count("penstock_replica_up", count)


def test_an_idle_model_sleeps_and_wakes_for_its_next_request(folder, client):
    with Sleepers(folder, memory=140, after="500ms") as engines, Router(folder, config=engines.config) as router:
        wait_up(router)
        router.wait_for_count("penstock_replica_asleep", 2)
        assert router.get("/readyz")[0] == 200
        names = {model.id for model in client(router).models.list()}
        assert names == {CHAT, CODE}, "a sleeping model is there for clients"
        assert ask(client(router), CHAT).usage.completion_tokens == 5
        metrics = router.metrics()
        assert metrics.sum("penstock_wakes_total", replica=CHAT, result="ok") == 1
        assert metrics.sum("penstock_wakes_total", replica=CODE) == 0
        assert metrics.sum("penstock_wake_seconds_sum", replica=CHAT) >= 0.3
        router.wait_for_count("penstock_replica_asleep", 2)
        router.wait_for_nothing([engines])


def test_a_stream_that_waits_for_a_wake_gets_comments(folder):
    with Sleepers(folder, memory=140, after="300ms", wake="1s") as engines:
        with Router(folder, config=engines.config + "limits: {keepalive_after: 100ms}\n") as router:
            wait_up(router)
            router.wait_for_count("penstock_replica_asleep", 2)
            answer = send(router.address, request_bytes(body=chat(model=CHAT, stream=True, max_tokens=4)), timeout=30)
            assert answer.status == 200
            assert answer.body.startswith(b":"), answer.body[:200]
            assert len(events(answer.body)) >= 4
            assert answer.body.rstrip().endswith(b"data: [DONE]")


def test_two_models_share_the_memory_of_one(folder, client):
    with Sleepers(folder) as engines, Router(folder, config=engines.config) as router:
        wait_up(router)
        router.wait_for_count("penstock_replica_asleep", 1)
        for _ in range(2):
            assert ask(client(router), CODE).usage.completion_tokens == 5
            assert ask(client(router), CHAT).usage.completion_tokens == 5
        metrics = router.metrics()
        assert metrics.sum("penstock_wakes_total", replica=CODE, result="ok") == 2
        assert metrics.sum("penstock_wakes_total", result="server") == 0, "nobody woke into memory that was taken"
        assert metrics.sum("penstock_sleeps_total", result="ok") >= 3


def test_a_failed_wake_is_an_error_of_that_model_only(folder, client):
    with Sleepers(folder, memory=140, after="500ms") as engines, Router(folder, config=engines.config) as router:
        wait_up(router)
        router.wait_for_count("penstock_replica_asleep", 2)
        engines.play(CHAT, "fail")
        with pytest.raises(APIStatusError) as failed:
            ask(client(router), CHAT)
        assert failed.value.status_code == 503, failed.value
        assert failed.value.response.headers["x-penstock-reason"] == "no_replica"
        assert failed.value.response.headers["retry-after"] and failed.value.code == "service_unavailable"
        assert "could not be woken" in failed.value.message and "127.0.0.1" not in failed.value.message
        assert ask(client(router), CODE).usage.completion_tokens == 5
        assert router.metrics().sum("penstock_wakes_total", replica=CHAT, result="server") >= 1
        router.wait_for_log("replica did not wake: POST /wake_up: status 500")
        engines.play(CHAT, "well")
        wait_until(lambda: answered(client(router), CHAT), 30, "it serves once its engine wakes again")
        router.wait_for_nothing([engines])


def answered(client, model):
    try:
        return ask(client, model).usage.completion_tokens == 5
    except APIStatusError:
        return False


def test_a_wake_that_never_ends_is_given_up(folder, client):
    times = {"after": "500ms", "wake": "200ms", "timeout": "1s"}
    with Sleepers(folder, memory=140, **times) as engines, Router(folder, config=engines.config) as router:
        wait_up(router)
        router.wait_for_count("penstock_replica_asleep", 2)
        engines.play(CHAT, "never")
        with pytest.raises(APIStatusError) as failed:
            ask(client(router), CHAT)
        assert failed.value.status_code in (429, 503), failed.value
        router.wait_for_log("replica did not wake: POST /wake_up: no answer in time")
        assert router.metrics().sum("penstock_wakes_total", replica=CHAT, result="timeout") >= 1
        assert ask(client(router), CODE).usage.completion_tokens == 5
        engines.play(CHAT, "well")
        wait_until(lambda: answered(client(router), CHAT), 30, "it serves once its engine wakes again")


def without_sleep(router, engines):
    """Reloads a configuration in which no replica sleeps."""
    kept = re.sub(r"sleep: \{[^}]*\}, ", "", engines.config).replace("memory: 80GB", "memory: 140GB")
    router.write_config(kept, router.port)
    router.signal(signal.SIGHUP)
    router.wait_for_log("configuration reloaded")


@pytest.mark.parametrize("play", ["well", "fail"])
def test_a_model_whose_sleep_is_taken_away_is_woken_whatever_its_first_wakes_do(folder, client, play):
    with Sleepers(folder, memory=140, after="300ms") as engines, Router(folder, config=engines.config) as router:
        wait_up(router)
        router.wait_for_count("penstock_replica_asleep", 2)
        engines.play(CHAT, play)
        without_sleep(router, engines)
        if play == "fail":
            router.wait_for_log("replica did not wake")
            engines.play(CHAT, "well")
        router.wait_for_count("penstock_replica_up", 2, 30)
        assert ask(client(router), CHAT).usage.completion_tokens == 5
        assert ask(client(router), CODE).usage.completion_tokens == 5


def test_an_engine_that_says_it_sleeps_and_answers_serves(folder, client):
    with Sleepers(folder, memory=140) as engines, Router(folder, config=engines.config) as router:
        wait_up(router)
        engines.play(CHAT, "lie")
        router.wait_for_count("penstock_replica_asleep", 1)
        assert ask(client(router), CHAT).usage.completion_tokens == 5
        router.wait_for_log("says that it sleeps, and answers")
        assert router.metrics().sum("penstock_false_sleeps_total", replica=CHAT) == 1
        for _ in range(3):
            assert ask(client(router), CHAT).usage.completion_tokens == 5


def test_an_engine_that_always_lies_is_found_once_and_stays_awake(folder, client):
    with Sleepers(folder, memory=140, after="200ms") as engines:
        engines.play(CHAT, "lie")
        with Router(folder, config=engines.config) as router:
            wait_up(router)
            router.wait_for_count("penstock_replica_asleep", 1, replica=CHAT)
            assert ask(client(router), CHAT).usage.completion_tokens == 5
            # Each order to sleep is refused; pauses follow.
            router.wait_for_count("penstock_sleeps_total", 2, replica=CHAT, result="unable")
            router.wait_for_log("its page said that it sleeps while it answered")
            # A reload does not make its page true.
            router.signal(signal.SIGHUP)
            router.wait_for_log("configuration reloaded")
            router.wait_for_count("penstock_sleeps_total", 3, replica=CHAT, result="unable")
            metrics = router.metrics()
            assert metrics.sum("penstock_false_sleeps_total", replica=CHAT) == 1
            assert metrics.sum("penstock_sleeps_total", replica=CHAT, result="ok") == 0
            assert metrics.sum("penstock_replica_asleep", replica=CHAT) == 0
            assert ask(client(router), CHAT).usage.completion_tokens == 5
            # Its page says once that it is awake.
            engines.play(CHAT, "well")
            router.wait_for_count("penstock_sleeps_total", 1, replica=CHAT, result="ok")
            assert ask(client(router), CHAT).usage.completion_tokens == 5


def test_a_lie_in_the_middle_of_a_stream_stops_nothing(folder, client):
    with Sleepers(folder, memory=140) as engines, Router(folder, config=engines.config) as router:
        wait_up(router)
        stream = client(router).chat.completions.create(
            model=CHAT, messages=[{"role": "user", "content": "Tell me of the river."}], max_tokens=150, stream=True
        )
        tokens = 0
        for chunk in stream:
            tokens += 1
            if tokens == 5:
                engines.play(CHAT, "lie")
        assert tokens >= 150
        router.wait_for_log("says that it sleeps, and answers")
        assert "found asleep" not in router.log()


def test_an_engine_that_is_put_to_sleep_behind_our_back_is_woken(folder, client):
    with Sleepers(folder, memory=140) as engines, Router(folder, config=engines.config) as router:
        wait_up(router)
        assert engines.post(CHAT, "/sleep?level=1") == 200
        router.wait_for_count("penstock_replica_asleep", 1)
        assert ask(client(router), CHAT).usage.completion_tokens == 5
        assert router.metrics().sum("penstock_wakes_total", replica=CHAT, result="ok") == 1
        # Its first request may come before anybody has seen that it sleeps.
        assert engines.post(CHAT, "/sleep?level=1") == 200
        assert ask(client(router), CHAT).usage.completion_tokens == 5


def test_an_engine_that_sleeps_at_the_start_of_the_router_is_woken(folder, client):
    with Sleepers(folder, memory=140) as engines:
        assert engines.post(CHAT, "/sleep?level=1") == 200
        with Router(folder, config=engines.config) as router:
            wait_up(router)
            router.wait_for_count("penstock_replica_asleep", 1, replica=CHAT)
            assert ask(client(router), CHAT).usage.completion_tokens == 5


def test_clients_that_leave_while_a_model_wakes_leave_nothing(folder):
    with Sleepers(folder, memory=140, after="300ms", wake="1s") as engines:
        with Router(folder, config=engines.config) as router:
            wait_up(router)
            router.wait_for_count("penstock_replica_asleep", 2)
            for _ in range(5):
                with socket.create_connection(router.address, timeout=10) as connection:
                    connection.sendall(request_bytes(body=chat(model=CHAT)))
            router.wait_for_nothing([engines])


def test_many_requests_for_two_models_in_turn_are_all_answered(folder, client):
    with Sleepers(folder, wake="200ms") as engines, Router(folder, config=engines.config) as router:
        wait_up(router)
        failures = []

        def run(model):
            for _ in range(4):
                try:
                    ask(client(router), model, extra_headers={"x-penstock-class": "background"})
                except APIStatusError as error:
                    failures.append(error)

        threads = [threading.Thread(target=run, args=(model,)) for model in (CHAT, CODE, CHAT, CODE)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert not failures, failures
        router.wait_for_nothing([engines])


def test_a_request_for_tokens_neither_reaches_nor_wakes_a_sleeping_engine(folder, client):
    with Sleepers(folder, memory=140, after="500ms") as engines, Router(folder, config=engines.config) as router:
        wait_up(router)
        router.wait_for_count("penstock_replica_asleep", 2)
        answer = send(router.address, request_bytes(path="/tokenize", body={"model": CHAT, "prompt": "some words"}))
        assert answer.status == 503 and answer.headers["retry-after"] == "1", answer.body
        assert answer.json()["error"]["code"] == "service_unavailable"
        turns = {"model": CHAT, "messages": [{"role": "user", "content": "some words"}]}
        counted = send(router.address, request_bytes(path="/v1/messages/count_tokens", body=turns))
        assert counted.status == 200 and counted.headers["x-penstock-estimate"] == "true"
        assert router.metrics().sum("penstock_wakes_total") == 0
        ask(client(router), CHAT)
        again = send(router.address, request_bytes(path="/tokenize", body={"model": CHAT, "prompt": "some words"}))
        assert again.status == 200, again.body
