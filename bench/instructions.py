"""Bench of what commands cost in instructions, beside an earlier build: nine runs under callgrind, which counts the same whatever
else the machine does.

$SHOAL_BEFORE names the earlier command, built with the same preset. Both read the same inputs, which the earlier one generates.
Counts are of the whole process with its start, in user space, one thread. A run that trains is not among them: which of its processes
sleeps when is the machine's to say.
"""
import os
import re
import subprocess
import sys
from pathlib import Path

from measure import HERE, emit

BAR = 1.02

INPUTS = [
    "trace gen --shape philly --jobs 2000 --duration-max 6h --gpus-max 8 --load 0.9 --gpus 24 -o jobs.csv",
    "gen prices --days 60 -o prices.csv",
    "gen sparse --rows 20000 --columns 5000 -o rows.svm",
    "train logreg rows.svm --workers 1 --threads 1 --set executors=1 --out rows.model",
]

RUNS = {
    "sim, the default policies": "sim -c 4x4:t4,2x4:a100 jobs.csv --threads 1 --json",
    "sim, max-min": "sim -c 4x4:t4,2x4:a100 -p max-min jobs.csv --threads 1 --json",
    "sim, table": "sim -c 4x4:t4,2x4:a100 -p fifo,las jobs.csv --threads 1",
    "market": "market prices.csv --kinds small --work 10d --deadline 20d --json",
    "study": "study jobs.csv -c 4x8:gpu --seed 3 --draws 1 --threads 1 --json",
    "advise": "advise runs.csv --target 0.21 --machines 1-16 --price 0.5 --json",
    "solve": "solve problem.json --threads 1 --json",
    "gen sparse": "gen sparse --rows 20000 --columns 5000 --threads 1 -o made.svm",
    "eval": "eval rows.model rows.svm --json",
}


def instructions(shoal, work, words):
    done = subprocess.run(["valgrind", "--tool=callgrind", "--callgrind-out-file=callgrind.out", shoal, *words.split()],
                          cwd=work, capture_output=True, text=True)
    counted = re.search(r"Collected : (\d+)", done.stderr)
    if done.returncode != 0 or counted is None:
        sys.exit(f"bench: '{words}' failed under callgrind: {done.stderr[-500:]}")
    return int(counted[1])


def take_inputs(before, work):
    """What the runs read: files of the recorded runs beside what the earlier command generates."""
    os.environ.update(SHOAL_SOURCE_DIR=str(HERE.parent), SHOAL_BIN=before, SHOAL_BUILD_DIR=str(Path(before).parent))
    sys.path.insert(0, str(HERE.parent / "tests" / "cli"))
    import test_recorded
    home = os.getcwd()
    os.chdir(work)
    test_recorded.make_files()
    os.chdir(home)
    (work / "problem.json").write_text((HERE.parent / "examples" / "problem.json").read_text())
    for words in INPUTS:
        subprocess.run([before, *words.split()], cwd=work, check=True, capture_output=True)


def measure(shoal, work, results):
    before = os.environ.get("SHOAL_BEFORE")
    if not before:
        print("bench: instructions compares with an earlier build of the command: name it in SHOAL_BEFORE", file=sys.stderr)
        return False
    shoal, before = (str(Path(command).resolve()) for command in (shoal, before))
    take_inputs(before, work)
    for name, words in RUNS.items():
        theirs, ours = (instructions(command, work, words) for command in (before, shoal))
        emit(results, bench="instructions", what=name, ours=round(ours / 1e6, 2), peer=round(theirs / 1e6, 2), against="an earlier build",
             ratio=round(ours / theirs, 4), unit="M instructions", n=1, bound=f"at most {BAR}", holds=ours <= BAR * theirs)
    return True


BENCHES = {"instructions": measure}
