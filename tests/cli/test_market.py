#!/usr/bin/env python3
# ctest: fast disturb timeout=240
"""Runs `shoal market` and `shoal sim --prices` on made-up histories: the numbers add up, the page is whole, tables fit any terminal,
and every bad input is told in a sentence with what to do."""
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from terminal import shown

SHOAL = os.environ["SHOAL_BIN"]
HEAD = "time,cloud,region,zone,instance,market,price,accelerator,count\n"


def world(folder):
    env = {"PATH": os.environ["PATH"], "HOME": str(folder), "TERM": "dumb", "LC_ALL": "C.UTF-8"}
    env.update({k: v for k, v in os.environ.items() if k.endswith("SAN_OPTIONS")})
    return env


def shoal(folder, *words):
    return subprocess.run([SHOAL, *map(str, words)], capture_output=True, text=True, cwd=folder, env=world(folder), timeout=300)


def market(folder, *words):
    return shoal(folder, "market", *words)


def answer(folder, *words):
    out = market(folder, *words, "--json")
    if out.returncode != 0:
        sys.exit(f"market {words} failed: {out.stdout}{out.stderr}")
    return json.loads(out.stdout)


def close(a, b, tolerance=1e-6):
    return abs(a - b) <= tolerance * (1 + abs(b))


# ---- what it says ----


def check_numbers(folder, problems):
    said = answer(folder, "prices.csv", "--kinds", "small", "--work", "10d", "--deadline", "16d", "--interruptions", "12h/20m",
                  "--moves")
    names = [s["strategy"] for s in said["strategies"]]
    if said["v"] != 1 or names[0] != "shoal" or "static" not in names:
        problems.append(f"json: v {said['v']}, strategies {names}")
    static = next(s for s in said["strategies"] if s["strategy"] == "static")
    for s in said["strategies"]:
        job, name = s["jobs"][0], s["strategy"]
        stays = job["stays"]
        if not close(s["usd"], sum(stay["usd"] + stay["egress_usd"] for stay in stays)):
            problems.append(f"{name}: {s['usd']} dollars, its stays add up to something else")
        if s["finished"] != 1 or s["missed"] != 0 or s["finish"] > said["jobs"][0]["deadline"]:
            problems.append(f"{name}: finished {s['finished']}, missed {s['missed']}, {s['finish']}")
        if s["usd"] < said["bound_usd"] * (1 - 1e-9):
            problems.append(f"{name}: {s['usd']} is below the bound {said['bound_usd']}")
        if not close(s["times_less_than_static"], static["usd"] / s["usd"]):
            problems.append(f"{name}: times_less_than_static {s['times_less_than_static']}")
        if not close(s["over_bound"], s["usd"] / said["bound_usd"] - 1):
            problems.append(f"{name}: over_bound {s['over_bound']}")
        if any(a["to"] > b["from"] for a, b in zip(stays, stays[1:])):
            problems.append(f"{name}: stays overlap")
        if any(stay["kind"] != "small" for stay in stays) or not close(job["steps"], said["jobs"][0]["work"]):
            problems.append(f"{name}: kinds or steps are wrong")
    again = market(folder, "prices.csv", "--kinds", "small", "--work", "10d", "--deadline", "16d", "--interruptions", "12h/20m",
                   "--moves", "--json", "--threads", "1").stdout
    for s in said["strategies"]:
        s.pop("took_s")
    other = json.loads(again)
    for s in other["strategies"]:
        s.pop("took_s")
    if other != said:
        problems.append("two runs of one command differ")


def check_constant(folder, problems):
    """One offer at one price: the cost is hours times price, by hand."""
    (folder / "flat.csv").write_text(HEAD + "2025-01-01,c,r,r-a,k,spot,2.0,G,1\n2025-03-01,c,r,r-a,k,spot,2.0,G,1\n")
    said = answer(folder, "flat.csv", "--work", "100h", "--start", "2025-01-02", "--startup", "3m", "--checkpoint-time", "30s",
                  "--checkpoint-every", "10m", "--strategy", "static")
    # 600 pieces of 10 min, a checkpoint after each but the last, 3 min to start
    hours = 100 + 599 * 30 / 3600 + 180 / 3600
    if not close(said["strategies"][0]["usd"], 2 * hours, 1e-4) or not close(said["bound_usd"], 2 * hours, 1e-3):
        problems.append(f"flat price: {said['strategies'][0]['usd']} dollars, bound {said['bound_usd']}, by hand {2 * hours}")
    four = answer(folder, "flat.csv", "--work", "100h", "--start", "2025-01-02", "--strategy", "static", "--instances", "4")
    if not close(four["strategies"][0]["usd"], 4 * said["strategies"][0]["usd"], 1e-6):
        problems.append("four instances for the same time do not cost four times as much")


