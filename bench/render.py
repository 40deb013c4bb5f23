"""What is shown of results: a section of RESULTS.md for each bench, with the commit it measured."""
import os
import platform
import subprocess
from pathlib import Path

from measure import HERE


def cpu_model():
    for line in Path("/proc/cpuinfo").read_text().splitlines():
        if line.startswith("model name"):
            return line.split(":", 1)[1].strip()
    return platform.machine()


def commit():
    """Of the tree; with a + where its sources have changes of their own."""
    git = ["git", "-C", str(HERE)]
    try:
        head = subprocess.run([*git, "rev-parse", "--short", "HEAD"], capture_output=True, text=True, check=True).stdout.strip()
        changed = subprocess.run([*git, "status", "--porcelain", "-uno", "--", "../src", "../include"],
                                 capture_output=True, text=True, check=True).stdout.strip()
    except (OSError, subprocess.CalledProcessError):
        return "unknown"
    return head + ("+" if changed else "")


def table(lines, rows, columns):
    lines.append("| " + " | ".join(title for title, _ in columns) + " |")
    lines.append("|" + "---|" * len(columns))
    for row in rows:
        lines.append("| " + " | ".join(str(key(row) if callable(key) else row[key]) for _, key in columns) + " |")
    lines.append("")


def growth_runs(rows):
    """"15, 15, 5 and 3": how often each size ran."""
    counts = [str(row["n"]) for row in rows]
    return " and ".join([", ".join(counts[:-1]), counts[-1]] if len(counts) > 1 else counts)


def milliseconds(seconds):
    return f"{1e3 * seconds:,.3g}" if seconds < 0.1 else f"{1e3 * seconds:,.0f}"


def render_solve(_, rows):
    """Three tables: every objective, growth with the jobs, growth with the kinds."""
    growth_rows = [row for row in rows if row["what"].startswith("growth")]
    by_kinds = [row for row in rows if row["what"].startswith("kinds")]
    objectives = [row for row in rows if row not in growth_rows and row not in by_kinds]
    clp = [row for row in rows if row.get("against") == "CLP"]
    columns = [
        ("jobs", lambda r: f"{r['jobs']:,}"), ("rates", "rates"), ("runs", "n"),
        ("ms", lambda r: milliseconds(r["ours"])), ("9 of 10 below", lambda r: milliseconds(r["p90"])),
        ("bound", lambda r: milliseconds(r["bound"]) if "bound" in r else "")]
    lines = ["## solve: shares of a cluster by prices", "",
             "Three kinds, a quarter as many GPUs of each as jobs, gangs of 1 to 8, classes not merged. Warm: 1 % of the "
             "jobs replaced. CPU time of one thread, in milliseconds. Every answer is checked: shares feasible, gap at most 1e-9"
             + (", levels and sums equal to CLP's to 1e-8, needs and deadlines that fit by CLP. CLP: the better of its "
                f"dual and primal simplex, same process, in turns, loading not counted.{peers_of(clp)}" if clp else
                ". CLP was not installed: times stand against the bounds alone."), ""]
    table(lines, objectives, [("objective", "what")] + columns + [
        ("CLP, ms", lambda r: milliseconds(r["peer"]) if r.get("against") == "CLP" else ""),
        ("times faster", lambda r: f"{r['ratio']:,.0f}x" if r.get("against") == "CLP" else ""),
        ("gap", "gap"), ("passes", "passes")])
    lines += ["### solve: growth with the jobs (max-min, cold)", "", "On two threads the time is what passes.", ""]
    table(lines, growth_rows, [("threads", "threads")] + columns + [
        ("CPU ms of both", lambda r: milliseconds(r["cpu_s"]) if "cpu_s" in r else ""), ("passes", "passes")])
    lines += ["### solve: growth with the kinds (max-min, 10,000 jobs)", ""]
    table(lines, by_kinds, [("kinds", "kinds"), ("start", lambda r: r["what"].rsplit(", ", 1)[1])] + columns + [("passes", "passes")])
    return lines


