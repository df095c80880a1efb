"""Starts real engines with the small model: vLLM on the CPU, and llama.cpp's own server. Each is a process group."""
import http.client
import json
import os
import pathlib
import signal
import subprocess
import sys

from processes import Metrics, free_port, get, wait_until

HERE = pathlib.Path(__file__).resolve().parent
CACHE = pathlib.Path(os.environ.get("PENSTOCK_REAL", HERE.parents[1] / "build/real"))
MODEL = "tiny"
CONTEXT = 4096
BLOCK = 32
BLOCKS = 256
SEQUENCES = 64
# A start imports a gigabyte of libraries; on busy cores that takes minutes.
START_SECONDS = 480

VLLM_ENVIRONMENT = {
    "VLLM_CPU_KVCACHE_SPACE": "1", "VLLM_CPU_OMP_THREADS_BIND": "nobind", "OMP_NUM_THREADS": "1",
    "VLLM_NO_USAGE_STATS": "1", "DO_NOT_TRACK": "1", "HF_HUB_OFFLINE": "1", "TRANSFORMERS_OFFLINE": "1",
    "PYTHONPATH": str(HERE / "vllm_parts"), "PYTHONDONTWRITEBYTECODE": "1",
    "VLLM_ENABLE_RESPONSES_API_STORE": "1", "VLLM_SERVER_DEV_MODE": "1",
}


def installed(name):
    return (CACHE / name / "stamp").exists()


def children(pid):
    """The pids of a process and of all processes below it."""
    found = [pid]
    for task in pathlib.Path(f"/proc/{pid}/task").glob("*/children"):
        for child in task.read_text().split():
            found += children(int(child))
    return found


# Ends the process group once the tests' end of the pipe is closed: also when the tests are killed, and an engine is stopped.
WATCHDOG = """
import os, signal, sys
sys.stdin.read()
try:
    os.killpg(int(sys.argv[1]), signal.SIGKILL)
except ProcessLookupError:
    pass
"""


class RealEngine:
    """A running engine; leaving the context ends its whole process group, and so does the end of this process."""

    def __init__(self, name, command, port, log, environment=()):
        self.name = name
        self.port = port
        self.address = ("127.0.0.1", port)
        self.url = f"http://127.0.0.1:{port}"
        self.command = command
        self.log_path = pathlib.Path(log)
        self.environment = dict(environment)
        self.process = None
        self.watchdog = None
        self.start()

    def start(self):
        """Starts the process without waiting for it."""
        self.dismiss()
        with open(self.log_path, "ab") as log:
            self.process = subprocess.Popen(self.command, stdout=log, stderr=subprocess.STDOUT, start_new_session=True,
                                            env={**os.environ, **self.environment})
        self.watchdog = subprocess.Popen([sys.executable, "-c", WATCHDOG, str(self.process.pid)], stdin=subprocess.PIPE,
                                         start_new_session=True)
        return self

    def dismiss(self):
        """Lets the watchdog end what is left of the process group."""
        if self.watchdog is not None:
            self.watchdog.stdin.close()
            self.watchdog.wait()
            self.watchdog = None

    def log(self):
        return self.log_path.read_text(errors="replace")

    def wait(self):
        def healthy():
            assert self.process.poll() is None, f"{self.name} ended with {self.process.returncode}:\n{self.log()[-4000:]}"
            return get(self.address, "/health", timeout=2)[0] == 200

        wait_until(healthy, START_SECONDS, lambda: f"{self.name} is healthy:\n{self.log()[-4000:]}")
        return self

    def signal(self, number):
        """To the whole group: no part of the engine goes on."""
        os.killpg(self.process.pid, number)

    def kill(self):
        self.signal(signal.SIGKILL)
        self.process.wait()

    def stop(self, seconds=30):
        if self.process.poll() is not None:
            self.dismiss()
            return
        self.signal(signal.SIGCONT)
        self.process.terminate()
        try:
            self.process.wait(seconds)
        except subprocess.TimeoutExpired:
            pass
        try:
            self.kill()
        except ProcessLookupError:
            pass
        self.dismiss()

    def metrics(self):
        status, _, text = get(self.address, "/metrics", timeout=20)
        assert status == 200, f"{self.name} has no metrics: {status}"
        return Metrics(text)

    def running(self):
        metrics = self.metrics()
        return sum(metrics.sum(name) for name in self.running_names)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.stop()


class Vllm(RealEngine):
    running_names = ("vllm:num_requests_running", "vllm:num_requests_waiting")

    def __init__(self, folder, name, *more, model=CACHE / "model/hf", variables=()):
        """`more` are flags after the usual ones; the last value of a flag counts. `variables` add to its environment."""
        port = free_port()
        environment = CACHE / "vllm"
        command = [
            str(environment / "bin/vllm"), "serve", str(model), "--served-model-name", MODEL,
            "--host", "127.0.0.1", "--port", str(port), "--dtype", "float32", "--block-size", str(BLOCK),
            "--num-gpu-blocks-override", str(BLOCKS), "--max-model-len", str(CONTEXT), "--max-num-seqs", str(SEQUENCES),
            "--enforce-eager", "--enable-auto-tool-choice",
            "--tool-call-parser", "hermes", "--logits-processors", "forced_length:ForcedLength",
            "--middleware", "forced_length.LengthHeader", *more]
        super().__init__(name, command, port, folder / f"{name}-{port}.log", {**VLLM_ENVIRONMENT, **dict(variables)})

    def core_pid(self):
        """The process that runs the model; the API server is its parent."""
        for pid in children(self.process.pid):
            name = pathlib.Path(f"/proc/{pid}/cmdline").read_bytes()
            if b"EngineCore" in name:
                return pid
        raise AssertionError(f"{self.name} has no engine core")


class Llama(RealEngine):
    running_names = ("llamacpp:requests_processing", "llamacpp:requests_deferred")

    def __init__(self, folder, name):
        port = free_port()
        command = [str(CACHE / "light/bin/python"), str(HERE / "llama_server.py"), str(CACHE / "model/model.gguf"), str(port)]
        super().__init__(name, command, port, folder / f"{name}-{port}.log")


def wait_until_up(router, count):
    """The router itself, once it takes requests for that many engines."""
    wait_until(lambda: router.metrics().sum("penstock_replica_up", model=MODEL) == count, 30, "every replica is up")
    return router


def call(address, path, body=None, headers=(), timeout=120):
    """(status, headers, bytes) of one request; a body makes it a POST."""
    connection = http.client.HTTPConnection(*address, timeout=timeout)
    try:
        data = None if body is None else body if isinstance(body, bytes) else json.dumps(body).encode()
        given = {"content-type": "application/json"} if data is not None else {}
        connection.request("GET" if data is None else "POST", path, data, {**given, **dict(headers)})
        response = connection.getresponse()
        fields = {name.lower(): value for name, value in response.getheaders()}
        return response.status, fields, response.read()
    finally:
        connection.close()
