#!/usr/bin/env python3
"""Every trace published with Gavel loads and runs to its end.

The Philly-shaped traces ask for some (model, GPUs) that the published throughput table does not have: that is said in
words, and without those jobs they run."""
# ctest: full timeout=300
import ast
import json
import subprocess

from reference import DATA, SHOAL, Report, Workplace, data, sim

CLUSTER = "36x4:v100,36x4:p100,36x4:k80"


def known_rows(table):
    with open(table) as text:
        return {ast.literal_eval(row) for row in json.load(text)["v100"]}


def known_lines(trace, rows):
    """The lines the table has a row for, and whether there are others."""
    lines = trace.read_text().splitlines(keepends=True)
    kept = [l for l in lines if (l.split("\t")[0], int(l.split("\t")[6])) in rows]
    return kept, len(kept) < len(lines)


def refused_in_words(trace, table, report):
    result = subprocess.run([SHOAL, "sim", trace, "--cluster", CLUSTER, "--profiles", table],
                            capture_output=True, text=True, timeout=60)
    report.check(result.returncode == 1 and "has no row for" in result.stderr and "GPUs in" in result.stderr,
                 f"{trace.name}: {result.returncode}, {result.stderr}")


def main():
    report, refused = Report(), 0
    data("gavel/max_min_fairness.trace")
    with Workplace() as work:
        table = work.unxz("gavel/simulation_throughputs.json.xz")
        work.unpack("gavel/msr_traces_seed0.tar.xz")
        rows = known_rows(table)
        traces = sorted((DATA / "gavel").glob("*.trace")) + sorted(work.folder.glob("msr/**/*.trace"))
        report.check(len(traces) >= 20, f"only {len(traces)} traces")
        for trace in traces:
            kept, more = known_lines(trace, rows)
            if more:
                refused_in_words(trace, table, report)
                refused += 1
                trace = work.folder / trace.name
                trace.write_text("".join(kept))
            run, = sim(trace, "--cluster", CLUSTER, "--profiles", table, "--policy", "las", "--round", "360s")
            report.check(run["jobs"] == len(kept), f"{trace.name}: {run['jobs']} jobs of {len(kept)} lines")
            report.ended(run, trace.name)
    print(f"{len(traces)} traces, {refused} of them with jobs the table does not know")
    report.end()


main()
