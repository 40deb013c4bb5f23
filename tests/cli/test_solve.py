#!/usr/bin/env python3
"""Runs `shoal solve`: the JSON adds up for every objective, the tables fit any terminal, long lists are cut."""
import json
import os
import random
import re
import subprocess
import sys
import tempfile
from pathlib import Path

from terminal import shown

SHOAL = os.environ["SHOAL_BIN"]
EXAMPLE = Path(os.environ["SHOAL_SOURCE_DIR"]) / "examples" / "problem.json"


def world(folder):
    env = {"PATH": os.environ["PATH"], "HOME": folder, "TERM": "dumb", "LC_ALL": "C.UTF-8"}
    env.update({k: v for k, v in os.environ.items() if k.endswith("SAN_OPTIONS")})
    return env


def solve(folder, *words, stdin=None):
    return subprocess.run([SHOAL, "solve", *words], capture_output=True, text=True, cwd=folder, env=world(folder),
                          input=stdin, timeout=100)


def on_terminal(folder, width, *words):
    """What a terminal of this width shows."""
    return shown([SHOAL, "solve", *words], width, env=world(folder), cwd=folder)


def objectives(folder):
    text = " ".join(solve(folder, "--help").stdout.split())
    return re.search(r"what is best: (.*?) \[", text).group(1).replace(" or ", ", ").split(", ")


def close(a, b):
    return abs(a - b) <= 1e-6 * (1 + abs(b))


def check_sums(answer, problem, sharing, problems):
    name = f"{answer['objective']}, sharing {sharing}"
    used = [0.0] * len(answer["kinds"])
    time = {}
    for job, given in zip(answer["jobs"], problem["jobs"]):
        time[job["name"]] = sum(job["shares"])
        for k, share in enumerate(job["shares"]):
            used[k] += share * job["gpus"] * job["count"]
        rates = [given["rates"].get(kind["name"], 0) for kind in answer["kinds"]]
        speed = sum(rate * share for rate, share in zip(rates, job["shares"]))
        if not sharing and not close(speed, job["speed"]):
            problems.append(f"{name}: speed of {job['name']} is {job['speed']}, its shares give {speed}")
        if not close(job["speed"] / max(rates), job["of_fastest"]):
            problems.append(f"{name}: {job['name']} of_fastest {job['of_fastest']}")
    counts = {job["name"]: job["count"] for job in answer["jobs"]}
    gpus = {job["name"]: job["gpus"] for job in answer["jobs"]}
    order = [kind["name"] for kind in answer["kinds"]]
    for pair in answer.get("pairs", []):
        for job in pair["jobs"]:
            time[job] += pair["share"] / counts[job]
        used[order.index(pair["kind"])] += pair["share"] * gpus[pair["jobs"][0]]
    for job, share in time.items():
        if share > 1 + 1e-6:
            problems.append(f"{name}: {job} has {share} of its time")
    for kind, total in zip(answer["kinds"], used):
        if not close(total, kind["used"]) or total > kind["gpus"] * (1 + 1e-6):
            problems.append(f"{name}: {kind['name']} used {kind['used']}, the shares add up to {total}")
        if kind["used_up"] != (kind["used"] > kind["gpus"] * (1 - 1e-6)):
            problems.append(f"{name}: {kind['name']} used_up {kind['used_up']}")


def check_objectives(folder, problems):
    problem = json.loads(EXAMPLE.read_text())
    names = objectives(folder)
    if len(names) != 9:
        problems.append(f"objectives: {names}")
    for name in names:
        for extra in ([], ["--agnostic"], ["--sharing", "pairs"]):
            run = solve(folder, str(EXAMPLE), "--objective", name, "--json", "--repeat", "3", *extra)
            if run.returncode != 0:
                problems.append(f"{name} {extra}: exit {run.returncode}: {run.stdout[:300]}{run.stderr}")
                continue
            answer = json.loads(run.stdout)
            if answer["v"] != 1 or answer["objective"] != name.removesuffix("-types") or not answer["exact"] or answer["repeat"] != 3:
                problems.append(f"{name} {extra}: {run.stdout[:300]}")
            if not answer["level"] > 0 or not answer["gap"] < 1e-6:
                problems.append(f"{name} {extra}: level {answer['level']}, gap {answer['gap']}")
            if answer["aware"] == ("--agnostic" in extra) or answer["sharing"] != ("--sharing" in extra):
                problems.append(f"{name} {extra}: aware {answer['aware']}, sharing {answer['sharing']}")
            check_sums(answer, problem, answer["sharing"], problems)


def many_kinds(folder, kinds, jobs):
    rng = random.Random(7)
    names = [f"accelerator-{k}" for k in range(kinds)]
    problem = {"kinds": {name: rng.randint(1, 9) for name in names},
               "jobs": [{"name": f"a-long-name-of-a-job-{j:04d}", "gpus": 1, "left": 1000,
                         "rates": {name: round(rng.uniform(1, 9), 2) for name in names}} for j in range(jobs)]}
    path = Path(folder) / f"k{kinds}.json"
    path.write_text(json.dumps(problem))
    return str(path)


def check_widths(folder, problems):
    for path in (str(EXAMPLE), many_kinds(folder, 5, 30), many_kinds(folder, 16, 30)):
        for width in (80, 100, 120, 200):
            for objective in ("makespan", "fifo"):
                lines = on_terminal(folder, width, path, "--objective", objective)
                tables = [line for line in lines if re.match(r"KIND|JOB|accelerator|a-long|translate", line)]
                wide = [line for line in tables if len(line) > width]
                if not tables or wide:
                    problems.append(f"{path} at {width} columns: {wide[:2] or lines[:3]}")


def check_lists(folder, problems):
    path = many_kinds(folder, 2, 30)
    for words, rows, more in (([], 20, "… 10 more"), (["--jobs", "3"], 3, "… 27 more"), (["--jobs", "all"], 30, None),
                              (["--jobs", "3", "--ascii"], 3, "... 27 more"), (["--jobs", "0"], 0, None)):
        text = solve(folder, path, *words).stdout
        if text.count("\na-long-name") != rows or (more is not None and more not in text) or \
                (more is None and " more\n" in text):
            problems.append(f"--jobs {words}: {text}")


def check_output(folder, problems):
    """-o writes what standard output would have shown, all or nothing."""
    plain = solve(folder, str(EXAMPLE), "--objective", "fifo", "--json")
    stored = solve(folder, "-", "--objective", "fifo", "--json", "-o", "out.json", stdin=EXAMPLE.read_text())
    timed = re.compile(r'"(load|time)_s":[^,]*,')
    written = (Path(folder) / "out.json").read_text()
    if stored.stdout or timed.sub("", written) != timed.sub("", plain.stdout):
        problems.append(f"-o: {stored.stdout[:200]}{written[:200]}")
    (Path(folder) / "full").symlink_to("/dev/full")
    full = solve(folder, str(EXAMPLE), "-o", "full")
    if full.returncode != 1 or "cannot write" not in full.stderr:
        problems.append(f"-o to a full device: exit {full.returncode}: {full.stderr}")
    left = [name for name in os.listdir(folder) if name not in ("out.json", "full") and not name.startswith("k")]
    if left:
        problems.append(f"left behind: {left}")


def main():
    problems = []
    with tempfile.TemporaryDirectory() as folder:
        check_objectives(folder, problems)
        check_widths(folder, problems)
        check_lists(folder, problems)
        check_output(folder, problems)
    print("\n".join(problems) or "ok")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
