#!/usr/bin/env python3
# ctest: fast timeout=240
"""Runs `shoal study` on generated traces: the JSON adds up and is the same again, tables fit any terminal, the page is whole, bad and
odd input is told in a sentence; the field names of --json and the commands of docs/study.md are what they say."""
import json
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

from terminal import shown

SHOAL = os.environ["SHOAL_BIN"]
DOCUMENT = Path(os.environ["SHOAL_SOURCE_DIR"]) / "docs" / "study.md"
RUNS = ["base", "locality", "migrate", "dedicated", "trial", "retry", "all"]
SIZES = ["1", "2-4", "5-8", ">8"]
HEAD = "name,submit_s,gpus,duration_s\n"


def world(folder):
    env = {"PATH": os.environ["PATH"], "HOME": folder, "TERM": "dumb", "LC_ALL": "C.UTF-8"}
    env.update({k: v for k, v in os.environ.items() if k.endswith("SAN_OPTIONS")})
    return env


def shoal(folder, *words, stdin=None):
    return subprocess.run([SHOAL, *words], capture_output=True, text=True, cwd=folder, env=world(folder), input=stdin, timeout=300)


def study(folder, *words, **more):
    return shoal(folder, "study", *words, **more)


def answer(folder, *words):
    done = study(folder, *words, "--json")
    if done.returncode != 0:
        sys.exit(f"study {words} failed: {done.stdout}{done.stderr}")
    return json.loads(done.stdout)


def close(a, b, part=1e-5):
    return abs(a - b) <= part * max(1, abs(a), abs(b))


def check_run(run, said, problems):
    name = run["id"]
    books = run["work_useful_gpu_s"] + run["work_lost_gpu_s"] + run["work_saved_gpu_s"]
    if not close(books, run["work_recorded_gpu_s"], 1e-9):
        problems.append(f"{name}: useful, lost and saved are {books}, recorded {run['work_recorded_gpu_s']}")
    for size, delays in run["delays"].items():
        parts = sum(delay["total_s"] for why, delay in delays.items() if why != "all")
        if not close(parts, delays["all"]["total_s"]):
            problems.append(f"{name}, {size}: reasons sum to {parts}, all is {delays['all']['total_s']}")
    for why in run["delays"]["all"]:
        parts = sum(run["delays"][size][why]["total_s"] for size in SIZES)
        if not close(parts, run["delays"]["all"][why]["total_s"]):
            problems.append(f"{name}, {why}: sizes sum to {parts}")
    held = sum(sum(run["sizes"][size]["gpu_s_by_servers"].values()) for size in SIZES)
    if not close(held, run["held_gpu_s"]):
        problems.append(f"{name}: held by servers {held}, in all {run['held_gpu_s']}")
    if not 0 < run["utilization"] <= run["occupancy"] <= 1:
        problems.append(f"{name}: utilization {run['utilization']}, occupancy {run['occupancy']}")
    base = said["runs"][0]
    saved = base["held_gpu_s"] - run["held_gpu_s"] - (said["trial_pool"]["held_gpu_s"] if name in ("trial", "all") else 0)
    if not close(saved, run["saved_gpu_s"]):
        problems.append(f"{name}: saved {run['saved_gpu_s']}, by what is held {saved}")
    fragmented = run["delays"]["all"]["fragmentation"]["total_s"]
    if fragmented > 0:
        ratio = base["delays"]["all"]["fragmentation"]["total_s"] / fragmented
        if not close(ratio, run["fragmentation_ratio"]):
            problems.append(f"{name}: fragmentation_ratio {run['fragmentation_ratio']}, by what is waited {ratio}")


