#!/usr/bin/env python3
"""Policy `shoal` keeps its promises where jobs that cannot change their size ask for far more than there is: it ends the average job as
soon as shortest-remaining-first, no job takes much longer than with an equal share of the cluster, and jobs are not started over and over.

Workloads are generated: two shapes, loads of 1.5 to 20, two clusters. The seed was not used to choose the policy's constants.
"""
# ctest: full timeout=900
import csv
import io
import os
import subprocess
import sys
import tempfile
from pathlib import Path

SHOAL = os.environ["SHOAL_BIN"]
JOBS, SEED = 600, 21
CLUSTERS = (("8x8:v100", 64), ("32x4:v100", 128))
LATER, MEAN, RHO, STARTS = 1.005, 0.97, 1.5, 5


def compare(trace, cluster):
    out = subprocess.run([SHOAL, "sim", trace, "--cluster", cluster, "--policy", "srtf,shoal", "--csv"], check=True,
                         capture_output=True, text=True).stdout
    return list(csv.DictReader(io.StringIO(out)))


def main():
    bad, ratios = [], []
    with tempfile.TemporaryDirectory() as work:
        for shape in ("philly", "gavel-multi"):
            for load in (1.5, 3, 10, 20):
                for cluster, gpus in CLUSTERS:
                    trace = Path(work) / "jobs.csv"
                    subprocess.run([SHOAL, "trace", "gen", "--shape", shape, "--jobs", str(JOBS), "--load", str(load), "--gpus", str(gpus),
                                    "--gpus-max", "8", "--seed", str(SEED), "-o", trace, "--log", "error"], check=True)
                    srtf, shoal = compare(trace, cluster)
                    ratio = float(shoal["avg_jct_s"]) / float(srtf["avg_jct_s"])
                    starts = 1 + float(shoal["restarts"]) / JOBS
                    line = (f"{shape}, load {load}, {cluster}: {ratio:.3f} of srtf's average, worst rho {float(shoal['worst_rho']):.2f}, "
                            f"{starts:.2f} starts a job")
                    print(line)
                    ratios.append(ratio)
                    if ratio > LATER or float(shoal["worst_rho"]) > RHO or starts > STARTS or int(shoal["finished"]) != JOBS:
                        bad.append(line)
    print(f"{len(ratios)} workloads, {sum(ratios) / len(ratios):.3f} of srtf's average in the mean; {len(bad)} beyond "
          f"{LATER}, rho {RHO} or {STARTS} starts")
    return 1 if bad or not ratios or sum(ratios) / len(ratios) > MEAN else 0


if __name__ == "__main__":
    sys.exit(main())
