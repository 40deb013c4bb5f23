"""What benches share: results as JSON lines, medians, versions of peers, shapes of data, public data, processes."""
import functools
import json
import os
import re
import statistics
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
QUICK = bool(os.environ.get("SHOAL_BENCH_QUICK"))  # one repeat, on less data: does it work?
REPEATS = os.environ.get("SHOAL_BENCH_REPEATS")  # in place of as many as a bench has
ONLY = os.environ.get("SHOAL_BENCH_ONLY", "")  # part of what the rows say that are wanted, of benches that ask


def repeats(count, quick=1):
    return int(REPEATS) if REPEATS else quick if QUICK else count


def wanted(what):
    return ONLY in what


def emit(results, **fields):
    """One result. `data` says the shape of what was measured (below); a peer that has versions gets its own in `peer_version`."""
    name = fields.get("against", "").removesuffix("'s push").removesuffix("'s pull")
    if name in PEERS:
        fields.setdefault("peer_version", version(name))
    print(json.dumps(fields), flush=True)
    results.append(fields)


def median(values):
    return statistics.median(values)


def data_dir(part):
    """Public data: a folder of $SHOAL_DATA or of ../shared/data; None: it is not there."""
    for candidate in (os.environ.get("SHOAL_DATA"), HERE.parent.parent / "shared" / "data"):
        if candidate and Path(candidate, part).is_dir():
            return Path(candidate) / part
    return None


def program(shoal, name):
    return Path(shoal).resolve().parent / "bench" / f"bench_{name}"


def python_with(module):
    """An interpreter that has it, or None: Debian's packages are seen by Debian's alone."""
    for python in (sys.executable, "/usr/bin/python3"):
        if subprocess.run([python, "-c", f"import {module}"], capture_output=True).returncode == 0:
            return python
    return None


# ---- versions of peers ----

def output(*command):
    """What a command printed, None where it failed or is not there."""
    try:
        done = subprocess.run(list(map(str, command)), capture_output=True, text=True)
    except OSError:
        return None
    return done.stdout.strip() if done.returncode == 0 and done.stdout.strip() else None


def debian(package):
    return output("dpkg-query", "-W", "-f", "${Version}", package)


def module(name):
    """Of a Python module, in the interpreter that the bench uses for it."""
    python = python_with(name)
    return python and output(python, "-c", f"import {name}; print({name}.__version__)")


def built(variable):
    """Of a program built elsewhere: as a header beside it says (LIBLINEAR_VERSION 249 is 2.49), else its folder's tag or commit."""
    if not os.environ.get(variable):
        return None
    place = Path(os.environ[variable]).resolve()
    folder = place if place.is_dir() else place.parent
    for header in sorted(folder.glob("*.h")):
        found = re.search(r"^#define \w+_VERSION (\d+)$", header.read_text(errors="replace"), re.M)
        if found:
            return f"{int(found[1]) // 100}.{int(found[1]) % 100:02}"
    return output("git", "-C", folder, "describe", "--always", "--tags")


PEERS = {"LIBLINEAR": lambda: built("SHOAL_LIBLINEAR") or debian("liblinear-dev"), "scikit-learn": lambda: module("sklearn"),
         "gensim": lambda: module("gensim"), "glmnet": lambda: debian("r-cran-glmnet"), "CLP": lambda: output("pkg-config", "--modversion", "clp"),
         "LIBMF": lambda: built("SHOAL_LIBMF"), "WarpLDA": lambda: built("SHOAL_WARPLDA"), "ps-lite": lambda: built("SHOAL_PSLITE")}


@functools.cache
def version(peer):
    return PEERS[peer]() or "unknown"


# ---- shapes of data ----

def matrix(rows, columns, nonzeros):
    return f"{rows:,} x {columns:,}, {nonzeros:,} non-zeros"


def svm_shape(path):
    """Of a file in LIBSVM's format, whose columns ascend in each row."""
    rows = columns = nonzeros = 0
    with open(path, "rb") as lines:
        for line in lines:
            rows, nonzeros = rows + 1, nonzeros + line.count(b":")
            if b":" in line:
                columns = max(columns, int(line[:line.rindex(b":")].split()[-1]))
    return matrix(rows, columns, nonzeros)


def ratings_shape(users, items, count):
    return f"{users:,} users x {items:,} items, {count:,} ratings"


def csv_shape(path):
    """Of ratings in a file: user,item,rating."""
    users, items, count = set(), set(), -1  # the header is not one
    with open(path) as lines:
        for count, line in enumerate(lines):
            user, item, _ = line.split(",", 2)
            users.add(user)
            items.add(item)
    return ratings_shape(len(users) - 1, len(items) - 1, count)


def file_shape(path):
    """Of a file of data for training, by its name."""
    return svm_shape(path) if path.suffix == ".svm" else csv_shape(path) if path.suffix == ".csv" else bag_shape(path)


def bag_shape(path):
    """Of a UCI bag of words."""
    with open(path) as lines:
        documents, words, entries = (int(next(lines)) for _ in range(3))
    return f"{documents:,} documents x {words:,} words, {entries:,} entries"


def jobs_shape(jobs, cluster):
    """Of jobs on a cluster as the command takes it: 16x4:t4,2x8:a100."""
    nodes = [part.split(":")[0].split("x") for part in cluster.split(",")]
    return f"{jobs:,} jobs x {sum(int(count) * int(each) for count, each in nodes):,} GPUs"


# ---- programs ----

def lines_of(command, **options):
    """Runs a program of ours that prints JSON lines; gives each as it comes."""
    with subprocess.Popen(list(map(str, command)), stdout=subprocess.PIPE, text=True, **options) as child:
        for line in child.stdout:
            if line.startswith("{"):
                yield json.loads(line)
    if child.returncode != 0:
        sys.exit(f"bench: {Path(command[0]).name} failed; it said why above")


def load():
    """How busy the machine is: what a figure of wall time is worth."""
    return round(os.getloadavg()[0], 1)
