"""The harness itself: engines end with the tests, however these end."""
import pathlib
import signal
import subprocess
import sys

from processes import wait_until

HERE = pathlib.Path(__file__).resolve().parent
# An engine with a child that is stopped, as a frozen engine is.
START = """
import sys
sys.path[:0] = sys.argv[1:3]
from engines import RealEngine
engine = RealEngine("sleeper", ["sh", "-c", "sleep 600 & kill -STOP $!; echo $!; wait"], 0, sys.argv[3])
print(engine.process.pid, flush=True)
sys.stdin.read()
"""


def alive(pid):
    try:
        state = pathlib.Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except (FileNotFoundError, ProcessLookupError):
        return False
    return state != "Z"  # Whoever adopts orphans may not wait for them.


def test_engines_end_when_the_tests_are_killed(tmp_path):
    log = tmp_path / "sleeper.log"
    with subprocess.Popen([sys.executable, "-c", START, str(HERE), str(HERE.parent / "e2e"), str(log)],
                          stdin=subprocess.PIPE, stdout=subprocess.PIPE) as tests:
        engine = int(tests.stdout.readline())
        wait_until(lambda: log.read_text().strip(), 20, "the engine has a child")
        child = int(log.read_text())
        assert alive(engine) and alive(child)
        tests.send_signal(signal.SIGKILL)
        wait_until(lambda: not alive(engine) and not alive(child), 20, "the engine and its child end")
