#!/usr/bin/env python3
# ctest: fast disturb timeout=240
"""Runs `shoal advise`: answers from CSV and from what `shoal train --json` prints, the JSON's promise, bad data and too little of it."""
import json
import math
import os
import re
import signal
import subprocess
from pathlib import Path

from train_jobs import HELD, LIMIT_S, SHOAL, Held, in_own_folder, problems

HEAD = "#shoal-runs v1\nalgorithm,machines,size,run,iteration,time_s,loss\n"
FIELDS = {"v", "target", "deadline_s", "size", "cost_unit", "lowest", "best", "runs", "copies", "same_rows", "input_hash", "seed", "saved",
          "fastest", "cheapest", "fastest_evidence", "cheapest_evidence", "by_deadline", "fastest_path", "cheapest_path", "next_fastest",
          "next_cheapest", "candidates", "algorithms"}
CANDIDATE = {"algorithm", "machines", "verdict", "measured", "seconds", "low_s", "high_s", "iterations", "iteration_s", "cost",
             "low_cost", "high_cost", "near_fastest", "near_cheapest", "in_time", "loss", "low_loss", "high_loss"}


def call(folder, *words, stdin=None):
    env = {"PATH": os.environ["PATH"], "HOME": folder, "TERM": "dumb", "LC_ALL": "C.UTF-8"}
    env.update({k: v for k, v in os.environ.items() if k.endswith("SAN_OPTIONS") or k.startswith("HELD_")})
    return subprocess.run([SHOAL, *words], capture_output=True, text=True, cwd=folder, env=env, input=stdin, timeout=LIMIT_S)


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
                      "Fastest: sdca on", "Cheapest: sdca on 1 machine", "within 5 % of the best", "$", "ALGORITHM",
                      "less than the fastest and takes")
    check.that(done.stdout.startswith("to loss 0.21"), "the question comes first")
    check.that(all(len(sentence.split()) <= 25 for sentence in done.stdout.splitlines()[-1].split(". ")) and "e-0" not in done.stdout,
               f"short sentences, plain numbers: {done.stdout}")
    told = json.loads(check.says(["runs.csv", "--target", "0.21", "--machines", "1,2,4,8,16", "--json"], 0).stdout)
    check.that(set(told) == FIELDS, f"fields: {sorted(set(told) ^ FIELDS)}")
    check.that(len(told["candidates"]) == 10 and all(set(c) == CANDIDATE for c in told["candidates"]), "candidates")
    check.that(all(c["loss"] is None and c["in_time"] is None for c in told["candidates"]), "without a deadline nothing is said of one")
    check.that(told["fastest_evidence"] == told["cheapest_evidence"] == "enough", "there is evidence")
    csv = check.says(["runs.csv", "--target", "0.21", "--machines", "1-32", "--csv"], 0).stdout.splitlines()
    check.that(len(csv) == 1 + 2 * 32 and csv[0].startswith("algorithm,machines,verdict,"), f"CSV has all candidates: {len(csv)}")
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
    check.says(["runs.csv", "--within", "5%"], 0, "within 5 % of the best, about 0.199")
    check.says(["runs.csv", "--target", "0.201", "--machines", "1-32"], 0, "sgd is left out: it got to 0.35", "more candidates are not shown")
    dear = check.says(["runs.csv", "--target", "0.21", "--machines", "1-32"], 0, "MACHINE TIME", "13m00s", "of machine time").stdout
    check.that("e+0" not in dear, f"costs are written out: {dear}")
    check.says(["runs.csv"], 0, "this is for --within 1%", "estimated from sdca")
    # the best loss is that of the problem: an algorithm that was cut short does not move it
    text = HEAD + "".join(curve("a", m, 60, 0.1, 1 / m) for m in (1, 2, 4)) + "".join(f"b,1,100,,{i},{i},{0.7 - 0.03 * i:.9g}\n" for i in range(10))
    Path(check.folder, "cut.csv").write_text(text)
    told = json.loads(check.says(["cut.csv", "--json"], 0).stdout)
    check.that(abs(told["best"] - 0.2) < 0.002 and told["target"] > 0.2, f"the best of the problem: {told['best']}")
    check.says(["cut.csv", "--within", "0.001%"], 0, "no run has got there: the lowest measured is 0.2")
    check.says(["cut.csv", "--best", "0.3"], 2, "--best: 0.3 is above the lowest loss that was measured")
    check.says(["cut.csv", "--best", "0.2"], 0, "within 1 % of the best, 0.2 ")
    check.says(["cut.csv", "--target", "0.7"], 1, "before the first iteration")
    check.says(["runs.csv", "--deadline", "30s"], 0, "By 30s: sdca on", "loss 0.2", "LOSS", "lowest loss")
    by = check.says(["runs.csv", "--deadline", "30s"], 0).stdout
    check.that(" TIME  " not in by.replace("MACHINE TIME", "") and "astest" not in by and by.count(" lowest loss\n") == 1,
               f"a deadline is answered with losses: {by}")
    told = json.loads(check.says(["runs.csv", "--deadline", "30s", "--machines", "1,4", "--json"], 0).stdout)
    for c in told["candidates"]:
        check.that(c["low_loss"] <= c["loss"] <= c["high_loss"] and math.isclose(c["cost"], 30 * c["machines"] / 3600), f"by a deadline: {c}")
        check.that(c["loss"] >= told["by_deadline"]["loss"] and c["near_fastest"] is None, f"by a deadline: {c}")
    check.says(["runs.csv", "--deadline", "1ms"], 1, "no iteration is done by then")
    told = json.loads(check.says(["runs.csv", "--target", "0.21", "--machines", "1,2,4,8,16", "--json"], 0).stdout)
    check.says(["runs.csv", "--target", "0.21", "--deadline", "10m"], 0, "the cheapest that is done by then")
    check.says(["runs.csv", "--target", "0.21", "--deadline", "1s"], 0, "nothing is done by then")
    big = json.loads(check.says(["runs.csv", "--target", "0.21", "--machines", "4", "--size", "1000", "--json"], 0).stdout)
    check.that(big["fastest"]["seconds"] > 3 * next(c for c in told["candidates"] if c["machines"] == 4)["seconds"], "ten times the data")
    check.says(["runs.csv", "--target", "0.21", "--size", "1000"], 0, "no other size was measured")
    far = json.loads(check.says(["runs.csv", "--target", "0.21", "--machines", "4", "--size", "1000", "--json"], 0).stdout)["fastest"]
    check.that(not far["measured"] and far["high_s"] > 3 * far["low_s"], f"another size is a guess: {far}")
    check.says(["runs.csv", "--target", "0.21", "--size", "1601"], 1, "more than 16 times larger or smaller")
    check.says(["-", "--target", "0.21"], 0, "sdca", stdin=Path(check.folder, "runs.csv").read_text())


