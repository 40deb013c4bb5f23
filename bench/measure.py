"""What benches share: results as JSON lines, medians, public data, processes."""
import json
import os
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
