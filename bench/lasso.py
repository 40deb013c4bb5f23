"""Benches of sparse linear models: paths of the lasso against scikit-learn, schedules of coordinates against each other, and working
sets in groups, by correlation and at random, with two threads and one.

Rows are as in train.py. Both sides solve for 100 penalties down to a hundredth of the first, without intercept. Ours proves each
solution by its duality gap (`path_gap`, at most 1e-3 of the objective); scikit-learn's tolerance is halved, from its default,
until its last objective equals ours. CPU seconds: ours of the whole job without reading the data, theirs of enet_path alone.
"""
import json
import subprocess

from jobs import Jobs, settings
from measure import HERE, QUICK, data_dir, emit, load, median, repeats
from train import EQUAL, Peer, news20, python_with_sklearn

RATIO, LAMBDAS = 0.01, 100
SHAPE = (2000, 10000) if QUICK else (20000, 100000)
DENSE = (2000, 500) if QUICK else (20000, 2000)


def generated(shoal, work, data):
    """Neighbouring columns have correlation 0.9; 40 values a column, 200 columns matter."""
    path = work / "regression.svm"
    subprocess.run([shoal, "gen", "regression", "--rows", str(SHAPE[0]), "--columns", str(SHAPE[1]), "--nonzeros", "40",
                    "--correlation", "0.9", "--true", "200", "-o", path, "--log", "error"], check=True, stderr=subprocess.DEVNULL)
    return path


def dense(shoal, work, data):
    """Neighbouring columns have correlation 0.9; 200 columns matter."""
    path = work / "dense.svm"
    subprocess.run([shoal, "gen", "regression", "--rows", str(DENSE[0]), "--columns", str(DENSE[1]), "--dense", "--correlation", "0.9",
                    "--true", str(DENSE[1] // 10), "-o", path, "--log", "error"], check=True, stderr=subprocess.DEVNULL)
    return path


def news_regression(shoal, work, data):
    """20 newsgroups by tf-idf; the target is 1 for the first group and -1 for all others."""
    path = work / "news-regression.svm"
    lines = (line.partition(" ") for line in news20(shoal, work, data).read_text().splitlines())
    path.write_text("".join(f"{1 if label == '1' else -1} {rest}\n" for label, _, rest in lines))
    return path


SETS = {f"generated {SHAPE[0]:,} x {SHAPE[1]:,}, correlation 0.9": generated, "20news tf-idf, one group against the rest": news_regression}


def ask(peer, tol):
    return peer.ask(RATIO, LAMBDAS, 1, tol)


def tolerance(peer, objective):
    """The least strict of its default, its half, ... with which it ends as low as ours."""
    tol, found = 1e-4, ask(peer, 1e-4)
    while tol > 1e-8 and found["objectives"][-1] > objective * (1 + EQUAL):
        tol /= 2
        found = ask(peer, tol)
    return tol


def path_row(results, what, runs, peers, gap, tol):
    ours, objective = median([run["train_cpu_s"] for run in runs]), runs[0]["value"]
    row = dict(bench="train-lasso", what=what, ours=round(ours, 3), unit="CPU s", bound="at most 0.5, objective equal or lower",
               objective=f"{objective:.8g}", path_gap=gap, updates=runs[0]["units"], n=len(runs), load=load(),
               process_cpu_s=round(median([run["process_cpu_s"] for run in runs]), 3))
    if peers:
        peer, theirs = median([run["cpu_s"] for run in peers]), peers[0]["objectives"][-1]
        row.update(against="scikit-learn", peer=round(peer, 3), ratio=round(ours / peer, 4), peer_objective=f"{theirs:.8g}",
                   tolerance=tol, holds=ours <= 0.5 * peer and objective <= theirs * (1 + EQUAL))
    emit(results, **row)


def schedule_rows(results, what, jobs, words):
    """At the tolerance that jobs have by default, where a penalty takes an epoch or two, and at a hundredth of it."""
    for tol in (1e-3, 1e-5):
        best, random = (jobs.run(*words, *settings(schedule=schedule, tol=tol)) for schedule in ("priority", "random"))
        equal = abs(random["value"] / best["value"] - 1) <= EQUAL
        ratio = random["units"] / best["units"]
        emit(results, bench="train-lasso", what=f"{what}: priority, tolerance {tol:g}", ours=best["units"], unit="updates",
             against="random order", peer=random["units"], ratio=round(ratio, 2), bound="at least 2, objectives equal",
             holds=equal and ratio >= 2, n=1)


def group_rows(results, what, jobs, path):
    """Wall seconds with two threads against one, and what groups cost in updates: by correlation, at random, as one."""
    def job(threads, **options):
        return jobs.run("lasso", path, "--workers", 1, "--threads", threads, *settings(intercept="false", ratio=0.05, lambdas=30, **options))
    one, two = [job(1) for _ in range(repeats(3))], [job(2) for _ in range(repeats(3))]
    wall = [median([run["seconds"] for run in runs]) for runs in (one, two)]
    emit(results, bench="train-lasso", what=f"{what}: two threads", ours=round(wall[1], 3), unit="s", against="one thread",
         peer=round(wall[0], 3), ratio=round(wall[0] / wall[1], 2), n=len(two), load=load(), updates=two[0]["units"])
    alone, aware, blind = job(2, groups=1), job(2, groups=4), job(2, groups=4, theta=2)
    emit(results, bench="train-lasso", what=f"{what}: four groups by correlation", ours=aware["units"], unit="updates",
         against="groups at random", peer=blind["units"], ratio=round(blind["units"] / aware["units"], 2), one_group=alone["units"], n=1,
         bound="at least 1.5, at most 1.5 x those of one group",
         holds=blind["units"] >= 1.5 * aware["units"] and aware["units"] <= 1.5 * alone["units"])


def lasso(shoal, work, results):
    data, jobs, python = data_dir("train"), Jobs(shoal, work), python_with_sklearn()
    if data is None:
        return False
    model = work / "lasso.shoal"
    for what, make in SETS.items():
        path = make(shoal, work, data)
        words = ["lasso", path, "--workers", 1, "--threads", 1, *settings(intercept="false", ratio=RATIO, lambdas=LAMBDAS)]
        peer = Peer([python, HERE / "lasso_peer.py", path]) if python else None
        runs, peers, tol = [], [], None
        for _ in range(repeats(3)):
            runs.append(jobs.run(*words, "--out", model, parts=True))
            if peer:
                tol = tol or tolerance(peer, runs[0]["value"])
                peers.append(ask(peer, tol))
        if peer:
            peer.close()
        gap = json.loads(jobs.say("eval", model, path, "--json"))["path_gap"]
        path_row(results, what, runs, peers, gap, tol)
        schedule_rows(results, what, jobs, words)
    group_rows(results, f"dense {DENSE[0]:,} x {DENSE[1]:,}, correlation 0.9", jobs, dense(shoal, work, data))
    return True


BENCHES = {"train-lasso": lasso}
