#!/usr/bin/env python3
"""Compares what commands answer with what is recorded: their --json, field by field, and their exit status.

A record, recorded/NAME.json, is the command, its exit status and its answer: the objects it prints, or its lines where it prints no
JSON. Numbers may differ by a share of RELATIVE, or by what LOOSER says; a field that VOLATILE names needs to be there and to keep its
type, and the record says "any number" of it. Fields and rows that a record lacks are new: they are listed and do no harm. With names
as arguments only those are compared; --write records anew, to be read before it is kept.
"""
import json
import math
import os
import re
import subprocess
import sys
from pathlib import Path

from train_jobs import LIMIT_S, SHOAL, Held, in_own_folder, problems

RECORDS = Path(__file__).resolve().parent / "recorded"
EXAMPLES = Path(os.environ["SHOAL_SOURCE_DIR"]) / "examples"
RELATIVE = 1e-9
WIDTH = 140

# What the runs read, made before them, beside the examples and what make_files writes.
INPUTS = [
    "trace gen --shape philly --jobs 60 --duration-max 6h --gpus-max 8 --load 0.9 --gpus 24 -o jobs.csv",
    "trace gen --shape gavel-multi --jobs 24 --duration-max 5h --gpus-max 4 --rate 12 --seed 2 -o plain.csv",
    "gen prices --days 20 -o prices.csv",
    "gen sparse --rows 300 --columns 60 -o rows.svm",
    "gen sparse --rows 300 --columns 40 --classes 3 --seed 2 -o classes.svm",
    "gen ratings --users 60 --items 40 --ratings 1200 -o ratings.csv",
    "gen corpus --documents 80 --words 120 --topics 4 --length 30 -o docs.txt",
    "gen regression --rows 120 --columns 60 --true 6 -o regression.svm",
    "advise runs.csv --target 0.3 --machines 1-16 --save fitted.json",
]

MIXED = "-c 4x4:t4,2x4:a100 jobs.csv"
SMALL = "-c 2x4:t4,1x4:a100"
ONE = "--workers 1 --threads 1 --set executors=1"  # one place for all: the order of sums is fixed

