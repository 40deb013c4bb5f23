"""Benches of training that is disturbed while it runs: scaled, killed, slowed. Real processes on this machine."""
import filecmp
import os
import random
import signal
import sys
import threading
import time

from jobs import Failed, Jobs, settings
from measure import QUICK, emit, file_shape, load, median, program, repeats, wanted
from topics import made, priors
from train import RATINGS, RATINGS_SMALL, SPARSE, SPARSE_SMALL, ratings, sparse

KILLS = 100


def lda(shoal, work, documents, iterations):
    return ["lda", made(shoal, work, documents), *settings(**priors(1000), iterations=iterations, evaluate=0)]


# ---- scale 4 -> 16 -> 4 ----

def scaled(jobs, words, seconds):
    """A run on 4 workers that gets 16 after a third of the time such a run takes, and 4 again after two thirds.

    Gives its closing object and the share of its time in which 16 were wanted, or None: it ended too early."""
    job = jobs.start(*words, "--workers", 4)
    if len(job.wait_up(4)) != 4:
        return job.finish(), None
    times = [time.monotonic()]
    for workers in (16, 4):
        time.sleep(max(0, times[0] + len(times) * seconds / 3 - time.monotonic()))
        if jobs.say("scale", job.name, workers) is None:
            return job.finish(), None
        times.append(time.monotonic())
    result = job.finish()
    return result, (times[2] - times[1]) / result["seconds"]


def elastic_once(jobs, words, work):
    """Static runs with 4 and with 16 workers and one that is scaled. The ideal: at each moment the static run's rate."""
    static, models = {}, {workers: work / f"static-{workers}.shoal" for workers in (4, 16)}
    for workers in (4, 16):
        static[workers] = jobs.run(*words, "--workers", workers, "--out", models[workers])
    result, share = scaled(jobs, [*words, "--out", work / "scaled.shoal"], static[4]["seconds"])
    if share is None:
        sys.exit("bench: the job was over before it was scaled; give it more epochs")
    ideal = share * static[16]["units_per_s"] + (1 - share) * static[4]["units_per_s"]
    per_cpu = {workers: run["units"] / run["cpu_s"] for workers, run in static.items()}
    equal = all(filecmp.cmp(models[workers], work / "scaled.shoal", shallow=False) for workers in models)
    return dict(integral=result["units_per_s"] / ideal, equal=equal, share=share, static=static, result=result,
                cpu=result["units"] / result["cpu_s"] / (share * per_cpu[16] + (1 - share) * per_cpu[4]))


def elastic_cases(shoal, work):
    """(what, words of `shoal train`). lda: 10 M tokens, a thousand topics."""
    if wanted("mf"):
        yield "mf", ["mf", ratings(shoal, work)[0], *settings(epochs=80 if QUICK else 200)]
    if wanted("logreg, dual, bulk synchronous"):
        yield "logreg, dual, bulk synchronous", ["logreg", sparse(shoal, work, SPARSE), "--staleness", 0, *settings(
            loss="hinge", algorithm="sdca", tol=1e-12, epochs=100 if QUICK else 200)]
    if wanted("lda"):
        yield "lda", lda(shoal, work, 3000 if QUICK else 34000, 100 if QUICK else 150)