def check_speeds(folder, problems):
    """Speeds by kind, by accelerator, from a file, and of a fleet choose the same."""
    (folder / "model.csv").write_text("model,instance,steps_per_s\na,small,2\na,large,16\nb,small,1\n")
    ways = (["--speed", "small=2,large=16"], ["--speed", "V100=2"], ["--model", "model.csv", "--model-name", "a"])
    costs = {round(answer(folder, "prices.csv", "--work", "1e6", *way, "--deadline", "none")["strategies"][0]["usd"], 6)
             for way in ways}
    if len(costs) != 1:
        problems.append(f"the same speeds said in three ways cost {costs}")
    (folder / "fleet.csv").write_text("job,work,model,deadline,instances\nx,1e6,a,20d,1\ny,2d@small,b,,2\nz,5h,,2025-02-01,1\n")
    said = answer(folder, "prices.csv", "--jobs", "fleet.csv", "--model", "model.csv", "--limit", "small=3", "--limit",
                  "large@north-1=1", "--moves")
    jobs = {job["job"]: job for job in said["jobs"]}
    if list(jobs) != ["x", "y", "z"] or jobs["y"]["work"] != 2 * 86400 * 1 * 2 or jobs["y"]["instances"] != 2:
        problems.append(f"fleet: {jobs}")
    if any(stay["kind"] == "large" for stay in said["strategies"][0]["jobs"][1]["stays"]):
        problems.append("fleet: a job of model b ran on a kind it has no speed for")


def check_short(folder, problems):
    """A job that is shorter than its start-up is done; one that waits for a price that never comes says that it waited."""
    for words in (("--work", "2m", "--deadline", "none"), ("--work", "1h", "--startup", "1h", "--deadline", "4d")):
        costs = {s["strategy"]: s for s in answer(folder, "prices.csv", "--kinds", "small", *words)["strategies"]}
        if costs["shoal"]["finished"] != 1 or costs["shoal"]["usd"] > 1.1 * costs["static"]["usd"]:
            problems.append(f"{' '.join(words)}: {costs}")
    out = market(folder, "prices.csv", "--kinds", "small", "--work", "2h", "--deadline", "none", "--strategy", "shoal:price=1e-9")
    if " does not finish: it waits until prices end and holds nothing.\n" not in out.stdout:
        problems.append(f"a price that nothing has: {out.stdout}{out.stderr}")


def check_budget(folder, problems):
    said = answer(folder, "prices.csv", "--kinds", "small", "--work", "10d", "--budget", "20", "--strategy", "static")
    s = said["strategies"][0]
    if s["finished"] != 0 or s["usd"] > 20 + 1e-6 or s["finish"] is not None:
        problems.append(f"budget of 20: {s['usd']} spent, finished {s['finished']}")
    # a budget that no plan can keep to is told first, one that some plan can is not
    bound = said["jobs"][0]["bound_usd"]
    words = ("prices.csv", "--kinds", "small", "--work", "10d")
    for usd, deadline, poor in ((0.99 * bound, (), "is not enough in this time: no plan costs less than $"), (1.01 * bound, (), None),
                                (1, ("--deadline", "none"), "is not enough: no plan costs less than $")):
        out = market(folder, *words, *deadline, "--budget", f"{usd:.2f}", "--report", "poor.html")
        told = [line for line in out.stdout.split("\n\n")[0].splitlines() if "not enough" in line]
        page = (folder / "poor.html").read_text()
        if out.returncode != 0 or (poor is None) != (not told) or (poor and (poor not in told[0] or "is not enough" not in page)):
            problems.append(f"budget of {usd}, bound {bound}: {out.stdout}")
    (folder / "poor.csv").write_text(f"job,work,budget\nrich,10d,{2 * bound}\n<poor>,10d,{bound / 2}\npoorer,10d,1\n")
    out = market(folder, "prices.csv", "--kinds", "small", "--jobs", "poor.csv", "--report", "poor.html")
    page = (folder / "poor.html").read_text()
    if "the budget of '<poor>', $" not in out.stdout or "; nor is that of one more job" not in out.stdout or "&lt;poor&gt;" not in page:
        problems.append(f"budgets of a fleet: {out.stdout}")