def late_runs(check):
    """A run whose rows begin in the middle was below a loss by then: at most so long, not measured. One that was seen to pass counts alone."""
    def rows(label, start, end):
        return "".join(f"a,1,1,{label},{i},{i},{0.1 + 0.9 * math.exp(-i / 4):.9g}\n" for i in range(start, end))
    ask = ["late.csv", "--target", "0.6"]
    Path(check.folder, "late.csv").write_text(HEAD + rows("rest", 20, 40))
    estimate = "That is an estimate: the first measurement of its run, at 20s, was past the target already. It is the only candidate."
    done = check.says([*ask, "--report", "late.html"], 0, "(1s to 20s)", estimate, "fastest, cheapest, at most",
                      "The run that would help most: a on 1 machine, ")
    check.that("measured:" not in done.stdout and ", measured" not in done.stdout, f"it is not measured: {done.stdout}")
    page = Path(check.folder, "late.html").read_text()
    check.that(estimate in page, "the page says so")
    check.that(", at most</td>" in page and ", measured<" not in page, "and so does its table")
    told = json.loads(check.says([*ask, "--start", "5s", "--json"], 0).stdout)["fastest"]
    check.that(set(told) == CANDIDATE | {"at_most_s"} and not told["measured"], f"fields of what begins late: {told}")
    check.that(told.get("at_most_s") == told["high_s"] == 25 and told["low_s"] == 6 and 6 <= told["seconds"] <= 25, f"at most: {told}")
    told = json.loads(check.says(["late.csv", "--target", "0.103", "--json"], 0).stdout)["fastest"]
    check.that(told["measured"] and told["seconds"] == 23 and "at_most_s" not in told, f"below its first loss it is measured: {told}")
    Path(check.folder, "late.csv").write_text(HEAD + rows("rest", 20, 40) + rows("whole", 0, 10))
    told = json.loads(check.says([*ask, "--json"], 0).stdout)["fastest"]
    check.that(told["measured"] and math.isclose(told["seconds"], 3), f"only the run that was seen to pass counts: {told}")


