"""What the reference tests share: finding and unpacking public data, running the command, reporting.

Data comes from $SHOAL_DATA; a test whose data is missing exits 77 with the reason. Only the standard library is used.
"""
import json
import lzma
import os
import subprocess
import sys
import tarfile
import tempfile
from pathlib import Path

SHOAL = os.environ["SHOAL_BIN"]
DATA = Path(os.environ.get("SHOAL_DATA", "")) / "sched"


def skip(reason):
    print(f"skipped: {reason}")
    sys.exit(77)


def data(name):
    """Path of a public file, or the test is skipped."""
    path = DATA / name
    if not path.is_file():
        skip(f"no '{path}': set SHOAL_DATA to the folder of public data")
    return path


class Workplace(tempfile.TemporaryDirectory):
    """A temporary folder to unpack into; use with `with`."""

    def __enter__(self):
        self.folder = Path(super().__enter__())
        return self

    def unpack(self, name):
        with tarfile.open(data(name)) as archive:
            archive.extractall(self.folder)
        return self.folder

    def unxz(self, name):
        path = self.folder / Path(name).stem
        path.write_bytes(lzma.decompress(data(name).read_bytes()))
        return path


def sim(trace, *options):
    """Runs `shoal sim --json`; one object per policy, in the order asked for."""
    traces = trace if isinstance(trace, list) else [trace]
    command = [SHOAL, "sim", *map(str, traces), *map(str, options), "--json"]
    result = subprocess.run(command, capture_output=True, text=True, timeout=300)
    if result.returncode != 0:
        sys.exit(f"{' '.join(command)}\nended with {result.returncode}:\n{result.stdout}{result.stderr}")
    return [json.loads(line) for line in result.stdout.splitlines()]


class Report:
    """Collects what does not hold; end() prints it and leaves with 0 or 1."""

    def __init__(self):
        self.problems, self.checked = [], 0

    def check(self, holds, text):
        self.checked += 1
        if not holds:
            self.problems.append(text)

    def ended(self, run, name):
        """Every job of the run ended, and some finished."""
        done = run["finished"] + run["failed"] + run["rejected"]
        self.check(done == run["jobs"] and run["finished"] > 0, f"{name}: {run}")
        self.check(0 < run["utilization"] <= 1, f"{name}: utilization {run['utilization']}")

    def end(self):
        print("\n".join(self.problems))
        print(f"{self.checked} checks, {len(self.problems)} do not hold")
        sys.exit(1 if self.problems else 0)