# By name, without --json, which all have whose name is not in TEXT. Later ones use files of earlier ones. None of them may depend on the
# CPU's kernels, which sum in another order: cost-slo on several kinds does, as it chooses between jobs that are equally good. Those whose
# name begins with "held" find a job that runs, HELD, at HELD_CLOCK.
RUNS = {
    "sim_default": f"sim {MIXED}",
    "sim_shares": f"sim {MIXED} -p max-min,ftf,themis,makespan,throughput,hierarchical",
    "sim_other_policies": f"sim {MIXED} -p gandiva,allox,cost,fifo-types,philly:migrate=true,fifo:backfill=easy",
    "sim_job": f"sim {SMALL} -p shoal,max-min,fifo --job probe-1 small.csv",
    "sim_prices": "sim -c 2x4:V100,2x4:large -p cost,max-min --prices prices.csv --prices-from 2025-01-03 plain.csv",
    "sim_deadlines": "sim -c 2x4:t4 -p cost-slo,fifo,shoal deadlines.csv",
    "sim_sweeps": f"sim {SMALL} -p themis,las,shoal --halving 2 sweeps.csv",
    "sim_failures": f"sim {SMALL} -p las,shoal --node-mtbf 12h --node-repair 1h --job-failures --checkpoint 30m --seed 3 plain.csv",
    "sim_places": "sim -c 4x4:p100 -p philly,las --spread --neighbours --interference 0.1 --react 5s --lease 10m jobs.csv",
    "sim_fitted": "sim -c 4x4:t4 -p shoal,pollux,pollux:search=genetic --round 10s --restart 2s --profiles fitted.json fitted.csv",
    "sim_unknown_policy": "sim -p lsa small.csv",
    "sim_no_trace": "sim nowhere.csv",
    "solve_max_min": "solve problem.json --threads 1",
    "solve_ftf_pairs": "solve problem.json --threads 1 --objective ftf --sharing pairs",
    "solve_makespan_twice": "solve problem.json --threads 1 --objective makespan --repeat 2",
    "solve_cost_slo": "solve problem.json --threads 1 --objective cost-slo",
    "solve_hierarchical": "solve problem.json --threads 1 --objective hierarchical",
    "solve_fifo_agnostic": "solve problem.json --threads 1 --objective fifo --agnostic",
    "market_one": "market prices.csv --work 5d",
    "market_kinds": "market prices.csv --kinds small --work 4d --deadline 7d --interruptions 12h/20m --moves",
    "market_fleet": "market prices.csv --jobs fleet.csv --limit small=3 --strategy shoal,static --start 2025-01-04",
    "market_budget": "market prices.csv --kinds small --work 4d --budget 2 --no-bound",
    "study_day": "study jobs.csv -c 4x8:gpu --seed 3",
    "study_no_failures": "study jobs.csv --failures none --quotas none --draws 1",
    "advise_target": "advise runs.csv --target 0.21 --machines 1-16 --price 0.5",
    "advise_deadline": "advise runs.csv --deadline 20s --machines 1,4,16",
    "advise_plan": "advise runs.csv --plan --budget 40 --machines 1,2,4",
    "advise_plan_data": "advise trained.json --plan --budget 4 --machines 1,2,4 --data rows.svm",
    "train_logreg": f"train logreg rows.svm {ONE} --name a --out logreg.model",
    "train_logreg_softmax": f"train logreg classes.svm {ONE} --set loss=softmax --name b --out softmax.model",
    "train_mf": f"train mf ratings.csv {ONE} --set rank=4 --set holdout=0.1 --name c --out mf.model",
    "train_lda": f"train lda docs.txt {ONE} --set topics=4 --set iterations=20 --set holdout=0.1 --name d --out lda.model",
    "train_lasso": "train lasso regression.svm -w 1 -t 1 --set groups=1 --set folds=3 --set lambdas=20 --name e --out lasso.model",
    "train_no_data": "train logreg nowhere.svm",
    "eval_logreg": "eval logreg.model rows.svm",
    "eval_softmax": "eval softmax.model classes.svm",
    "eval_mf": "eval mf.model ratings.csv",
    "eval_lda": "eval lda.model docs.txt",
    "eval_lasso": "eval lasso.model regression.svm",
    "predict_classes": "predict softmax.model classes.svm",
    "trace_info": f"trace info {MIXED}",
    "trace_gen": "trace gen --shape pollux --jobs 12",
    "gen_prices": "gen prices --days 1 --region-count 1 --zone-count 1",
    "gen_prices_file": "gen prices --days 3 --region-count 1 -o prices3.csv",
    "gen_trace_file": "trace gen --shape pollux --jobs 12 -o jobs12.csv",
    "gen_sparse": "gen sparse --rows 20 -o sparse.svm",
    "gen_ratings": "gen ratings --users 20 --items 10 --ratings 50 -o few.csv",
    "gen_corpus": "gen corpus --documents 20 --truth topics.txt --format binary -o made.corpus",
    "gen_regression": "gen regression --rows 20 --columns 30 --truth coefficients.txt -o made.svm",
    "corpus_build": "corpus build docs.txt docs.corpus --min-count 2",
    "corpus_info": "corpus info docs.corpus --top 3",
    "strategy_list": "strategy list",
    "policy_list": "policy list",
    "policy_show": "policy show shoal pollux",
    "app_list": "app list",
    "app_show": "app show lda",
    "new_app": "new app mean",
    "jobs_none": "jobs",
    "top_none": "top",
    "scale_no_job": "scale nobody 2",
    "drain_no_job": "drain nobody 1",
    "doctor": "doctor",
    "config_show": "config show",
    "version": "version",
    "held_jobs": "jobs",
    "held_key": "jobs --key held",
    "held_top": "top",
    "held_scale": "scale held 1",
    "held_drain_none": "drain held 7",
}
TEXT = {"predict_classes", "trace_gen", "gen_prices"}

