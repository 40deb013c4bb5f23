"""The workloads of Gavel's evaluation, drawn as its generator draws them, and what is measured on them.

Facts, from the public simulator of stanford-futuredata/gavel as it was when the published tables were made (May 2020;
the list of job types was re-ordered later, which changes the draws):

- one stream, Random(seed + 2), gives for each job in turn: the gang size (always drawn, used in the multi-GPU traces),
  long or short, the duration on a V100, and the job type, drawn again until one that can be distributed turns up when
  the gang is larger than 1;
- another, Random(seed + 3), gives the exponential times between arrivals; the first job arrives at 0. In the static
  traces all arrive at 0;
- a job's steps are its duration times the throughput of its type on V100s, not rounded;
- 36 GPUs each of V100, P100 and K80, one GPU per server, rounds of 360 s, a move costs nothing;
- average completion time of jobs 4,000 to 4,999 (the first is 0), while jobs keep arriving until all of these ended;
- the printed tables of completion times by rate are of seed 0 alone; the makespans are means of seeds 0, 1 and 2.

By hand: `gavel_gen.py TABLE.json RATE SEED JOBS [multi] >trace`; rate 0: all arrive at 0.
"""
import ast
import csv
import itertools
import json
import math
import os
import random
import subprocess
import sys
import threading
from pathlib import Path

CLUSTER = "36x1:v100,36x1:p100,36x1:k80"
ROUND = ("--round", "360s", "--restart", "0s")
WINDOW = range(4000, 5000)
ARRIVALS_MAX = 37000  # a queue that needs more jobs than this to see the end of the window grows without bound


def _sizes(model, *batches):
    return [f"{model} (batch size {batch})" for batch in batches]


_GANGS = (_sizes("ResNet-18", 16, 32, 64, 128, 256), _sizes("ResNet-50", 16, 32, 64, 128),
          _sizes("Transformer", 16, 32, 64, 128, 256), _sizes("LM", 5, 10, 20, 40, 80))
_ALONE = _sizes("Recommendation", 512, 1024, 2048, 4096, 8192)
TYPES = [*_GANGS[0], *_GANGS[1], *_GANGS[2], "A3C", *_GANGS[3], *_ALONE, "CycleGAN"]
DISTRIBUTED = {name for group in _GANGS for name in group}


def draw_jobs(seed, multi):
    """Without end: (type, GPUs, seconds on V100s)."""
    stream = random.Random(seed + 2)
    while True:
        size = stream.uniform(0, 1)
        gpus = 1 if size < 0.7 else 2 if size <= 0.8 else 4 if size <= 0.95 else 8
        low, high = (3, 4) if stream.random() >= 0.8 else (1.5, 3)
        seconds = 60 * 10 ** stream.uniform(low, high)
        if not multi:
            gpus = 1
        name = stream.choice(TYPES)
        while gpus > 1 and name not in DISTRIBUTED:
            name = stream.choice(TYPES)
        yield name, gpus, seconds


def draw_arrivals(seed, jobs_per_hour):
    """Without end: times of arrival in seconds; all 0 when the rate is."""
    stream, now = random.Random(seed + 3), 0.0
    while True:
        yield now
        if jobs_per_hour > 0:
            now += -math.log(1.0 - stream.random()) * 3600.0 / jobs_per_hour


def load_v100(path):
    """(type, GPUs) -> steps per second alone on V100s."""
    with open(path) as text:
        rows = json.load(text)["v100"]
    return {ast.literal_eval(row): values["null"] for row, values in rows.items()}


def trace_lines(v100, jobs_per_hour, seed, count, multi):
    """`count` lines of a Gavel trace."""
    arrivals = draw_arrivals(seed, jobs_per_hour)
    for (name, gpus, seconds), arrival in itertools.islice(zip(draw_jobs(seed, multi), arrivals), count):
        yield f"{name}\t-\t-\t-\t0\t{seconds * v100[name, gpus]!r}\t{gpus}\t1\t-1\t{arrival!r}\n"


