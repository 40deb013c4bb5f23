"""Benches of buying: what strategies pay on real price histories, beside what no plan can beat and what staying costs.

Prices are those of AWS's spot market 2024 to 2026 (with prices on demand from cross-cloud catalogues), and the logs published with the
paper on dynamic cloud pricing (2020) for models with the speeds of Gavel's table. Availability is cut from traces of other zones and
years, a piece for each offer, drawn by the seed. All is replayed, so costs do not vary from run to run; times do. Rows are as in
train.py.
"""
import json
import lzma
import os
import subprocess
import tarfile
import time

from measure import QUICK, data_dir, emit, lines_of, load, median, program, repeats, wanted

YEAR = [(kind, start, gb) for start in ("2025-03-01", "2024-02-15")
        for kind, gb in (("p3.2xlarge", 2), ("p4d.24xlarge", 20), ("p5.48xlarge", 20), ("g5.xlarge", 2))]  # gb: of a checkpoint
SEEDS = 1 if QUICK else 3  # from 11 on: the strategy was tuned on the first ones
BAR, GAP = 2.0, 1.05  # times under static; over the bound of hindsight


def unpack(data, work):
    for name in ("aws_gpu_spot_2024_2026.tsv", "cross_cloud_gpu_prices_2022_2026.csv"):
        (work / name).write_bytes(lzma.open(data / "spot" / f"{name}.xz").read())
    for name in ("skypilot_spot_availability_preemption", "dime2020_aws_azure_gcp_price_availability_logs"):
        with tarfile.open(data / "spot" / f"{name}.tar.xz") as archive:
            archive.extractall(work / name, filter="data")
    table = json.loads(lzma.open(data / "gavel" / "simulation_throughputs.json.xz").read())
    (work / "gavel.json").write_text(json.dumps(table))


def find(folder, name):
    return next(path for path in sorted(folder.rglob(name)) if path.is_dir())


class Cases:
    def __init__(self, shoal, data, work):
        self.shoal, self.work = shoal, work
        unpack(data, work)
        self.spot = work / "aws_gpu_spot_2024_2026.tsv"
        self.catalogue = work / "cross_cloud_gpu_prices_2022_2026.csv"
        self.avail = find(work / "skypilot_spot_availability_preemption", "availability") / "1-node"
        self.logs = find(work / "dime2020_aws_azure_gcp_price_availability_logs", "aws") / "cost"

    def market(self, *words):
        """One object, with the CPU and wall seconds and the memory of the whole process."""
        began = time.monotonic()
        child = subprocess.Popen([str(self.shoal), "market", *map(str, words), "--json"], stdout=subprocess.PIPE,
                                 stderr=subprocess.DEVNULL)
        out = child.stdout.read()
        _, status, usage = os.wait4(child.pid, 0)
        child.returncode = os.waitstatus_to_exitcode(status)
        said = json.loads(out)
        said["status"] = child.returncode
        said["wall_s"] = time.monotonic() - began
        said["cpu_s"] = usage.ru_utime + usage.ru_stime
        said["peak_mib"] = usage.ru_maxrss / 1024
        return said


# ---- a year on one kind, with interruptions ----


def year(cases, kind, start, *words):
    """What bench_market says, by strategy, in order of seeds."""
    rows = list(lines_of([program(cases.shoal, "market"), "--kinds", f"{kind}=1", "--from", start, "--days", 365, *words, cases.spot,
                          cases.catalogue], stderr=subprocess.DEVNULL))
    return {name: sorted((row for row in rows if row["strategy"] == name), key=lambda row: row["seed"])
            for name in ("shoal", "uniform", "periodic", "static", "bound")}


def middle(rows, key):
    return median([row[key] for row in rows])