def little_evidence(check):
    """Noisy curves that stop far above the loss: no choice is named, but the run that would help most."""
    text = HEAD
    for name, rate in (("a", 0.1), ("b", 0.12)):
        for m, steps in ((1, 12), (4, 6), (16, 6)):
            text += "".join(f"{name},{m},1,,{i},{i * (0.05 + 1 / m):.6g},"
                            f"{0.2 + 0.5 * math.exp(-rate / m ** 0.3 * i) * (1 + 0.08 * math.sin(5 * i + 3 * m)):.6g}\n" for i in range(1, steps))
    Path(check.folder, "little.csv").write_text(text)
    ask = ["little.csv", "--target", "0.3", "--machines", "1,2,4,8,16,32,64", "--price", "0.4"]
    told = json.loads(check.says([*ask, "--json"], 0).stdout)
    for word in ("fastest", "cheapest"):
        check.that(told[word][f"near_{word}"] < 0.3 and told[f"{word}_evidence"] == "too little", f"it is a guess: {told[word]}")
        check.that(told[f"next_{word}"] is not None, "some run would help")
    run = told["next_fastest"]
    done = check.says(ask, 0, "Not enough evidence to name the fastest: ", "Not enough evidence to name the cheapest: ", " candidates may be it",
                      f"Make this run first, then ask again: {run['algorithm']} on {run['machines']} machine", "perhaps fastest")
    check.that("Fastest:" not in done.stdout and "  fastest" not in done.stdout, f"no choice: {done.stdout}")


def files(check):
    check.says(["runs.csv", "--target", "0.21", "--report", "page.html", "--save", "models.json"], 0, "report: page.html", "model: models.json")
    page = Path(check.folder, "page.html").read_text()
    check.that("sdca on" in page and not re.search(r"(src|href)=.http", page), "the page")
    pictures = {p["name"]: p for p in json.loads(re.search(r'id="data">(.*?)</script>', page, re.S).group(1))["pictures"]}
    drawn = [s["name"] for s in pictures["losses"]["series"] if s["name"].startswith("sdca") and "measured" not in s["name"]]
    check.that(1 <= len(drawn) == len(set(drawn)) <= 2, f"the fastest and the cheapest are drawn, once each: {drawn}")
    check.that("sdca" in Path(check.folder, "models.json").read_text(), "the models")
    check.says(["runs.csv", "--report", "runs.csv"], 2, "also an input")
    check.says(["runs.csv", "--save", "./runs.csv"], 2, "cannot write './runs.csv': it is also an input")
    for also in ("--json", "--csv"):
        check.says(["runs.csv", "--save", "-", also], 2, f"--save -: standard output has the {also[2:].upper()} already; use a file")
    piped = check.says(["runs.csv", "--target", "0.21", "--save", "-"], 0).stdout
    check.that(json.loads(piped)["shoal"] == "fitted model", "models on standard output are all that is there")
    check.says(["runs.csv", "--report", "-", "--json"], 2, "--report -: standard output has the JSON already; use a file")
    piped = check.says(["runs.csv", "--target", "0.21", "--report", "-"], 0).stdout
    check.that(piped.startswith("<!doctype html>") and piped.rstrip().endswith("</html>"), "a page on standard output is all that is there")
    check.says(["runs.csv", "--report", "x", "--save", "x"], 2, "same file")
    check.says(["runs.csv", "--deadline", "9s", "--save", "m.json"], 2, "needs a goal")