def finish_times(shoal, trace, policy, *options, until=()):
    """Seconds at which each job of a Gavel trace ended, by its line, the first 0. The simulation is stopped once all
    jobs of `until` ended, when any are given: nothing after that changes what they got."""
    command = [shoal, "sim", trace, "--policy", policy, *options, "--threads", "1", "--log", "error",
               "--events", "/dev/stdout"]
    ends, missing = {}, set(until)
    with subprocess.Popen(list(map(str, command)), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as child:
        for line in child.stdout:
            if '"job.finished"' in line:
                event = json.loads(line)
                job = int(event["job"].removeprefix("job-")) - 1
                ends[job] = event["t"]
                missing.discard(job)
                if until and not missing:
                    child.kill()
                    break
        said = child.stderr.read()
    if child.returncode != 0 and (missing or not until):
        raise RuntimeError(f"{' '.join(map(str, command))} ended with {child.returncode}: {said}")
    return ends


class Runner:
    """Runs `shoal sim` on generated traces, which it keeps in `folder`; traces are made once."""

    def __init__(self, shoal, table, folder):
        self.shoal, self.table, self.folder, self.v100 = shoal, table, Path(folder), load_v100(table)

    def trace(self, jobs_per_hour, seed, count, multi):
        path = self.folder / f"gavel-{jobs_per_hour}-{seed}-{count}-{'multi' if multi else 'single'}.trace"
        if not path.exists():
            part = path.with_suffix(f".{threading.get_ident()}")
            with open(part, "w") as out:
                out.writelines(trace_lines(self.v100, jobs_per_hour, seed, count, multi))
            os.replace(part, path)  # another thread may be making the same
        return path

    def finish_times(self, trace, policy, **how):
        return finish_times(self.shoal, trace, policy, "--cluster", CLUSTER, "--profiles", self.table, *ROUND, **how)

    def window_hours(self, policy, jobs_per_hour, seed, multi):
        """Average completion time of the jobs of WINDOW; None when the queue grows without bound."""
        trace = self.trace(jobs_per_hour, seed, ARRIVALS_MAX, multi)
        ends = self.finish_times(trace, policy, until=WINDOW)
        arrivals = list(itertools.islice(draw_arrivals(seed, jobs_per_hour), ARRIVALS_MAX))
        if max(ends[job] for job in WINDOW) > arrivals[-1]:
            return None
        return sum(ends[job] - arrivals[job] for job in WINDOW) / len(WINDOW) / 3600

    def makespan_hours(self, policy, count, seed):
        """When the last of `count` jobs ends that all arrive at 0, gangs among them."""
        ends = self.finish_times(self.trace(0, seed, count, True), policy)
        if len(ends) != count:
            raise RuntimeError(f"{policy}: {len(ends)} of {count} jobs ended")
        return max(ends.values()) / 3600


# Gavel's names for policies and what they are here.
POLICIES = {
    "fifo": "fifo-types:aware=false",
    "fifo_perf": "fifo-types",
    "fifo_packed": "fifo-types:sharing=pairs",
    "max_min_fairness": "max-min:aware=false",
    "max_min_fairness_perf": "max-min",
    "max_min_fairness_packed": "max-min:sharing=pairs",
    "finish_time_fairness": "ftf:aware=false",
    "finish_time_fairness_perf": "ftf",
    "min_total_duration": "makespan:aware=false",
    "min_total_duration_perf": "makespan",
    "min_total_duration_packed": "makespan:sharing=pairs",
    "gandiva": "gandiva:slice=6m",  # its slice is a round
    "allox": "allox",
}
# Hours, means of seeds 0, 1 and 2, by number of jobs (the makespan notebook's printed table).
MAKESPANS = {
    "fifo": {100: 182.319, 200: 229.430, 300: 295.563, 400: 350.496, 500: 426.585, 600: 506.228, 700: 619.518},
    "gandiva": {100: 166.610, 200: 178.881, 300: 199.872, 400: 224.100, 500: 263.866, 600: 301.279, 700: 347.335},
    "min_total_duration_perf": {100: 161.164, 200: 161.164, 300: 161.164, 400: 161.291, 500: 169.422, 600: 194.994,
                                700: 244.231},
    "min_total_duration_packed": {100: 163.612, 200: 163.567, 300: 161.172, 400: 168.497, 500: 168.130, 600: 183.151,
                                  700: 226.225},
}
MAKESPAN_SEEDS = (0, 1, 2)


def published_rates(path):
    """(multi, policy, jobs per hour) -> hours, from the table of the notebooks' printed output."""
    with open(path, newline="") as rows:
        return {(row["figure_notebook"].endswith("multigpu"), row["policy"], float(row["jobs_per_hour"])):
                float(row["value"]) for row in csv.DictReader(rows) if row["cell"] == "10"}


def main():
    if len(sys.argv) not in (5, 6) or sys.argv[5:] not in ([], ["multi"]):
        sys.exit(__doc__)
    sys.stdout.writelines(trace_lines(load_v100(sys.argv[1]), float(sys.argv[2]), int(sys.argv[3]), int(sys.argv[4]),
                                      len(sys.argv) == 6))


if __name__ == "__main__":
    main()
