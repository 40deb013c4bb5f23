"""Benches of training that nobody disturbs: linear models and factors against their peers, and what the runtime costs.

Rows of every one have what, ours, unit, and where there is one a peer with `against` and `ratio`, a `bound` in words and
whether it `holds`; the rest are details.
"""
import json
import lzma
import math
import os
import random
import subprocess
import sys

from jobs import Jobs, settings
from measure import HERE, QUICK, data_dir, emit, lines_of, load, matrix, median, program, ratings_shape, repeats, wanted

# rows and columns; users, items and ratings
SPARSE_SMALL, RATINGS_SMALL = (200000, 20000), (6988, 1068, 1000005)
SPARSE, RATINGS = (SPARSE_SMALL, RATINGS_SMALL) if QUICK else ((1000000, 100000), (69878, 10677, 10000054))
PATIENCE, SHORT_S = 10, 0.05  # a peer that takes so many times as long has lost; less is short
EQUAL = 1e-4  # objectives that differ by less, relative, are equal
# name: LIBLINEAR's solvers, of which the faster counts; ours; scikit-learn's estimator
LOSSES = {"logistic": ((0, 7), {"loss": "logistic"}, "LogisticRegression()"),
          "squared hinge": ((1, 2), {"loss": "squared_hinge"}, "LinearSVC()"),
          "hinge": ((3,), {"loss": "hinge"}, "LinearSVC(loss='hinge')"),
          "l1 logistic": ((6,), {"penalty": "l1"}, "LogisticRegression(penalty='l1', solver='liblinear')")}


# ---- data ----

def a9a(shoal, work, data):
    path = work / "a9a.svm"
    path.write_bytes(lzma.open(data / "libsvm" / "a9a.xz").read())
    return path


def news20(shoal, work, data):
    """The training part of 20 newsgroups by words: (1 + ln count) x ln(documents / documents with the word), length 1."""
    with lzma.open(data / "news20" / "docword.20news.txt.xz", "rt") as lines:
        documents, _, _ = (int(next(lines)) for _ in range(3))
        rows, seen = [[] for _ in range(documents)], {}
        for line in lines:
            document, word, count = map(int, line.split())
            rows[document - 1].append((word, 1 + math.log(count)))
            seen[word] = seen.get(word, 0) + 1
    path = work / "news20.svm"
    with lzma.open(data / "news20" / "labels.txt.xz", "rt") as labels, open(path, "w") as out:
        for label, row in zip(labels, rows):
            part, group = label.split()
            if part != "train":
                continue
            row = [(word, value * math.log(documents / seen[word])) for word, value in sorted(row)]
            length = math.sqrt(sum(value * value for _, value in row)) or 1
            out.write(f"{int(group) + 1} " + " ".join(f"{word}:{value / length:.6g}" for word, value in row) + "\n")
    return path


def sparse(shoal, work, size, *more):
    path = work / "sparse.svm"
    subprocess.run([shoal, "gen", "sparse", "--rows", str(size[0]), "--columns", str(size[1]), *more, "-o", path, "--log", "error"],
                   check=True, stderr=subprocess.DEVNULL)
    return path


def generated(shoal, work, data):
    return sparse(shoal, work, SPARSE)


def one_class(shoal, work, data):
    """20 newsgroups, the first group against the rest."""
    path = work / "one.svm"
    with open(news20(shoal, work, data)) as rows, open(path, "w") as out:
        out.writelines(f"{1 if label == '1' else -1} {rest}" for label, _, rest in (row.partition(" ") for row in rows))
    return path


def dense(shoal, work, data):
    """Correlated columns; the sign of a number that few of them explain."""
    numbers, path = work / "numbers.svm", work / "dense.svm"
    subprocess.run([shoal, "gen", "regression", "--dense", "--rows", "12000" if QUICK else "120000", "--columns", "40", "-c", "0.9",
                    "--noise", "1", "-o", numbers, "--log", "error"], check=True, stderr=subprocess.DEVNULL)
    with open(numbers) as rows, open(path, "w") as out:
        out.writelines(f"{1 if float(label) > 0 else -1} {rest}" for label, _, rest in (row.partition(" ") for row in rows))
    return path