def elastic(shoal, work, results):
    """Executors are more than threads, and every worker has one thread: with 16 workers cores are shared."""
    jobs = Jobs(shoal, work)
    for what, words in elastic_cases(shoal, work):
        runs = [elastic_once(jobs, [*words, "--threads", 1], work) for _ in range(repeats(5))]
        integral = median([run["integral"] for run in runs])
        pause = max(run["result"]["max_pause_ms"] for run in runs)
        redone = max(run["result"]["tasks_redone"] for run in runs)
        off = max(abs(run["result"]["value"] / run["static"][4]["value"] - 1) for run in runs)
        common = dict(bench="train-elastic", data=file_shape(words[1]), n=len(runs), load=load())
        emit(results, what=f"{what}: work done, of the ideal", ours=round(integral, 4), unit="share", bound="at least 0.95",
             holds=integral >= 0.95, seconds=round(median([run["result"]["seconds"] for run in runs]), 2),
             static_4_s=round(median([run["static"][4]["seconds"] for run in runs]), 2),
             static_16_s=round(median([run["static"][16]["seconds"] for run in runs]), 2),
             time_with_16=round(median([run["share"] for run in runs]), 3), moves=runs[0]["result"]["moves"],
             per_cpu_s_of_ideal=round(median([run["cpu"] for run in runs]), 3), **common)
        emit(results, what=f"{what}: longest pause", ours=round(pause, 2), unit="ms", bound="at most 50", holds=pause <= 50,
             static_ms=round(max(run["static"][16]["max_pause_ms"] for run in runs), 2), **common)
        emit(results, what=f"{what}: tasks redone", ours=redone, unit="tasks", bound="none", holds=redone == 0, **common)
        emit(results, what=f"{what}: models equal to static runs'", ours=sum(run["equal"] for run in runs),
             unit=f"of {len(runs)}", bound="all, bit for bit", holds=all(run["equal"] for run in runs), **common)
        emit(results, what=f"{what}: objective, farthest from a static run's", ours=float(f"{off:.3g}"), unit="share",
             bound="at most 0.002", holds=off <= 0.002, **common)
    return True


# ---- kill -9 ----

def kill_once(jobs, words, moment, draw):
    """Kills one worker `moment` seconds after all are up. Gives the closing object and the dead one's executors, or None
    when the job was over before."""
    job = jobs.start(*words)
    crew = job.wait_up(8)
    time.sleep(moment)
    crew = job.crew() if crew else []
    if not crew:
        return job.finish(), None
    victim = draw.choice(crew)
    try:
        os.kill(victim["pid"], signal.SIGKILL)
    except ProcessLookupError:
        return job.finish(), None
    result = job.finish()
    return result, victim["executors"] if result["workers_lost"] > 0 else None


def kill_series(jobs, words, count, draw):
    """Moments are drawn from the time that the run before took: the machine may be busier than at first."""
    quiet = jobs.run(*words)
    seconds = quiet["seconds"]
    runs, tried, unfinished = [], 0, 0
    while len(runs) + unfinished < count and tried < 3 * count:
        tried += 1
        try:
            result, executors = kill_once(jobs, words, draw.uniform(0, 0.8 * seconds), draw)
        except Failed as failed:
            print(failed, file=sys.stderr)
            unfinished += 1
            continue
        seconds = result["seconds"]
        if executors is not None:
            per_clock = max(1, quiet["tasks"] / max(1, quiet["clocks"] * quiet["executors"]))
            runs.append(dict(redone=result["tasks_redone"], clock=executors * per_clock, lost=result["workers_lost"],
                             off=abs(result["value"] - quiet["value"]) / abs(quiet["value"]), seconds=result["seconds"]))
    return quiet, runs, tried


def kill_cases(shoal, work):
    """(what, its share of KILLS, words of `shoal train`). Counts of topics are checked by lda's driver after each clock: where
    they do not add up to all tokens, the job fails and its run has not finished."""
    if wanted("mf"):
        yield "mf", 0.4, ["mf", ratings(shoal, work, RATINGS_SMALL)[0], *settings(epochs=80)]
    if wanted("logreg, Newton"):
        yield "logreg, Newton", 0.3, ["logreg", sparse(shoal, work, SPARSE_SMALL), *settings(tol=1e-8, cost=10)]
    if wanted("logreg, dual, staleness 2"):
        yield "logreg, dual, staleness 2", 0.3, ["logreg", sparse(shoal, work, SPARSE_SMALL), "--staleness", 2, *settings(
            loss="hinge", algorithm="sdca", tol=1e-5, epochs=60)]
    if wanted("lda"):
        yield "lda", 0.2, lda(shoal, work, 3000, 100)


