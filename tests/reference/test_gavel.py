#!/usr/bin/env python3
"""FIFO and Gandiva on Gavel's traces against runs of Gavel's own simulator: within 3 %, or better."""
# ctest: fast timeout=120
import csv

from reference import Report, Workplace, data, sim

CLUSTER = "8x1:v100,16x1:p100,24x1:k80"
WORSE_MAX = 0.03


def peer_rows():
    with open(data("published/peer_runs_here.csv")) as rows:
        return {(r["configuration"], r["policy"]): r for r in csv.DictReader(rows) if r["simulator"] == "gavel"}


def main():
    report, peers = Report(), peer_rows()
    with Workplace() as work:
        table = work.unxz("gavel/simulation_throughputs.json.xz")
        for trace in ("max_min_fairness.trace", "minimize_makespan.trace"):
            for policy in ("fifo", "gandiva"):
                peer = peers[f"8:16:24 {trace}", policy]
                run, = sim(data(f"gavel/{trace}"), "--cluster", CLUSTER, "--profiles", table, "--policy", policy,
                           "--round", "360s", "--restart", "0s")
                report.check(run["finished"] == int(peer["jobs"]), f"{trace}, {policy}: {run['finished']} jobs")
                for figure in ("avg_jct_s", "makespan_s"):
                    ours, theirs = run[figure], float(peer[figure])
                    print(f"{trace:24} {policy:8} {figure:10} {ours:10.0f} s, Gavel {theirs:10.0f} s")
                    report.check(ours <= theirs * (1 + WORSE_MAX),
                                 f"{trace}, {policy}: {figure} {ours} is more than 3 % above {theirs}")
    report.end()


main()