def plans(check):
    check.says(["--plan", "--budget", "500", "--machines", "1-16"], 0, "runs for", "of a budget of 8m20s", "nothing was measured yet")
    check.says(["runs.csv", "--plan", "--budget", "100", "--save", "x"], 2, "--plan writes no --save")
    check.says(["runs.csv", "--plan", "--budget", "100", "--report", "plan.html"], 0, "report: plan.html")
    check.that("Which runs are worth making" in Path(check.folder, "plan.html").read_text(), "a plan has a page")
    lines = check.says(["runs.csv", "--plan", "--budget", "100", "--csv"], 0).stdout.splitlines()
    check.that(lines[0].startswith("algorithm,machines,data,"), f"a plan as CSV: {lines[:1]}")
    check.says(["runs.csv", "--plan", "--budget", "100"], 0, "sdca")
    check.says(["runs.csv", "--plan", "--budget", "100", "--target", "0.3"], 2, "--plan takes no --target")
    told = json.loads(check.says(["runs.csv", "--plan", "--budget", "100", "--json"], 0).stdout)
    check.that(told["cost"] <= 100 and sum(r["cost"] for r in told["runs"]) <= 100 * 1.000001, "a plan keeps to its budget")
    check.that(all(r["command"] is None for r in told["runs"]), "how runs of other programs are made is not known")
    for words in (["--plan"], ["--plan", "--budget", "0"]):
        check.says(words, 2, "--plan needs a --budget above 0")
    check.says(["runs.csv", "--data", "a.svm"], 2, "--data is for --plan")
    check.says(["runs.csv", "--budget", "5"], 2, "--budget is for --plan")
    # what is known well enough is not measured again, whatever the budget
    rich = json.loads(check.says(["runs.csv", "--plan", "--budget", "1e9", "--json"], 0).stdout)
    check.that(rich["cost"] < 1e6 and rich["sure_after"] <= 0.05, "a plan ends when it is sure enough")
    before = [r["sure"] for r in rich["runs"][:-1]]
    check.that(all(sure > 0.05 for sure in before), "and not before")
    check.says(["runs.csv", "--plan", "--budget", "1e9"], 0, "which would change little")
    check.says([], 2, "no runs were given")


