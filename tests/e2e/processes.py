"""Starts and watches the real binary: engines and the router as processes of their own, on free ports."""
import http.client
import os
import pathlib
import random
import re
import signal
import socket
import subprocess
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
BINARY = os.environ.get("PENSTOCK_BINARY", str(ROOT / "build/release/penstock"))
MODEL = "llama-3.1-8b"

# A sanitized binary ends at its first finding and writes the report to this folder. The tests read the folder and do not
# depend on the exit code. Other binaries ignore the options.
_findings = tempfile.TemporaryDirectory(prefix="penstock-findings-")
FINDINGS = pathlib.Path(_findings.name)
for sanitizer in ("ASAN", "UBSAN", "TSAN"):
    given = os.environ.get(f"{sanitizer}_OPTIONS", "")
    os.environ[f"{sanitizer}_OPTIONS"] = f"halt_on_error=1 print_stacktrace=1 {given} log_path={FINDINGS}/{sanitizer.lower()}"


def findings():
    """The new reports of the sanitizers; each report is returned once."""
    texts = []
    for path in sorted(FINDINGS.iterdir()):
        texts.append(path.read_text(errors="replace"))
        path.unlink()
    return texts


_claims = []  # Sockets whose names keep the ports of this process from other test runs; they end with it.


def free_port():
    """A port below the range that outgoing connections take theirs from, so that none of them takes it in between. No other
    test process gets it, although nothing listens there yet."""
    while True:
        port = random.randrange(15000, 32000)
        claim = socket.socket(socket.AF_UNIX)
        try:
            claim.bind(f"\0penstock-test-port-{port}")
            with socket.socket() as probe:
                probe.bind(("127.0.0.1", port))
        except OSError:
            claim.close()
            continue
        _claims.append(claim)
        return port


def wait_until(condition, seconds, what):
    """Polls until the condition holds and returns its value; fails with `what` when it does not in time."""
    end = time.monotonic() + seconds
    while True:
        value = condition()
        if value:
            return value
        assert time.monotonic() < end, f"not within {seconds} s: {what() if callable(what) else what}"
        time.sleep(0.01)


def get(address, path, timeout=10):
    """(status, headers, text) of a GET; status 0 when nothing answers."""
    return get_over(http.client.HTTPConnection(*address, timeout=timeout), path)


def get_over(connection, path):
    """The same over a connection, which it closes."""
    try:
        connection.request("GET", path)
        response = connection.getresponse()
        return response.status, dict(response.getheaders()), response.read().decode()
    except (OSError, http.client.HTTPException):
        return 0, {}, ""
    finally:
        connection.close()


SAMPLE = re.compile(r"^([a-zA-Z_:][\w:]*)(?:\{(.*)\})? (\S+)$")
LABEL = re.compile(r'(\w+)="((?:[^"\\]|\\.)*)"')


class Metrics:
    """One scrape."""

    def __init__(self, text):
        self.text = text
        self.samples = []
        for line in text.splitlines():
            match = SAMPLE.match(line)
            if match:
                self.samples.append((match[1], dict(LABEL.findall(match[2] or "")), float(match[3])))

    def sum(self, name, **labels):
        return sum(
            value
            for sample, given, value in self.samples
            if sample == name and all(given.get(key) == want for key, want in labels.items())
        )

    def has(self, name):
        return any(sample == name for sample, _, _ in self.samples)


