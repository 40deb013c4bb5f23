#!/usr/bin/env python3
"""Output that cannot be written - a limit on the size of files, a full disk - is an error that says why, in commands
that write files (data, traces, predictions, a report, a model) and in those that print, however much. It leaves no
file behind."""
import json
import os
import resource
import subprocess
import sys
import tempfile
from pathlib import Path

SHOAL = os.environ["SHOAL_BIN"]
SMALL = Path(os.environ["SHOAL_SOURCE_DIR"], "examples", "small.csv")
LIMIT = 4096
# FILE is what is made; without it, what is printed.
COMMANDS = {
    "gen sparse": ["gen", "sparse", "-o", "FILE"],
    "gen ratings": ["gen", "ratings", "-o", "FILE"],
    "gen ratings, printed": ["gen", "ratings"],
    "trace gen": ["trace", "gen", "-o", "FILE"],
    "trace gen, printed": ["trace", "gen"],
    "trace convert": ["trace", "convert", "../trace.csv", "-o", "FILE"],
    "trace convert, printed": ["trace", "convert", "../trace.csv"],
    "sim --report": ["sim", SMALL, "--report", "FILE"],
    "sim --events": ["sim", "../trace.csv", "--policy", "las", "--events", "FILE"],
    "sim --report, printed": ["sim", SMALL, "--report", "-"],
    "sim --json": ["sim", SMALL, "--json", "--policy", ",".join(["fifo", "las", "srtf"] * 5)],
    "solve": ["solve", "../problem.json", "--show", "all", "-o", "FILE"],
    "solve, printed": ["solve", "../problem.json", "--show", "all"],
    "solve --json": ["solve", "../problem.json", "--json"],
    "predict": ["predict", "../model", "../data.svm", "-o", "FILE"],
    "predict, printed": ["predict", "../model", "../data.svm"],
    "completion": ["completion", "bash"],
}
# These print less than the limit, or need larger files on the way.
FULL_ONLY = {
    "train": ["train", "logreg", "../data.svm", "--workers", "1", "--out", "FILE"],
    "help": ["--help"],
    "jobs": ["jobs", "--json"],
    "version": ["version"],
    "eval": ["eval", "../model", "../data.svm"],
    "trace info": ["trace", "info", "../trace.csv"],
    "policy show": ["policy", "show", "las"],
}


def limited():
    resource.setrlimit(resource.RLIMIT_FSIZE, (LIMIT, LIMIT))


def prepare(folder):
    """What commands read: so many rows that predictions are too large."""
    words = ["gen", "sparse", "--rows", "3000", "--columns", "500", "--nonzeros", "5", "-o", "data.svm"]
    for command in (words, ["train", "logreg", "data.svm", "--workers", "1", "--out", "model"],
                    ["trace", "gen", "--jobs", "1000", "-o", "trace.csv"]):
        subprocess.run([SHOAL, *command], cwd=folder, check=True, capture_output=True, timeout=100)
    jobs = [{"name": f"job{i}", "rates": {"a": 1 + i % 7, "b": 1 + i % 5}} for i in range(300)]
    problem = {"kinds": {"a": {"gpus": 4}, "b": {"gpus": 4}}, "jobs": jobs}
    Path(folder, "problem.json").write_text(json.dumps(problem))


def run(words, where, out, **options):
    return subprocess.run([SHOAL, *words], stdout=out, stderr=subprocess.PIPE, text=True, cwd=where, timeout=100,
                          **options)


def complaints(name, result, reason):
    said = [line for line in result.stderr.splitlines() if "cannot write" in line]
    if result.returncode != 1 or len(said) != 1 or not said[0].endswith(": " + reason):
        yield f"{name}, {reason}: exit {result.returncode}, {result.stderr!r}"


def is_limited(name, words, where):
    where.mkdir()
    with open(where / "out", "wb") as out:
        result = run([w if w != "FILE" else "made" for w in words], where, out, preexec_fn=limited)
    yield from complaints(name, result, "file too large")
    left = sorted(path.name for path in where.iterdir())
    if left != ["out"]:
        yield f"{name}: left {left}"


def is_full(name, words, folder):
    where = Path(folder, "here")
    where.mkdir(exist_ok=True)
    with open("/dev/full", "wb") as full:
        result = run([w if w != "FILE" else "/dev/full" for w in words], where,
                     subprocess.DEVNULL if "FILE" in words else full)
    yield from complaints(name, result, "no space left on device")


def main():
    problems = []
    with tempfile.TemporaryDirectory() as folder:
        os.environ["XDG_RUNTIME_DIR"] = folder
        prepare(folder)
        for name, words in COMMANDS.items():
            problems += is_limited(name, words, Path(folder, name))
        for name, words in {**COMMANDS, **FULL_ONLY}.items():
            problems += is_full(name, words, folder)
    print("\n".join(problems))
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