def year_rows(results, cases):
    for kind, start, gb in YEAR:
        what = f"{kind} from {start}"
        if not wanted(what):
            continue
        of = year(cases, kind, start, "--gb", gb, "--first-seed", 11, "--seeds", SEEDS, "--avail", cases.avail)
        under = [row["under_static"] for row in of["shoal"]]
        over = [row["over_bound"] for row in of["shoal"]]
        possible = [static["usd"] / bound["usd"] for static, bound in zip(of["static"], of["bound"])]
        missed = sum(row["missed"] + row["unfinished"] for row in of["shoal"])
        emit(results, bench="market", what=f"{what}, a year, times under static", ours=round(median(under), 3), unit="x",
             bound=f"at least {BAR}, or as much as is possible", holds=all(u >= BAR or p < BAR for u, p in zip(under, possible)),
             possible=round(median(possible), 3), n=len(under), spread=f"{min(under):.3f} to {max(under):.3f}",
             against="staying where it is cheapest at the start", peer=round(middle(of["static"], "usd"), 2),
             ratio=round(median(under), 3), usd=round(middle(of["shoal"], "usd"), 2),
             uniform=round(middle(of["uniform"], "under_static"), 3), periodic=round(middle(of["periodic"], "under_static"), 3),
             static_on_demand=round(median([row["demand_h"] / (row["demand_h"] + row["spot_h"]) for row in of["static"]]), 3),
             interruptions=round(middle(of["shoal"], "interruptions")), moves=round(middle(of["shoal"], "moves")))
        emit(results, bench="market", what=f"{what}, a year, over the bound of hindsight", ours=round(median(over), 4), unit="x",
             bound=f"at most {GAP}", holds=max(over) <= GAP, n=len(over), spread=f"{min(over):.4f} to {max(over):.4f}",
             against="what no plan can beat", peer=round(middle(of["bound"], "usd"), 2), ratio=round(median(over), 4))
        emit(results, bench="market", what=f"{what}, a year, deadlines missed", ours=missed, unit="", bound="0", holds=missed == 0,
             n=len(under))
        alone = year(cases, kind, start, "--gb", gb, "--seeds", 1)
        ours, static, bound = alone["shoal"][0], alone["static"][0], alone["bound"][0]
        emit(results, bench="market", what=f"{what}, a year, prices alone: all can be had all the time", ours=ours["under_static"],
             unit="x", possible=round(static["usd"] / bound["usd"], 3), n=1,
             against="staying where it is cheapest at the start", peer=static["usd"], ratio=ours["under_static"], usd=ours["usd"],
             over_bound=ours["over_bound"], uniform=alone["uniform"][0]["under_static"], periodic=alone["periodic"][0]["under_static"],
             moves=ours["moves"], missed=ours["missed"])


# ---- short jobs with time to wait ----


def short_rows(results, cases):
    """Jobs of hours with several times as long to the deadline, from 40 dates, on the four kinds: means over the bound."""
    for hours, times in ((8, 5),) if QUICK else [(hours, times) for hours in (2, 8, 24) for times in (2, 5, 10)]:
        of = {}
        for kind, gb in sorted({(kind, gb) for kind, _, gb in YEAR}):
            rows = lines_of([program(cases.shoal, "market"), "--kinds", f"{kind}=1", "--gb", gb, "--from", "2024-02-24",
                             "--days", hours * times / 24, "--slack", times - 1, "--starts", 40, "--apart", 18.37, "--first-seed", 11,
                             "--seeds", SEEDS, "--avail", cases.avail, cases.spot, cases.catalogue], stderr=subprocess.DEVNULL)
            for row in rows:
                of.setdefault(row["strategy"], []).append(row)
        mean = {name: sum(row["over_bound"] for row in rows) / len(rows) for name, rows in of.items() if name != "bound"}
        missed = sum(row["missed"] + row["unfinished"] for row in of["shoal"])
        best = min(mean["uniform"], mean["periodic"], mean["static"])
        emit(results, bench="market", what=f"short jobs: {hours} hours of work, {times} times as long to the deadline, over the bound",
             ours=round(mean["shoal"], 4), unit="x", bound="below every other strategy, no deadline missed",
             holds=mean["shoal"] < best and missed == 0, n=len(of["shoal"]), against="the best of uniform, periodic and static",
             peer=round(best, 4), ratio=round(mean["shoal"] / best, 4), uniform=round(mean["uniform"], 4),
             periodic=round(mean["periodic"], 4), static=round(mean["static"], 4), missed=missed)


# ---- 2020, choice of kind for each model ----


