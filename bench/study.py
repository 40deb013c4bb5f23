"""Bench of `shoal study`: Philly's 82,247 jobs, studied whole. How long it takes, how much less jobs wait because of fragmentation with
all guidelines, and whether useful work has the same share of the GPUs.

Everything but the time is simulated and does not vary from run to run. Speeds and failures are modelled, as docs/study.md says. Rows are
as in train.py.
"""
import json
import lzma
import os
import subprocess
import sys
import time

from measure import QUICK, data_dir, emit, load, median, repeats

BAR_S, BAR_FULL_S, BAR_TIMES, EQUAL = 120, 60, 3.0, 0.99
FULL = "72x8:gpu"  # so few GPUs that thousands of jobs wait
HOUR = 3600


def study(shoal, trace, *words):
    """The object, with the wall and CPU seconds of the whole process."""
    began = time.monotonic()
    child = subprocess.Popen([str(shoal), "study", str(trace), "--json", *words], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    out = child.stdout.read()
    _, status, usage = os.wait4(child.pid, 0)
    child.returncode = os.waitstatus_to_exitcode(status)
    if child.returncode != 0:
        sys.exit(f"bench: shoal study failed: {out.decode()}")
    return {**json.loads(out), "took_s": time.monotonic() - began, "cpu_s": usage.ru_utime + usage.ru_stime}


def fragmentation(run):
    return run["delays"]["all"]["fragmentation"]["total_s"]


def shown(least_most, unit=1):
    least, most = (f"{value / unit:.0f}" if value is not None else "no bound" for value in least_most)
    return f"{least} to {most}"


def shape(said):
    return f"{said['jobs']:,} jobs x {said['gpus']:,} GPUs"


def rows_of(results, name, said):
    runs = {run["id"]: run for run in said["runs"]}
    base, all_of_them = runs["base"], runs["all"]
    before, after = fragmentation(base), fragmentation(all_of_them)
    ratio = before / after if after > 0 else float("inf")
    emit(results, bench="study", what=f"{name}: fragmentation waiting, all guidelines", data=shape(said), ours=round(min(ratio, 1e6), 1), unit="times less",
         bound=f"at least {BAR_TIMES}", holds=ratio >= BAR_TIMES,
         note=f"{before / HOUR:.1f} h to {after / HOUR:.1f} h; luck of placement is {said['luck']['fragmentation_s'] / HOUR:.1f} h; "
              f"{shown(all_of_them['fragmentation_ratio_range'])} in {said['draws']} draws")
    used = all_of_them["utilization"] / base["utilization"]
    emit(results, bench="study", what=f"{name}: useful GPU time, all guidelines over none", data=shape(said), ours=round(used, 4), unit="",
         bound=f"at least {EQUAL}", holds=used >= EQUAL, note=f"{base['utilization']:.3f} of {said['gpus']} GPUs")
    emit(results, bench="study", what=f"{name}: GPU time held, none less all guidelines", data=shape(said), ours=round(all_of_them["saved_gpu_s"] / HOUR),
         unit="GPU h", note=f"of {base['held_gpu_s'] / HOUR:.0f}; luck of placement is {said['luck']['held_gpu_s'] / HOUR:.0f}; "
                            f"{shown(all_of_them['saved_gpu_s_range'], HOUR)} in {said['draws']} draws")


def measure(shoal, work, results):
    data = data_dir("sched")
    if data is None:
        return False
    trace = work / "philly.csv"
    text = lzma.open(data / "philly" / "philly_jobs.csv.xz").read()
    if QUICK:
        text = b"\n".join(text.split(b"\n")[:4001]) + b"\n"
    trace.write_bytes(text)
    name = "Philly, first 4,000 jobs" if QUICK else "Philly"
    runs = [study(shoal, trace) for _ in range(repeats(3))]
    took = [run["took_s"] for run in runs]
    emit(results, bench="study", what=f"{name}: whole study of {runs[0]['jobs']:,} jobs", data=shape(runs[0]), ours=round(median(took), 1), unit="s",
         bound=f"at most {BAR_S} s", holds=median(took) <= BAR_S, n=len(took), spread=f"{min(took):.1f} to {max(took):.1f}",
         cpu_s=round(median([run["cpu_s"] for run in runs]), 1), load=load())
    rows_of(results, name, runs[0])
    if QUICK:
        return True
    full = study(shoal, trace, "--cluster", FULL, "--draws", "1")
    emit(results, bench="study", what=f"{name}: one draw on {full['gpus']} GPUs, thousands waiting", data=shape(full), ours=round(full["took_s"], 1),
         unit="s", bound=f"at most {BAR_FULL_S} s", holds=full["took_s"] <= BAR_FULL_S, n=1, cpu_s=round(full["cpu_s"], 1), load=load())
    return True


BENCHES = {"study": measure}