def check_sums(folder, problems):
    said = answer(folder, "day.csv", "--cluster", "14x8:gpu,20x2:gpu", "--seed", "3")
    if said["v"] != 1 or [run["id"] for run in said["runs"]] != RUNS or not all(run["simulated"] for run in said["runs"]):
        problems.append(f"runs: {[run['id'] for run in said['runs']]}")
    for run in said["runs"]:
        check_run(run, said, problems)
    if sum(said["quotas"]["gpus"].values()) != said["gpus"]:
        problems.append(f"quotas by share are {said['quotas']}, of {said['gpus']} GPUs")
    if said["failures"]["unsuccessful"] != sum(c["jobs"] - c["passed"] for c in said["failures"]["classes"]):
        problems.append("unsuccessful jobs are not those of the classes")
    lost = sum(c["lost_gpu_s"] for c in said["failures"]["classes"])
    if not close(lost, said["runs"][0]["work_lost_gpu_s"]):
        problems.append(f"classes lost {lost}, the base line {said['runs'][0]['work_lost_gpu_s']}")
    again = answer(folder, "day.csv", "--cluster", "14x8:gpu,20x2:gpu", "--seed", "3", "--threads", "1")
    for one in (said, again):
        one.pop("wall_s")
        for run in one["runs"]:
            run.pop("cpu_s")
    if said != again:
        problems.append("the same trace, options and seed gave another study")
    other = answer(folder, "day.csv", "--cluster", "14x8:gpu,20x2:gpu", "--seed", "4")
    if other["failures"] == said["failures"]:
        problems.append("another seed drew the same failures")
    none = answer(folder, "day.csv", "--cluster", "14x8:gpu,20x2:gpu", "--failures", "none")
    runs = {run["id"]: run for run in none["runs"]}
    if none["failures"]["unsuccessful"] != 0 or runs["base"]["work_lost_gpu_s"] != 0 or runs["retry"]["simulated"]:
        problems.append("--failures none has failures")


def check_draws(folder, problems):
    """Ranges hold the figures of the first draw, which further draws leave as they are; one draw has none."""
    one, four = (answer(folder, "day.csv", "--draws", n) for n in ("1", "4"))
    wide = 0
    for a, b in zip(one["runs"], four["runs"]):
        for field in ("saved_gpu_s", "spared_gpu_s", "fragmentation_ratio"):
            least, most = b[field + "_range"]
            if a[field] != b[field] or a[field + "_range"] != [a[field], a[field]]:
                problems.append(f"{a['id']}: {field} of one draw {a[field]} {a[field + '_range']}, with four {b[field]}")
            if a[field] is not None and not (least <= a[field] and (most is None or a[field] <= most)):
                problems.append(f"{a['id']}: {field} {a[field]} is not in {least} to {most}")
            wide += least != most
    if one["draws"] != 1 or four["draws"] != 4 or wide < 10 or len(set(four["lost_gpu_s_range"])) != 2:
        problems.append(f"draws {one['draws']}, {four['draws']}; {wide} figures have a range; failures {four['lost_gpu_s_range']}")
    for words, said in ((("--draws", "1"), False), ((), True)):
        text = study(folder, "day.csv", *words).stdout
        if (" DRAWS" in text) != said or (" draws)" in text) != said:
            problems.append(f"ranges of {words or 'three draws'}: {text}")
    done = study(folder, "day.csv", "--draws", "0")
    if done.returncode != 2 or "draws" not in done.stderr:
        problems.append(f"--draws 0: {done.stderr}")


def check_chosen(folder, problems):
    said = answer(folder, "day.csv")
    if not said["cluster_chosen"] or said["gpus"] < 64:
        problems.append(f"chosen cluster: {said['cluster']}")
    given = answer(folder, "day.csv", "--cluster", said["cluster"])
    if given["cluster_chosen"] or given["runs"][0]["held_gpu_s"] != said["runs"][0]["held_gpu_s"]:
        problems.append("the chosen cluster, given, gives another study")
    groups = list(said["quotas"]["gpus"])
    if len(groups) > 1:
        some = answer(folder, "day.csv", "--quotas", f"{groups[0]}=40,{groups[1]}=8")
        if some["quotas"]["source"] != "given" or some["quotas"]["gpus"][groups[0]] != 40:
            problems.append(f"--quotas: {some['quotas']}")
        Path(folder, "q.txt").write_text(f"# ours\n{groups[0]}=40\n{groups[1]}=8\n")
        if answer(folder, "day.csv", "--quotas", "q.txt")["quotas"] != some["quotas"]:
            problems.append("quotas of a file are others than those of the command line")
    else:
        problems.append("the trace has no groups to test")


def check_table(folder, problems):
    done = study(folder, "day.csv")
    lines = done.stdout.splitlines()
    if len(lines) > 22 or lines.count("") != 3 or not any(line.startswith(("Do first: ", "No guideline")) for line in lines[-2:]):
        problems.append(f"{len(lines)} lines, the last: {lines[-1:]}")
    for words in ("fragmentation", "all together", "is useful", "quotas assumed by share of GPU time, as none were given"):
        if words not in done.stdout:
            problems.append(f"the table does not say '{words}'")
    if any(words not in done.stderr for words in ("--report", "chosen", "modelled", "which the columns of waiting do not have")):
        problems.append(f"notes: {done.stderr}")
    for width in (80, 100, 160):
        text = shown([SHOAL, "study", "day.csv"], width, env=world(folder), cwd=folder)
        wide = [line for line in text if len(line.rstrip()) > width]
        if wide:
            problems.append(f"{width} columns: {wide[0]}")


