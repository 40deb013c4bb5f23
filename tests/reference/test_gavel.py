#!/usr/bin/env python3
"""Gavel's traces, policy by policy, against runs of Gavel's own simulator: within 3 %, or better.

Average completion time, makespan and, where the peer has it, the worst finish-time fairness: a job's time over its
time on an n-th of every kind, n the average number of jobs during its life."""
# ctest: fast timeout=300
import csv
import json

from gavel_gen import POLICIES, finish_times
from reference import SHOAL, Report, Workplace, data, sim

CLUSTER = "8x1:v100,16x1:p100,24x1:k80"
GPUS = {"v100": 8, "p100": 16, "k80": 24}
OPTIONS = ("--cluster", CLUSTER, "--round", "360s", "--restart", "0s")
OTHERS = {"fifo": ("fifo", "fifo-types")}  # held to the same peer
WORSE_MAX = 0.03


def peer_rows():
    with open(data("published/peer_runs_here.csv")) as rows:
        for row in csv.DictReader(rows):
            if row["simulator"] == "gavel" and row["configuration"].startswith("8:16:24 "):
                yield row["configuration"].split()[1], row


class Live:
    """How many jobs there are over time."""

    def __init__(self, arrivals, ends):
        changes = sorted([(t, 1) for t in arrivals] + [(t, -1) for t in ends])
        self.steps, count = [], 0
        for t, change in changes:
            self.steps.append((t, count))  # so many until t
            count += change

    def average(self, since, until):
        area, before = 0, None
        for t, count in self.steps:
            if before is not None:
                area += count * max(0, min(t, until) - max(before, since))
            before = t
        return area / (until - since)


def alone_s(rates, steps, gpus, n):
    """Seconds on an n-th of the cluster: a share of time on every kind, at most all of its time."""
    shares = {kind: count / n / gpus for kind, count in GPUS.items()}
    total = max(1, sum(shares.values()))
    return steps / sum(rates[kind] * share / total for kind, share in shares.items())


def worst_rho(trace, table, ends):
    with open(trace) as lines:
        jobs = [line.rstrip("\n").split("\t") for line in lines]
    arrivals = [float(job[9]) for job in jobs]
    live = Live(arrivals, ends.values())
    worst = 0
    for index, job in enumerate(jobs):
        rates = {kind: table[kind][f"('{job[0]}', {job[6]})"]["null"] for kind in GPUS}
        n = live.average(arrivals[index], ends[index])
        worst = max(worst, (ends[index] - arrivals[index]) / alone_s(rates, float(job[5]), int(job[6]), n))
    return worst


def compare(report, trace, policy, peer, path, table):
    options = ("--profiles", path, *OPTIONS)
    run, = sim(trace, "--policy", policy, *options)
    report.check(run["finished"] == int(peer["jobs"]), f"{trace.name}, {policy}: {run['finished']} jobs")
    figures = [("avg_jct_s", run["avg_jct_s"]), ("makespan_s", run["makespan_s"])]
    if peer["worst_rho"]:
        figures.append(("worst_rho", worst_rho(trace, table, finish_times(SHOAL, trace, policy, *options))))
    for name, ours in figures:
        theirs = float(peer[name])
        print(f"{trace.name:24} {policy:22} {name:10} {ours:10.8g}, Gavel {theirs:10.8g}, {ours / theirs:.3f}")
        report.check(ours <= theirs * (1 + WORSE_MAX),
                     f"{trace.name}, {policy}: {name} {ours} is more than 3 % above {theirs}")


def main():
    report = Report()
    with Workplace() as work:
        path = work.unxz("gavel/simulation_throughputs.json.xz")
        table = json.loads(path.read_text())
        for trace, peer in peer_rows():
            for policy in (POLICIES[peer["policy"]], *OTHERS.get(peer["policy"], ())):
                compare(report, data(f"gavel/{trace}"), policy, peer, path, table)
    report.end()


main()
