"""Every configuration of Penstock that a document prints is accepted by `penstock check`; Envoy's passes a request."""
import os
import re
import shutil
import subprocess
import sys
import textwrap

import pytest
import yaml

sys.path.insert(0, os.path.dirname(__file__))

from printed import blocks, check, sections, text_of, with_free_ports  # noqa: E402
from processes import ROOT, Engine, Router, free_port, get, wait_until  # noqa: E402
from raw_http import chat, request_bytes, send  # noqa: E402

PAGES = ["README.md", *sorted(f"docs/{path.name}" for path in (ROOT / "docs").glob("*.md"))]


def configurations(page):
    """The configurations of a page: blocks with replicas, and files inside of a ConfigMap."""
    for block in blocks(text_of(page), "yaml"):
        if re.search(r"^replicas:\n", block, re.MULTILINE):
            yield block
        for inner in re.findall(r"^  penstock\.yaml: \|\n((?:    .*\n)+)", block, re.MULTILINE):
            yield textwrap.dedent(inner)


FOUND = [(page, number, text) for page in PAGES for number, text in enumerate(configurations(page), 1)]


@pytest.mark.parametrize("page, number, text", FOUND, ids=lambda value: value if isinstance(value, str) and len(value) < 40 else "")
def test_a_printed_configuration_is_accepted(page, number, text, tmp_path, monkeypatch):
    for name in re.findall(r"\$\{(\w+)\}", text):
        monkeypatch.setenv(name, f"secret-{name}")
    for file in (ROOT / "tests/data/tls").glob("*.*"):
        shutil.copy(file, tmp_path)
    shutil.copy(ROOT / "tests/data/tls/ca.pem", tmp_path / "engines.pem")
    ended = check(text, tmp_path)
    assert ended.returncode == 0, f"{page}, configuration {number}: {ended.stderr}"


def test_the_pages_have_configurations():
    pages = {page for page, _, _ in FOUND}
    assert {"README.md", "docs/neighbours.md", "docs/security.md", "docs/elastic-memory.md", "docs/sleeping-models.md"} <= pages


def test_every_neighbour_has_a_configuration():
    found = sections("docs/neighbours.md")
    assert {"Kubernetes", "HAMi", "MIG", "Kueue", "Volcano", "KAI", "LiteLLM", "Envoy"} == set(found)
    for name, text in found.items():
        assert blocks(text, "yaml"), name


def test_the_pod_of_the_router_leaves_its_service_before_it_drains():
    manifests = [list(yaml.safe_load_all(block)) for block in blocks(sections("docs/neighbours.md")["Kubernetes"], "yaml")]
    (pod,) = [made["spec"]["template"]["spec"] for made in manifests[0] if made["kind"] == "Deployment"]
    (router,) = pod["containers"]
    pause = router["lifecycle"]["preStop"]["sleep"]["seconds"]
    assert pause >= 5 and pod["terminationGracePeriodSeconds"] > pause + 60, "limits.drain_timeout is 60 s"
    (settings,) = [yaml.safe_load(made["data"]["penstock.yaml"]) for made in manifests[0] if made["kind"] == "ConfigMap"]
    assert settings["admin_listen"].endswith(str(router["readinessProbe"]["httpGet"]["port"]))


@pytest.mark.skipif(not shutil.which("envoy"), reason="envoy is not installed")
def test_a_real_envoy_passes_a_stream_and_an_error(folder, tmp_path):
    printed = next(block for block in blocks(sections("docs/neighbours.md")["Envoy"], "yaml") if "static_resources" in block)
    edge = free_port()
    with Engine(folder) as engine:
        config = f"trusted_proxies: [127.0.0.1]\nreplicas:\n  - {{url: '{engine.url}'}}\n"
        with Router(folder, config=config) as router:
            text = printed.replace("port_value: 4080", f"port_value: {edge}").replace("port_value: 8080", f"port_value: {router.port}")
            (tmp_path / "envoy.yaml").write_text(text)
            envoy = subprocess.Popen(["envoy", "-c", str(tmp_path / "envoy.yaml"), "--base-id", str(edge), "--concurrency", "1"],
                                     stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            try:
                wait_until(lambda: get(("127.0.0.1", edge), "/v1/models")[0] == 200, 30, "Envoy answers")
                answer = send(("127.0.0.1", edge), request_bytes(body=chat(max_tokens=4, stream=True)))
                assert answer.status == 200 and b"[DONE]" in answer.body
                assert send(("127.0.0.1", edge), request_bytes(body=chat(model="nobody"))).status == 404
            finally:
                envoy.terminate()
                envoy.wait(20)


def test_ports_of_a_page_become_others():
    assert not re.search(r"127\.0\.0\.1:(8080|9001)", with_free_ports("curl http://127.0.0.1:8080 --replica http://127.0.0.1:9001"))
