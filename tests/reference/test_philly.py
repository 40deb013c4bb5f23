#!/usr/bin/env python3
"""The 82,247 jobs of the Philly list run under las with locality on a cluster of their size; all end."""
# ctest: full timeout=300
from reference import Report, Workplace, sim


def main():
    report = Report()
    with Workplace() as work:
        trace = work.unxz("philly/philly_jobs.csv.xz")
        run, = sim(trace, "--cluster", "321x2:p100,231x8:p100", "--policy", "las",
                   "--set", "locality=strict", "--set", "relax=10m")
    print(run)
    report.ended(run, "philly")
    report.check(run["jobs"] > 80000, f"{run['jobs']} jobs")
    report.check(run["rejected"] == 0, f"{run['rejected']} rejected")
    report.end()


main()
