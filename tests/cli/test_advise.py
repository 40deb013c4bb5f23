#!/usr/bin/env python3
"""Runs `shoal advise`: answers from CSV and from what `shoal train --json` prints, the JSON's promise, bad data and too little of it."""
import json
import math
import os
import subprocess
import sys
import tempfile
from pathlib import Path

SHOAL = os.environ["SHOAL_BIN"]
HEAD = "#shoal-runs v1\nalgorithm,machines,size,run,iteration,time_s,loss\n"
FIELDS = {"v", "target", "deadline_s", "size", "cost_unit", "lowest", "best", "runs", "copies", "same_rows", "fastest", "cheapest",
          "by_deadline", "fastest_path", "cheapest_path", "next_fastest", "next_cheapest", "candidates", "algorithms"}
CANDIDATE = {"algorithm", "machines", "verdict", "measured", "seconds", "low_s", "high_s", "iterations", "iteration_s", "cost",
             "low_cost", "high_cost", "near_fastest", "near_cheapest"}


def call(folder, *words, stdin=None):
    env = {"PATH": os.environ["PATH"], "HOME": folder, "TERM": "dumb", "LC_ALL": "C.UTF-8"}
    env.update({k: v for k, v in os.environ.items() if k.endswith("SAN_OPTIONS")})
    return subprocess.run([SHOAL, *words], capture_output=True, text=True, cwd=folder, env=env, input=stdin, timeout=60)


def curve(name, machines, steps, rate, step_s, size=100, label="", low=0.2):
    return "".join(f"{name},{machines},{size},{label},{i},{i * step_s:.6g},{low + 0.5 * math.exp(-rate * i):.9g}\n" for i in range(steps))


def world(folder):
    """sdca needs sqrt(m) times the iterations on m machines, sgd is slower and does not care."""
    text = HEAD
    for m in (1, 4, 16):
        text += curve("sdca", m, 60, 0.1 / math.sqrt(m), 0.02 + 1 / m + 0.002 * m)
        text += curve("sgd", m, 60, 0.02, 0.02 + 1 / m + 0.002 * m)
    Path(folder, "runs.csv").write_text(text)


class Check:
    def __init__(self, folder):
        self.folder, self.problems = folder, []

    def that(self, holds, words):
        if not holds:
            self.problems.append(words)

    def says(self, words, code, *texts, stdin=None):
        """The call ends with this status, and what it prints has all texts."""
        done = call(self.folder, "advise", *words, stdin=stdin)
        said = " ".join((done.stdout + done.stderr).split())
        self.that(done.returncode == code, f"{words}: exit {done.returncode}, wanted {code}: {said[:300]}")
        for text in texts:
            self.that(text in said, f"{words}: '{text}' is missing in: {said[:600]}")
        return done


