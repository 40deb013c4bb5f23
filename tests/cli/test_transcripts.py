#!/usr/bin/env python3
"""Runs the transcripts: command, what it prints, exit status.

A transcript is a text file in transcripts/ made of blocks:

    $ shoal policy            a bash line; the following lines are its expected output
    ! shoal policy: ...       a line of stderr (the others are stdout)
    [2]                       exit status, left out when 0
    $                         end of the block

"..." in an expected line matches anything, a line "..." alone any number of lines. Lines that begin with "# " between
blocks are comments. Each file runs in an empty folder with an empty home; files made by one block are there for the
next. With names as arguments only those transcripts run; --write replaces the expectations by what was printed.
"""
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent / "transcripts"
SHOAL = os.environ["SHOAL_BIN"]


class Block:
    def __init__(self, number, command):
        self.number, self.command = number, command
        self.before, self.out, self.err, self.status, self.done = [], [], [], 0, False


def read_blocks(text):
    blocks, comments = [], []
    for number, line in enumerate(text.splitlines(), 1):
        between = not blocks or blocks[-1].done
        if line.startswith("$ "):
            blocks.append(Block(number, line[2:]))
            blocks[-1].before, comments = comments, []
        elif between and (line == "" or line.startswith("# ")):
            comments.append(line)
        elif line == "$":
            blocks[-1].done = True
        elif line.startswith("! ") or line == "!":
            blocks[-1].err.append(line[2:])
        elif re.fullmatch(r"\[\d+\]", line):
            blocks[-1].status = int(line[1:-1])
        else:
            blocks[-1].out.append(line)
    return blocks


def matches(expected, actual):
    """Line by line, "..." within a line and alone."""
    pattern = ""
    for line in expected:
        if line == "...":
            pattern += r"(?:[^\n]*\n)*?"
        else:
            pattern += ".*".join(re.escape(part) for part in line.split("...")) + r"\n"
    return re.fullmatch(pattern, actual) is not None


def run_block(block, folder, env):
    return subprocess.run(["bash", "-c", block.command], cwd=folder, env=env, capture_output=True, timeout=100,
                          stdin=subprocess.DEVNULL)


def world(folder):
    env = {"PATH": f"{folder}/.bin:{os.environ['PATH']}", "HOME": f"{folder}/.home", "LC_ALL": "C.UTF-8",
           "TERM": "dumb", "SHOAL_SOURCE_DIR": os.environ.get("SHOAL_SOURCE_DIR", "")}
    env.update({k: v for k, v in os.environ.items() if k.endswith("SAN_OPTIONS")})
    os.mkdir(f"{folder}/.bin")
    os.mkdir(f"{folder}/.home")
    os.symlink(os.path.abspath(SHOAL), f"{folder}/.bin/shoal")
    return env


def text_of(data):
    return data.decode("utf-8", "backslashreplace")


def show(block, result):
    lines = list(block.before) + [f"$ {block.command}"] + text_of(result.stdout).splitlines()
    lines += [f"! {line}" for line in text_of(result.stderr).splitlines()]
    return lines + ([f"[{result.returncode}]"] if result.returncode else []) + ["$"]


def run_file(path, write):
    problems, written = [], []
    with tempfile.TemporaryDirectory() as folder:
        env = world(folder)
        for block in read_blocks(path.read_text()):
            result = run_block(block, folder, env)
            out, err = text_of(result.stdout), text_of(result.stderr)
            good = (matches(block.out, out) and matches(block.err, err) and block.status == result.returncode)
            if good:
                kept = list(block.before) + [f"$ {block.command}"] + block.out + [f"! {e}" for e in block.err]
                written += kept + ([f"[{block.status}]"] if block.status else []) + ["$"]
                continue
            written += show(block, result)
            problems.append(f"{path.name}, line {block.number}: found\n    " + "\n    ".join(show(block, result)))
    if write:
        path.write_text("\n".join(written).rstrip("\n") + "\n")
    return problems


def main():
    words = [w for w in sys.argv[1:] if w != "--write"]
    paths = [HERE / w for w in words] or sorted(HERE.glob("*.txt"))
    problems = []
    for path in paths:
        problems += run_file(path, "--write" in sys.argv)
    print("\n".join(problems))
    print(f"{len(paths)} transcripts, {len(problems)} blocks differ")
    return 1 if problems or not paths else 0


if __name__ == "__main__":
    sys.exit(main())