def models_of(work):
    """steps/s of one instance of each kind, for models that run on both."""
    table = json.loads((work / "gavel.json").read_text())
    rows = {}
    for key, rates in table["v100"].items():
        if not key.endswith(", 1)") or key not in table["k80"]:
            continue
        name = key[2:key.rindex("'")]
        rates = {"p3.2xlarge": rates["null"], "p2.xlarge": table["k80"][key]["null"]}
        if min(rates.values()) > 0:
            rows[name] = rates
    return rows


def kinds_of_2020(results, cases):
    """Every model does what two days of a V100 do; every zone and kind as a static choice."""
    models = models_of(cases.work)
    (cases.work / "models.csv").write_text("model,instance,steps_per_s\n" + "".join(
        f"{name},{kind},{rate}\n" for name, rates in models.items() for kind, rate in rates.items()))
    (cases.work / "fleet.csv").write_text("job,work,model,deadline\n" + "".join(
        f"{name},{rates['p3.2xlarge'] * 2 * 86400},{name},none\n" for name, rates in models.items()))
    common = (cases.logs, "--model", cases.work / "models.csv", "--jobs", cases.work / "fleet.csv", "--start", "2020-02-07",
              "--no-bound")
    ours = cases.market(*common, "--strategy", "shoal")
    costs = {name: [] for name in models}
    for zone in sorted(all_zones(cases.logs)):
        for kind in ("p3.2xlarge", "p2.xlarge"):
            said = cases.market(*common, "--strategy", "static", "--zones", zone, "--kinds", kind)
            if said["status"] != 0:
                continue  # not sold there then
            for job in said["strategies"][0]["jobs"]:
                if job["finish"] is not None:
                    costs[job["job"]].append(job["usd"])
    usd = {job["job"]: job["usd"] for job in ours["strategies"][0]["jobs"]}
    worst = [max(costs[name]) / usd[name] for name in models]
    best = [min(costs[name]) / usd[name] for name in models]
    emit(results, bench="market", what="2020 logs, choice of kind for each model, against the worst static choice",
         ours=round(median(worst), 3), unit="x", bound="at least 3.5", holds=median(worst) >= 3.5, n=len(models),
         spread=f"{min(worst):.2f} to {max(worst):.2f}", against="the worst zone and kind", peer=round(
             sum(max(costs[name]) for name in models), 2), ratio=round(median(worst), 3), usd=round(sum(usd.values()), 2))
    emit(results, bench="market", what="2020 logs, choice of kind for each model, what remains against the best static choice",
         ours=round(median(best), 3), unit="x", n=len(models),
         spread=f"{min(best):.3f} to {max(best):.3f}", against="the best zone and kind in hindsight",
         peer=round(sum(min(costs[name]) for name in models), 2), ratio=round(median(best), 3))


def all_zones(logs):
    zones = set()
    for path in logs.rglob("*.json"):
        for row in json.loads(path.read_text()).get("SpotPriceHistory", []):
            zones.add(row["AvailabilityZone"])
    return zones


# ---- size ----


def speed_rows(results, cases):
    """26 months of 29 regions: read and planned."""
    months = ("--start", "2024-01-15", "--deadline", "2026-03-25")
    plans = (("one kind (g5.xlarge), four strategies and the bound", ("--kinds", "g5.xlarge", "--work", "700d", *months)),
             ("every kind at once, our strategy", ("--work", "700d@p3.2xlarge", *months, "--strategy", "shoal", "--no-bound")))
    for what, words in plans:
        runs = [cases.market(cases.spot, *words) for _ in range(repeats(3))]
        wall, cpu = median([run["wall_s"] for run in runs]), median([run["cpu_s"] for run in runs])
        emit(results, bench="market", what=f"26 months x 29 regions, {what}", data=f"{int(runs[0]['offers']):,} offers x 26 months", ours=round(cpu, 2), unit="CPU s", bound="at most 5 s",
             holds=cpu <= 5, wall_s=round(wall, 2), n=len(runs), offers=int(runs[0]["offers"]), load=load(),
             peak_mib=round(max(run["peak_mib"] for run in runs)))


def market(shoal, work, results):
    data = data_dir("sched")
    if data is None or not (data / "spot").is_dir():
        return False
    cases = Cases(shoal, data, work)
    for name, rows in (("speed", speed_rows), ("2020", kinds_of_2020), ("short", short_rows), ("year", year_rows)):
        if wanted(name) or name == "year":
            rows(results, cases)
    return True


BENCHES = {"market": market}
