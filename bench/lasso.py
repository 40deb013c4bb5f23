"""Benches of sparse linear models: paths of the lasso against scikit-learn and glmnet, schedules of coordinates against each other, and
working sets in groups, by correlation and at random, with two threads and one.

Rows are as in train.py. All sides solve for 100 penalties down to a hundredth of the first, without intercept, on one thread. A peer
runs at its default tolerance; ours is the loosest of TOLS whose objective is at most the peer's at every penalty (but for SAME
of it). Theirs are of the objective without coefficients, so ours is too (tol_of=null): a share of each penalty's own would ask
for far more where little is left.
CPU seconds: ours of the whole job without reading the data, theirs of enet_path or glmnet alone.
"""
import os
import shutil
import struct
import subprocess
from pathlib import Path

from jobs import Jobs, settings
from measure import HERE, QUICK, data_dir, emit, load, median, repeats, svm_shape, wanted
from train import EQUAL, Peer, news20, python_with_sklearn, sparse

RATIO, LAMBDAS = 0.01, 100
SHAPE = (2000, 10000) if QUICK else (20000, 100000)
DENSE = (2000, 500) if QUICK else (20000, 2000)
TALL = (5000, 200) if QUICK else (50000, 500)
WIDE = (400, 2000) if QUICK else (2000, 20000)
ZIPF = (20000, 6000) if QUICK else (200000, 60000)
TOLS = (1e-1, 3e-2, 1e-2, 3e-3, 1e-3, 3e-4, 1e-4, 1e-5, 1e-6, 1e-7)
SAME = 1e-5
DEFAULTS = {"scikit-learn": 1e-4, "glmnet": 1e-7}  # its tolerance


def generated(shoal, work, data):
    """Neighbouring columns have correlation 0.9; 40 values a column, 200 columns matter."""
    path = work / "regression.svm"
    subprocess.run([shoal, "gen", "regression", "--rows", str(SHAPE[0]), "--columns", str(SHAPE[1]), "--nonzeros", "40",
                    "--correlation", "0.9", "--true", "200", "-o", path, "--log", "error"], check=True, stderr=subprocess.DEVNULL)
    return path


def dense(shoal, work, shape, true):
    """Neighbouring columns have correlation 0.9."""
    path = work / f"dense-{shape[0]}.svm"
    subprocess.run([shoal, "gen", "regression", "--rows", str(shape[0]), "--columns", str(shape[1]), "--dense", "--correlation", "0.9",
                    "--true", str(true), "-o", path, "--log", "error"], check=True, stderr=subprocess.DEVNULL)
    return path


def news_regression(shoal, work, data):
    """20 newsgroups by tf-idf; the target is 1 for the first group and -1 for all others."""
    path = work / "news-regression.svm"
    lines = (line.partition(" ") for line in news20(shoal, work, data).read_text().splitlines())
    path.write_text("".join(f"{1 if label == '1' else -1} {rest}\n" for label, _, rest in lines))
    return path


SETS = {f"generated {SHAPE[0]:,} x {SHAPE[1]:,}, correlation 0.9": generated, "20news tf-idf, one group against the rest": news_regression}
# scikit-learn takes minutes where there are fewer rows than columns, all values there
CELLS = {
    f"dense {WIDE[0]:,} x {WIDE[1]:,}, correlation 0.9": (lambda shoal, work, data: dense(shoal, work, WIDE, 200), ("glmnet",)),
    f"dense {TALL[0]:,} x {TALL[1]:,}, correlation 0.9": (lambda shoal, work, data: dense(shoal, work, TALL, 50), ("scikit-learn", "glmnet")),
    "20news tf-idf, one group against the rest": (news_regression, ("scikit-learn", "glmnet")),
    f"Zipf {ZIPF[0]:,} x {ZIPF[1]:,}": (lambda shoal, work, data: sparse(shoal, work, ZIPF), ("scikit-learn", "glmnet")),
}


