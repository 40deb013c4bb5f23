#!/usr/bin/env python3
"""Pages of results as files: names and landmarks, the content policy names script and style, data stays data."""
import base64
import hashlib
import html.parser
import json
import math
import os
import random
import re
import subprocess
import sys
import tempfile
from pathlib import Path

SHOAL = os.environ["SHOAL_BIN"]
EXAMPLE = Path(os.environ["SHOAL_SOURCE_DIR"]) / "examples" / "problem.json"
HOSTILE = "</script><img onerror=alert(1) src=x>"
PAGE_MAX = 400_000


def write_trace(path, jobs, seconds):
    draw = random.Random(3)
    with open(path, "w", encoding="utf-8") as out:
        out.write("#shoal-trace v1\nname,submit_s,gpus,duration_s\n")
        at = 0.0
        for i in range(jobs):
            at += draw.expovariate(1 / seconds)
            name = HOSTILE if i == 5 else f"job-{i}<b>&amp;"
            out.write(f"{name},{at:.0f},{draw.choice([1, 1, 1, 2, 4, 8])},{draw.lognormvariate(6.5, 1.5) + 1:.0f}\n")


def write_runs(path):
    """One algorithm needs the square root of m times the iterations on m machines, the other twice as many in any case."""
    with open(path, "w", encoding="utf-8") as out:
        out.write("#shoal-runs v1\nalgorithm,machines,iteration,time_s,loss\n")
        for m in (1, 4, 16):
            for i in range(60):
                at = i * (0.02 + 1 / m + 0.002 * m)
                out.write(f"{HOSTILE},{m},{i},{at:.9g},{0.2 + 0.5 * math.exp(-0.1 / math.sqrt(m) * i):.9g}\n")
                out.write(f"sgd,{m},{i},{at:.9g},{0.2 + 0.5 * math.exp(-0.05 * i):.9g}\n")


TRAIN = {
    "logreg": ["train", "logreg", "rows.svm", "--name", "a"],
    "mf": ["train", "mf", "ratings.csv", "--set", "holdout=0.1", "--name", "b"],
    "lda": ["train", "lda", "docs.txt", "--set", "topics=5", "--set", "holdout=0.2", "--set", "evaluate=5", "--name", "c"],
    "lasso": ["train", "lasso", "regression.svm", "--set", "folds=3", "--set", "lambdas=20", "--name", "d"],
}


def make_training_data(folder):
    """Small data for each application; one word of the documents is hostile."""
    for line in ("gen sparse --rows 600 --columns 60 -o rows.svm", "gen ratings --users 120 --items 60 --ratings 2400 -o ratings.csv",
                 "gen regression --rows 160 --columns 60 --true 6 -o regression.svm"):
        subprocess.run([SHOAL, *line.split()], cwd=folder, check=True, capture_output=True, timeout=100)
    draw, words = random.Random(7), [f"word{i}<b>&amp;" for i in range(40)] + [HOSTILE.replace(" ", "")]
    lines = sorted((d + 1, w + 1, draw.randint(1, 4)) for d in range(60) for w in draw.sample(range(41), 12))
    Path(folder, "docword.hostile").write_text(f"60\n41\n{len(lines)}\n" + "".join(f"{d} {w} {n}\n" for d, w, n in lines), encoding="utf-8")
    Path(folder, "vocab.hostile").write_text("".join(f"{word}\n" for word in words), encoding="utf-8")
    Path(folder, "docs.txt").write_text("".join(
        " ".join(draw.choices([f"word{i}" for i in range(40 * (d % 3), 40 * (d % 3) + 40)], k=30)) + "\n" for d in range(90)), encoding="utf-8")


def page(folder, name, *words):
    done = subprocess.run([SHOAL, *words, "--report", name], cwd=folder, capture_output=True, text=True, timeout=100,
                          env={**os.environ, "HOME": folder, "LC_ALL": "C.UTF-8"})
    if done.returncode != 0:
        sys.exit(f"{' '.join(words)}: exit {done.returncode}: {done.stderr}")
    return Path(folder, name).read_text(encoding="utf-8")