DOCTOR = ("version compiler jansson system cpu cpu_features cores cores_online memory_bytes memory_available_bytes huge_pages open_files "
          "temporary_folder terminal locale config problems").split()

HELD = f"train logreg rows.svm {ONE} --set algorithm=sdca --set judge=1 --set tol=1e-9 --json"
HELD_CLOCK = 3
STATUS = "task_s blocked_s units_per_s uptime_s checked crew.*.busy crew.*.oldest_s crew.*.pid crew.*.host".split()

# What a second run, another machine or another version may tell otherwise: the start of a run's name and the path of a field, "*" for
# any one step of it.
VOLATILE = [
    ("sim", "*.wall_s"),
    ("sim", "*.cpu_s"),
    ("sim", "*.decision_ms_p50"),
    ("sim", "*.decision_ms_p99"),
    ("solve", "*.time_s"),
    ("solve_makespan_twice", "*.time_again_s"),
    ("solve", "*.gap"),  # of rounding, as level and bound are compared
    ("market", "*.strategies.*.took_s"),
    ("study", "*.wall_s"),
    ("study", "*.runs.*.cpu_s"),
    ("train", "*.seconds"),
    ("train", "*.load_seconds"),
    ("train", "*.cpu_s"),
    ("train", "*.units_per_s"),
    ("train", "*.task_s"),
    ("train", "*.blocked_s"),
    ("train", "*.curve.*.1"),  # seconds since the work began
    ("train", "*.curve.*.3"),  # seconds in tasks
    *(("doctor", f"*.{field}") for field in DOCTOR),
    ("config", "*.file"),
    ("version", "*.version"),
    ("held", "*.key"),
    ("held", "*.jobs.*.pid"),
    ("held", "*.jobs.*.address"),
    *(("held", f"{job}.{field}") for job in ("*", "*.jobs.*.status") for field in STATUS),
]

# Like VOLATILE, and by what share numbers may differ: sums of floats that the kernels for another CPU take in another order.
LOOSER = [
    ("train", "*.value", 1e-4),
    ("train", "*.held_out", 1e-4),
    ("train", "*.gap", 1e-1),
    ("train", "*.curve.*.2", 1e-4),
    ("eval", "*.*", 1e-4),
    ("held", "*.value", 1e-4),
    ("held", "*.history.*", 1e-4),
    ("held", "*.jobs.*.status.value", 1e-4),
    ("held", "*.jobs.*.status.history.*", 1e-4),
]

# A list of objects that each have another text here is compared by it, so that a new row moves none of the others.
ROW_NAMES = ("policy", "name", "key", "id", "strategy", "job")


def make_files():
    """Runs that need sqrt(m) times the iterations on m machines, and such that do not care; jobs with deadlines, in sweeps, of fitted
    models; a fleet."""
    head = "#shoal-runs v1\nalgorithm,machines,size,run,iteration,time_s,loss\n"
    csv, trained = [], []
    for name, rate, slower in (("sdca", 0.1, 0.5), ("sgd", 0.02, 0)):
        for m in (1, 4, 16):
            points = [[i, round(i * (0.02 + 1 / m + 0.002 * m), 6), round(0.2 + 0.5 * math.exp(-rate / m**slower * i), 6)] for i in range(60)]
            csv += [f"{name},{m},100,,{i},{time},{loss}\n" for i, time, loss in points]
            options = {"algorithm": name, "cost": "2", "epochs": "59"}
            trained.append(json.dumps({"app": "logreg", "algorithm": f"logreg-{name}", "options": options, "machines": m, "threads": 1,
                                       "size": 100, "curve": points}) + "\n")
    Path("runs.csv").write_text(head + "".join(csv))
    Path("trained.json").write_text("".join(trained[:2] + trained[3:5]))
    Path("fitted.csv").write_text("name,submit_s,gpus,model,adapt\n" + "".join(
        f"f{i},{i * 5},{(1, 4)[i % 2]},{('sdca', 'sgd')[i % 3 // 2]},{('size', 'none')[i % 5 // 4]}\n" for i in range(12)))
    Path("fleet.csv").write_text("job,work,deadline,instances\nx,2d,6d,1\ny,3d,,2\nz,9h,2025-01-12,1\n")


