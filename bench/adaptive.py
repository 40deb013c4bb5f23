"""Benches of policies that choose sizes and batches: completion times against published ones, fairness, noise in what jobs report, and
the time of a decision as clusters grow.

Everything is simulated, so figures of completion times do not vary from run to run. Workloads, profiles and the authors' results are
those published with Pollux (OSDI 2021) and Sia (SOSP 2023). Rows are as in train.py.
"""
import json
import subprocess
import sys
import tarfile

from measure import QUICK, data_dir, emit, jobs_shape, load, wanted

T4 = "16x4:t4"
MIXED = ((6, 4, "t4"), (3, 8, "rtx"), (2, 8, "a100"))
HOUR = 3600
WORKLOADS = (1,) if QUICK else (1, 2, 3, 4, 5, 6)


def mixed(times):
    return ",".join(f"{nodes * times}x{gpus}:{kind}" for nodes, gpus, kind in MIXED)


def unpack(data, work):
    for part, names in {"pollux": ("profiles", "workloads", "results_jcts"), "sia": ("profiles", "workloads")}.items():
        for name in names:
            edition = "osdi21" if part == "pollux" else "sosp23"
            with tarfile.open(data / part / f"{part}_{edition}_{name}.tar.xz") as archive:
                archive.extractall(work / part, filter="data")


def sim(shoal, trace, policies, *args):
    """One row a policy."""
    command = [shoal, "sim", trace, "--policy", ",".join(policies), "--json", "--threads", "1", *args]
    child = subprocess.run(list(map(str, command)), capture_output=True, text=True)
    if child.returncode != 0:
        sys.exit(f"bench: shoal sim failed: {child.stderr}")
    return [json.loads(line) for line in child.stdout.splitlines()]


def mean(rows, key):
    return sum(row[key] for row in rows) / len(rows)


class Cases:
    """The workloads of both papers, and what runs them."""

    def __init__(self, shoal, data, work):
        self.shoal, self.work = shoal, work
        unpack(data, work)

    def pollux(self, policy, load="1.0", *args):
        folder = "workloads" if load == "1.0" else f"workloads-{load}"
        return [sim(self.shoal, self.work / "pollux" / folder / f"workload-{n}.csv", [policy], "--cluster", T4, "--profiles",
                    self.work / "pollux" / "traces", *args)[0] for n in WORKLOADS]

    def authors(self, load):
        """Average completion times that the authors of Pollux published, by workload."""
        summary = json.loads((self.work / "pollux" / "results-jobload" / f"pollux-{load}" / "summary.json").read_text())
        return [summary["avgs"][f"workload-{n}"] for n in WORKLOADS]

    def sia(self, policy, family, *args):
        count = 1 if QUICK else 4
        return [sim(self.shoal, self.work / "sia" / "workloads" / family / f"workload-{n}.csv", [policy], "--cluster", mixed(1),
                    "--profiles", self.work / "sia" / "traces", *args)[0] for n in range(1, count + 1)]

    def sia_trace(self, trace, policies, times):
        return sim(self.shoal, trace, policies, "--cluster", mixed(times), "--profiles", self.work / "sia" / "traces")


def shape(rows, cluster):
    """Of workloads with equally many jobs each."""
    return jobs_shape(rows[0]["jobs"], cluster) + (f", {len(rows)} workloads" if len(rows) > 1 else "")


def hours_row(results, bench, what, rows, bound_h, **more):
    hours = mean(rows, "avg_jct_s") / HOUR
    emit(results, bench=bench, what=what, ours=round(hours, 4), unit="h", bound=f"at most {bound_h} h", holds=hours <= bound_h,
         n=len(rows), **more)


def pollux_rows(results, cases):
    for rate in ("0.5", "1.0", "1.5", "2.0"):
        rows, authors = cases.pollux("pollux", rate), cases.authors(rate)
        ours, theirs = mean(rows, "avg_jct_s") / HOUR, sum(authors) / len(authors) / HOUR
        emit(results, bench="sim-adaptive", what=f"pollux, load {rate}", data=shape(rows, T4), ours=round(ours, 4), unit="h", against="the authors",
             peer=round(theirs, 4), ratio=round(ours / theirs, 4), bound="at most 1.03", holds=ours <= 1.03 * theirs, n=len(rows),
             by_workload=" ".join(f"{row['avg_jct_s'] / peer:.3f}" for row, peer in zip(rows, authors)))


def shoal_on_pollux(results, cases):
    rows, authors = cases.pollux("shoal"), cases.authors("1.0")
    hours_row(results, "sim-adaptive", "shoal, Pollux's workloads, load 1.0", rows, 0.65,
              data=shape(rows, T4), authors_h=round(sum(authors) / len(authors) / HOUR, 4), worst_rho=round(max(row["worst_rho"] for row in rows), 3))
    p99 = mean(rows, "p99_jct_s") / HOUR
    emit(results, bench="sim-adaptive", what="shoal, Pollux's workloads, 99th percentile", data=shape(rows, T4), ours=round(p99, 3), unit="h",
         bound="at most 11 h", holds=p99 <= 11, n=len(rows))