TABLES = {
    "auction": ("GPUs to bidders, with every payment", "CPU milliseconds of one auction. Exact but where it says not; prices are the other "
                "method, on the same bids, and what they lose is welfare, relative."),
    "pages": ("pages in a browser", "From the start of the navigation to two frames after the end of loading, Chromium without a screen; medians."),
    "demo": ("the first thing anybody runs", "CPU seconds of tools/demo without the build, all processes; in turn. At e6f9994 it had six policies and, of "
             "the same seed, 286 jobs; now seven, with shoal, and 323, as traces have the load that is asked for."),
    "instructions": ("commands against an earlier build", "Instructions of whole processes, counted by callgrind."),
    "sim-adaptive": ("sizes and batches chosen for jobs", "Average completion time, the mean over workloads; the 99th percentile likewise. "
                     "Workloads, profiles and the authors' results as published with Pollux and Sia."),
    "sim-robust": ("reports that are wrong", "Average completion time with every reported time and gradient off by up to a share, or with one "
                   "job in ten reporting nonsense, against exact reports."),
    "choose": ("one size for each job", "CPU time of a decision on sizes by the policy shoal, and how far any choice could be better, as proven. "
               "Jobs and speeds of Sia's largest workload."),
    "sim-decide": ("time of a decision", "The median decision of a whole simulation of Sia's larger workloads, wall time; 30,720 GPUs: fifteen "
                   "of the largest at once."),
    "market": ("buying where and when it is cheap", "A year of work on one kind of instance under AWS's spot prices, with prices on demand beside "
               "them and interruptions cut from public traces of other zones and years; the median of three seeds. Static stays where it is "
               "cheapest at the start; the bound is what no plan can beat that knows all prices and interruptions beforehand. 2020: two "
               "days of a V100's work for each model of Gavel's table, every zone and kind as a static choice: bench/market.py."),
    "study": ("waiting, and what guidelines save", "`shoal study` of Philly's published jobs on a cluster chosen by its rule: the base line, "
              "each guideline, all of them and two echoes of the base line. Speeds and failures are modelled: docs/study.md."),
    "advise": ("algorithm and machines to reach a loss", "Of every problem, network, loss and question (fastest, cheapest): is what `shoal "
               "advise` chooses from a few short runs within 5 % of the best of all algorithms on 1 to 64 machines? Losses are of real jobs with "
               "as many parts; seconds are those of their tasks, measured, with a network that is stated: bench/advise_truth.py. Peers see the "
               "same runs; bench/advise.py says what each does."),
    "train-logreg": ("linear models", "CPU seconds of training, from data in memory to the model, all processes; wall seconds with "
                     "two threads. LIBLINEAR: train() alone, the faster of the solvers that it has for the loss, its tolerance "
                     "halved until its objective is not above ours by more than 1e-4 or it takes ten times as long; ours is not above what it finds by default by more "
                     "than that. Weights of both are judged by one function. "
                     "Cost 1, no bias; classes of 20news each against the rest. scikit-learn: fit() at its defaults."),
    "train-lasso": ("paths of the lasso", "CPU seconds of a job, from data in memory to the model, all processes, against enet_path "
                    "alone: 100 penalties down to a hundredth of the first, no intercept, scikit-learn's tolerance halved from its "
                    "default until its last objective equals ours. Ours are proven: path_gap is the largest duality gap against its "
                    "objective. Updates are visits to coordinates."),
    "train-lda": ("topics", "The bare loop is bench_lda, which writes in place; inside the runtime an iteration's CPU seconds are the "
                  "difference of two runs with more and fewer iterations of 1000 topics, so that reading, likelihood and writing are in "
                  "neither. WarpLDA: CPU seconds of its first 60 iterations, likelihood code off, threads that wait asleep, against ours until "
                  "the likelihood per token is as high: sampling alone, as theirs, and a whole job from data in memory to the end. It runs "
                  "between two runs of ours. gensim: update() at its defaults until its lowest perplexity on every tenth document, 100 topics, "
                  "against a whole job. Memory: the sum of every process's peak, what they share counted in each."),
    "train-mf": ("factors", "CPU seconds of training, from ratings in memory to the model; of LIBMF its passes alone, as many as give "
                 "our test error or come within 0.1 % of its lowest."),
    "train-rows": ("row increments", "A task adds to 4,096 random rows of a 1 GiB table; all that makes it exactly once is in the time."),
    "train-tasks": ("tasks", ""),
    "train-far": ("rows to and from a worker over TCP", "Rows of 100 floats, loopback, one worker."),
    "train-wire": ("messages", "Ours are authenticated, checksummed, and sent again where a network loses them."),
    "train-factors": ("bytes of multinomial updates", "20,000 features, 10,000 classes, 8 workers. Exact: bytes do not vary "
                      "from run to run."),
    "train-elastic": ("4, 16, 4 workers", "The ideal is the rate of undisturbed runs with 4 and with 16 workers of one thread, for as long as "
                      "either number was wanted; on fewer cores than workers they share them."),
    "train-kill": ("kill -9 of one of 8 workers", "At moments drawn evenly from the first four fifths of the time that the run before took."),
    "train-slow": ("one of 4 workers at half its speed", "It is stopped for every other 2 ms. Blocked: share of the threads' time "
                   "that is not in tasks: waiting for tables before one, or idle without one.")}
