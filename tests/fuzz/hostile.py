#!/usr/bin/env python3
"""Mutated inputs over all readers: none takes more than 5 s or 1 GiB, and under sanitizers none does what they forbid.
SHOAL_HOSTILE_INPUTS (330) is how many in all; SHOAL_HOSTILE_SEED (1) makes others of them."""
import json
import os
import subprocess
import sys
from pathlib import Path

FOLDER = Path(os.environ["SHOAL_BUILD_DIR"], "fuzz")
CORPUS = Path(os.environ["SHOAL_SOURCE_DIR"], "tests", "fuzz", "corpus")


def main():
    names = sorted(path.name for path in CORPUS.iterdir() if (FOLDER / f"fuzz_{path.name}").exists())
    each = -(-int(os.environ.get("SHOAL_HOSTILE_INPUTS", "330")) // max(1, len(names)))
    seed = os.environ.get("SHOAL_HOSTILE_SEED", "1")
    total, slowest, largest, problems = 0, (0, ""), (0, ""), []
    for name in names:
        keep = FOLDER / f"hostile-{name}"
        done = subprocess.run([FOLDER / f"fuzz_{name}", "--mutate", str(each), "--seed", seed, "--keep", keep, CORPUS / name],
                              capture_output=True, text=True, errors="replace")
        if done.returncode == 0:
            keep.unlink(missing_ok=True)
            told = json.loads(done.stdout.splitlines()[-1])
            total += told["inputs"]
            slowest = max(slowest, (told["slowest_s"], name))
            largest = max(largest, (told["largest_bytes"], name))
        else:
            problems.append(f"{name}: exit {done.returncode}, the input is {keep}; add it to {CORPUS / name}\n" + done.stderr[-3000:])
    print("\n".join(problems))
    print(f"{total} inputs over {len(names)} readers; slowest {slowest[0]} s ({slowest[1]}), largest {largest[0] / 2**20:.1f} MiB ({largest[1]})")
    return 1 if problems or not names else 0


if __name__ == "__main__":
    sys.exit(main())