def shoal_on_sia(results, cases):
    for family, bound in (("philly", 0.5), ("saturn", 0.6)):
        rows = cases.sia("shoal", family)
        hours_row(results, "sim-adaptive", f"shoal, Sia's {family}", rows, bound, data=shape(rows, mixed(1)))
        worst = max(rows, key=lambda row: row["worst_rho"])
        emit(results, bench="sim-adaptive", what=f"shoal, Sia's {family}, worst rho", data=shape(rows, mixed(1)), ours=round(worst["worst_rho"], 3), unit="",
             bound="at most 1.1", holds=worst["worst_rho"] <= 1.1, n=len(rows), job=worst["worst_rho_job"],
             unfair=round(mean(rows, "unfair_share"), 4))
    first = cases.work / "first-40.csv"
    lines = (cases.work / "sia" / "workloads" / "philly" / "workload-1.csv").read_text().splitlines(keepends=True)
    first.write_text("".join(lines[:41]))
    rows = cases.sia_trace(first, ["shoal"], 1)
    hours_row(results, "sim-adaptive", "shoal, first 40 jobs of Sia's philly-1", rows, 0.459, data=shape(rows, mixed(1)))


def adaptive(shoal, work, results):
    data = data_dir("sched")
    if data is None:
        return False
    cases = Cases(shoal, data, work)
    for name, rows in (("pollux", pollux_rows), ("shoal", shoal_on_pollux), ("sia", shoal_on_sia)):
        if wanted(name):
            rows(results, cases)
    return True


def robust(shoal, work, results):
    """What jobs report is wrong by up to a fifth, and up to a half, each time; or one job in ten reports nonsense."""
    data = data_dir("sched")
    if data is None:
        return False
    cases = Cases(shoal, data, work)
    for policy in ("shoal", "pollux"):
        families = {"Pollux's workloads": lambda *args: cases.pollux(policy, "1.0", *args)}
        if policy == "shoal":
            families["Sia's philly"] = lambda *args: cases.sia("shoal", "philly", *args)
        for family, run in families.items():
            exact = mean(run(), "avg_jct_s") / HOUR
            for words, share in ((("--report-noise", "0.2"), 1.05), (("--report-noise", "0.5"), None), (("--report-bad", "10"), None)):
                hours = mean(run(*words), "avg_jct_s") / HOUR
                row = dict(bound=f"at most {share}", holds=hours <= share * exact) if share else {}
                emit(results, bench="sim-robust", what=f"{policy}, {family}, {' '.join(words)[2:]}", ours=round(hours, 4), unit="h",
                     against="exact reports", peer=round(exact, 4), ratio=round(hours / exact, 4), **row)
    return True


def copies(source, count, path):
    """Jobs of several workloads in one, with names of their own."""
    with open(path, "w") as out:
        for n in range(count):
            head, *rows = (source / f"workload-{n % 10 + 1}.csv").read_text().splitlines(keepends=True)
            out.writelines([head] * (n == 0) + [f"c{n}-{row}" for row in rows])
    return path


def decide(shoal, work, results):
    """Milliseconds of a decision, while the jobs of Sia's larger workloads are simulated. Wall time: a busy machine adds to
    it. The gaps that are proven are measured by the bench `choose`."""
    data = data_dir("sched")
    if data is None:
        return False
    cases = Cases(shoal, data, work)
    for times, count in ((2, 1), (8, 1), (32, 1)) if QUICK else ((2, 1), (4, 1), (8, 1), (16, 1), (32, 1), (480, 15)):
        source = cases.work / "sia" / "workloads" / "scale" / f"scale_{min(times, 32)}x"
        row = cases.sia_trace(copies(source, count, work / "scale.csv"), ["shoal:proof=0"], times)[0]
        gpus = sum(nodes * times * each for nodes, each, _ in MIXED)
        bound = {2048: 10, 30720: 50}.get(gpus)
        more = dict(bound=f"at most {bound} ms", holds=row["decision_ms_p50"] <= bound) if bound else {}
        emit(results, bench="sim-decide", what=f"shoal, {gpus:,} GPUs", data=f"{row['jobs']:,} jobs x {gpus:,} GPUs", ours=round(row["decision_ms_p50"], 3), unit="ms",
             p99_ms=round(row["decision_ms_p99"], 3), jobs=row["jobs"], rounds=row["rounds"],
             load=load(), **more)
    rows = {}
    for policy in ("shoal", "pollux:search=genetic"):
        rows[policy] = cases.pollux(policy)[0]
    ours, theirs = (row["decision_ms_p50"] for row in rows.values())
    emit(results, bench="sim-decide", what="shoal, 64 GPUs, Pollux's workload 1", ours=round(ours, 4), unit="ms", against="genetic search",
         peer=round(theirs, 3), ratio=round(theirs / ours, 1), bound="at least 50", holds=theirs >= 50 * ours, load=load())
    return True


BENCHES = {"sim-adaptive": adaptive, "sim-robust": robust, "sim-decide": decide}