COMMON = ("bench", "what", "data", "ours", "unit", "against", "peer", "peer_version", "ratio", "bound", "holds")


def figure(value):
    if isinstance(value, float):
        return f"{value:,.4g}" if abs(value) < 1e4 else f"{value:,.0f}"
    return f"{value:,}" if isinstance(value, int) and not isinstance(value, bool) else str(value)


def peer_of(row):
    """What the peer is called, with its version where it has one."""
    return row["against"] + (f", version {row['peer_version']}" if "peer_version" in row else "")


def peers_of(rows):
    """A sentence on those with versions, for tables that name no peer in a row."""
    return "".join(f" {name}." for name in sorted({peer_of(row) for row in rows if "peer_version" in row}))


def data_column(rows):
    """Where rows say what their data is."""
    return [("data", lambda r: r.get("data", ""))] if any("data" in row for row in rows) else []


def render_table(name, rows):
    """One form for most: the figure, what it is held against, the bound, and whether it holds."""
    title, note = TABLES[name]
    lines = [f"## {name}: {title}", "", *([note, ""] if note else [])]
    table(lines, rows, [
        ("what", "what"), *data_column(rows), ("ours", lambda r: f"{figure(r['ours'])} {r['unit']}" if "ours" in r else ""),
        ("peer", lambda r: f"{figure(r['peer'])} ({peer_of(r)})" if "peer" in r else ""),
        ("ratio", lambda r: figure(r["ratio"]) if "ratio" in r else ""), ("bound", lambda r: r.get("bound", "")),
        ("holds", lambda r: {True: "yes", False: "**no**"}.get(r.get("holds"), "")),
        ("more", lambda r: ", ".join(f"{key} {figure(value)}" for key, value in r.items() if key not in COMMON))])
    return lines


def in_columns(title, note, columns):
    """A way to render: one table with columns of its own."""
    def shown(name, rows):
        lines = [f"## {name}: {title}", "", (note(rows) if callable(note) else note) + peers_of(rows), ""]
        table(lines, rows, columns[:1] + data_column(rows) + columns[1:])
        return lines
    return shown


def gavel(title, note):
    return in_columns(f"{title}, 36 GPUs each of three kinds", f"{note}; the bound is that plus 5 %. A dash: the queue grows without bound.", [
        ("workload and policy", "what"), ("ours, h", lambda r: r["ours"] or "-"), ("published, h", "peer"), ("ratio", lambda r: r["ratio"] or "-"),
        ("seeds 0, 1, 2", lambda r: ", ".join(str(hour or "-") for hour in r["seeds"]))])