def check_page(folder, problems):
    done = study(folder, "day.csv", "--report", "out.html", "--seed", "5")
    page = Path(folder, "out.html").read_text() if done.returncode == 0 else ""
    for words in ("shoal study day.csv --seed 5", "What each guideline would save", "INPUT HASH", "luck of placement", "are lost, by the model",
                  "What is measured and what is modelled", "it does not say where jobs ran", "arXiv 1901.05758", "</html>"):
        if words not in page:
            problems.append(f"the page does not have '{words}'")
    if len(page) > 200_000:
        problems.append(f"the page has {len(page)} bytes")
    if page and study(folder, "day.csv", "--report", "-", "--seed", "5").stdout.count("</html>") != 1:
        problems.append("--report -: no page on standard output")
    if study(folder, "day.csv", "--report", "day.csv").returncode != 2:
        problems.append("a page was written over the trace")


def check_quotas(folder, problems):
    """Quotas that nobody gave are not blamed where there are far too few GPUs; none leaves them out, and is said in no headline."""
    few = ("day.csv", "--cluster", "3x8:gpu", "--failures", "none")
    done = study(folder, *few)
    if "wait for capacity, whatever the guideline" not in done.stderr:
        problems.append(f"far too few GPUs, and no warning: {done.stderr}")
    for words in ((), ("--quotas", "none")):
        said = answer(folder, *few, *words)
        delays = said["runs"][0]["delays"]["all"]
        if delays["capacity"]["total_s"] < 0.9 * delays["all"]["total_s"]:
            problems.append(f"far too few GPUs, {words}: {said['findings']['waiting']}")
        if said["quotas"]["source"] != ("none" if words else "share"):
            problems.append(f"{words}: quotas {said['quotas']}")
    groups = list(answer(folder, *few)["quotas"]["gpus"])
    for words in ("none", f"{groups[0]}=64,{groups[1]}=32"):
        if "assumed" in study(folder, "day.csv", "--quotas", words).stdout:
            problems.append(f"--quotas {words}: quotas are said to be assumed")


def check_report_fails(folder, problems):
    """A report that cannot be written is said before the study is made; what was found is shown whatever becomes of it."""
    done = study(folder, "day.csv", "--report", "no/such/folder/x.html")
    if done.returncode != 1 or done.stdout or "no/such/folder/x.html" not in done.stderr or len(done.stderr.splitlines()) > 1:
        problems.append(f"a report that cannot be written: status {done.returncode}, {done.stdout}{done.stderr}")
    if os.path.exists("/dev/full"):
        done = study(folder, "day.csv", "--report", "/dev/full")
        if done.returncode == 0 or "GUIDELINE" not in done.stdout or "/dev/full" not in done.stderr or "report: /dev" in done.stderr:
            problems.append(f"a full disk: status {done.returncode}, {done.stdout}{done.stderr}")


def check_few(folder, problems):
    """Failures of few jobs are left out, which is said."""
    Path(folder, "few.csv").write_text(HEAD + "".join(f"j{i},{i},2,{600 + i}\n" for i in range(3)))
    for seed in range(1, 20):
        said = answer(folder, "few.csv", "--seed", str(seed))
        if said["failures"]["source"] != "none" or said["runs"][0]["work_lost_gpu_s"] != 0:
            problems.append(f"failures of three jobs: {said['failures']}")
    done = study(folder, "few.csv")
    if "a study of 3 jobs: differences are of single jobs, and failures are left out" not in done.stdout:
        problems.append(f"three jobs: {done.stdout}")


