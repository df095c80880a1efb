"""Rules, dashboard and metrics as the tests of monitoring read them, and a real Prometheus that scrapes a router."""
import json
import pathlib
import re
import shutil
import subprocess
import time
import urllib.error
import urllib.parse
import urllib.request

from processes import BINARY, ROOT, free_port, wait_until

TOOLS = ROOT / "build/tools/usr/bin"
RULES = ROOT / "config/penstock.rules.yml"
RULES_TEST = pathlib.Path(__file__).with_name("penstock.rules.test.yml")
DASHBOARD = ROOT / "config/grafana/penstock.json"


def tool(name):
    """The path of promtool or prometheus, or None."""
    return shutil.which(name) or (str(TOOLS / name) if (TOOLS / name).exists() else None)


def reference_kinds():
    """(name, kind) of every metric of the reference."""
    text = subprocess.run([BINARY, "reference", "metrics"], capture_output=True, text=True, check=True, timeout=30).stdout
    return re.findall(r"^\| `(penstock_\w+)` \| (\w+) ", text, re.MULTILINE)


def reference_names():
    """Every metric of the reference, with the series that a histogram has."""
    names = set()
    for name, kind in reference_kinds():
        names |= {f"{name}_bucket", f"{name}_sum", f"{name}_count"} if kind == "histogram" else {name}
    assert len(names) > 80
    return names


def metrics_in(text):
    """The words penstock_... that are no part of a recorded name such as penstock_class:first_tokens."""
    return set(re.findall(r"(?<![\w:])penstock_\w+(?![\w:])", text))


def rules():
    """(kind, name, text) of each rule: kind is record or alert."""
    blocks = re.split(r"\n      - (?=record:|alert:)", "\n" + RULES.read_text())[1:]
    found = [(*re.match(r"(record|alert): (\S+)", block).groups(), block.split("\n  - name:")[0]) for block in blocks]
    assert len(found) > 30
    return found


def with_values(expression):
    """An expression of the dashboard with values for its variables."""
    expression = expression.replace("$__rate_interval", "10s")
    for variable in ("$instance", "$model", "$class", "$pool"):
        expression = expression.replace(variable, ".*")
    assert "$" not in expression, expression
    return expression


def panels():
    """(row, title, expressions) of each panel of the dashboard."""
    row = ""
    for panel in json.loads(DASHBOARD.read_text())["panels"]:
        if panel["type"] == "row":
            row = panel["title"]
        else:
            yield row, panel["title"], [with_values(target["expr"]) for target in panel["targets"]]


class Prometheus:
    """A real Prometheus with the configuration of the repository: only the interval and the address are the test's."""

    def __init__(self, folder, router):
        config = (ROOT / "config/prometheus.yml").read_text()
        config = config.replace("127.0.0.1:8080", f"127.0.0.1:{router.port}").replace(": 5s", ": 250ms")
        (folder / "prometheus.yml").write_text(config)
        shutil.copy(RULES, folder / RULES.name)
        self.port = free_port()
        self.log = open(folder / "prometheus.log", "wb")
        self.process = subprocess.Popen(
            [tool("prometheus"), f"--config.file={folder}/prometheus.yml", f"--storage.tsdb.path={folder}/data",
             f"--web.listen-address=127.0.0.1:{self.port}"], stdout=self.log, stderr=subprocess.STDOUT)

    def ask(self, path, **parameters):
        """The data of an answer of the API; an AssertionError with the reason when it is an error."""
        url = f"http://127.0.0.1:{self.port}/api/v1/{path}?{urllib.parse.urlencode(parameters)}"
        try:
            with urllib.request.urlopen(url, timeout=20) as answer:
                return json.load(answer)["data"]
        except urllib.error.HTTPError as error:
            if error.code == 503:
                raise ConnectionError("Prometheus still starts") from error
            raise AssertionError(f"{parameters}: {error.read().decode()}") from error

    def query(self, expression):
        return self.ask("query", query=expression, time=time.time())["result"]

    def wait_for(self, expression, seconds=30):
        """Waits until the expression has a sample."""

        def there():
            try:
                return self.query(expression)
            except OSError:
                return None

        return wait_until(there, seconds, f"samples of {expression}")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.terminate()
        self.process.wait(20)
        self.log.close()