# ---- the words ----


def check_strategies(folder, problems):
    listed = json.loads(shoal(folder, "strategy", "list", "--json").stdout)["strategies"]
    names = [s["name"] for s in listed]
    said = [s["strategy"] for s in answer(folder, "prices.csv", "--kinds", "small", "--work", "2d", "--no-bound")["strategies"]]
    if names != said or shoal(folder, "strategy", "list", "--names").stdout.split() != names:
        problems.append(f"strategy list: {names}, market runs {said}")
    completion = shoal(folder, "completion", "bash").stdout
    if " ".join(["all", *names]) not in completion:
        problems.append(f"completion of --strategy does not offer all of {names}")
    for s in listed:
        for knob in s["knobs"]:
            words = f"{s['name']}:{knob['key']}={knob['default']}"
            if knob["default"] and market(folder, "prices.csv", "--kinds", "small", "--work", "2d", "--no-bound", "--strategy",
                                          words).returncode != 0:
                problems.append(f"--strategy {words} is refused")


def check_terminal(folder, problems):
    for width in (80, 60, 200):
        text = shown([SHOAL, "market", "prices.csv", "--kinds", "small", "--work", "5d", "--interruptions", "12h/20m"], width,
                     env=world(folder), cwd=str(folder))
        table = [line for line in text if line.startswith(("STRATEGY", "shoal ", "static"))]
        if width >= 80 and any(len(line.rstrip()) > width for line in table):
            problems.append(f"a table wider than {width}: {max(map(len, table))}")
    out = market(folder, "prices.csv", "--kinds", "small,large", "--moves")
    for word in ("AGAINST STATIC", "No plan can cost less than", "USD/H", "done"):
        if word not in out.stdout:
            problems.append(f"no '{word}' in the answer")
    for word in ("no speeds were given", "no --work was given", "no --deadline was given", "--availability", "--report"):
        if word not in out.stderr:
            problems.append(f"no '{word}' in the notes: {out.stderr}")


def check_page(folder, problems):
    """The page has what the old report had; how pages are written is the matter of test_pages.py."""
    (folder / "named.csv").write_text("job,work\n<b>x&y</b>,2d\nplain,1d\n")
    for words, lists in ((["--kinds", "small", "--work", "20d"], ("Strategies", "Where shoal was")),
                         (["--jobs", "named.csv"], ("Strategies", "The jobs", "Where shoal was"))):
        out = market(folder, "prices.csv", *words, "--report", "out.html")
        html = (folder / "out.html").read_text() if out.returncode == 0 else ""
        for name in ("trade", "prices", "places", "cost"):
            if f'id="p-{name}"' not in html:
                problems.append(f"report {words}: no picture {name}: {out.stderr}")
        for title in lists + ("Input hash", "Egress", "shoal market prices.csv"):
            if f">{title}" not in html:
                problems.append(f"report {words}: no '{title}'")
        if "<b>x&y" in html or out.stdout.strip().splitlines()[-1] not in html:
            problems.append(f"report {words}: it says another thing than the terminal, or what it should not")
    if market(folder, "prices.csv", "--report", "prices.csv").returncode != 2:
        problems.append("a report over its own input is not refused")


# ---- bad input ----


def check_odd(folder, problems):
    """A price of zero, the same instant twice, a clock that goes backwards: a rule for each, said once."""
    rows = ["2025-01-01,c,r,r-a,k,spot,1,G,1", "2025-01-03,c,r,r-a,k,spot,0,G,1", "2025-01-04,c,r,r-a,k,spot,1,G,1",
            "2025-01-04,c,r,r-a,k,spot,2,G,1", "2025-01-02,c,r,r-a,k,spot,3,G,1", "2025-01-20,c,r,r-a,k,spot,2,G,1"]
    (folder / "odd.csv").write_text(HEAD + "\n".join(rows) + "\n")
    out = market(folder, "odd.csv", "--work", "1d", "--start", "2025-01-01")
    if out.returncode != 0:
        problems.append(f"odd prices: {out.stderr}")
    for word in ("1 price of zero", "1 price for an instant that had another", "1 time that goes backwards"):
        if out.stderr.count(word) != 1:
            problems.append(f"odd prices: '{word}' is said {out.stderr.count(word)} times: {out.stderr}")
    said = answer(folder, "odd.csv", "--work", "1d", "--start", "2025-01-01")
    if {name: count for name, count in said["odd"].items() if count} != {"zero": 1, "same_instant": 1, "backwards": 1}:
        problems.append(f"odd prices in JSON: {said['odd']}")
    # work that needs two days is interrupted by the day without a price, and goes on after it
    gap = answer(folder, "odd.csv", "--work", "2d", "--start", "2025-01-01", "--deadline", "none", "--strategy", "static", "--moves")
    if gap["strategies"][0]["finished"] != 1 or gap["strategies"][0]["interruptions"] < 1:
        problems.append(f"a gap in the prices: {gap['strategies'][0]}")