def answers(check):
    done = check.says(["runs.csv", "--target", "0.21", "--machines", "1-32", "--price", "0.5"], 0,
                      "fastest: sdca on", "cheapest: sdca on 1 machine", "within 5% of the best", "$", "ALGORITHM")
    check.that(done.stdout.startswith("to loss 0.21"), "the question comes first")
    told = json.loads(check.says(["runs.csv", "--target", "0.21", "--machines", "1,2,4,8,16", "--json"], 0).stdout)
    check.that(set(told) == FIELDS, f"fields: {sorted(set(told) ^ FIELDS)}")
    check.that(len(told["candidates"]) == 10 and all(set(c) == CANDIDATE for c in told["candidates"]), "candidates")
    check.that(told["v"] == 1 and told["target"] == 0.21 and told["cost_unit"] == "machine-hours", "head")
    for c in told["candidates"]:
        if c["verdict"] == "good":
            check.that(c["low_s"] <= c["seconds"] <= c["high_s"], f"interval {c}")
            check.that(math.isclose(c["cost"], c["seconds"] * c["machines"] / 3600, rel_tol=1e-9), f"cost {c}")
    truth = {m: math.ceil(math.log(0.5 / 0.01) / 0.1 * math.sqrt(m)) * (0.02 + 1 / m + 0.002 * m) for m in (1, 2, 4, 8, 16)}
    chosen = told["fastest"]
    check.that(chosen["algorithm"] == "sdca" and truth[chosen["machines"]] <= 1.05 * min(truth.values()), f"fastest {chosen}")
    check.that(told["cheapest"]["algorithm"] == "sdca" and told["cheapest"]["machines"] == 1, "cheapest")
    again = check.says(["runs.csv", "--target", "0.21", "--machines", "1,2,4,8,16", "--json"], 0).stdout
    check.that(json.loads(again) == told, "the same question has the same answer")
    check.says(["runs.csv", "--within", "5%"], 0, "within 5% of the best, about 0.199")
    check.says(["runs.csv"], 0, "this is for --within 1%")
    check.says(["runs.csv", "--deadline", "30s"], 0, "by 30s: sdca on", "loss 0.2")
    check.says(["runs.csv", "--target", "0.21", "--deadline", "10m"], 0, "the cheapest that is done by then")
    check.says(["runs.csv", "--target", "0.21", "--deadline", "1s"], 0, "nothing is done by then")
    big = json.loads(check.says(["runs.csv", "--target", "0.21", "--machines", "4", "--size", "1000", "--json"], 0).stdout)
    check.that(big["fastest"]["seconds"] > 3 * next(c for c in told["candidates"] if c["machines"] == 4)["seconds"], "ten times the data")
    check.says(["-", "--target", "0.21"], 0, "sdca", stdin=Path(check.folder, "runs.csv").read_text())


def files(check):
    check.says(["runs.csv", "--target", "0.21", "--report", "page.html", "--save", "models.json"], 0, "report: page.html", "model: models.json")
    page = Path(check.folder, "page.html").read_text()
    check.that("<svg" in page and "sdca on" in page and "http" not in page.split("</head>")[1], "the page")
    check.that("sdca" in Path(check.folder, "models.json").read_text(), "the models")
    check.says(["runs.csv", "--report", "runs.csv"], 2, "also an input")
    check.says(["runs.csv", "--report", "x", "--save", "x"], 2, "same file")
    check.says(["runs.csv", "--deadline", "9s", "--save", "m.json"], 2, "needs a goal")


def plans(check):
    check.says(["--plan", "--budget", "500", "--machines", "1-16"], 0, "runs for", "nothing was measured yet")
    check.says(["runs.csv", "--plan", "--budget", "100"], 0, "sdca")
    told = json.loads(check.says(["runs.csv", "--plan", "--budget", "100", "--json"], 0).stdout)
    check.that(told["cost"] <= 100 and sum(r["cost"] for r in told["runs"]) <= 100 * 1.000001, "a plan keeps to its budget")
    check.says(["--plan"], 2, "--plan needs a --budget")
    check.says([], 2, "no runs were given")


