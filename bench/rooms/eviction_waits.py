"""Why the slowest interactive requests beside jobs wait: bench/eviction.sh writes it to bench/results/eviction.md.

It reads event logs of bench/scenarios/jobs.yaml. The slowest hundredth of each seed is compared with the same requests on
an empty fleet. The delay of a request is what its engine did for jobs from the start of the burst to the first token.
"""

import collections
import pathlib
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from eviction import CONFIG, RATES  # noqa: E402
from simulator import over_seeds, simulate  # noqa: E402

SEEDS = (1, 2, 3)
INTERACTIVE, BACKGROUND = 0, 2
MEMORY = 5   # WaitReason::kMemory in the log.
QUIET = 3       # Seconds between two bursts, at least.


def seconds(text):
    return int(text) / 1e9


class Log:
    def __init__(self, trace, rate, seed):
        self.requests, self.steps, self.costs = {}, collections.defaultdict(list), []
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "log"
            simulate(CONFIG, f"generate:{trace}", rate=rate, seed=seed, duration="600s", log=path)
            with open(path) as lines:
                for line in lines:
                    kind, at, name, *fields = line.split()
                    getattr(self, f"{kind}_{name.replace('-', '_')}", lambda *_: None)(seconds(at), fields)

    def event_fleet_changed(self, _, fields):
        for start, field in enumerate(fields):
            if field.startswith("'r"):
                first = next((i for i in range(start, len(fields)) if "." in fields[i]), None)
                if first is not None and len(self.costs) < 2:
                    self.costs.append([float(each) for each in fields[first:first + 4]])

    def event_arrived(self, at, fields):
        self.requests[int(fields[0])] = {"at": at, "class": int(fields[2]), "prompt": int(fields[4]), "sent": None,
                                         "first": None, "end": 1e9, "output": 0, "memory": False, "aborts": 0}

    def event_first_token(self, at, fields):
        request = self.requests[int(fields[0])]
        request["first"] = request["first"] or at

    def event_closed(self, at, fields):
        self.requests[int(fields[0])].update(end=at, output=int(fields[3]))

    def event_progress(self, at, fields):
        for i in range(int(fields[0])):
            self.steps[int(fields[1 + 4 * i])].append((at, int(fields[2 + 4 * i])))

    def action_forward(self, at, fields):
        request = self.requests[int(fields[0])]
        if request["sent"] is None:
            request.update(sent=at, replica=int(fields[1]))

    def action_park(self, _, fields):
        self.requests[int(fields[0])]["memory"] |= int(fields[1]) == MEMORY

    def action_abort(self, _, fields):
        self.requests[int(fields[0])]["aborts"] += 1

    def of(self, service_class):
        return sorted((request for request in self.requests.values() if request["class"] == service_class and request["first"]),
                      key=lambda request: request["at"])


def delays(log, request, begin, jobs):
    """Seconds of the engine for prompts of jobs before the burst and in it, and for their rows."""
    end, (_, per_row, per_context, per_token) = request["first"], log.costs[request["replica"]]
    steps = sum(count for at, count in log.steps[request["replica"]] if begin <= at <= end)
    before = within = rows = 0
    for job in jobs:
        if job["replica"] != request["replica"] or job["sent"] >= end or job["end"] <= begin:
            continue
        if job["first"] > begin:
            share = max(0, min(job["prompt"] * per_token / 1e3, min(job["first"], end) - max(begin, job["sent"])))
            before, within = (before + share, within) if job["sent"] < begin else (before, within + share)
        if job["first"] < end:
            part = (min(end, job["end"]) - max(begin, job["first"])) / (end - begin)
            rows += part * steps * (per_row + per_context * (job["prompt"] + job["output"] / 2) / 1e3) / 1e3
    return before, within, rows


def slowest(rate, seed):
    alone, log = Log("users", rate, seed), Log("jobs", rate, seed)
    same = {round(request["at"], 7): request for request in alone.of(INTERACTIVE)}
    users, jobs, begin, last, begins = log.of(INTERACTIVE), log.of(BACKGROUND), 0, -QUIET, {}
    for request in users:
        begin = request["at"] if request["at"] - last > QUIET else begin
        begins[id(request)], last = begin, request["at"]
    worst = sorted(users, key=lambda request: request["at"] - request["first"])[:len(users) // 100]
    aborts = sum(job["aborts"] for job in jobs)
    return [(request["first"] - request["at"], same[round(request["at"], 7)]["first"] - request["at"], request["memory"], aborts,
             *delays(log, request, begins[id(request)], jobs)) for request in worst]


def main():
    print("| rate | TTFT | on an empty fleet | waited for memory | jobs evicted | prompts of jobs before the burst | in it "
          "| rows of jobs |")
    print("|---:|---:|---:|---:|---:|---:|---:|---:|")
    for (rate,), found in over_seeds(slowest, [(rate,) for rate in RATES], SEEDS):
        rows = [row for rows in found for row in rows]
        ttft, empty, memory, aborts, *parts = (sum(column) / len(rows) for column in zip(*rows))
        cells = [f"{rate:g}", f"{ttft:.3f} s", f"{empty:.3f} s", f"{100 * memory:.0f} %", f"{aborts:.0f}",
                 *(f"{1000 * part:.0f} ms" for part in parts)]
        print("| " + " | ".join(cells) + " |", flush=True)


if __name__ == "__main__":
    main()
