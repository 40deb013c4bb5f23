#!/usr/bin/env python3
"""Tiresias on Pollux's workloads against the completion times published with Pollux (OSDI 2021), job by job."""
# ctest: full timeout=180
import csv
import json

from reference import Report, Workplace, sim

WORKLOADS, LOADS = range(1, 7), ("0.5", "1.0", "1.5", "2.0")
DEVIATION_MAX = 0.005  # of any job; 4,796 of the 4,800 jobs are equal
WORKLOAD_6 = 3469.69375  # average at load 1.0, as the authors' simulator gives


def finish_times(events):
    with open(events) as lines:
        ends = (json.loads(line) for line in lines if '"job.finished"' in line)
        return {e["job"]: e["t"] for e in ends}


def compare(work, load, number, published, report):
    folder = work.folder / ("workloads" if load == "1.0" else f"workloads-{load}")
    trace, events = folder / f"workload-{number}.csv", work.folder / "events.jsonl"
    run, = sim(trace, "--cluster", "16x4:t4", "--profiles", work.folder / "traces", "--policy", "tiresias",
               "--round", "60s", "--events", events)
    with open(trace) as rows:
        submitted = {row["name"]: float(row["time"]) for row in csv.DictReader(rows)}
    ends, theirs, equal = finish_times(events), published["jcts"][f"workload-{number}"], 0
    report.check(ends.keys() == theirs.keys(), f"load {load}, workload {number}: other jobs finished")
    for job in ends.keys() & theirs.keys():
        ours = ends[job] - submitted[job]
        equal += ours == theirs[job]
        report.check(abs(ours - theirs[job]) <= DEVIATION_MAX * theirs[job],
                     f"load {load}, workload {number}, {job}: {ours} s, published {theirs[job]} s")
    if (load, number) == ("1.0", 6):
        report.check(run["avg_jct_s"] == WORKLOAD_6, f"workload 6: average {run['avg_jct_s']}, not {WORKLOAD_6}")
    return len(ends), equal


def main():
    report, jobs, equal = Report(), 0, 0
    with Workplace() as work:
        for part in ("workloads", "profiles", "results_jcts"):
            work.unpack(f"pollux/pollux_osdi21_{part}.tar.xz")
        for load in LOADS:
            published = json.loads((work.folder / f"results-jobload/tiresias-{load}/summary.json").read_text())
            for number in WORKLOADS:
                n, same = compare(work, load, number, published, report)
                jobs, equal = jobs + n, equal + same
    report.check(jobs == 4800, f"{jobs} jobs, not 4800")
    report.check(equal >= 4780, f"only {equal} of {jobs} jobs equal")
    print(f"{equal} of {jobs} completion times are equal to the published ones")
    report.end()


main()