def kill(shoal, work, results):
    """A run in which the job was over before the kill does not count and is repeated with another moment."""
    jobs, draw = Jobs(shoal, work), random.Random(4)
    for what, part, words in kill_cases(shoal, work):
        count = round(part * repeats(KILLS, 10))
        quiet, runs, tried = kill_series(jobs, [*words, "--workers", 8, "--threads", 1], count, draw)
        common = dict(bench="train-kill", data=file_shape(words[1]), n=len(runs), load=load())
        emit(results, what=f"{what}: runs that finished after a kill", ours=len(runs), unit=f"of {count}", bound="all",
             holds=len(runs) == count, tried=tried, undisturbed_s=round(quiet["seconds"], 2), **common,
             **({"seconds": round(median([run["seconds"] for run in runs]), 2)} if runs else {}))
        if not runs:
            continue
        redone, off = max(run["redone"] for run in runs), max(run["off"] for run in runs)
        most = max(run["redone"] / run["clock"] for run in runs)
        emit(results, what=f"{what}: most tasks redone, in clocks of the dead", ours=round(most, 3), unit="clocks",
             bound="at most 1", holds=most <= 1, tasks=redone, **common)
        emit(results, what=f"{what}: objective, farthest from undisturbed", ours=float(f"{off:.3g}"), unit="share",
             bound="at most 0.002", holds=off <= 0.002, **common)
    return True


# ---- one slow worker ----

class Slow(threading.Thread):
    """Stops a process for every other 2 ms: half as fast, whatever else runs."""

    def __init__(self, pid):
        super().__init__(daemon=True)
        self.pid, self.over = pid, False

    def run(self):
        try:
            while not self.over:
                for signal_ in (signal.SIGSTOP, signal.SIGCONT):
                    os.kill(self.pid, signal_)
                    time.sleep(0.002)
        except ProcessLookupError:
            pass


def slow_once(jobs, words):
    """Least staleness: a task reads all that ended before its clock. Blocked: threads have nothing that they may begin, or wait
    for tables. Between: the rest of the time that is not in tasks, in which they have a task and wait for a processor, of which
    there may be fewer than threads, or start and end."""
    job = jobs.start(*words)
    crew = job.wait_up(4)
    if len(crew) != 4:
        job.finish()
        sys.exit("bench: the job was over before a worker was slowed; give it more epochs")
    slow = Slow(crew[-1]["pid"])
    slow.start()
    result = job.finish()
    slow.over = True
    slow.join()
    time_s = 4 * result["seconds"]
    return dict(least=result["staleness"][0] / sum(result["staleness"]), blocked=result["blocked_s"] / time_s,
                between=1 - (result["task_s"] + result["blocked_s"]) / time_s, result=result)


def slow_cases(shoal, work):
    """(what, words of `shoal train`). The first one's tasks wait for nothing but the staleness of the job; the others are dual
    ascent, which ends an epoch before it begins the next: with 5,000 columns an increment is 20 kB, with 100,000 it is 400 kB.
    mf is no case: its results do not depend on staleness."""
    none = work / "none"
    none.touch()
    yield "tasks of 3 ms, 64 executors", [program(shoal, "ssp_app").with_suffix(".so"), none, *settings(passes=100, clocks=40)]
    for what, size, epochs in (("dual, 5 k columns", (300000, 5000), 150), (f"dual, {SPARSE[1] // 1000} k columns", SPARSE, 40)):
        yield what, ["logreg", sparse(shoal, work, size), *settings(loss="hinge", algorithm="sdca", tol=1e-12, epochs=epochs)]


def slow(shoal, work, results):
    jobs = Jobs(shoal, work)
    for what, words in slow_cases(shoal, work):
        shape = {"data": file_shape(words[1])} if words[0] == "logreg" else {}
        for staleness in (1, 2, 3):
            runs = [slow_once(jobs, [*words, "--workers", 4, "--threads", 1, "--staleness", staleness])
                    for _ in range(repeats(5))]
            least, blocked, between = (median([run[key] for run in runs]) for key in ("least", "blocked", "between"))
            common = dict(bench="train-slow", n=len(runs), load=load(), **shape)
            emit(results, what=f"{what}, staleness {staleness}: reads at the least", ours=round(least, 4), unit="share",
                 bound="at least 0.9", holds=least >= 0.9, histogram=runs[0]["result"]["staleness"],
                 moves=runs[0]["result"]["moves"], seconds=round(median([run["result"]["seconds"] for run in runs]), 2), **common)
            emit(results, what=f"{what}, staleness {staleness}: blocked", ours=round(blocked, 4), unit="share",
                 bound="below 0.03", holds=blocked < 0.03, between=round(between, 4), **common)
    return True


BENCHES = {"train-elastic": elastic, "train-kill": kill, "train-slow": slow}
