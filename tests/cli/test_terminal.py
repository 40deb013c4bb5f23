#!/usr/bin/env python3
"""Runs `shoal sim` on a terminal: the table fits it, least needed columns first out; a pipe gets them all."""
import os
import sys
import tempfile
from pathlib import Path

from terminal import shown

SHOAL = os.environ["SHOAL_BIN"]
ALL = "POLICY AVG P50 P99 MAKESPAN WAIT RHO WORST UNFAIR BUSY COST DECIDES".split()


def columns_at(width, trace):
    """The words of the heading on a terminal of this width, and the longest line."""
    env = {"PATH": os.environ["PATH"], "HOME": str(trace.parent), "TERM": "dumb", "LC_ALL": "C.UTF-8"}
    lines = shown([SHOAL, "sim", "-c", "1x4:t4", "-p", "fifo,las", str(trace)], width, env=env)
    return [word for word in lines[0].split() if word != "JCT"], max(map(len, lines))


def main():
    problems = []
    with tempfile.TemporaryDirectory() as folder:
        trace = Path(folder) / "t.csv"
        trace.write_text("name,submit_s,gpus,duration_s\na,0,4,5000\nb,10,2,90\n")
        wide, length = columns_at(300, trace)
        if wide != ALL:
            problems.append(f"at 300 columns: {wide}")
        gone = ["DECIDES", "P50", "WAIT", "BUSY"]
        seen = set()
        for width in range(length, 39, -1):
            found, used = columns_at(width, trace)
            missing = [word for word in ALL if word not in found]
            seen.add(len(missing))
            if sorted(missing) != sorted(gone[:len(missing)]):
                problems.append(f"at {width} columns: without {missing}")
            if used > width and len(missing) < len(gone):
                problems.append(f"at {width} columns: a line of {used}")
        if seen != set(range(5)):
            problems.append(f"numbers of columns left out: {seen}")
    print("\n".join(problems) or "ok")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
