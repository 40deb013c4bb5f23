#!/usr/bin/env python3
"""Alibaba's 2023 tasks run on the nodes published with them."""
# ctest: full timeout=300
from reference import Report, Workplace, sim


def main():
    report = Report()
    with Workplace() as work:
        folder = work.unpack("alibaba/openb_gpu_v2023_csv.tar.xz") / "csv"
        runs = sim(folder / "openb_pod_list_default.csv", "--cluster", folder / "openb_node_list_gpu_node.csv",
                   "--policy", "fifo,las")
        for run in runs:
            print(run)
            report.ended(run, run["policy"])
            report.check(run["jobs"] > 5000, f"{run['jobs']} jobs")
        lists = sorted(folder.glob("openb_pod_list_*.csv"))
        for trace in lists[:4]:
            run, = sim(trace, "--cluster", folder / "openb_node_list_all_node.csv", "--policy", "fifo")
            report.ended(run, trace.name)
    report.end()


main()