def check_refused(folder, problems):
    (folder / "euro.csv").write_text("time,cloud,zone,instance,price,currency\n2025-01-01,c,z,k,1,EUR\n2025-02-01,c,z,k,1,EUR\n")
    (folder / "minus.csv").write_text(HEAD + "2025-01-01,c,r,r-a,k,spot,-1,G,1\n")
    (folder / "late.csv").write_text(HEAD + "yesterday,c,r,r-a,k,spot,1,G,1\n")
    (folder / "other.txt").write_text("hello\n")
    (folder / "bad.csv").write_text("job,work\na,lots\n")
    (folder / "hostless.csv").write_text(HEAD + "2025-01-01,c,r,r-a,G:8,spot,1,G,8\n2025-03-01,c,r,r-a,G:8,spot,1,G,8\n")
    (folder / "young.csv").write_text(HEAD + "2025-01-01,c,r,r-a,old,spot,1,G,1\n2025-02-01,c,r,r-a,new,spot,1,G,1\n"
                                      "2025-03-01,c,r,r-a,old,spot,2,G,1\n")
    (folder / "inputs").mkdir()
    (folder / "inputs" / "a.csv").write_bytes((folder / "prices.csv").read_bytes())
    small = ("prices.csv", "--kinds", "small")
    cases = [
        (["euro.csv"], 1, ("EUR", "--exchange")),
        (["minus.csv"], 1, ("minus.csv", "line 2")),
        (["late.csv"], 1, ("late.csv", "line 2", "yesterday")),
        (["other.txt"], 1, ("other.txt",)),
        (["none.csv"], 1, ("none.csv",)),
        (["prices.csv", "--kinds", "smal"], 1, ("'smal'", "did you mean 'small'?")),
        (["prices.csv", "--zones", "mars-*"], 1, ("mars-*", "such as")),
        (["prices.csv", "--speed", "smal=1"], 1, ("'smal'", "did you mean 'small'?")),
        (["prices.csv", "--speed", "small"], 2, ("--speed", "p3.2xlarge=1.5")),
        (["prices.csv", "--speed", "small=1", "--model", "m.csv"], 2, ("not from both",)),
        ([*small, "--work", "lots"], 2, ("--work", "720h")),
        ([*small, "--work", "5h@huge"], 1, ("'huge'",)),
        ([*small, "--work", "900d"], 1, ("prices end on",)),
        ([*small, "--start", "2031-01-01"], 2, ("prices are from 2025-01-01",)),
        ([*small, "--start", "soon"], 2, ("--start", "'soon'")),
        ([*small, "--work", "10d", "--deadline", "3d"], 1, ("not even on demand", "the earliest it can be done is 2025-01-12")),
        ([*small, "--deadline", "2024-01-01"], 2, ("not after its start",)),
        ([*small, "--strategy", "shaol"], 2, ("shaol", "did you mean 'shoal'?")),
        ([*small, "--strategy", "static:x=1"], 2, ("static", "x")),
        ([*small, "--interruptions", "8h"], 2, ("8h/30m",)),
        ([*small, "--bound-cell", "1ms"], 2, ("--bound-cell", "at least a minute")),
        ([*small, "--availability-cut"], 2, ("needs --availability",)),
        ([*small, "--limit", "small"], 2, ("--limit",)),
        ([*small, "--limit", "small=0"], 1, ("--limit small=0", "no room for its 1 instance")),
        ([*small, "--limit", "small=3", "--instances", "4"], 1, ("--limit small=3", "no room for its 4 instances")),
        ([*small, "--budget", "0"], 2, ("budget", "'0'")),
        ([*small, "--jobs", "bad.csv", "--work", "5d"], 2, ("--work", "--fleet", "not from both")),
        (["hostless.csv"], 1, ("without their host", "--bare")),
        (["young.csv", "--kinds", "new", "--work", "1d", "--deadline", "2d"], 1, ("no price between", "the first price is of 2025-02-01")),
        (["inputs", "--report", "inputs/a.csv"], 2, ("inputs/a.csv", "also an input")),
        ([*small, "--availability", "inputs", "--report", "inputs/a.csv"], 2, ("inputs/a.csv", "also an input")),
        ([*small, "--limit", "smal=3"], 1, ("did you mean 'small'?",)),
        ([*small, "--transfer", "1,2"], 2, ("three numbers",)),
        ([*small, "--egress", "1,2,x"], 2, ("three numbers",)),
        ([*small, "--rate", "EUR"], 2, ("EUR=1.08",)),
        ([*small, "--jobs", "bad.csv"], 1, ("bad.csv", "line 2", "'lots'")),
        ([], 2, ("PRICES",)),
    ]
    for words, status, said in cases:
        for extra in ([], ["--json"]):
            out = market(folder, *words, *extra)
            text = out.stdout + out.stderr
            if out.returncode != status or any(word not in text for word in said) or len(text.strip().splitlines()) > 2:
                problems.append(f"market {words + extra}: status {out.returncode}, expected {status} and {said}: {text}")
            if "job 'job'" in text:
                problems.append(f"market {words}: the only job is told by a name: {text}")
            if extra and out.returncode == 1 and "error" not in json.loads(out.stdout or out.stderr.splitlines()[-1]):
                problems.append(f"market {words}: not an error in JSON: {text}")
    out = market(folder, "euro.csv", "--rate", "EUR=1.25", "--strategy", "static", "--work", "2d", "--json")
    if out.returncode != 0 or json.loads(out.stdout)["odd"]["currencies"] == 0:
        problems.append(f"euros at a rate: {out.stdout}{out.stderr}")