def check_odd(folder, problems):
    """Odd traces are studied, by the rules that docs/study.md states; bad ones are an error in a sentence."""
    odd = {"one.csv": HEAD + "only,5,4,1000\n",
           "instant.csv": HEAD + "".join(f"j{i},0,{1 + i % 9},{60 + i}\n" for i in range(40)),
           "short.csv": HEAD + "a,0,1,0.001\nb,0,2,0.001\n"}
    for name, text in odd.items():
        Path(folder, name).write_text(text)
        said = answer(folder, name)
        if said["jobs"] != text.count("\n") - 1 or not said["runs"][0]["simulated"] or said["quotas"]["source"] != "none":
            problems.append(f"{name}: {said['jobs']} jobs, quotas {said['quotas']}")
    Path(folder, "large.csv").write_text(HEAD + "a,0,1,60\nhuge,0,512,60\n")
    done = study(folder, "large.csv", "--cluster", "2x8:gpu")
    if done.returncode != 0 or "1 job can never run on this cluster and was left out, first 'huge' (512 GPUs)" not in done.stderr:
        problems.append(f"a job too large: {done.stderr}")
    Path(folder, "model.csv").write_text("name,submit_s,gpus,model,steps\na,0,1,resnet,100\n")
    Path(folder, "none.csv").write_text(HEAD)
    Path(folder, "only-large.csv").write_text(HEAD + "huge,0,512,60\n")
    bad = ((("model.csv",), 2, "states a model"), (("none.csv",), 1, "job"), (("only-large.csv", "--cluster", "2x8:gpu"), 1, "'huge'"),
           (("absent.csv",), 1, "absent.csv"), (("day.csv", "--quotas", "nobody=3"), 2, "no group 'nobody'"),
           (("day.csv", "--quotas", "=3"), 2, "GROUP=GPUS"), (("day.csv", "--set", "speed=9"), None, "speed"),
           (("day.csv", "--cluster", "8:8"), 2, "cluster group"), (("day.csv", "--trial", "0s"), 2, "trial"),
           (("day.csv", "--failures", "some"), 2, "model"), ((), 2, "TRACE"))
    for words, status, said in bad:
        for extra in ((), ("--json",)):
            done = study(folder, *words, *extra)
            text = done.stdout + done.stderr
            right = done.returncode == status if status is not None else done.returncode in (1, 2)
            if not right or said not in text or "Traceback" in text:
                problems.append(f"study {words + extra}: status {done.returncode}, expected {status} and '{said}': {text}")
            if extra and done.returncode == 1 and "message" not in json.loads(done.stdout or "{}").get("error", json.loads(done.stdout or "{}")):
                problems.append(f"study {words}: not an error in JSON: {text}")


def fields_of(value):
    if isinstance(value, dict):
        for key, inner in value.items():
            yield key
            yield from fields_of(inner)
    if isinstance(value, list):
        for inner in value:
            yield from fields_of(inner)


def check_example(folder, problems):
    """What docs/study.md shows is what its commands print, but for where lines break."""
    text = DOCUMENT.read_text()
    at = text.index("$ shoal trace gen")
    commands, words = text[at:text.index("```", at)].split("$ shoal study day.csv\n")
    with tempfile.TemporaryDirectory(dir=folder) as own:
        made = shoal(own, *commands.split()[2:])
        done = study(own, "day.csv")
    if made.returncode != 0 or done.stdout.split() != words.split():
        problems.append(f"docs/study.md shows another table than: {done.stdout}")


def check_document(folder, problems):
    text = DOCUMENT.read_text()
    said = answer(folder, "day.csv")
    said["quotas"]["gpus"] = {}
    for name in sorted(set(fields_of(said)) - set(SIZES)):
        if not re.search(rf"(?<![a-z_]){re.escape(name)}(?![a-z_])", text):
            problems.append(f"docs/study.md: the field '{name}' of --json is not in it")
    for name in (c["name"] for c in said["failures"]["classes"]):
        if name not in text:
            problems.append(f"docs/study.md: the class '{name}' is not in it")


def main():
    problems = []
    with tempfile.TemporaryDirectory() as folder:
        made = shoal(folder, "trace", "gen", "--shape", "philly", "--jobs", "600", "--load", "0.9", "--gpus", "128", "--seed", "7", "-o",
                     "plain.csv")
        if made.returncode != 0:
            sys.exit(f"trace gen failed: {made.stderr}")
        lines = Path(folder, "plain.csv").read_text().splitlines()
        head = next(i for i, line in enumerate(lines) if line.startswith("name"))
        if "group" not in lines[head].split(","):  # three groups, so that there is somebody to share with
            lines = [*lines[:head], lines[head] + ",group", *(f"{line},g{i % 3}" for i, line in enumerate(lines[head + 1:]))]
        Path(folder, "day.csv").write_text("\n".join(lines) + "\n")
        for check in (check_sums, check_draws, check_chosen, check_table, check_page, check_quotas, check_report_fails, check_few,
                      check_odd, check_example, check_document):
            check(folder, problems)
    for problem in problems:
        print(problem)
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
