"""Prefill and decode replicas behind `serve`: one engine computes the prompt, another one answers."""
import json

from fleet_file import MODEL, FleetEngines
from processes import Router, free_port, wait_until
from raw_http import chat, request_bytes, send

LONG = "word " * 1500
ROLES = (
    "replicas:\n"
    f"  - {{id: prefill, url: 'http://127.0.0.1:{{port0}}', gpus: [g0], model: {MODEL}, role: prefill, simulated: {{}}}}\n"
    f"  - {{id: decode, url: 'http://127.0.0.1:{{port1}}', gpus: [g1], model: {MODEL}, role: decode, "
    "max_batched_tokens: 512, simulated: {max_batched_tokens: 512}}\n"
)
ALONE = f"replicas:\n  - {{id: decode, url: 'http://127.0.0.1:{{port0}}', gpus: [g1], model: {MODEL}, simulated: {{}}}}\n"


def ask(router, prompt=LONG, path="/v1/chat/completions", timeout=60, **fields):
    body = chat(prompt=prompt, **{"max_tokens": 5, "model": MODEL, **fields})
    if path == "/v1/completions":
        body["prompt"] = prompt
        del body["messages"]
    headers = {"Content-Type": "application/json", "x-penstock-receipt": "1"}
    return send(router.address, request_bytes(path, body=body, headers=headers), timeout=timeout)


def receipt(answer):
    return json.loads(answer.headers["x-penstock-receipt"])


def ends(router, **expected):
    """Waits until the handovers of the prefill replica have these counts, and no others."""

    def now():
        metrics = router.metrics()
        return {
            labels["result"]: value
            for name, labels, value in metrics.samples
            if name == "penstock_handovers_total" and value
        }

    wait_until(lambda: now() == expected, 20, lambda: f"handovers are {now()}, not {expected}")


def texts(answer):
    events = [json.loads(line[6:]) for line in answer.body.decode().split("\n") if line.startswith("data: {")]
    return "".join(choice["delta"].get("content") or "" for event in events for choice in event["choices"])


def test_one_engine_computes_the_prompt_and_another_one_answers(folder):
    with FleetEngines(folder, ALONE) as alone, Router(folder, config=alone.replicas) as router:
        undisturbed = ask(router).json()
        streamed = texts(ask(router, prompt="another " * 1500, stream=True))
    with FleetEngines(folder, ROLES) as engines, Router(folder, config=engines.replicas) as router:
        router.wait_for_count("penstock_replica_up", 2)
        whole = ask(router)
        assert whole.status == 200
        assert whole.json()["choices"] == undisturbed["choices"]
        assert whole.json()["usage"] == undisturbed["usage"]
        assert receipt(whole)["replica"] == "decode"
        assert receipt(whole)["prefill"] == {"replica": "prefill", "handed_over": True}
        # The decode engine has that prompt cached now, so another one is handed over.
        stream = ask(router, prompt="another " * 1500, stream=True, stream_options={"include_usage": True})
        assert texts(stream) == streamed and '"prompt_tokens":' in stream.body.decode()
        completion = ask(router, prompt="other " * 1500, path="/v1/completions")
        assert completion.status == 200 and completion.json()["usage"]["completion_tokens"] == 5
        ends(router, handed_over=3)
        router.wait_for_nothing()
        wait_until(lambda: used(engines) == 0, 10, lambda: f"the prefill engine keeps {used(engines)}")


def used(engines, engine=0):
    lines = [line for line in engines.page("/metrics", engine).splitlines() if line.startswith("vllm:kv_cache_usage_perc{")]
    return sum(float(line.split()[-1]) for line in lines)


def test_short_prompts_and_indivisible_requests_have_one_engine(folder):
    with FleetEngines(folder, ROLES) as engines, Router(folder, config=engines.replicas) as router:
        router.wait_for_count("penstock_replica_up", 2)
        short = ask(router, prompt="A short question.")
        assert short.status == 200 and receipt(short)["replica"] == "decode" and "prefill" not in receipt(short)
        for fields in ({"n": 2, "temperature": 1}, {"max_tokens": 1}):
            answer = ask(router, **fields)
            assert answer.status == 200 and "prefill" not in receipt(answer), fields
        ends(router)
        router.wait_for_nothing()


def test_prefill_replicas_alone_are_not_ready(folder):
    with FleetEngines(folder, ROLES) as engines:
        lost = engines.replicas.replace(str(engines.ports[1]), str(free_port()))
        with Router(folder, config=lost, ready=False) as router:
            router.wait_for_count("penstock_replica_up", 1, replica="prefill")
            assert router.get("/readyz")[0] == 503
            assert json.loads(router.get("/v1/models")[2])["data"][0]["state"] == "down"
            assert ask(router, "A short question.").status == 503


def test_decode_replicas_compute_prompts_while_no_prefill_replica_is_up(folder):
    with FleetEngines(folder, ROLES) as engines:
        lost = engines.replicas.replace(str(engines.ports[0]), str(free_port()))
        with Router(folder, config=lost) as router:
            router.wait_for_count("penstock_replica_up", 1, replica="decode")
            answer = ask(router)
            assert answer.status == 200 and "prefill" not in receipt(answer)
            ends(router)
