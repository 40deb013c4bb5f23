#!/usr/bin/env python3
"""Runs commands on a terminal: the table of `shoal sim` fits it, least needed columns first out, and a pipe gets them all; what they say
goes on in the next line between words."""
import os
import sys
import tempfile
from pathlib import Path

from terminal import shown

SHOAL = os.environ["SHOAL_BIN"]
ALL = "POLICY AVG P50 P99 MAKESPAN WAIT RHO WORST UNFAIR BUSY COST DECIDES".split()


def at_width(width, trace, *words, talk=False):
    env = {"PATH": os.environ["PATH"], "HOME": str(trace.parent), "TERM": "dumb", "LC_ALL": "C.UTF-8"}
    return shown([SHOAL, "sim", *words, str(trace)], width, talk=talk, env=env)


def columns_at(width, trace):
    """The words of the heading on a terminal of this width, and the longest line."""
    lines = at_width(width, trace, "-c", "1x4:t4", "-p", "fifo,las")
    return [word for word in lines[0].split() if word != "JCT"], max(map(len, lines))


def check_talk(trace, problems):
    """Warnings, notes and errors have the same words at any width, whole, and fit."""
    for words in (["-c", "4x4:t4,1x1:nothing-known", "-p", "fifo", "--job-failures"], ["-p", "fifo,lsa"], ["--set", "no-such-knob=1"]):
        wide = at_width(2000, trace, *words, talk=True)
        for width in (80, 50):
            lines = at_width(width, trace, *words, talk=True)
            told, told_wide = ([line for line in text if "  " not in line] for text in (lines, wide))
            if max(map(len, told)) > width:
                problems.append(f"{words} at {width} columns: {max(told, key=len)}")
            if len(told) <= len(told_wide):
                problems.append(f"{words} at {width} columns: no line goes on")
            if " ".join(told) != " ".join(told_wide):
                problems.append(f"{words} at {width} columns: {told} and not {told_wide}")


def main():
    problems = []
    with tempfile.TemporaryDirectory() as folder:
        trace = Path(folder) / "t.csv"
        trace.write_text("name,submit_s,gpus,duration_s\na,0,4,5000\nb,10,2,90\n")
        wide, length = columns_at(300, trace)
        if wide != ALL:
            problems.append(f"at 300 columns: {wide}")
        check_talk(trace, problems)
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