def add_columns(path, names, values):
    """The jobs of plain.csv with more columns."""
    lines = [line for line in Path("plain.csv").read_text().splitlines() if not line.startswith("#")]
    rows = [",".join([line, *map(str, values(i))]) for i, line in enumerate(lines[1:])]
    Path(path).write_text("\n".join([f"{lines[0]},{names}", *rows]) + "\n")


def shoal(words):
    folder = os.getcwd()
    env = {"PATH": os.environ["PATH"], "HOME": folder, "XDG_RUNTIME_DIR": folder, "TERM": "dumb", "LC_ALL": "C.UTF-8"}
    env.update({k: v for k, v in os.environ.items() if k.endswith("SAN_OPTIONS")})
    return subprocess.run([SHOAL, *words], capture_output=True, text=True, env=env, stdin=subprocess.DEVNULL, timeout=LIMIT_S)


def make_inputs():
    for name in ("small.csv", "problem.json"):
        Path(name).symlink_to(EXAMPLES / name)
    make_files()
    for line in INPUTS:
        done = shoal(line.split())
        if done.returncode != 0:
            sys.exit(f"shoal {line}: exit {done.returncode}, {done.stderr}")
    add_columns("deadlines.csv", "slo", lambda i: [1.2 + i % 4])
    add_columns("sweeps.csv", "app,score", lambda i: [f"sweep-{i // 6}", i * 7 % 11])


def run(name):
    """As it is recorded, but for what is volatile."""
    line = RUNS[name] if name in TEXT else f"{RUNS[name]} --json"
    done = shoal(line.split())
    lines = done.stdout.splitlines()
    try:
        answer = lines if name in TEXT else [json.loads(text) for text in lines]
    except ValueError:
        answer = lines
    return {"command": f"shoal {line}", "exit": done.returncode, "answer": answer}


# ---- comparing ----


def kind_of(value):
    for kind, types in (("flag", bool), ("number", (int, float)), ("text", str), ("list", list), ("object", dict)):
        if isinstance(value, types):
            return kind
    return "null"


def named(table, run_name, path):
    """The last word of the first row for this field, or None."""
    for start, pattern, *rest in table:
        steps = pattern.split(".")
        if run_name.startswith(start) and len(steps) == len(path) and all(s in ("*", p) for s, p in zip(steps, path)):
            return rest[0] if rest else True
    return None


def by_name(rows):
    """Rows by the first of ROW_NAMES that tells them apart, or None."""
    if rows and all(isinstance(row, dict) for row in rows):
        for key in ROW_NAMES:
            names = [row.get(key) for row in rows]
            if all(isinstance(n, str) for n in names) and len(set(names)) == len(names):
                return dict(zip(names, rows))
    return None


def pairs_of(value):
    if isinstance(value, dict):
        return value
    return by_name(value) or {str(i): item for i, item in enumerate(value)}


def blank(name, value, path=()):
    """The value with "any KIND" for what is volatile."""
    if path and named(VOLATILE, name, path):
        return f"any {kind_of(value)}"
    if isinstance(value, dict):
        return {key: blank(name, item, (*path, key)) for key, item in value.items()}
    if isinstance(value, list):
        return [blank(name, item, (*path, key)) for key, item in pairs_of(value).items()]
    return value


def same(name, path, old, new):
    if kind_of(old) == kind_of(new) == "number":
        return math.isclose(old, new, rel_tol=named(LOOSER, name, path) or RELATIVE)
    return kind_of(old) == kind_of(new) and old == new