def bad_data(check):
    def put(text, name="bad.csv"):
        Path(check.folder, name).write_text(text)
        return name

    check.says(["nothing.csv"], 1, "no such file")
    check.that("line 0" not in check.says([put("")], 1, "it is empty", "header").stderr, "an empty file has no line")
    check.says([put(HEAD)], 1, "no measurements")
    check.says([put(HEAD + "a,1,1,,1,5,1\na,1,1,,2,4,0.9\n")], 1, "line 4", "time goes backwards")
    check.says([put(HEAD + "a,1,1,,1,1h,1\n")], 1, "line 3, column 6", "seconds")
    failed = json.loads(check.says([put("x,y\n1,2\n"), "--json"], 1).stdout)
    check.that("a column 'algorithm'" in failed["error"]["message"], "failures are JSON, too")
    # five identical measurements are one, which is one machine count
    same = put(HEAD + "".join(curve("a", 4, 20, 0.1, 0.1, label=x) for x in "vwxyz"))
    check.says([same, "--target", "0.3", "--machines", "4"], 0, "4 runs are equal to another in every number", "measured on 4 machines only")
    check.says([same, "--target", "0.3", "--machines", "8"], 1, "one count only", "--plan says which")
    # below the least evidence there is no advice, but a plan
    few = {"five.csv": 5 * "a,1,1,r,1,1,0.5\n", "one.csv": "a,1,1,r,1,1,0.5\n", "flat.csv": "".join(f"a,1,1,r,{i},{i},0.5\n" for i in range(1, 6))}
    for name, rows in few.items():
        for words in ([], ["--target", "0.6"], ["--deadline", "9s"]):
            check.says([put(HEAD + rows, name), *words], 1, "needs a run with 3 losses", "the run that would help most: a on 1 machine")
        check.says([name, "--plan", "--budget", "50"], 0, "ALGORITHM")
    check.says([put(HEAD + curve("a", 1, 4, 0.1, 1))], 1, "how low the loss can get", "--target", "the run that would help most: a on 1 machine")
    check.says(["bad.csv", "--target", "0.69"], 0, "It is the only candidate.")
    up_down = "".join(f"a,{m},1,r,{i},{i / m},{(0.2, 0.8)[i % 2]}\n" for m in (1, 2) for i in range(60))
    check.says([put(HEAD + up_down)], 1, "go up and down")
    wild = "".join(f"a,{m},1,r,{i},{i / m},{0.2 + 0.5 * math.exp(-0.1 * i) + 0.3 * (i % 2):.9g}\n" for m in (1, 2, 4) for i in range(60))
    check.says([put(HEAD + wild)], 0, "the losses of 3 runs go up and down")
    check.says([put(HEAD + "".join(f"a,1,1,,{i},0,{1 / i}\n" for i in range(1, 9)))], 1, "no time is above 0")
    check.says([put(HEAD + "".join(f"a{i},1,1,,1,1,1\n" for i in range(17)))], 1, "bad.csv', line 19: more than 16 algorithms", "leave some out")
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
    planned_lines(check)


CHANGE = ["train", HELD, "change.svm", "--set", "algorithm=sgd", "--set", "epochs=250", "--set", "judge=1", "--staleness", "0",
          "--threads", "1", "--json"]


def stop_at(clock):
    """The job on two workers, stopped there with a checkpoint; what it prints then."""
    held = Held(["train", "logreg", *CHANGE[2:], "--workers", "2", "--checkpoint", "saved"], "half", clock)
    held.stop(signal.SIGTERM)
    return held.out