def wide(shoal, work, data):
    return sparse(shoal, work, (6000, 200000), "-k", "120")


def zipf(shoal, work, data):
    return sparse(shoal, work, SPARSE_SMALL if QUICK else (200000, 60000), "-k", "40")


SETS = {"a9a": a9a, "20news, 20 classes": news20, "20news, one class": one_class,
        "generated, small" if QUICK else "generated 1 M x 100 k": generated, "dense": dense, "wide": wide, "Zipf": zipf}


# ---- linear models ----

class Peer:
    """A process that answers each line with a JSON line: data is loaded once, and runs can alternate."""

    def __init__(self, command):
        self.child = subprocess.Popen(list(map(str, command)), stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def ask(self, *words):
        self.child.stdin.write(" ".join(map(str, words)) + "\n")
        self.child.stdin.flush()
        line = self.child.stdout.readline()
        if not line:
            sys.exit("bench: a peer ended; it said why above")
        return json.loads(line)

    def close(self):
        self.child.stdin.close()
        self.child.wait()


def python_with_sklearn():
    """Debian's packages are seen by Debian's interpreter alone."""
    for python in (sys.executable, "/usr/bin/python3"):
        if subprocess.run([python, "-c", "import sklearn"], capture_output=True).returncode == 0:
            return python
    return None


def tolerance(peer, solver, objective, enough_s):
    """What a solver finds at its own tolerance, and the share of that, as many halves as it takes, with which its objective
    equals ours: it may not stop earlier than we do. A solver that takes longer than enough_s has lost, and is spared the rest."""
    share, found = 1.0, peer.ask("train", solver, 1)
    own = found["objective"]
    while share > 1e-6 and found["objective"] > objective * (1 + EQUAL) and found["cpu_s"] < enough_s:
        share /= 2
        found = peer.ask("train", solver, share)
    return {"share": share, "own": own}


def linear_once(jobs, peers, path, loss, shares):
    """A run of each, in turns: ours with one thread and with two, each of LIBLINEAR's solvers, scikit-learn."""
    solvers, options, estimator = LOSSES[loss]
    model = jobs.folder / "linear.shoal"
    words = ["logreg", path, "--workers", 1, *settings(**options)]
    one = jobs.run(*words, "--threads", 1, "--out", model, parts=True)
    one["objective"] = peers["liblinear"].ask("model", solvers[0], model)["objective"]
    for solver in solvers:
        if solver not in shares:
            shares[solver] = tolerance(peers["liblinear"], solver, one["objective"], PATIENCE * one["train_cpu_s"])
    found = {"ours": one, "liblinear": [peers["liblinear"].ask("train", solver, shares[solver]["share"]) for solver in solvers]}
    found["two"] = jobs.run(*words, "--threads", 2)
    if "sklearn" in peers:
        weights = jobs.folder / "sklearn.weights"
        found["sklearn"] = peers["sklearn"].ask(weights, estimator)
        found["sklearn"]["objective"] = peers["liblinear"].ask("weights", solvers[0], weights)["objective"]
    return found


def linear_bound(loss, peer_s):
    return 1.3 if loss == "hinge" else 1.2 if peer_s < SHORT_S else 1.0


def linear_rows(results, what, loss, runs, shares, shape):
    """Of LIBLINEAR's solvers the one with the least CPU time."""
    def middle(values):
        return median([float(value) for value in values])

    solvers = LOSSES[loss][0]
    cpu = [middle(run["liblinear"][i]["cpu_s"] for run in runs) for i in range(len(solvers))]
    best = cpu.index(min(cpu))
    ours = middle(run["ours"]["train_cpu_s"] for run in runs)
    objective = runs[0]["ours"]["objective"]
    own, share = shares[solvers[best]]["own"], shares[solvers[best]]["share"]
    equal = objective <= own * (1 + EQUAL)
    details = dict(objective=f"{objective:.8g}", peer_objective=f"{runs[0]['liblinear'][best]['objective']:.8g}",
                   peer_objective_by_default=f"{own:.8g}", objective_holds=equal, solver=solvers[best], tolerance=share,
                   n=len(runs), load=load())
    if "sklearn" in runs[0]:
        details.update(sklearn_cpu_s=round(middle(run["sklearn"]["cpu_s"] for run in runs), 3),
                       sklearn_objective=f"{runs[0]['sklearn']['objective']:.8g}")
    about = dict(bench="train-logreg", against="LIBLINEAR", peer_version=shape["version"],
                 data=matrix(shape["rows"], shape["columns"], shape["entries"]))
    bound = linear_bound(loss, cpu[best])
    emit(results, what=f"{what}, {loss}, 1 thread", ours=round(ours, 4), unit="CPU s", peer=round(cpu[best], 4),
         ratio=round(ours / cpu[best], 3), bound=f"at most {bound}, objective equal or lower", holds=equal and ours <= bound * cpu[best],
         process_cpu_s=round(middle(run["ours"]["process_cpu_s"] for run in runs), 3), gap=runs[0]["ours"]["gap"],
         stopped=runs[0]["ours"]["stopped"], **about, **details)
    wall = middle(run["liblinear"][best]["wall_s"] for run in runs)
    two = middle(run["two"]["seconds"] for run in runs)
    emit(results, what=f"{what}, {loss}, 2 threads", ours=round(two, 4), unit="s", peer=round(wall, 4), ratio=round(two / wall, 3),
         bound="at most 0.6", holds=two <= 0.6 * wall, n=len(runs), load=load(), **about)


def logreg(shoal, work, results):
    data, jobs, python = data_dir("train"), Jobs(shoal, work), python_with_sklearn()
    if data is None:
        return False
    for what, make in SETS.items():
        if not wanted(what):
            continue
        path = make(shoal, work, data)
        peers = {"liblinear": Peer([program(shoal, "linear_peer"), path])}
        shape = peers["liblinear"].ask("shape")
        if python is not None and make in (a9a, news20, generated):
            peers["sklearn"] = Peer([python, HERE / "sklearn_peer.py", path])
        for loss in LOSSES:
            shares = {}
            runs = [linear_once(jobs, peers, path, loss, shares) for _ in range(repeats(5))]
            linear_rows(results, what, loss, runs, shares, shape)
        for peer in peers.values():
            peer.close()
    return True


# ---- factors ----

def ratings(shoal, work, size=RATINGS):
    """Every tenth rating at random is for the test."""
    whole, draw = work / "ratings.csv", random.Random(1)
    subprocess.run([shoal, "gen", "ratings", "--users", str(size[0]), "--items", str(size[1]), "--ratings", str(size[2]),
                    "-o", whole, "--log", "error"], check=True, stderr=subprocess.DEVNULL)
    with open(whole) as lines, open(work / "train.csv", "w") as train, open(work / "test.csv", "w") as test:
        header = next(lines)
        train.write(header)
        test.write(header)
        for line in lines:
            (test if draw.random() < 0.1 else train).write(line)
    whole.unlink()
    return work / "train.csv", work / "test.csv"


def libmf_words(program_, epochs, *tail):
    return [program_, "-f", "0", "-k", "32", "-l2", "0.05", "-r", "0.1", "-s", "1", "-t", str(epochs), *map(str, tail)]


def child_cpu_s(command):
    child = subprocess.Popen(list(map(str, command)), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    _, status, usage = os.wait4(child.pid, 0)
    child.returncode = os.waitstatus_to_exitcode(status)
    if child.returncode != 0:
        sys.exit(f"bench: {command[0]} failed")
    return usage.ru_utime + usage.ru_stime


def libmf_epochs(libmf, files, rmse):
    """The first epoch at which LIBMF's test error is as low as ours or within 0.1 % of its lowest, and that error."""
    out = subprocess.run(libmf_words(libmf, 40, "-p", files[1], files[0], files[0].with_suffix(".model")),
                         capture_output=True, text=True, check=True).stdout
    errors = [float(line.split()[2]) for line in out.splitlines() if line.split() and line.split()[0].isdigit()]
    enough = max(rmse, 1.001 * min(errors))
    return next((epoch + 1, error) for epoch, error in enumerate(errors) if error <= enough)


def libmf_cpu_s(libmf, files, epochs):
    """Of its passes alone, as the difference to a run of one epoch, so that reading and cutting are not counted."""
    long, short = (child_cpu_s(libmf_words(libmf, count, "--quiet", files[0], files[0].with_suffix(".model")))
                   for count in (epochs, 1))
    return (long - short) * epochs / (epochs - 1) if epochs > 1 else long, long


def mf(shoal, work, results):
    """MovieLens-10M's shape. LIBMF's own mf-train is run where $SHOAL_LIBMF names it."""
    train, test = ratings(shoal, work)
    jobs, model, libmf = Jobs(shoal, work), work / "mf.shoal", os.environ.get("SHOAL_LIBMF")
    words = ["mf", train, "--workers", 1, "--threads", 1, *settings(rank=32), "--out", model]
    runs, peers, epochs, error = [], [], 0, None
    for _ in range(repeats(5)):
        runs.append(jobs.run(*words, parts=True))
        rmse = json.loads(jobs.say("eval", model, test, "--json"))["rmse"]
        if libmf and not epochs:
            files = [path.with_suffix(".txt") for path in (train, test)]
            for path, text in zip((train, test), files):
                text.write_text(path.read_text().partition("\n")[2].replace(",", " "))
            epochs, error = libmf_epochs(libmf, files, rmse)
        if libmf:
            peers.append(libmf_cpu_s(libmf, files, epochs))
    ours = median([run["train_cpu_s"] for run in runs])
    row = dict(bench="train-mf", what=f"generated, {'a tenth of ' if QUICK else ''}MovieLens-10M, rank 32",
               data=ratings_shape(*RATINGS), ours=round(ours, 3), unit="CPU s", bound="at most 0.7, test RMSE equal or lower", rmse=round(rmse, 5),
               process_cpu_s=round(median([run["process_cpu_s"] for run in runs]), 3), n=len(runs), load=load())
    if libmf:
        peer = median([run[0] for run in peers])
        row.update(against="LIBMF", peer=round(peer, 3), ratio=round(ours / peer, 3), peer_epochs=epochs,
                   peer_rmse=round(error, 5), holds=ours <= 0.7 * peer and rmse <= error * (1 + EQUAL),
                   peer_process_cpu_s=round(median([run[1] for run in peers]), 3))
    emit(results, **row)
    return True


# ---- what the runtime costs ----

def rows(shoal, work, results):
    for row in lines_of([program(shoal, "rows")]):
        if row["bench"] == "rows":
            emit(results, bench="train-rows", what=f"rows of {row['width']} floats",
                 data=f"{(1 << 30) // (4 * row['width']):,} rows x {row['width']} floats", ours=row["ours"], unit=row["unit"],
                 against="raw loop", peer=row["peer"], ratio=row["ratio"], bound="at least 0.6", holds=row["ratio"] >= 0.6,
                 n=row["n"], load=load())
    return True


def tasks(shoal, work, results):
    for part in ("empty", "cut"):
        for row in lines_of([program(shoal, "tasks"), part]):
            if part == "empty":
                emit(results, bench="train-tasks", what="empty tasks in one process", ours=row["ours"], unit=row["unit"],
                     bound="at least 1,000,000", holds=row["ours"] >= 1e6, per_cpu_s=row.get("per_cpu_s"), n=row["n"],
                     load=load())
            else:
                clocks = "with" if row.get("clocks") else "without"
                emit(results, bench="train-tasks", ours=row["ours"], unit=row["unit"],
                     what=f"16 executors per thread, tasks of {row['task_us']} us, {clocks} clocks",
                     against="1 executor", peer=row["peer"], ratio=row["ratio"], bound="at most 1.02",
                     holds=row["ratio"] <= 1.02, n=row["n"], load=load())
    return True


FAR_BOUND = {1: 10, 4096: 3}


def pslite(rows_per_message):
    """Medians of its push and pull, rows per second and per CPU second; $SHOAL_PSLITE names what measures them."""
    measure = os.environ.get("SHOAL_PSLITE")
    if not measure:
        return {}
    wanted = dict(os.environ, ROWS=str(rows_per_message), REPS=str(repeats(5)), SECONDS_EACH="1")
    found = list(lines_of([measure], env=wanted))
    return {op: (median([row["rows_per_s"] for row in found if row["op"] == op]),
                 median([row["rows_per_cpu_s"] for row in found if row["op"] == op])) for op in ("push", "pull")}


def far(shoal, work, results):
    """Their pull is of rows that nobody changes; our tasks change rows, and these come back before a later task."""
    for count in (1, 16, 256, 4096):
        peer, bound = pslite(count), FAR_BOUND.get(count)
        for row in lines_of([program(shoal, "far"), 1, count]):
            push = row["op"] == "push"
            fields = dict(bench="train-far", what=f"{count:,} rows a message, {'push' if push else 'push and back'}",
                          data="262,144 rows x 100 floats", ours=row["ours"], unit=row["unit"], per_cpu_s=row["per_cpu_s"], n=row["n"], load=load())
            if bound:
                fields["bound"] = f"at least {bound}"
            theirs = peer.get("push" if push else "pull")
            if theirs:
                fields.update(against=f"ps-lite's {'push' if push else 'pull'}", peer=theirs[0], ratio=round(row["ours"] / theirs[0], 2),
                              peer_per_cpu_s=theirs[1], ratio_per_cpu_s=round(row["per_cpu_s"] / theirs[1], 2))
            if theirs and bound:
                fields["holds"] = row["ours"] >= bound * theirs[0]
            emit(results, **fields)
    return True


def wire(shoal, work, results):
    for row in lines_of([program(shoal, "wire"), repeats(5)]):
        emit(results, bench="train-wire", what=row["bench"].removeprefix("wire-"), ours=row["ours"], unit=row["unit"],
             against="plain sockets", peer=row["peer"], ratio=row["ratio"], n=row["n"], load=load(),
             ours_per_cpu_s=row["ours_per_cpu_s"], peer_per_cpu_s=row["peer_per_cpu_s"])
    return True


def factors(shoal, work, results):
    """At full size; whole tables of 800 MB are sent by nobody, and what they would be is checked on a small size."""
    small = {row["bench"]: row for row in lines_of([program(shoal, "far"), "factors"])}
    row = small["far-factors"]
    if not QUICK:
        row, = lines_of([program(shoal, "far"), "factors", 10000, 20000])
    common = dict(bench="train-factors", unit="bytes a clock", data=f"{row['features']:,} x {row['classes']:,} weights", classes=row["classes"], features=row["features"],
                  workers=row["workers"], n=1)
    for what, ours, formula in (("updates to the driver", row["ours"], row["formula"]),
                                ("updates to the other workers", row["rows"], row["rows_as_factors"])):
        emit(results, what=what, ours=ours, against="the formula", peer=formula, ratio=round(ours / formula, 4),
             bound="0.95 to 1.05", holds=abs(ours / formula - 1) <= 0.05, **common)
    less = row["whole_tables"] / row["ours"]
    emit(results, what="times below whole tables", ours=row["ours"], against="8 tables", peer=row["whole_tables"], ratio=round(less, 1),
         bound="at least 8", holds=less >= 8, **common)
    row = small["far-dense"]
    emit(results, what="whole tables as sent, on a small size", ours=row["ours"], against="8 tables", peer=row["whole_tables"],
         ratio=round(row["ours"] / row["whole_tables"], 4), **dict(common, classes=row["classes"], features=row["features"], data=f"{row['features']:,} x {row['classes']:,} weights"))
    return True


BENCHES = {"train-logreg": logreg, "train-mf": mf, "train-rows": rows, "train-tasks": tasks, "train-far": far,
           "train-wire": wire, "train-factors": factors}
