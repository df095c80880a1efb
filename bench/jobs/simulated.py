"""A job beside interactive load in virtual time: the tables `simulated`, `day` and `held` of bench/results/jobs/jobs.md.

The fleet and the requests are those of jobs.py: two engines, streams at 4 per second, and more lines than the engines can
take. The share of the idle tokens is the rest of all tokens over the tokens of the job alone less those of the streams alone.
In the table `day` the rate of the streams rises from none to --peak and falls again, in each of two short days.
In the table `held` a job that a trough could hold comes in the shoulder before the first peak. It runs at once, or it
waits for the trough behind the peak.
"""

import argparse
import math
import pathlib
import random
import statistics
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from simulator import in_parallel, simulate  # noqa: E402

RATE, LINES_PER_SECOND = 4, 64
DAY_SECONDS, DAYS, BIN_SECONDS = 600, 2, 20
SHORT_JOB, SHOULDER, TROUGH = 9000, 150, 510  # Lines, and seconds.

FLEET = """gpus: [{id: gpu0, kind: a100-80}, {id: gpu1, kind: a100-80}]
replicas:
  - {id: r0, gpus: [gpu0], model: llama-3.1-8b, kv_tokens: 60000, max_seqs: 64, simulated: {max_seqs: 64}}
  - {id: r1, gpus: [gpu1], model: llama-3.1-8b, kv_tokens: 60000, max_seqs: 64, simulated: {max_seqs: 64}}
classes:
  interactive: {ttft: 60s, tpot: 10s, queue: 600s, default: true}
  jobs: {}
trace: {models: {"": llama-3.1-8b}}
"""


def streams(seed, seconds):
    chance = random.Random(seed)
    at = chance.expovariate(RATE)
    while at < seconds:
        yield at, "interactive", min(5000, int(chance.lognormvariate(6, 1))) + 12, chance.randrange(20, 80)
        at += chance.expovariate(RATE)


def streams_of_days(peak):
    """A rate that rises and falls: of the arrivals at the highest rate each stays with the chance of its time."""
    def arrivals(seed, seconds):
        chance = random.Random(seed)
        at = chance.expovariate(peak)
        while at < seconds:
            prompt, output = min(5000, int(chance.lognormvariate(6, 1))) + 12, chance.randrange(20, 80)
            if chance.random() < (1 - math.cos(2 * math.pi * at / DAY_SECONDS)) / 2:
                yield at, "interactive", prompt, output
            at += chance.expovariate(peak)
    return arrivals


def lines(seed, begin, count):
    chance = random.Random(seed + 1000)
    for i in range(count):
        yield begin + max(0, i - 150) / LINES_PER_SECOND, "jobs", chance.randrange(115, 315), 100


def run(folder, name, policy, seed, seconds, arrivals=streams, job=None, log=None):
    """`job`: the first second and the number of its lines; else it has too many lines for the time."""
    trace = pathlib.Path(folder) / f"{name}-{seed}.csv"
    begin, count = job or (0, LINES_PER_SECOND * seconds)
    rows = [*(arrivals(seed, seconds) if name != "job" else []), *(lines(seed, begin, count) if name != "alone" else [])]
    trace.write_text("arrival_s,model,tenant,prompt_tokens,output_tokens,class,max_output\n" + "".join(
        f"{at:.6f},,{kind},{prompt},{output},{kind},{output}\n" for at, kind, prompt, output in sorted(rows)))
    return simulate(f"{folder}/fleet.yaml", trace, duration=f"{seconds}s", policy=policy, seed=seed, log=log)


