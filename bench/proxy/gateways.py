"""Gateways for LLMs as rivals: the start of each, where bench/proxy/install_gateways.sh has installed it.

One worker on one core, two engines, no retries, no logging, no checks of the engines where the gateway allows that.
"""

import json
import os
import pathlib

FOLDER = pathlib.Path(__file__).resolve().parents[2] / "build/tools/rivals/gateways"
NAMES = ("smg", "sglang-router", "vllm-router", "litellm", "portkey")
PROGRAMS = {
    "smg": "smg/bin/smg",
    "sglang-router": "sglang-router/bin/sglang-router",
    "vllm-router": "vllm-router/bin/vllm-router",
    "litellm": "litellm/bin/litellm",
    "portkey": "portkey/node_modules/@portkey-ai/gateway/build/start-server.js",
}
ENVIRONMENT = {"TOKIO_WORKER_THREADS": "1", "LITELLM_LOG": "ERROR", "LITELLM_MODE": "PRODUCTION", "NODE_ENV": "production",
               "LITELLM_DANGEROUSLY_PERMIT_WEAK_OR_UNSET_MASTER_KEY": "true"}

# These gateways answer a stream of the stub with 500 ("TypeError: immutable", Portkey 1.15.2 on Node 20).
WITHOUT_STREAMS = ("portkey",)

LITELLM = """
model_list:
{models}
router_settings: {{routing_strategy: simple-shuffle, num_retries: 0}}
litellm_settings: {{num_retries: 0, request_timeout: 600}}
"""


def installed(name):
    return (FOLDER / PROGRAMS[name]).exists()


def router(name, port, urls):
    flags = ["--host", "127.0.0.1", "--port", port, "--worker-urls", *urls, "--policy", "round_robin",
             "--disable-retries", "--disable-circuit-breaker", "--log-level", "error",
             "--prometheus-port", port + 5]
    if name == "smg":
        flags = ["launch", *flags, "--disable-health-check"]
    if name == "sglang-router":
        flags = ["launch", *flags]
    return [FOLDER / PROGRAMS[name], *flags]


def command(name, port, engines, folder):
    urls = [f"http://127.0.0.1:{engine}" for engine in engines]
    if name == "litellm":
        config = pathlib.Path(folder, "litellm.yaml")
        config.write_text(LITELLM.format(models="\n".join(
            "  - {model_name: stub, litellm_params: {model: openai/stub, api_base: %s/v1, api_key: none}}" % url
            for url in urls)))
        return [FOLDER / PROGRAMS[name], "--config", config, "--host", "127.0.0.1", "--port", port, "--num_workers", 1]
    if name == "portkey":
        return ["node", FOLDER / PROGRAMS[name], "--headless", f"--port={port}"]
    return router(name, port, urls)


def client_flags(name, engines):
    """Portkey takes its engines from the request."""
    if name != "portkey":
        return []
    targets = [{"provider": "openai", "api_key": "none", "custom_host": f"http://127.0.0.1:{engine}/v1"}
               for engine in engines]
    config = {"strategy": {"mode": "loadbalance"}, "targets": targets}
    return ["--header", "x-portkey-config: " + json.dumps(config, separators=(",", ":"))]


def environment():
    return {**os.environ, **ENVIRONMENT}