# ---- what was once wrong ----


def check_promises(folder, problems):
    """The bound is below its own plan, no deadline is missed, static starts where it can be in time, and what is assumed is said."""
    shoal(folder, "gen", "prices", "--seed", "773781", "--days", "40", "--swing", "0.5", "--changes", "3", "--zones", "1", "-o", "heavy.csv")
    for size in ("2G", "50G", "100G", "300G"):
        said = answer(folder, "heavy.csv", "--work", "3d", "--deadline", "76.8h", "--checkpoint-size", size)
        if not 0 < said["bound_usd"] <= said["hindsight_usd"]:
            problems.append(f"{size}: bound {said['bound_usd']}, a plan costs {said['hindsight_usd']}")
    (folder / "traces").mkdir()
    (folder / "traces" / "a.csv").write_text("time,zone,kind,count\n2025-01-01,east-1a,small,1\n2025-01-01,nowhere,small,1\n")
    (folder / "traces" / "notes.txt").write_text("nothing\n")
    said = market(folder, "heavy.csv", "--kinds", "small", "--work", "1d", "--availability", "traces", "--no-bound").stderr
    for word in ("1 of 2 traces speak of no offer", "that are no traces: 1"):
        if word not in said:
            problems.append(f"traces of elsewhere: expected '{word}' in: {said}")
    for seed, changes, zones, deadline, more in (("567474", "10", "3", "157.44h", ("--checkpoint-size", "100G")),
                                                 ("191448", "3", "1", "153.12h", ("--instances", "8"))):
        shoal(folder, "gen", "prices", "--seed", seed, "--days", "20", "--swing", "0.2", "--changes", changes, "--zones", zones, "-o", "late.csv")
        said = answer(folder, "late.csv", "--work", "6d", "--deadline", deadline, "--seed", seed, "--interruptions", "5m/1h", "--no-bound", *more)
        for s in said["strategies"]:
            if s["missed"] != 0 or s["finished"] != 1:
                problems.append(f"seed {seed}: {s['strategy']} misses {s['missed']}, finish {s['finish']}")
    said = answer(folder, "prices.csv", "--strategy", "static", "--no-bound", "--moves")
    if said["strategies"][0]["on_demand_share"] != 0 or said["strategies"][0]["jobs"][0]["stays"][0]["kind"] != "large":
        problems.append("static starts where it cannot be in time")
    out = market(folder, "prices.csv", "--kinds", "small", "--work", "20d", "--deadline", "24d", "--interruptions", "2h/2h", "--no-bound")
    if "% on demand to keep the deadline" not in out.stdout:
        problems.append(f"a static that was rescued: {out.stdout}")
    out = market(folder, "prices.csv", "--kinds", "small", "--work", "20d", "--deadline", "300d", "--no-bound")
    if "is taken as then" not in out.stderr or "not done" in out.stdout or "no speeds were given" in out.stderr:
        problems.append(f"a deadline past the prices: {out.stdout}{out.stderr}")
    (folder / "mixed.csv").write_text(HEAD + "".join(f"2025-0{month}-01,c,r,r-a,{kind},spot,{usd},G,8\n" for month in (1, 3)
                                                     for kind, usd in (("G:8", 1), ("whole", 2))))
    said = answer(folder, "mixed.csv", "--work", "5d", "--no-bound", "--report", "mixed.html")
    both = answer(folder, "mixed.csv", "--work", "5d", "--no-bound", "--bare")
    if said["offers"] != 1 or both["offers"] != 2 or "without their host" not in (folder / "mixed.html").read_text():
        problems.append(f"bare accelerators: {said['offers']} and {both['offers']} offers")
    out = shoal(folder, "gen", "prices", "--kinds", "a:G:1=1,a:G:1=2")
    if out.returncode != 2 or "'a' is there twice" not in out.stderr:
        problems.append(f"a kind twice: {out.returncode} {out.stderr}")
    out = shoal(folder, "gen", "prices", "--from", "2099-12-31")
    if out.returncode != 2 or "after 2099" not in out.stderr:
        problems.append(f"prices past 2099: {out.returncode} {out.stderr[:200]}")


