"""A router without its standard streams: no file of the router takes their numbers."""
import os
import subprocess

import pytest
from processes import BINARY, free_port, get, replicas, wait_until


@pytest.mark.parametrize("closed", [(2,), (0, 1, 2)])
def test_the_log_of_a_closed_stderr_is_in_no_file_of_the_router(tmp_path, engine, closed):
    port = free_port()
    config, state = tmp_path / "router.yaml", tmp_path / "state"
    config.write_text(f"listen: 127.0.0.1:{port}\n{replicas([engine])}state: {{path: {state}}}\nlog: {{access: true}}\n")
    closing = " ".join(f"{number}>&-" for number in closed)
    process = subprocess.Popen(["sh", "-c", f'exec "$0" serve "$1" {closing}', BINARY, str(config)])
    try:
        wait_until(lambda: get(("127.0.0.1", port), "/readyz")[0] == 200, 30, "the router is ready")
        for number in closed:
            assert os.readlink(f"/proc/{process.pid}/fd/{number}") == "/dev/null"
        process.terminate()
        assert process.wait(30) == 0
        assert (state / "lock").stat().st_size == 0
    finally:
        process.kill()
        process.wait()
