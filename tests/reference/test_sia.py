#!/usr/bin/env python3
"""Sia's workloads and profiles load, bind and run on its mixed cluster."""
# ctest: fast timeout=300
from reference import Report, Workplace, sim


def main():
    report = Report()
    with Workplace() as work:
        for part in ("profiles", "workloads"):
            work.unpack(f"sia/sia_sosp23_{part}.tar.xz")
        for name in ("philly/workload-1", "saturn/workload-1"):
            runs = sim(work.folder / f"workloads/{name}.csv", "--cluster", "6x4:t4,3x8:rtx,2x8:a100",
                       "--profiles", work.folder / "traces", "--policy", "tiresias,las")
            for run in runs:
                report.ended(run, f"{name}, {run['policy']}")
                report.check(run["jobs"] >= 100 and run["rejected"] == 0, f"{name}: {run}")
    report.end()


main()