class Process:
    """A running penstock; leaving the context ends it and checks that it ended well."""

    def __init__(self, arguments, port, log):
        self.port = port
        self.address = ("127.0.0.1", port)
        self.url = f"http://127.0.0.1:{port}"
        self.arguments = arguments
        self.log_path = log
        self._log = open(log, "wb")
        self.process = subprocess.Popen([BINARY, *arguments], stdout=self._log, stderr=subprocess.STDOUT)

    def log(self):
        return pathlib.Path(self.log_path).read_text(errors="replace")

    def get(self, path, timeout=10):
        return get(self.address, path, timeout)

    def metrics(self):
        status, _, text = self.get("/metrics")
        assert status == 200, f"/metrics answered {status}\n{self.log()[-2000:]}"
        return Metrics(text)

    # A client may have the whole answer before the process has counted, logged and freed it. So the tests wait.

    def wait_for_count(self, name, expected, seconds=20, **labels):
        """Waits until the samples of a metric have this sum."""

        def now():
            return self.metrics().sum(name, **labels)

        wait_until(lambda: now() == expected, seconds, lambda: f"{name} {labels} is {now()}, not {expected}")

    def wait_for_log(self, *parts, seconds=20):
        """Waits until the log has all these parts."""
        wait_until(lambda: all(part in self.log() for part in parts), seconds, lambda: f"{parts} in\n{self.log()[-4000:]}")

    def wait_for(self, path, seconds=30):
        def answers():
            assert self.process.poll() is None, f"{self.arguments} ended with {self.process.returncode}:\n{self.log()[-4000:]}"
            return self.get(path)[0] == 200

        wait_until(answers, seconds, lambda: f"{path} of {self.arguments}:\n{self.log()[-4000:]}")
        return self

    def signal(self, number):
        self.process.send_signal(number)

    def stop(self, seconds=20):
        """SIGTERM, then the exit code; a process that does not end is killed and fails the test."""
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
        try:
            return self.process.wait(seconds)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
            raise AssertionError(f"{self.arguments} did not end within {seconds} s:\n{self.log()[-4000:]}")

    def kill(self):
        self.process.kill()
        self.process.wait()
        self._log.close()

    def __enter__(self):
        return self

    def __exit__(self, kind, value, trace):
        killed = self.process.poll() == -signal.SIGKILL
        code = self.stop()
        self._log.close()
        if kind is None and not killed:
            assert code == 0, f"{self.arguments} ended with {code}:\n{self.log()[-4000:]}"


class Engine(Process):
    def __init__(self, folder, model=MODEL, gpu="a100-80", port=None, name="engine", **options):
        port = port or free_port()
        arguments = ["engine", "--listen", f"127.0.0.1:{port}", "--model", model, "--gpu", gpu]
        for key, value in options.items():
            arguments += ["--" + key.replace("_", "-"), *([] if value is True else [str(value)])]
        super().__init__(arguments, port, folder / f"{name}-{port}.log")
        self.model = model
        self.overflow_error = options.get("overflow") == "error"
        try:
            self.wait_for("/health")
        except BaseException:
            self.kill()
            raise

    def running(self):
        """The requests that the engine runs or queues, by its own count."""
        if self.overflow_error:
            metrics = self.metrics()
            return metrics.sum("llamacpp:requests_processing") + metrics.sum("llamacpp:requests_deferred")
        metrics = self.metrics()
        return metrics.sum("vllm:num_requests_running") + metrics.sum("vllm:num_requests_waiting")


def descriptors(process):
    """The numbers of the open descriptors of a subprocess."""
    return {int(name) for name in os.listdir(f"/proc/{process.pid}/fd")}


class Router(Process):
    """`penstock serve` with a configuration file made of the given YAML lines, or with the URLs of replicas only."""

    def __init__(self, folder, engines=(), config=None, port=None, ready=True):
        port = port or free_port()
        self.config_path = folder / f"router-{port}.yml"
        if config is None:
            arguments = ["serve", "--listen", f"127.0.0.1:{port}"]
            for engine in engines:
                arguments += ["--replica", engine.url]
        else:
            self.write_config(config, port)
            arguments = ["serve", "--config", str(self.config_path)]
        super().__init__(arguments, port, folder / f"router-{port}.log")
        try:
            self.wait_for("/readyz" if ready else "/healthz")
        except BaseException:
            self.kill()
            raise

    def write_config(self, config, port=None):
        self.config_path.write_text(f"listen: 127.0.0.1:{port or self.port}\n{config}")

    def promised(self):
        metrics = self.metrics()
        return metrics.sum("penstock_pool_promised_bytes") + metrics.sum("penstock_pool_promised_blocks")

    def in_flight(self):
        metrics = self.metrics()
        return metrics.sum("penstock_replica_running_requests") + metrics.sum("penstock_queued_requests")

    def buffered(self):
        """The bytes of bodies in memory. A request gives them back as its last act: behind all that it counts."""
        return self.metrics().sum("penstock_buffered_bytes")

    def wait_for_nothing(self, engines=(), seconds=20):
        """Waits until nothing is promised, running, queued or held, at the router and at the engines.

        It returns a scrape that has counted every request.
        """

        def left():
            return [self.promised(), self.in_flight(), self.buffered(), *(engine.running() for engine in engines)]

        wait_until(lambda: not any(left()), seconds, lambda: f"promised, in flight, buffered, at engines: {left()}")
        return self.metrics()


def replicas(engines, **more):
    """Returns the replicas section of a configuration."""
    lines = ["replicas:"]
    for engine in engines:
        fields = {"url": engine.url, **more}
        lines.append("  - {" + ", ".join(f"{key}: {value}" for key, value in fields.items()) + "}")
    return "\n".join(lines) + "\n"
