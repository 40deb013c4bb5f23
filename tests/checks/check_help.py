#!/usr/bin/env python3
"""Every command explains itself: --help exits 0, on stdout, in 80 columns, the same as -h, without side effects."""
import os
import re
import subprocess
import sys
import tempfile

SHOAL = os.environ["SHOAL_BIN"]
COLUMNS = 80


def shoal(*words, folder):
    env = {"PATH": os.environ["PATH"], "HOME": folder, "LC_ALL": "C.UTF-8"}
    env.update({k: v for k, v in os.environ.items() if k.endswith("SAN_OPTIONS")})
    return subprocess.run([SHOAL, *words], capture_output=True, text=True, cwd=folder, env=env, timeout=100,
                          stdin=subprocess.DEVNULL)


def check_help(words, folder, problems):
    shown = " ".join(["shoal", *words])
    long, short = shoal(*words, "--help", folder=folder), shoal(*words, "-h", folder=folder)
    if long.returncode != 0:
        problems.append(f"{shown} --help: exit {long.returncode}")
    if long.stderr:
        problems.append(f"{shown} --help: talks on stderr: {long.stderr.splitlines()[0]}")
    if (short.returncode, short.stdout, short.stderr) != (long.returncode, long.stdout, long.stderr):
        problems.append(f"{shown}: -h and --help differ")
    lines = long.stdout.splitlines()
    for line in lines:
        if len(line) > COLUMNS:
            problems.append(f"{shown} --help: {len(line)} columns: {line}")
        if line != line.rstrip():
            problems.append(f"{shown} --help: space at the end of: {line}")
    return lines


def check_command(words, folder, problems):
    shown = " ".join(["shoal", *words])
    lines = check_help(words, folder, problems)
    text = "\n".join(lines)
    if not lines or not lines[0].startswith("Usage: " + shown):
        problems.append(f"{shown} --help: does not open with 'Usage: {shown}'")
    for part in ("Example:", "-h, --help", "See also:"):
        if part not in text:
            problems.append(f"{shown} --help: no '{part}'")
    paragraphs = text.split("\n\n")
    if len(paragraphs) < 3 or not re.fullmatch(r"[A-Z].*\.", paragraphs[1].replace("\n", " ")):
        problems.append(f"{shown} --help: no sentence that says what it does")
    wrong = shoal(*words, "--no-such-option", folder=folder)
    if wrong.returncode != 2 or wrong.stdout or not wrong.stderr:
        problems.append(f"{shown} --no-such-option: exit {wrong.returncode}, not a usage error on stderr")


def main():
    problems = []
    with tempfile.TemporaryDirectory() as folder:
        listed = shoal("help", "--list", folder=folder)
        commands = [line.split() for line in listed.stdout.splitlines()]
        if listed.returncode != 0 or len(commands) < 3:
            print(f"shoal help --list: exit {listed.returncode}\n{listed.stdout}{listed.stderr}")
            return 1
        check_help([], folder, problems)
        for group in sorted({words[0] for words in commands if len(words) > 1}):
            check_help([group], folder, problems)
        for words in commands:
            check_command(words, folder, problems)
        if os.listdir(folder):
            problems.append(f"help left files behind: {os.listdir(folder)}")
    print("\n".join(problems))
    print(f"{len(commands)} commands, {len(problems)} problems")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
