#!/usr/bin/env python3
"""Replays a chat trace against two real vLLM, directly and through Penstock, and measures Penstock's forecasts.

  scripts/real_env.sh vllm && bench/real_engines.py [--rates "0.5 1 2"] [--ways "direct penstock"] [--duration 90]
    [--trace FILE|generate:NAME] [--fresh]

Both vLLM run a small model of random weights on the CPU, with 8,192 tokens of KV memory each. A logits processor gives
each answer the length of the trace, which neither router nor engine knows before. Requests that do not fit into the
context are left out. The router starts anew for every run; the engines stay. The results are in build/bench/real_engines:
an interrupted bench goes on where it stopped, and --fresh starts over. A run at the defaults with the recorded
trace replaces the tables of bench/results/real-engines.md. The trace is azure23_conv_a.csv in PENSTOCK_TRACES, else a
generated workload of the same distributions.
"""
import argparse
import csv
import json
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile
import threading

ROOT = pathlib.Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT / "tests/real"), str(ROOT / "tests/e2e"), str(ROOT / "bench")]

import topics  # noqa: E402
from engines import CONTEXT, SEQUENCES, Vllm, installed, wait_until_up  # noqa: E402
from processes import BINARY, Router, replicas  # noqa: E402

OUT = ROOT / "build/bench/real_engines"
WAYS = ("direct", "penstock")
CLASSES = "classes: {standard: {ttft: 2s, tpot: 100ms, queue: 30s, default: true}}\n"
DRAIN = 30
LEARNT = 200  # Outputs that have ended: their successors show what the forecast has learnt.
LEVELS = ("p50", "p90", "p99")
PACE_SECONDS = 5
HORIZONS = ("1s", "10s", "60s")


def fitting_trace(folder, name):
    """The trace without the requests that no engine could hold."""
    if name.startswith("generate:"):
        return name
    kept = folder / "trace.csv"
    with open(name, newline="") as source, open(kept, "w", newline="") as target:
        rows = csv.DictReader(source)
        out = csv.DictWriter(target, rows.fieldnames)
        out.writeheader()
        for row in rows:
            if int(row["prompt_tokens"]) + int(row["output_tokens"]) < CONTEXT - 200:
                out.writerow({**row, "model": "tiny", "tenant": ""})
    return str(kept)


class Sampler:
    """Reads the forecasts of the router once a second, and the engines' own pace now and then."""

    def __init__(self, router, engines):
        self.router, self.engines = router, engines
        self.pools = {horizon: [] for horizon in HORIZONS}
        self.pace = []  # Forecast over observed time per token, minus one.
        self.learnt = None  # The counters of coverage once LEARNT outputs have ended.
        self.stopped = threading.Event()
        self.thread = threading.Thread(target=self.run, daemon=True)
        self.thread.start()

    def run(self):
        last, second = {}, 0
        while not self.stopped.wait(1):
            second += 1
            page = self.router.metrics()
            for name, labels, value in page.samples:
                if name == "penstock_pool_forecast_error_ratio" and labels["horizon"] in self.pools:
                    self.pools[labels["horizon"]].append(value)
            if self.learnt is None and page.sum("penstock_output_forecasts_total") >= LEARNT:
                self.learnt = covered(page)
            # A prompt stalls an engine for a moment: its pace is a mean over seconds.
            for engine in self.engines if second % PACE_SECONDS == 0 else []:
                metrics = engine.metrics()
                now = [metrics.sum("vllm:inter_token_latency_seconds_" + part) for part in ("sum", "count")]
                replica = f"127.0.0.1:{engine.port}"
                if replica in last:
                    (seconds, tokens), forecast = last[replica]
                    if now[1] - tokens >= 50 and forecast > 0:
                        self.pace.append((now[1] - tokens) / (now[0] - seconds) / forecast - 1)
                last[replica] = now, page.sum("penstock_replica_stream_tokens_per_second", replica=replica)

    def stop(self):
        self.stopped.set()
        self.thread.join()


def covered(metrics):
    """The number of outputs that have ended, and of those within each level of their forecast."""
    return {"outputs": metrics.sum("penstock_output_forecasts_total"),
            **{level: metrics.sum("penstock_output_forecasts_covered_total", level=level) for level in LEVELS}}


def coverage(after, before):
    """The shares of outputs within their forecasts, between two readings; null without any output."""
    outputs = after["outputs"] - before["outputs"]
    return {level: (after[level] - before[level]) / outputs if outputs else None for level in LEVELS}


def forecasts(router, sampler):
    metrics = router.metrics()
    now = covered(metrics)
    prompts = metrics.sum("penstock_prompt_estimate_ratio_count")
    return {
        "outputs": now["outputs"], "coverage": coverage(now, dict.fromkeys(now, 0)),
        "coverage_after_200": coverage(now, sampler.learnt or now),
        "prompt_ratio": metrics.sum("penstock_prompt_estimate_ratio_sum") / prompts if prompts else None,
        "pace": spread(sampler.pace), "pools": {horizon: spread(errors) for horizon, errors in sampler.pools.items()},
    }


def spread(errors):
    """(median, 90 % of the sizes) of relative errors; null without any."""
    if len(errors) < 2:
        return None
    return statistics.median(errors), statistics.quantiles([abs(error) for error in errors], n=10)[8]