def bad_data(check):
    def put(text, name="bad.csv"):
        Path(check.folder, name).write_text(text)
        return name

    check.says(["nothing.csv"], 1, "no such file")
    check.says([put("")], 1, "header")
    check.says([put(HEAD)], 1, "no measurements")
    check.says([put(HEAD + "a,1,1,,1,5,1\na,1,1,,2,4,0.9\n")], 1, "line 4", "time goes backwards")
    check.says([put(HEAD + "a,1,1,,1,1h,1\n")], 1, "line 3, column 6", "seconds")
    failed = json.loads(check.says([put("x,y\n1,2\n"), "--json"], 1).stdout)
    check.that("unknown column 'x'" in failed["error"]["message"], "failures are JSON, too")
    # five identical measurements are one, which is one machine count
    same = put(HEAD + "".join(curve("a", 4, 20, 0.1, 0.1, label=x) for x in "vwxyz"))
    check.says([same, "--target", "0.3", "--machines", "4"], 0, "4 runs are equal to another in every number", "measured on 4 machines only")
    check.says([same, "--target", "0.3", "--machines", "8"], 1, "one count only", "--plan says which")
    # two counts: said; what diverged is never advised, nor more of it
    two = HEAD + curve("a", 1, 20, 0.1, 1) + curve("a", 4, 20, 0.1, 0.3)
    check.says([put(two), "--target", "0.3"], 0, "two machine counts only")
    gone = "".join(f"a,8,100,,{i},{i * 0.1},{loss}\n" for i, loss in enumerate(["0.7", "2", "90", "1e9", "inf", "nan"]))
    told = check.says([put(two + gone), "--target", "0.3", "--machines", "1-16", "--json"], 0).stdout
    check.that({c["verdict"] for c in json.loads(told)["candidates"] if c["machines"] >= 8} == {"diverged"}, "diverged counts")
    check.says([put(two + gone), "--target", "0.3", "--machines", "1-16"], 0, "a diverged on 8 machines: it is not advised there, nor on more")
    check.says([put(HEAD + gone), "--target", "0.3"], 1, "too little was measured")
    # losses below zero are losses
    check.says([put(HEAD + "".join(curve("a", m, 30, 0.1, 1 / m, low=-5) for m in (1, 2, 4))), "--within", "1%"], 0, "to loss -4.9")
    check.says([put(HEAD + "".join(curve("a", m, 30, 0.1, 1 / m, low=-5) for m in (1, 2, 4))), "--target", "-9"], 1, "is not reached")
    # a single run, and times without losses
    check.says([put(HEAD + curve("a", 1, 20, 0.1, 1)), "--target", "0.3", "--machines", "1"], 0, "a on 1 machine")
    check.says([put(HEAD + "a,1,1,,1,1,\na,1,1,,2,2,\n"), "--target", "0.3"], 1, "too little was measured", "--plan")
    check.says(["runs.csv", "--target", "0.21", "--machines", "257-300"], 1, "more than 16 times those measured")
    for words, text in ((["--machines", "0"], "--machines"), (["--machines", "4-2"], "--machines"), (["--machines", "x"], "--machines"),
                        (["--target", "low"], "--target"), (["--within", "-1%"], "--within"), (["--deadline", "soon"], "--deadline"),
                        (["--size", "0"], "--size"), (["--target", "1", "--within", "1%"], "twice")):
        check.says(["runs.csv", *words], 2, text)


def train_logs(check):
    """What `shoal train --json` prints is taken as it is, several in a file or in several files."""
    data = call(check.folder, "gen", "sparse", "--rows", "400", "--columns", "30", "--output", "a.svm")
    if data.returncode != 0:
        check.problems.append(f"gen sparse: {data.stderr}")
        return
    logs = []
    for workers in (1, 2):
        done = call(check.folder, "train", "logreg", "a.svm", "--workers", str(workers), "--json")
        if done.returncode != 0:
            check.problems.append(f"train: {done.stderr}")
            return
        logs.append(done.stdout)
    if '"curve"' not in logs[0]:
        check.problems.append("train --json has no curve")
        return
    Path(check.folder, "both.json").write_text("".join(logs))
    Path(check.folder, "one.json").write_text(logs[0])
    told = json.loads(check.says(["both.json", "--within", "10%", "--machines", "1,2", "--json"], 0).stdout)
    check.that(told["runs"] == 2 and told["fastest"] is not None, "runs of shoal train")
    told = json.loads(check.says(["one.json", "both.json", "--within", "10%", "--machines", "1,2", "--json"], 0).stdout)
    check.that(told["runs"] == 3 and told["copies"] == 1, "a log given twice counts once")


def main():
    with tempfile.TemporaryDirectory() as folder:
        check = Check(folder)
        world(folder)
        answers(check)
        files(check)
        plans(check)
        bad_data(check)
        train_logs(check)
    for problem in check.problems:
        print(problem, file=sys.stderr)
    return 1 if check.problems else 0


if __name__ == "__main__":
    sys.exit(main())