# ---- the document ----

DOCUMENT = Path(os.environ["SHOAL_SOURCE_DIR"]) / "docs" / "market.md"


def run_document(folder):
    """Runs every `$ ` line of the document in order; gives the document with what they printed. `$ cat FILE` makes the file."""
    path = folder / "bin"
    path.mkdir()
    (path / "shoal").symlink_to(SHOAL)
    env = {**world(folder), "PATH": f"{path}:{os.environ['PATH']}"}
    out, fenced, skipping, making = [], False, False, None
    for line in DOCUMENT.read_text().splitlines():
        if line.startswith("```"):
            fenced, skipping, making = not fenced, False, None
        if fenced and line.startswith("$ "):
            skipping, making = True, None
            out.append(line)
            if line.startswith("$ cat "):
                skipping, making = False, folder / line[6:]
                making.write_text("")
                continue
            done = subprocess.run(["bash", "-c", line[2:]], capture_output=True, text=True, cwd=folder, env=env, timeout=300)
            if done.returncode != 0:
                sys.exit(f"docs/market.md: '{line}' failed: {done.stderr}")
            out += done.stdout.splitlines()
        elif not skipping:
            if making is not None:
                making.write_text(making.read_text() + line + "\n")
            out.append(line)
    return "\n".join(out) + "\n"


def check_document(folder, problems):
    """What it prints is what the commands print (--write renews it), and every field of the JSON is in it."""
    text = DOCUMENT.read_text()
    with tempfile.TemporaryDirectory() as name:
        if run_document(Path(name)) != text:
            problems.append("docs/market.md: its commands print something else now; renew it with tests/cli/test_market.py --write")

    def fields(value):
        if isinstance(value, dict):
            for key, inside in value.items():
                yield key
                if key != "odd":
                    yield from fields(inside)
        elif isinstance(value, list):
            for inside in value:
                yield from fields(inside)

    said = answer(folder, "prices.csv", "--kinds", "small", "--work", "2d", "--moves")
    for name in sorted(set(fields(said)) - {"v"}):
        if f"`{name}`" not in text and f"{name}[]`" not in text:
            problems.append(f"docs/market.md: the field '{name}' of --json is not in it")


# ---- sim --prices ----