def tokens_by_time(log):
    """Output tokens per class and bin, by the end of their request; and (arrival, TTFT) of the streams."""
    bins = {"interactive": [0] * (DAYS * DAY_SECONDS // BIN_SECONDS), "jobs": [0] * (DAYS * DAY_SECONDS // BIN_SECONDS)}
    arrived, ttft = {}, []
    for line in open(log):
        source, at, kind, *words = line.split()
        if source != "event":
            continue
        at = int(at) / 1e9
        if kind == "arrived":
            arrived[words[0]] = ("interactive" if words[2] == "0" else "jobs", at)
        elif kind == "first-token" and arrived[words[0]][0] == "interactive":
            ttft.append((arrived[words[0]][1], at - arrived[words[0]][1]))
        elif kind == "closed" and at < DAYS * DAY_SECONDS:
            bins[arrived[words[0]][0]][int(at / BIN_SECONDS)] += int(words[3])
    return bins, ttft


def day(seeds, peak):
    """The tokens of a job in the quarters of a day, from the least busy to the busiest. A seed is as further days."""
    found = {}
    with tempfile.TemporaryDirectory(prefix="penstock-jobs-") as folder:
        (pathlib.Path(folder) / "fleet.yaml").write_text(FLEET)
        for name in ("alone", "job", "beside"):
            found[name] = {"interactive": [], "jobs": []}, []
            for seed in seeds:
                log = f"{folder}/{name}.log"
                run(folder, name, "penstock", seed, DAYS * DAY_SECONDS, streams_of_days(peak), log=log)
                before = len(found[name][0]["jobs"]) * BIN_SECONDS
                bins, ttft = tokens_by_time(log)
                for kind, tokens in bins.items():
                    found[name][0][kind].extend(tokens)
                found[name][1].extend((before + at, took) for at, took in ttft)
    own, both = found["alone"][0]["interactive"], found["beside"][0]
    full = sum(found["job"][0]["jobs"]) / len(own)
    order = sorted(range(len(own)), key=lambda i: own[i])
    print("| quarter of the time | streams, tokens/s | job, tokens/s | of the job's tokens | of the idle tokens | p99 TTFT over alone |")
    print("|---|---:|---:|---:|---:|---:|")
    for number, name in enumerate(("least busy", "second", "third", "busiest")):
        part = order[number * len(own) // 4:(number + 1) * len(own) // 4]
        stream, job = (sum(tokens[i] for i in part) / len(part) for tokens in (own, both["jobs"]))
        slow = [p99([took for at, took in found[each][1] if int(at / BIN_SECONDS) in part]) for each in ("alone", "beside")]
        print(f"| {name} | {stream / BIN_SECONDS:.0f} | {job / BIN_SECONDS:.0f} | {100 * job * len(part) / sum(both['jobs']):.1f} % "
              f"| {100 * job / (full - stream):.1f} % | {100 * (slow[1] / slow[0] - 1):+.1f} % |")


def p99(took):
    return statistics.quantiles(took, n=100)[98]


def held(seeds, peak):
    """A short job that runs at once, over a peak, and the same job in the trough behind the peak."""
    jobs = {"alone": None, "at once": (SHOULDER, SHORT_JOB), "held": (TROUGH, SHORT_JOB)}

    def one(name, seed):
        log = f"{folder}/{name}-{seed}.log"
        run(folder, name, "penstock", seed, DAYS * DAY_SECONDS, streams_of_days(peak), jobs[name], log)
        bins, ttft = tokens_by_time(log)
        pathlib.Path(log).unlink()
        ran = [i * BIN_SECONDS for i, tokens in enumerate(bins["jobs"]) if tokens]
        return ran, [took for at, took in sorted(ttft)], [at for at, took in sorted(ttft)]

    with tempfile.TemporaryDirectory(prefix="penstock-jobs-") as folder:
        (pathlib.Path(folder) / "fleet.yaml").write_text(FLEET)
        runs = dict(in_parallel(one, [(name, seed) for name in jobs for seed in seeds]))
    print("| job | the job runs, s | streams beside it | their p99 TTFT over alone | p99 TTFT of all streams | over alone, by seed | mean |")
    print("|---|---:|---:|---:|---:|---:|---:|")
    for name in jobs:
        all_p99, moved, beside, near = [], [], [], []
        for seed in seeds:
            ran, took, at = runs[name, seed]
            alone = runs["alone", seed][1]
            all_p99.append(p99(took))
            moved.append(100 * (p99(took) / p99(alone) - 1))
            if not ran:
                continue
            inside = [i for i, when in enumerate(at) if ran[0] <= when < ran[-1] + BIN_SECONDS]
            beside.append(len(inside))
            near.append(100 * (p99([took[i] for i in inside]) / p99([alone[i] for i in inside]) - 1))
        when = f"{ran[0]} to {ran[-1] + BIN_SECONDS} | {statistics.mean(beside):.0f} | {statistics.mean(near):+.1f} %" if ran else "| |"
        print(f"| {name} | {when} | {statistics.mean(all_p99):.3f} s | {', '.join(f'{x:+.1f}' for x in moved)} % | "
              f"{statistics.mean(moved):+.1f} % |")


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--day", action="store_true", help="the table `day`, of the first three seeds")
    parser.add_argument("--held", action="store_true", help="the table `held`, of the first four seeds")
    parser.add_argument("--peak", type=float, default=16, help="streams per second in the middle of a day")
    parser.add_argument("--seconds", type=int, default=300)
    parser.add_argument("--seeds", type=int, default=12)
    parser.add_argument("--policies", nargs="+", default=["penstock", "penstock:without=newcomers"])
    options = parser.parse_args()
    if options.day:
        return day(range(1, min(options.seeds, 3) + 1), options.peak)
    if options.held:
        return held(range(1, min(options.seeds, 4) + 1), options.peak)
    seeds = range(1, options.seeds + 1)
    keys = [("alone", "penstock"), ("job", "penstock"), *(("beside", policy) for policy in options.policies)]
    runs = [(name, policy, seed) for name, policy in keys for seed in seeds]
    with tempfile.TemporaryDirectory(prefix="penstock-jobs-") as folder:
        (pathlib.Path(folder) / "fleet.yaml").write_text(FLEET)
        results = dict(in_parallel(lambda *each: run(folder, *each, options.seconds), runs))
    print("| policy | p99 TTFT over alone, by seed | mean | p50 over alone | of the idle tokens |")
    print("|---|---|---:|---:|---:|")
    for policy in options.policies:
        p99, p50, idle = [], [], []
        for seed in seeds:
            alone, job, both = results["alone", "penstock", seed], results["job", "penstock", seed], results["beside", policy, seed]
            before, now = alone["per_class"]["interactive"]["ttft_s"], both["per_class"]["interactive"]["ttft_s"]
            p99.append(100 * (now["p99"] / before["p99"] - 1))
            p50.append(1000 * (now["p50"] - before["p50"]))
            own = alone["total_tokens_per_s"]
            idle.append(100 * (both["total_tokens_per_s"] - own) / (job["total_tokens_per_s"] - own))
        print(f"| `{policy}` | {', '.join(f'{x:+.1f}' for x in p99)} % | {statistics.mean(p99):+.1f} % | "
              f"{statistics.mean(p50):+.1f} ms | {statistics.mean(idle):.1f} % |")


if __name__ == "__main__":
    main()