def compare(name, old, new, fresh, path=()):
    """`old` is of the record, `new` what is printed now, both blanked."""
    where = f"{name}: {'.'.join(path)}"
    if isinstance(old, (dict, list)) and kind_of(old) == kind_of(new):
        both_named = isinstance(old, dict) or (by_name(old) is not None and by_name(new) is not None)
        olds, news = (pairs_of(v) if both_named else {str(i): item for i, item in enumerate(v)} for v in (old, new))
        for key in olds:
            if key in news:
                compare(name, olds[key], news[key], fresh, (*path, key))
            else:
                problems.append(f"{name}: {'.'.join((*path, key))}: recorded {short(olds[key])}, now missing")
        added = [key for key in news if key not in olds]
        if both_named:
            fresh += [f"{name}: {'.'.join((*path, key))}: {short(news[key])}" for key in added]
            before, after = [key for key in olds if key in news], [key for key in news if key in olds]
            if isinstance(old, list) and before != after:
                problems.append(f"{where}: recorded in the order {short(before)}, now {short(after)}")
        elif added:
            problems.append(f"{where}: recorded {len(old)} items, now {len(new)}")
    elif not same(name, path, old, new):
        problems.append(f"{where}: recorded {short(old)}, now {short(new)}")


def short(value):
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= 200 else f"{text[:200]}..."


# ---- recording ----


def laid_out(value, indent=0):
    """JSON in which what fits into a line has one, so that a change is seen where it is."""
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    if len(text) + indent <= WIDTH or not isinstance(value, (dict, list)):
        return text
    heads = [f"{json.dumps(key, ensure_ascii=False)}:" for key in value] if isinstance(value, dict) else [""] * len(value)
    items = value.values() if isinstance(value, dict) else value
    inner = [head + laid_out(item, indent + 1) for head, item in zip(heads, items)]
    open_, close = "{}" if isinstance(value, dict) else "[]"
    lines = [inner[0]]
    for item in inner[1:]:
        if "\n" not in item and "\n" not in lines[-1] and len(lines[-1]) + len(item) + indent + 2 <= WIDTH:
            lines[-1] += f",{item}"
        else:
            lines[-1] += ","
            lines.append(item)
    pad = "\n" + " " * (indent + 1)
    return open_ + pad + pad.join(lines) + "\n" + " " * indent + close


def record(path, found):
    path.parent.mkdir(exist_ok=True)
    path.write_text(laid_out(found) + "\n")


def check(name, path, found, fresh):
    if not path.exists():
        problems.append(f"{name}: not recorded; --write records it")
        return
    old = json.loads(path.read_text())
    for part in ("command", "exit"):
        if old[part] != found[part]:
            problems.append(f"{name}: {part} recorded {old[part]}, now {found[part]}")
    compare(name, old["answer"], found["answer"], fresh)


def check_all_are_here():
    """Every record is of a run, and every command with --json has one."""
    problems.extend(f"{path.name}: no run is called so" for path in RECORDS.glob("*.json") if path.stem not in RUNS)
    commands = re.findall(r"^  ([a-z]+(?: [a-z]+)?)  +[A-Z]", shoal(["--help"]).stdout, re.M)
    if len(commands) < 20:
        problems.append(f"'shoal --help' lists {commands}")
    for command in commands:
        takes_json = "  --json  " in shoal([*command.split(), "--help"]).stdout
        if takes_json and not any(f"{line} ".startswith(f"{command} ") for name, line in RUNS.items() if name not in TEXT):
            problems.append(f"shoal {command}: no run has it")


def main():
    names = [word for word in sys.argv[1:] if word != "--write"] or list(RUNS)
    if unknown := [name for name in names if name not in RUNS]:
        sys.exit(f"no run is called {', '.join(unknown)}")
    fresh, job = [], None
    make_inputs()
    check_all_are_here()
    for name in RUNS:  # all of them, as some leave files for others
        if name.startswith("held") and job is None:
            job = Held(HELD.split(), "held", HELD_CLOCK)
            job.wait_up(1)
        found = run(name)
        found["answer"] = blank(name, found["answer"])
        if name in names and "--write" in sys.argv:
            record(RECORDS / f"{name}.json", found)
        elif name in names:
            check(name, RECORDS / f"{name}.json", found, fresh)
    job.end()
    print("".join(f"new, not recorded: {line}\n" for line in fresh) + f"{len(names)} runs, {len(problems)} differences")


if __name__ == "__main__":
    in_own_folder(main)
