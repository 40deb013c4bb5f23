#!/usr/bin/env python3
"""Gavel's published completion times by rate of arrival, and makespans, on the workloads its generator draws: within
5 %, or better.

Some rates of each table; `bench/run SHOAL sim-gavel-rates sim-gavel-makespan` does all of them. With arguments: only
the policies named, as Gavel names them, at every published rate."""
# ctest: night timeout=1800
import itertools
import os
import sys
from concurrent.futures import ThreadPoolExecutor

from gavel_gen import MAKESPAN_SEEDS, MAKESPANS, POLICIES, WINDOW, Runner, draw_jobs, published_rates
from reference import SHOAL, Report, Workplace, data

WORSE_MAX = 0.05
# By whether there are gangs: from idle to more than the cluster can do. Five minutes of CPU in all.
RATES = {False: (0.4, 2.8, 4.0, 4.4, 5.2, 6.0), True: (0.2, 0.8, 1.6, 2.2, 2.6, 3.0)}
JOBS = (100, 400)
OTHERS = ("gandiva", "allox")  # in the tables of completion times, but not held to them


def published():
    return published_rates(data("published/gavel_notebook_jct_by_rate.csv"))


def check_draws(report):
    """On an idle cluster Gavel's gandiva runs every job on V100s, so its completion times are what was drawn and a short
    wait for the next round."""
    for multi, rate in ((False, 0.4), (True, 0.2)):
        drawn = [seconds for _, _, seconds in itertools.islice(draw_jobs(0, multi), WINDOW.stop)]
        ratio = sum(drawn[WINDOW.start:]) / len(WINDOW) / 3600 / published()[multi, "gandiva", rate]
        report.check(0.985 < ratio < 1, f"what is drawn is {ratio} of what Gavel drew")


def rate_cases(only):
    """(what, published, how to get ours), one per cell of the tables."""
    for (multi, name, rate), theirs in sorted(published().items()):
        if name in only or (not only and name not in OTHERS and rate in RATES[multi]):
            yield (f"{'multi' if multi else 'single'}, {rate} jobs/h", name, theirs,
                   lambda runner, policy, rate=rate, multi=multi: runner.window_hours(policy, rate, 0, multi))


def makespan_cases(only):
    for name, row in MAKESPANS.items():
        for count, theirs in row.items():
            if name in only or (not only and count in JOBS):
                yield (f"makespan, {count} jobs", name, theirs,
                       lambda runner, policy, count=count: sum(runner.makespan_hours(policy, count, seed)
                                                               for seed in MAKESPAN_SEEDS) / len(MAKESPAN_SEEDS))


def main():
    report, only = Report(), sys.argv[1:]
    unknown = [name for name in only if name not in POLICIES]
    if unknown:
        sys.exit(f"unknown policy {unknown[0]!r}; known: {', '.join(POLICIES)}")
    check_draws(report)
    with Workplace() as work, ThreadPoolExecutor(os.cpu_count()) as pool:
        runner = Runner(SHOAL, work.unxz("gavel/simulation_throughputs.json.xz"), work.folder)
        cases = [*rate_cases(only), *makespan_cases(only)]
        results = pool.map(lambda case: case[3](runner, POLICIES[case[1]]), cases)
        for (what, name, theirs, _), ours in zip(cases, results):
            ratio = ours / theirs if ours is not None else float("inf")
            print(f"{what:22} {POLICIES[name]:24} {ours or ratio:8.2f} h, Gavel {theirs:8.2f} h, {ratio:.3f}",
                  flush=True)
            report.check(ratio <= 1 + WORSE_MAX, f"{what}, {POLICIES[name]}: {ours} h, Gavel {theirs} h")
    report.end()


main()
