#!/usr/bin/env python3
"""A limit on the size of files is an error in words in every command that writes one, and leaves no file behind."""
import os
import resource
import subprocess
import sys
import tempfile
from pathlib import Path

SHOAL = os.environ["SHOAL_BIN"]
LIMIT = 4096
COMMANDS = {
    "gen sparse": ["gen", "sparse", "-o", "made"],
    "gen ratings": ["gen", "ratings", "-o", "made"],
    "completion": ["completion", "bash"],
}


def limited():
    resource.setrlimit(resource.RLIMIT_FSIZE, (LIMIT, LIMIT))


def main():
    problems = []
    for name, words in COMMANDS.items():
        with tempfile.TemporaryDirectory() as folder, open(Path(folder) / "out", "wb") as out:
            result = subprocess.run([SHOAL, *words], stdout=out, stderr=subprocess.PIPE, text=True, cwd=folder,
                                    preexec_fn=limited, timeout=60)
            if result.returncode != 1 or "cannot write" not in result.stderr:
                problems.append(f"{name}: exit {result.returncode}, {result.stderr!r}")
            left = sorted(path.name for path in Path(folder).iterdir())
            if left != ["out"]:
                problems.append(f"{name}: left {left}")
    print("\n".join(problems))
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