def measure(folder, engines, trace, way, rate, duration):
    load = [BINARY, "load", "--trace", trace, "--rate", str(rate), "--duration", f"{duration}s", "--model", "tiny",
            "--ttft", "2s", "--tpot", "100ms", "--drain", f"{DRAIN}s", "--json"]
    before = sum(engine.metrics().sum("vllm:generation_tokens_total") for engine in engines)

    def run(*target):
        done = subprocess.run([*load, *target], stdout=subprocess.PIPE, timeout=duration + DRAIN + 60, check=False)
        assert done.returncode in (0, 1) and done.stdout, done.returncode  # 1: requests failed, which the result counts.
        return json.loads(done.stdout)

    if way == "direct":
        result = run("--direct", ",".join(engine.url for engine in engines))
    else:
        config = replicas(engines, max_seqs=SEQUENCES) + CLASSES
        with Router(folder, config=config) as router:
            wait_until_up(router, len(engines))
            sampler = Sampler(router, engines)
            try:
                result = run("--url", router.url)
            finally:
                sampler.stop()
            result["forecasts"] = forecasts(router, sampler)
    result["generated"] = sum(engine.metrics().sum("vllm:generation_tokens_total") for engine in engines) - before
    result["load_average"] = os.getloadavg()[0]
    return result


def share(value):
    return "-" if value is None else f"{100 * value:.1f} %"


def load_rows(results):
    yield "| rate | way | offered | active tokens/s | on time | refused | wait of the refused p50 / p90 | failed | preemptions | TTFT p50 / p99 | generated tokens | load average |"
    yield "|---:|---|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|"
    for (rate, way), r in results.items():
        ttft, wait = r["ttft_s"] or {"p50": 0, "p99": 0}, r["refused_wait_s"]
        heard = "-" if not wait or wait["p50"] is None else f"{wait['p50']:.2f} / {wait['p90']:.2f} s"
        yield (f"| {rate}x | {way} | {r['offered']} | {r['active_tokens_per_s']:.1f} | {share(r['on_time_share'])} | "
               f"{sum(r['refused'].values())} | {heard} | {sum(r['failed'].values())} | {r['preemptions']} | "
               f"{ttft['p50']:.2f} / {ttft['p99']:.2f} s | {r['generated']:.0f} | {r['load_average']:.1f} |")


def forecast_rows(results):
    yield ("| rate | outputs | p50 covers | p90 covers | p99 covers | the same after 200 outputs | prompt estimate | "
           "pace: median, p90 | pool 1 s | pool 10 s | pool 60 s |")
    yield "|---:|---:|---:|---:|---:|---|---:|---:|---:|---:|---:|"

    def both(pair):
        return "-" if pair is None else f"{100 * pair[0]:+.1f} %, {100 * pair[1]:.1f} %"

    for (rate, way), r in results.items():
        if way != "penstock":
            continue
        f = r["forecasts"]
        ratio = "-" if f["prompt_ratio"] is None else f"{f['prompt_ratio']:.3f}"
        levels = " | ".join(share(f["coverage"][level]) for level in LEVELS)
        later = ", ".join(share(f["coverage_after_200"][level]) for level in LEVELS)
        yield (f"| {rate}x | {f['outputs']:.0f} | {levels} | {later} | {ratio} | {both(f['pace'])} | "
               + " | ".join(both(f["pools"][horizon]) for horizon in HORIZONS) + " |")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    recorded = pathlib.Path(os.environ.get("PENSTOCK_TRACES", ROOT.parent / "shared/traces")) / "azure23_conv_a.csv"
    parser.add_argument("--rates", default="0.5 1 2")
    parser.add_argument("--ways", default=" ".join(WAYS))
    parser.add_argument("--duration", type=int, default=90)
    parser.add_argument("--fresh", action="store_true", help="measure again although there are results")
    parser.add_argument("--trace", default=str(recorded) if recorded.exists() else "generate:azure-conv")
    options = parser.parse_args()
    if not installed("vllm"):
        sys.exit("run scripts/real_env.sh vllm first")
    results = {}
    OUT.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="penstock-real-") as name:
        folder = pathlib.Path(name)
        trace = fitting_trace(folder, options.trace)
        with Vllm(folder, "vllm-a") as a, Vllm(folder, "vllm-b") as b:
            engines = [a.wait(), b.wait()]
            # The engines' first requests are slower; they are not the router's affair.
            measure(folder, engines, trace, "direct", 1, 5)
            for rate in options.rates.split():
                for way in options.ways.split():
                    kept = OUT / f"{pathlib.Path(options.trace).stem}-{options.duration}s-{rate}x-{way}.json"
                    if options.fresh or not kept.exists():
                        print(f"measuring {way} at {rate}x for {options.duration} s", file=sys.stderr)
                        kept.write_text(json.dumps(measure(folder, engines, trace, way, rate, options.duration)))
                    results[rate, way] = json.loads(kept.read_text())
    load, forecast = list(load_rows(results)), list(forecast_rows(results))
    print("\n".join([*load, "", *forecast]))
    if set(sys.argv[1:]) <= {"--fresh"} and recorded.exists():
        said = topics.statement("bench/real_engines.py")
        topics.write("real-engines", "load", [said, "", *load])
        topics.write("real-engines", "forecast", [said, "", *forecast])


if __name__ == "__main__":
    main()
