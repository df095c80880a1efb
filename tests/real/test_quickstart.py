"""The quickstart of one llama-server runs as printed with llama.cpp's own server."""
import pathlib
import sys

import pytest

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "e2e/documents"))

from engines import installed  # noqa: E402
from printed import blocks, run, sections, with_free_ports  # noqa: E402


@pytest.mark.skipif(not installed("light"), reason="no llama-server: run scripts/real_env.sh light")
def test_the_quickstart_of_one_llama_server_runs_as_printed(tmp_path, monkeypatch):
    monkeypatch.setenv("PYTHONPATH", f"{HERE}:{HERE.parent / 'e2e'}")
    script = with_free_ports("\n".join(blocks(sections("docs/quickstarts.md")["One llama-server"], "sh")))
    code, output = run(script, tmp_path, seconds=120, stand_in=HERE / "printed_engine.py")
    assert code == 0 and '"finish_reason"' in output, output
    assert "engine is llamacpp" in output, output
