"""Replicas with roles behind `serve`: every request has one engine, a decode replica."""
import json

from fleet_file import MODEL, FleetEngines
from processes import Router, free_port
from raw_http import chat, request_bytes, send

ROLES = (
    "replicas:\n"
    f"  - {{id: prefill, url: 'http://127.0.0.1:{{port0}}', gpus: [g0], model: {MODEL}, role: prefill, simulated: {{}}}}\n"
    f"  - {{id: decode, url: 'http://127.0.0.1:{{port1}}', gpus: [g1], model: {MODEL}, role: decode, simulated: {{}}}}\n"
)


def ask(router, prompt):
    body = chat(prompt=prompt, max_tokens=5)
    headers = {"Content-Type": "application/json", "x-penstock-receipt": "1"}
    answer = send(router.address, request_bytes(body=body, headers=headers), timeout=60)
    return answer.status, json.loads(answer.headers.get("x-penstock-receipt", "{}")).get("replica")


def test_decode_replicas_compute_and_answer(folder):
    with FleetEngines(folder, ROLES) as engines, Router(folder, config=engines.replicas) as router:
        router.wait_for_count("penstock_replica_up", 2)
        assert ask(router, "A short question.") == (200, "decode")
        assert ask(router, "word " * 9000) == (200, "decode")
        assert "role has an effect in simulate only" in router.log()
        router.wait_for_nothing()


def test_prefill_replicas_alone_are_not_ready(folder):
    with FleetEngines(folder, ROLES) as engines:
        lost = engines.replicas.replace(str(engines.ports[1]), str(free_port()))
        with Router(folder, config=lost, ready=False) as router:
            router.wait_for_count("penstock_replica_up", 1, replica="prefill")
            assert router.get("/readyz")[0] == 503
            assert json.loads(router.get("/v1/models")[2])["data"][0]["state"] == "down"
            assert ask(router, "A short question.")[0] == 503
