#!/usr/bin/env python3
"""A limit on the size of files is an error in words in commands that write one - data, traces, predictions, a
report, their output - and leaves no file behind."""
import os
import resource
import subprocess
import sys
import tempfile
from pathlib import Path

SHOAL = os.environ["SHOAL_BIN"]
SMALL = Path(os.environ["SHOAL_SOURCE_DIR"], "examples", "small.csv")
LIMIT = 4096
COMMANDS = {
    "gen sparse": ["gen", "sparse", "-o", "made"],
    "gen ratings": ["gen", "ratings", "-o", "made"],
    "trace gen": ["trace", "gen", "-o", "made"],
    "sim --report": ["sim", SMALL, "--report", "made"],
    "predict": ["predict", "../model", "../data.svm", "-o", "made"],
    "completion": ["completion", "bash"],
}


def limited():
    resource.setrlimit(resource.RLIMIT_FSIZE, (LIMIT, LIMIT))


def prepare(folder):
    """What commands read: so many rows that predictions are too large."""
    words = ["gen", "sparse", "--rows", "3000", "--columns", "50", "--nonzeros", "5", "-o", "data.svm"]
    for command in (words, ["train", "logreg", "data.svm", "--workers", "1", "--out", "model"]):
        subprocess.run([SHOAL, *command], cwd=folder, check=True, capture_output=True, timeout=60)


def main():
    problems = []
    with tempfile.TemporaryDirectory() as folder:
        os.environ["XDG_RUNTIME_DIR"] = folder
        prepare(folder)
        for name, words in COMMANDS.items():
            where = Path(folder, name)
            where.mkdir()
            with open(where / "out", "wb") as out:
                result = subprocess.run([SHOAL, *words], stdout=out, stderr=subprocess.PIPE, text=True, cwd=where,
                                        preexec_fn=limited, timeout=60)
            if result.returncode != 1 or "cannot write" not in result.stderr:
                problems.append(f"{name}: exit {result.returncode}, {result.stderr!r}")
            left = sorted(path.name for path in where.iterdir())
            if left != ["out"]:
                problems.append(f"{name}: left {left}")
    print("\n".join(problems))
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