def changes_on_the_way(check):
    """A job that really changes its machines on the way: its losses are those of one that did not, as paths assume. How long it takes
    is bench/advise.py's."""
    os.environ.update(HELD_APP="logreg", HELD_FILE="not-held")
    call(check.folder, "gen", "sparse", "--rows", "20000", "--columns", "500", "--nonzeros", "20", "--noise", "0.1", "--output", "change.svm")
    whole = [call(check.folder, *CHANGE, "--workers", str(workers)).stdout for workers in (1, 2)]
    Path(check.folder, "whole.json").write_text("".join(whole))
    stopped = stop_at(json.loads(whole[0])["clocks"] // 3)
    check.that('"code":"SHOAL_E_CANCELLED"' in stopped, f"not told that it was stopped: {stopped[:200]}")
    other = call(check.folder, *CHANGE, "--set", "algorithm=sdca", "--workers", "1", "--checkpoint", "saved", "--resume")
    check.that(other.returncode != 0 and "it was made with algorithm" in other.stdout, f"another algorithm on the way: {other.stdout[:300]}")
    rest = call(check.folder, *CHANGE, "--workers", "1", "--checkpoint", "saved", "--resume").stdout
    straight = {point[0]: point[2] for point in json.loads(whole[0])["curve"]}
    curve = json.loads(rest)["curve"]
    check.that(1 < len(curve) < len(straight), f"resumed on the way: {len(curve)} of {len(straight)} points")
    check.that(all(straight[clock] == loss for clock, _, loss, *_ in curve), "losses after a change are those without one")
    # a log of the resumed part alone begins with time 0 in the middle: what came before is taken to have been as fast
    Path(check.folder, "rest.json").write_text(whole[1] + rest)
    target, step_s = curve[-1][2], (curve[-1][1] - curve[0][1]) / (curve[-1][0] - curve[0][0])
    done = check.says(["rest.json", "--target", repr(target), "--machines", "1,2", "--json"], 0,
                      "1 run was resumed and does not say how long it took until then")
    late = next(c for c in json.loads(done.stdout)["candidates"] if c["machines"] == 1)
    there = next(point for point in curve if point[2] <= target)
    want = there[1] + curve[0][0] * step_s - curve[0][1]
    check.that(late["measured"] and math.isclose(late["seconds"], want, rel_tol=1e-6), f"the time before: {late['seconds']}, not {want}")
    Path(check.folder, "stopped.json").write_text(whole[0] + stopped)
    check.says(["stopped.json", "--target", "1"], 1, "object 2: it is of a run that failed or was stopped", "leave that line out")


def paths_say_who_can_follow_them(check):
    """One algorithm is quick at first and slow at the end, the other the same all the way: a change pays, and `shoal train` has none."""
    def line(name, early, rate, late, source):
        points = [[i, i, 0.2 + early * math.exp(-rate * i) + (0.8 - early) * math.exp(-late * i)] for i in range(200)]
        return "".join(json.dumps({"algorithm": name, **source, "machines": m, "curve": points}) + "\n" for m in (1, 2))
    plain = "if a model carries over as it is"
    for source, said in (({"app": "logreg", "options": {}}, f"{plain} ('shoal train' cannot change its algorithm on the way).\n"), ({}, f"{plain}.\n")):
        Path(check.folder, "paths.json").write_text(line("quick", 0.5, 1, 0.01, source) + line("even", 0, 1, 0.03, source))
        done = check.says(["paths.json", "--target", "0.25", "--switch-cost", "1s"], 0, "Faster with changes on the way: ")
        check.that(said in done.stdout, f"a path of {source}: {done.stdout}")
        legs = re.search(r"Faster with changes\nALGORITHM .*\nquick +\d+ .*\neven +\d+ .* 0.25 ", done.stdout)
        check.that(legs is not None, f"the parts of the way: {done.stdout}")


def planned_lines(check):
    """The lines of a plan make runs that can be added to those it was made from."""
    done = call(check.folder, "train", "logreg", "a.svm", "--set", "cost=2", "--set", "algorithm=sgd", "--set", "epochs=3", "--threads", "1", "--json")
    Path(check.folder, "sgd.json").write_text(done.stdout)
    words = ["sgd.json", "--plan", "--budget", "1", "--machines", "1,2", "--data", "a.svm"]
    told = json.loads(check.says([*words, "--json"], 0).stdout)
    check.that(len(told["runs"]) > 0, f"a plan from one run: {told}")
    for run in told["runs"][:2]:
        line = run["command"]
        check.that("--set cost=2 " in line and "--set algorithm=sgd " in line and "--threads 1 " in line, f"options as they were: {line}")
        check.that(line.count("epochs=") == 1 and f"--workers {run['machines']} " in line, f"the run that was planned: {line}")
        made = subprocess.run(["sh", "-c", line.replace("shoal train", f"'{SHOAL}' train")], capture_output=True, text=True, cwd=check.folder,
                              timeout=LIMIT_S)
        check.that(made.returncode == 0, f"{line}: {made.stderr}")
        Path(check.folder, "sgd.json").write_text(Path(check.folder, "sgd.json").read_text() + made.stdout)
    again = json.loads(check.says([*words, "--json"], 0).stdout)
    check.that(again["sure_before"] < told["sure_before"], "runs that were made are known to the next plan")
    check.says(words, 0, "shoal train logreg a.svm")


def main():
    check = Check(os.getcwd())
    world(check.folder)
    answers(check)
    late_runs(check)
    little_evidence(check)
    files(check)
    plans(check)
    bad_data(check)
    train_logs(check)
    changes_on_the_way(check)
    paths_say_who_can_follow_them(check)
    problems.extend(check.problems)


if __name__ == "__main__":
    in_own_folder(main)