class Read(html.parser.HTMLParser):
    """Elements in order, and the text of those that matter."""

    def __init__(self, text):
        super().__init__()
        self.elements, self.texts, self.open = [], {}, []
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        self.elements.append((tag, dict(attrs)))
        self.open.append(tag)

    def handle_endtag(self, tag):
        while self.open and self.open.pop() != tag:
            pass

    def handle_data(self, data):
        if self.open:
            self.texts.setdefault(self.open[-1], []).append(data)

    def all(self, tag):
        return [attrs for name, attrs in self.elements if name == tag]


def digest(text):
    return "'sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode() + "'"


def check_file(name, text, problems):
    read = Read(text)
    policy = next((a["content"] for a in read.all("meta") if a.get("http-equiv") == "Content-Security-Policy"), "")
    style = re.search(r"<style>(.*?)</style>", text, re.S).group(1)
    data, script = re.search(r'id="data">(.*?)</script>\s*<script>(.*?)</script>', text, re.S).groups()
    for want in ("default-src 'none'", f"script-src {digest(script)};", f"style-src {digest(style)};"):
        if want not in policy:
            problems.append(f"{name}: the policy has no {want}: {policy}")
    if len(text.encode()) > PAGE_MAX:
        problems.append(f"{name}: {len(text.encode())} bytes")
    for tag in ("title", "h1", "main", "header"):
        if len(read.all(tag)) != 1:
            problems.append(f"{name}: {len(read.all(tag))} of <{tag}>")
    if len(read.all("script")) != 2 or read.all("img") or "<" in data:
        problems.append(f"{name}: data became markup")
    for tag, attrs in read.elements:
        if "style" in attrs or any(key.startswith("on") for key in attrs) or re.match(r"https?:", attrs.get("href", "")):
            problems.append(f"{name}: <{tag} {attrs}> is not allowed by the policy, or leaves the page")
    regions = [a for a in read.all("div") if a.get("role") == "region"]
    labels = [a.get("aria-label", "") for a in regions]
    if len(regions) != len(read.all("table")) or "" in labels or len(set(labels)) != len(labels):
        problems.append(f"{name}: tables need regions with names of their own: {labels}")
    if any(a.get("tabindex") != "0" for a in regions):
        problems.append(f"{name}: a table that scrolls is not reached by keyboard")
    made = json.loads(data)
    for picture in made["pictures"]:
        if not any(a.get("id") == f"p-{picture['name']}" for a in read.all("section")):
            problems.append(f"{name}: picture {picture['name']} has no place")
    return made


def lasting(value):
    """What another run says, too: all but how long things took, and where the page is."""
    if isinstance(value, dict):
        return {key: lasting(part) for key, part in value.items()
                if not re.search(r"_ms|^(wall|cpu|time|load|first|again|took|task|blocked|units_per)_s$|^(load_)?seconds$|^(curve|report)$", key)}
    return [lasting(part) for part in value] if isinstance(value, list) else value


def check_data(name, made, answer, problems):
    """The records of a page are those of --json; times of the run apart."""
    for one, other in zip(lasting(made["records"]), lasting(answer)):
        for key in other:
            if one.get(key) != other[key]:
                problems.append(f"{name}: {key} of the page is {str(one.get(key))[:80]}, of --json {str(other[key])[:80]}")


def json_of(folder, *words):
    done = subprocess.run([SHOAL, *words, "--json"], cwd=folder, capture_output=True, text=True, timeout=100, check=True)
    return [json.loads(line) for line in done.stdout.splitlines()]


