"""Every block of the quickstarts runs as printed. `penstock engine` plays the engines, and free ports stand for the printed."""
import os
import pathlib
import sys

import pytest

sys.path.insert(0, os.path.dirname(__file__))

from printed import blocks, run, sections, with_free_ports  # noqa: E402

SECTIONS = {name: text for name, text in sections("docs/quickstarts.md").items()}
ANSWERS = {"One llama-server": 1, "Two vLLM on one GPU": 2, "A kvcached pair": 2, "A mixed fleet": 3, "An agent without a GPU": 1}


def test_every_section_is_run():
    assert set(SECTIONS) == set(ANSWERS)


@pytest.mark.parametrize("name", SECTIONS)
def test_a_section_runs_as_printed(name, tmp_path):
    script = "\n".join(blocks(SECTIONS[name], "sh"))
    segments = [f"penstock-test-{os.getpid()}-{part}" for part in ("chat", "code")]
    script = with_free_ports(script).replace("kvcached_chat", segments[0]).replace("kvcached_code", segments[1])
    try:
        code, output = run(script, tmp_path)
    finally:
        for segment in segments:
            pathlib.Path("/dev/shm", segment).unlink(missing_ok=True)
    assert code == 0, output
    assert output.count('"finish_reason"') == ANSWERS[name], output
    assert ("penstock_elastic_limit_bytes{" in output) == ("kvcached" in name), output
    assert ('"tenants"' in output) == ("mixed" in name), output