def check_sim(folder, problems):
    (folder / "jobs.csv").write_text("#shoal-trace v1\nname,submit_s,gpus,duration_s\na,0,2,7200\nb,600,4,3600\n")
    (folder / "flat.csv").write_text(HEAD + "2025-01-01,c,r,r-a,k8,spot,16,V100,8\n2025-02-01,c,r,r-a,k8,spot,16,V100,8\n")

    def cost(*words):
        out = shoal(folder, "sim", "jobs.csv", "--policy", "fifo", *words, "--json")
        if out.returncode != 0:
            sys.exit(f"sim {words} failed: {out.stdout}{out.stderr}")
        return json.loads(out.stdout)["cost_usd"]

    if cost("--cluster", "2x4:v100:usd=2") != cost("--cluster", "2x4:v100", "--prices", "flat.csv"):
        problems.append("sim: a constant history does not cost what usd= does")
    # $1 an hour, and twice that from the second hour on: a trace that begins then pays double
    (folder / "step.csv").write_text(HEAD + "2025-01-01 00:00,c,r,r-a,V100,spot,1,,\n2025-01-05 00:00,c,r,r-a,V100,spot,2,,\n")
    first = cost("--cluster", "2x4:v100", "--prices", "step.csv")
    later = cost("--cluster", "2x4:v100", "--prices", "step.csv", "--prices-from", "2025-01-06")
    if not close(later, 2 * first):
        problems.append(f"sim: {first} dollars at 1 an hour, {later} at 2")
    for words, said in ((["--prices", "step.csv", "--cluster", "1x8:t4"], ("'t4'", "history")),
                        (["--prices-from", "2025-01-01"], ("--prices",)),
                        (["--prices", "step.csv", "--prices-from", "now"], ("--prices-from", "'now'")),
                        (["--prices", "jobs.csv"], ("jobs.csv",))):
        out = shoal(folder, "sim", "jobs.csv", *words)
        if out.returncode == 0 or any(word not in out.stderr for word in said):
            problems.append(f"sim {words}: {out.returncode} {out.stderr}")


def catches_interrupts(pid):
    """Whether the process has a handler for SIGINT by now; from then on it is at work."""
    try:
        rows = dict(line.split(":", 1) for line in Path(f"/proc/{pid}/status").read_text().splitlines())
    except OSError:
        return False
    return int(rows.get("SigCgt", "0"), 16) >> (signal.SIGINT - 1) & 1 == 1


def interrupted(folder, number, *words):
    """What a run says that gets a signal when its work has begun."""
    child = subprocess.Popen([SHOAL, "market", "prices.csv", "--kinds", "small", "--jobs", "many.csv", "--step", "1m", "--threads", "1",
                              *words], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=folder, env=world(folder))
    until = time.monotonic() + 60
    while child.poll() is None and not catches_interrupts(child.pid) and time.monotonic() < until:
        time.sleep(0.005)
    child.send_signal(number)
    out, err = child.communicate(timeout=60)
    return child.returncode, out, err


def check_interrupted(folder, problems):
    """Ctrl-C ends a run by that signal, with words; no report is written. What it says was done by then: test_buy.c."""
    (folder / "many.csv").write_text("job,work,start,deadline\n" + "".join(f"j{i},20d,{i}h,70d\n" for i in range(60)))
    for number, words in ((signal.SIGINT, ()), (signal.SIGTERM, ("--report", "no.html")), (signal.SIGINT, ("--json",))):
        code, out, err = interrupted(folder, number, *words)
        said = json.loads(out)["error"]["code"] if words == ("--json",) and out else err
        told = said == "SHOAL_E_CANCELLED" or said.startswith("shoal market: stopped")
        if code != -number or not told or (folder / "no.html").exists():
            problems.append(f"{number.name} {words}: {code} {out} {err}")


def main():
    problems = []
    for number in (signal.SIGINT, signal.SIGTERM):  # whoever runs this may ignore them, and children would too
        signal.signal(number, signal.SIG_DFL)
    if sys.argv[1:] == ["--write"]:
        with tempfile.TemporaryDirectory() as name:
            DOCUMENT.write_text(run_document(Path(name)))
        return 0
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        made = shoal(folder, "gen", "prices", "--days", "90", "-o", "prices.csv")
        if made.returncode != 0:
            sys.exit(f"gen prices failed: {made.stderr}")
        for check in (check_numbers, check_constant, check_speeds, check_short, check_budget, check_strategies, check_terminal, check_page,
                      check_odd, check_refused, check_promises, check_document, check_sim,
                      check_interrupted):
            check(folder, problems)
    for problem in problems:
        print(problem)
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