def check_first_screen(name, text, problems):
    """Without the script, on top: how it ended, then a table or figures, before any settings."""
    verdict, settings = text.find('aria-label="In words"'), text.find("<h2>Settings</h2>")
    shown = min(at for at in (text.find("<tbody>"), text.find('<dl class="facts">')) if at >= 0)
    if not 0 < verdict < shown < settings or " after " not in text[verdict:shown]:
        problems.append(f"{name}: the verdict is at {verdict}, what was learnt at {shown}, settings at {settings}")


def main():
    problems = []
    with tempfile.TemporaryDirectory() as folder:
        write_trace(f"{folder}/t.csv", 323, 240)
        sim = ["sim", "--cluster", "6x4:t4,2x8:a100", "--policy", "las,max-min,fifo", "t.csv"]
        write_trace(f"{folder}/w.csv", 1000, 60)
        wide = ["sim", "--cluster", "64x8:a100", "--policy", "fifo,las,srtf,shoal", "w.csv"]  # as many rectangles as a page may have
        subprocess.run([SHOAL, "gen", "prices", "--days", "60", "-o", "p.csv"], cwd=folder, capture_output=True, timeout=100, check=True)
        Path(folder, "fleet.csv").write_text(f"job,work,deadline\n{HOSTILE},2d,4d\nother<b>&amp;,5d,9d\n", encoding="utf-8")
        market = ["market", "p.csv", "--jobs", "fleet.csv", "--interruptions", "12h/20m"]
        write_runs(f"{folder}/runs.csv")
        advise = ["advise", "runs.csv", "--target", "0.22", "--machines", "1,2,4,8,16,32", "--price", "0.4"]
        pages = {"sim": page(folder, "sim.html", *sim), "wide": page(folder, "wide.html", *wide),
                 "solve": page(folder, "solve.html", "solve", str(EXAMPLE)), "study": page(folder, "study.html", "study", "t.csv"),
                 "market": page(folder, "market.html", *market), "advise": page(folder, "advise.html", *advise),
                 "plan": page(folder, "plan.html", "advise", "runs.csv", "--plan", "--budget", "50")}
        make_training_data(folder)
        hostile = ["train", "lda", "docword.hostile", "--set", "topics=3", "--set", "iterations=20"]
        pages |= {name: page(folder, f"{name}.html", *words) for name, words in (TRAIN | {"hostile": hostile}).items()}
        made = {name: check_file(name, text, problems) for name, text in pages.items()}
        for name, words in TRAIN.items():
            check_data(name, made[name], json_of(folder, *words), problems)
            if "objective" not in [picture["name"] for picture in made[name]["pictures"]]:
                problems.append(f"{name}: {[picture['name'] for picture in made[name]['pictures']]}")
            check_first_screen(name, pages[name], problems)
        if HOSTILE.replace(" ", "") not in json.dumps(made["hostile"]):
            problems.append("hostile: its word is not on the page")
        check_data("sim", made["sim"], json_of(folder, *sim), problems)
        check_data("solve", made["solve"], json_of(folder, "solve", str(EXAMPLE)), problems)
        check_data("market", made["market"], json_of(folder, *market), problems)
        check_data("advise", made["advise"], json_of(folder, *advise), problems)
        if [picture["name"] for picture in made["advise"]["pictures"]] != ["trade", "times", "losses"] or HOSTILE not in json.dumps(made["advise"]):
            problems.append(f"advise: {[picture['name'] for picture in made['advise']['pictures']]}")
        if [picture["name"] for picture in made["market"]["pictures"]] != ["trade", "prices", "places", "cost"]:
            problems.append(f"market: {[picture['name'] for picture in made['market']['pictures']]}")
        types = {picture["type"] for picture in made["sim"]["pictures"]}
        if not {"lanes", "steps", "bars"} <= types or HOSTILE not in json.dumps(made["sim"]):
            problems.append(f"sim: pictures are {sorted(types)}")
    print("\n".join(problems))
    print(f"{len(pages)} pages, {len(problems)} problems")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