def objectives(model):
    """Of each penalty, from the model's section `lambdas` (src/store/pack_format.h): seven doubles each, the third is it."""
    data = Path(model).read_bytes()
    at, _, count = struct.unpack_from("<QQQ", data, len(data) - 48)
    for _ in range(count):
        offset, size, name = struct.unpack_from("<QQQ", data, at)
        if data[at + 24:at + 24 + name] == b"lambdas":
            return struct.unpack_from(f"<{size // 8}d", data, offset)[2::7]
        at += 24 + (name + 8) // 8 * 8 + -(-size // (1 << 18)) * 8
    raise SystemExit("bench: a model without penalties")


def peers_of(names, path, work, python):
    """Those that are installed, with the data loaded."""
    found, binary = {}, work / "lasso.bin"
    os.environ["OPENBLAS_NUM_THREADS"] = "1"  # Debian's OpenBLAS does not know every processor
    os.environ["OPENBLAS_CORETYPE"] = "SkylakeX" if "avx512f" in Path("/proc/cpuinfo").read_text() else "Haswell"
    sklearn = Peer([python, HERE / "lasso_peer.py", path, binary])
    sklearn.child.stdout.readline()  # the binary is written
    if "scikit-learn" in names:
        found["scikit-learn"] = sklearn
    else:
        sklearn.close()
    if shutil.which("Rscript") and subprocess.run(["Rscript", "-e", "library(glmnet)"], capture_output=True).returncode == 0:
        found["glmnet"] = Peer(["Rscript", HERE / "glmnet_peer.R", binary])
    return found


def matched(jobs, words, model, theirs):
    """The loosest tolerance that is as good as they are at every penalty."""
    for tol in TOLS:
        jobs.run(*words, *settings(tol=tol), "--out", model)
        if all(a <= b * (1 + SAME) for a, b in zip(objectives(model), theirs)):
            break
    return tol


def path_rows(results, what, jobs, path, peers, model, shape):
    words = ["lasso", path, "--workers", 1, "--threads", 1, *settings(intercept="false", ratio=RATIO, lambdas=LAMBDAS, tol_of="null")]
    for name, peer in peers.items():
        theirs = peer.ask(RATIO, LAMBDAS, 1, DEFAULTS[name])["objectives"]
        tol = matched(jobs, words, model, theirs)
        equal = all(a <= b * (1 + SAME) for a, b in zip(objectives(model), theirs))
        runs, others = [], []
        for _ in range(repeats(3)):
            runs.append(jobs.run(*words, *settings(tol=tol), parts=True))
            others.append(peer.ask(RATIO, LAMBDAS, 1, DEFAULTS[name]))
        ours, peer_s = median([run["train_cpu_s"] for run in runs]), median([run["cpu_s"] for run in others])
        emit(results, bench="train-lasso", what=what, ours=round(ours, 3), unit="CPU s", against=name, peer=round(peer_s, 3),
             ratio=round(ours / peer_s, 3), bound=f"at most 1, objective at most the peer's at all {LAMBDAS} penalties, within {SAME:g}",
             holds=equal and ours <= peer_s, data=shape, tolerance=tol, gap=runs[0]["gap"], peer_tolerance=DEFAULTS[name],
             objective=f"{runs[0]['value']:.8g}", peer_objective=f"{theirs[-1]:.8g}", n=len(runs), load=load())


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
    for what, (make, names) in CELLS.items():
        if not wanted(what) or not python:
            continue
        path = make(shoal, work, data)
        peers = peers_of(names, path, work, python)
        path_rows(results, what, jobs, path, peers, model, svm_shape(path))
        for peer in peers.values():
            peer.close()
        path.unlink()
    for what, make in SETS.items():
        if wanted(f"{what}: priority"):
            schedule_rows(results, what, jobs, ["lasso", make(shoal, work, data), "--workers", 1, "--threads", 1,
                                                *settings(intercept="false", ratio=RATIO, lambdas=LAMBDAS)])
    groups = f"dense {DENSE[0]:,} x {DENSE[1]:,}, correlation 0.9"
    if wanted(f"{groups}: groups"):
        group_rows(results, groups, jobs, dense(shoal, work, DENSE, DENSE[1] // 10))
    return True


BENCHES = {"train-lasso": lasso}
