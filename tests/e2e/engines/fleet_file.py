"""Simulated engines from one configuration file: `penstock engine --config`."""
import json

from processes import Process, free_port, get

MODEL = "llama-3.1-8b"
GPUS = "gpus: [{id: g0, kind: a100-80}, {id: g1, kind: a100-80}]\n"


class FleetEngines(Process):
    """`lines` holds the replicas; {port0}, {port1} .. stand for free ports. `adapters` is of this file only."""

    def __init__(self, folder, lines, adapters=""):
        self.ports = [free_port() for _ in range(lines.count("{port"))]
        for number, port in enumerate(self.ports):
            lines = lines.replace(f"{{port{number}}}", str(port))
        self.replicas = GPUS + lines
        path = folder / f"engines-{self.ports[0]}.yml"
        path.write_text(adapters + self.replicas)
        super().__init__(["engine", "--config", str(path)], self.ports[0], folder / f"engines-{self.ports[0]}.log")
        try:
            self.wait_for("/health")
        except BaseException:
            self.kill()
            raise

    def page(self, path, engine=0):
        return get(("127.0.0.1", self.ports[engine]), path)[2]

    def models(self, engine=0):
        return [card["id"] for card in json.loads(self.page("/v1/models", engine))["data"]]