SECTIONS = {
    "sim-growth": in_columns(
        "one load, one cluster (2,000 GPUs), las",
        lambda rows: f"The bound is 60 CPU-seconds and 2 GiB for a million jobs. Medians of {growth_runs(rows)} runs.", [
            ("jobs", lambda r: f"{r['jobs']:,}"), ("runs", "n"), ("CPU s", "ours"), ("bound", "peer"),
            ("CPU us per job", lambda r: f"{1e6 * r['ours'] / r['jobs']:.1f}"), ("decision, ns per live job", "decision_ns_per_live_job"),
            ("bytes per job", "bytes_per_job"), ("peak MiB", lambda r: f"{r['peak_bytes'] / 2**20:.1f}"),
            ("rounds", lambda r: f"{r['rounds']:,}")]),
    "sim-philly": in_columns(
        "82,247 jobs under las, strict locality relaxing every 10 min",
        lambda rows: f"The bound is 20 s. Medians of {rows[0]['n']} processes.", [
            ("cluster", "what"), ("CPU s, whole process", "ours"), ("bound", "peer"), ("peak MiB", "peak_mib"),
            ("waiting for locality, job-hours", "locality_wait_h"), ("for fair share", "fair_share_wait_h")]),
    "sim-philly-kinds": in_columns(
        "the same jobs on 830 GPUs each of V100, P100 and K80 under max-min",
        "Shares are solved for at every decision before which a job came or went. Events are arrivals and ends; those "
        "within a second of one another share a decision. The bound is 60 s.", [
            ("decisions at", "what"), ("CPU s, whole process", "ours"), ("bound", "peer"), ("processes", "n"),
            ("decisions", lambda r: f"{r['decisions']:,}"), ("solved", lambda r: f"{r['solves']:,}"),
            ("events", lambda r: f"{r['events']:,}"), ("peak MiB", "peak_mib")]),
    "sim-peers": in_columns(
        "job-rounds per CPU-second",
        lambda rows: "The bound is 100 times the peer, which was measured before, on the same kind of machine. The last column compares whole "
        f"processes, loading included, with the peer's simulation alone. Medians of {rows[0]['n']} runs and {rows[0]['process_n']} processes.", [
            ("trace and policy", "what"), ("ours", lambda r: f"{r['ours']:,}"), ("peer", lambda r: f"{r['peer']:,}"),
            ("ratio", lambda r: f"{r['ratio']:,.0f}x"), ("whole process", lambda r: f"{r['process_ratio']:,.0f}x")]),
    "sim-quality": in_columns(
        "what the policies achieve on the same traces", "The bound is the peer's figure plus 3 %; below 1 is better than the peer. Exact.", [
            ("trace, policy, metric", "what"), ("ours, s", lambda r: f"{r['ours']:,.2f}"),
            ("peer, s", lambda r: f"{r['peer']:,.2f}"), ("ratio", "ratio")]),
    "sim-gavel-rates": gavel("average completion time by rate of arrival", "Published for seed 0"),
    "sim-gavel-makespan": gavel("makespan of jobs that all arrive at once", "Published as means of three seeds"),
    "solve": render_solve,
}


def section(name, commit_of_it, rows):
    lines = SECTIONS.get(name, render_table)(name, rows)
    return "\n".join([*lines[:2], f"Measured at {commit_of_it} on {cpu_model()}, {os.cpu_count()} shared cores.", "", *lines[2:]]).rstrip()


def write(found, order):
    """Puts the sections of what was measured in place of those that were there; the others stay as they are."""
    path = HERE / "RESULTS.md"
    kept = {text.split(":")[0].strip(): f"## {text.rstrip()}"
            for text in (path.read_text() if path.exists() else "").split("\n## ")[1:]}
    kept |= {name: section(name, it["commit"], it["rows"]) for name, it in found.items()}
    head = ("# Results\n\nWritten by `bench/run`, which says what each bench does. Measured at a commit; +: with changes to it. CPU seconds of "
            "one thread, but for train-*, whose notes and units say what is measured.")
    path.write_text("\n\n".join([head, *(kept[name] for name in order if name in kept)]) + "\n")
