"""Benches of topic models: against WarpLDA and gensim, inside the runtime against the bare loop (bench_lda), two threads against
one, and the memory of a million topics.

Priors are equal everywhere but in gensim, which keeps its own: 50 by topics, and 0.01 a word. Against WarpLDA: CPU seconds of
sampling until the likelihood per token that it has after 60 iterations; likelihoods are computed in neither's time. It runs between
two runs of ours, so that all see the same load. $SHOAL_WARPLDA names a program outside of this repository:

    PROGRAM DOCWORD TOPICS ITERATIONS THREADS ALPHA_SUM BETA

that prints a JSON line: cpu_s and wall_s of all iterations, likelihood code off, and the likelihood after the last.
"""
import json
import lzma
import os
import subprocess
import sys

from jobs import Jobs, settings
from measure import HERE, QUICK, bag_shape, data_dir, emit, lines_of, load, median, program, python_with, repeats, wanted

TOPICS, ALPHA_SUM, BETA = 1000, 50, 0.01
FEW, MANY = (5, 25) if QUICK else (10, 70)
PEER_ITERATIONS = 10 if QUICK else 60
GENSIM_TOPICS, GENSIM_PASSES = (20, 2) if QUICK else (100, 5)
GIB = 1 << 30


# ---- corpora ----

def news20(shoal, work):
    path, data = work / "docword.20news.txt", data_dir("train/news20")
    if data is None:
        return None
    if not path.exists():
        path.write_bytes(lzma.open(data / "docword.20news.txt.xz").read())
    return path


def made(shoal, work, documents):
    """Documents of some 300 words, made once."""
    path = work / f"docword.made-{documents}.txt"
    if not path.exists():
        subprocess.run([shoal, "gen", "corpus", "--documents", str(documents), "--words", "100000", "--topics", "500",
                        "--length", "300", "--format", "uci", "-o", path, "--log", "error"], check=True, stderr=subprocess.DEVNULL)
    return path


def generated(shoal, work):
    return made(shoal, work, 3000 if QUICK else 340000)


NEWS, MADE = "20news", "generated, 1 M tokens" if QUICK else "generated, 100 M tokens"
CORPORA = {NEWS: news20, MADE: generated}


def priors(topics):
    return dict(topics=topics, alpha=ALPHA_SUM / topics, beta=BETA)


def bare(shoal, path, **options):
    """Lines of the bare loop, one for each likelihood that it computed: iteration, likelihood, cpu_s, wall_s so far."""
    words = {"topics": TOPICS, "alpha": ALPHA_SUM, "beta": BETA, **options}
    lines = lines_of([program(shoal, "lda"), path, *(f"{key}={value}" for key, value in words.items())])
    return [line for line in lines if "iteration" in line]


# ---- inside the runtime, and with two threads ----

def seconds_of(shoal, path, threads, iterations):
    """CPU and wall seconds of sampling in the bare loop."""
    last = bare(shoal, path, threads=threads, iterations=iterations, every=iterations)[-1]
    return last["cpu_s"], last["wall_s"]


def inside(jobs, path, iterations):
    return jobs.run("lda", path, *settings(**priors(TOPICS), evaluate=0, iterations=iterations), "--workers", 1, "--threads", 1)["cpu_s"]


def each(run, many):
    """Seconds of an iteration: of a run with more and one with fewer, so that reading, cutting, likelihood and writing are in neither."""
    few = run(FEW)
    return [(b - a) / (many - FEW) for a, b in zip(few, run(many))]


def runtime_row(jobs, what, path, many, results):
    job, loop = [], []
    for _ in range(repeats(5)):
        loop.append(each(lambda n: seconds_of(jobs.shoal, path, 1, n)[:1], many)[0])
        job.append(each(lambda n: [inside(jobs, path, n)], many)[0])
    ours, peer = median(job), median(loop)
    emit(results, bench="train-lda", what=what, data=bag_shape(path), ours=round(ours, 4), unit="CPU s", against="the bare loop", peer=round(peer, 4),
         ratio=round(ours / peer, 4), bound="at most 1.05", holds=ours <= 1.05 * peer, n=len(job), load=load())


def threads_row(shoal, what, path, many, results):
    walls = {1: [], 2: []}
    for _ in range(repeats(5)):
        for threads, wall in walls.items():
            wall.append(each(lambda n: seconds_of(shoal, path, threads, n)[1:], many)[0])
    one, two = median(walls[1]), median(walls[2])
    emit(results, bench="train-lda", what=what, data=bag_shape(path), ours=round(one / two, 3), unit="times", bound="at least 1.8",
         holds=one / two >= 1.8, seconds=round(two, 4), n=len(walls[2]), load=load())


# ---- against WarpLDA ----

def warplda(path, topics, threads):
    command = [os.environ["SHOAL_WARPLDA"], path, topics, PEER_ITERATIONS, threads, ALPHA_SUM, BETA]
    return list(lines_of(command))[-1]


def reached(lines, target):
    """The first line that is there; None: none is."""
    return next((line for line in lines if line["likelihood"] >= target), None)


def until(jobs, path, topics, threads, target, iterations):
    """The whole command, as many iterations as it takes: as the bare loop says, or a few more."""
    for more in range(5):
        result = jobs.run("lda", path, *settings(**priors(topics), evaluate=0, iterations=iterations + more), "--workers", 1,
                          "--threads", threads, parts=True)
        result["iterations"] = iterations + more
        if -result["value"] >= target:
            break
    return result


def warplda_once(jobs, path, topics, threads):
    """The bare loop, the peer, the bare loop, the whole command. The first does not know yet where to stop."""
    options = dict(topics=topics, threads=threads, every=1)
    before = bare(jobs.shoal, path, iterations=PEER_ITERATIONS, **options)
    peer = warplda(path, topics, threads)
    target = peer["likelihood"]
    after = bare(jobs.shoal, path, iterations=2 * PEER_ITERATIONS, target=target, **options)
    loops = [line for line in (reached(before, target), reached(after, target)) if line]
    return dict(loops=loops, peer=peer, job=until(jobs, path, topics, threads, target, after[-1]["iteration"]))


def warplda_rows(jobs, what, path, topics, threads, bound, results):
    runs = [warplda_once(jobs, path, topics, threads) for _ in range(repeats(5 if what.startswith(NEWS) else 1))]
    common = dict(bench="train-lda", data=bag_shape(path), against="WarpLDA", bound=f"at least {bound}", n=len(runs), load=load())
    if not all(run["loops"] for run in runs):
        sys.exit(f"bench: {what}: not in {2 * PEER_ITERATIONS} iterations")
    loops, jobs_ = [loop for run in runs for loop in run["loops"]], [run["job"] for run in runs]
    peer, target = median([run["peer"]["cpu_s"] for run in runs]), median([run["peer"]["likelihood"] for run in runs])
    ours, whole = median([loop["cpu_s"] for loop in loops]), median([job["train_cpu_s"] for job in jobs_])
    emit(results, what=what, ours=round(ours, 3), unit="CPU s", peer=round(peer, 3), ratio=round(peer / ours, 3),
         holds=peer >= bound * ours, likelihood=round(median([loop["likelihood"] for loop in loops]), 4), peer_likelihood=round(target, 4),
         iterations=round(median([loop["iteration"] for loop in loops])), peer_iterations=PEER_ITERATIONS,
         seconds=round(median([loop["wall_s"] for loop in loops]), 3), peer_seconds=round(median([run["peer"]["wall_s"] for run in runs]), 3),
         **common)
    emit(results, what=f"{what}, whole job", ours=round(whole, 3), unit="CPU s", peer=round(peer, 3), ratio=round(peer / whole, 3),
         holds=peer >= bound * whole and all(-job["value"] >= run["peer"]["likelihood"] for job, run in zip(jobs_, runs)),
         likelihood=round(median([-job["value"] for job in jobs_]), 4), peer_likelihood=round(target, 4),
         iterations=median([job["iterations"] for job in jobs_]), process_cpu_s=round(median([job["process_cpu_s"] for job in jobs_]), 2),
         **common)


# ---- a million topics ----

def memory_row(jobs, what, path, results):
    """The sum of what each process had at most, shared memory counted in each of them: more than the job ever took."""
    topics, model = 20000 if QUICK else 1000000, jobs.folder / "topics.shoal"
    job = jobs.start("lda", path, *settings(**priors(topics), iterations=3, evaluate=0), "--workers", 1, "--threads", 2, "--out", model)
    peak = job.peak_bytes()
    result = job.finish()
    size = model.stat().st_size
    model.unlink()
    emit(results, bench="train-lda", what=what, data=bag_shape(path), ours=round(peak / GIB, 2), unit="GiB", bound="at most 20", holds=peak <= 20 * GIB,
         topics=topics, tokens=result["units"] // 3, likelihood=round(-result["value"], 4), cpu_s=round(result["cpu_s"], 1),
         model_gib=round(size / GIB, 2), n=1, load=load())


# ---- against gensim ----

def held_out(path, train, held):
    """Every tenth document of a UCI bag of words is held out; with QUICK of every tenth one only."""
    with open(path) as lines:
        documents, words, _ = (int(next(lines)) for _ in range(3))
        rows = [[] for _ in range(documents)]
        for line in lines:
            document, rest = line.split(" ", 1)
            rows[int(document) - 1].append(rest)
    rows = rows[::10] if QUICK else rows
    for out, part in ((train, [row for d, row in enumerate(rows) if d % 10 != 9]), (held, rows[9::10])):
        with open(out, "w") as file:
            file.write(f"{len(part)}\n{words}\n{sum(map(len, part))}\n")
            file.writelines(f"{d} {entry}" for d, row in enumerate(part, 1) for entry in row)


def gensim_best(python, train, held):
    """The pass after which its perplexity is lowest; it runs until one makes it worse."""
    best = None
    for line in lines_of([python, HERE / "gensim_peer.py", train, held, GENSIM_TOPICS, GENSIM_PASSES]):
        if best is None or line["perplexity"] < best["perplexity"]:
            best = line
    return best


def as_good(jobs, train, held, perplexity):
    """The job with the fewest iterations, of 1, 2, 3, 4, 6, 8, 12, 16, ..., that is as good."""
    model = jobs.folder / "topics.shoal"
    for iterations in (1, *(n << shift for shift in range(9) for n in (2, 3))):
        result = jobs.run("lda", train, *settings(topics=GENSIM_TOPICS, evaluate=0, iterations=iterations), "--workers", 1,
                          "--threads", 1, "--out", model, parts=True)
        result["perplexity"] = json.loads(jobs.say("eval", model, held, "--json"))["perplexity"]
        result["iterations"] = iterations
        if result["perplexity"] <= perplexity:
            return result
    return result


def gensim_row(jobs, what, path, results):
    python = python_with("gensim")
    if python is None:
        emit(results, bench="train-lda", what=what, skipped="gensim is not installed")
        return
    train, held = jobs.folder / "docword.train.txt", jobs.folder / "docword.held.txt"
    held_out(path, train, held)
    runs, peers = [], []
    for _ in range(repeats(3)):
        peers.append(gensim_best(python, train, held))
        runs.append(as_good(jobs, train, held, peers[-1]["perplexity"]))
    ours, peer = median([run["train_cpu_s"] for run in runs]), median([run["cpu_s"] for run in peers])
    good = all(run["perplexity"] <= peer["perplexity"] for run, peer in zip(runs, peers))
    emit(results, bench="train-lda", what=what, data=bag_shape(path), ours=round(ours, 3), unit="CPU s", against="gensim", peer=round(peer, 2),
         ratio=round(peer / ours, 1), bound="at least 100", holds=good and peer >= 100 * ours,
         perplexity=round(median([run["perplexity"] for run in runs]), 1),
         peer_perplexity=round(median([run["perplexity"] for run in peers]), 1), iterations=median([run["iterations"] for run in runs]),
         peer_passes=peers[0]["passes"], process_cpu_s=round(median([run["process_cpu_s"] for run in runs]), 3),
         n=len(runs), load=load())


# ---- rows ----

def rows_of(jobs, results):
    """(corpus, what, how): what each row says of itself, and what measures it."""
    many = {NEWS: MANY, MADE: MANY if QUICK else 20}
    for corpus in CORPORA:
        yield corpus, f"{corpus}: an iteration inside the runtime", lambda what, path, n=many[corpus]: runtime_row(
            jobs, what, path, n, results)
        yield corpus, f"{corpus}: two threads against one, bare loop", lambda what, path, n=many[corpus]: threads_row(
            jobs.shoal, what, path, n, results)
    for corpus, topics, threads, bound in ((NEWS, TOPICS, 1, 4), (NEWS, TOPICS, 2, 4), (MADE, TOPICS, 1, 4), (MADE, TOPICS, 2, 4),
                                           (MADE, 100000, 1, 3)):
        what = f"{corpus}: {topics:,} topics to an equal likelihood, {threads} thread{'s' if threads > 1 else ''}"
        if os.environ.get("SHOAL_WARPLDA"):
            yield corpus, what, lambda what, path, k=topics, t=threads, b=bound: warplda_rows(jobs, what, path, k, t, b, results)
    yield NEWS, "20news: to an equal held-out perplexity", lambda what, path: gensim_row(jobs, what, path, results)
    yield MADE, f"{MADE}: memory of a million topics", lambda what, path: memory_row(jobs, what, path, results)


def topics(shoal, work, results):
    jobs = Jobs(shoal, work)
    for corpus, what, measure in rows_of(jobs, results):
        if not wanted(what):
            continue
        path = CORPORA[corpus](shoal, work)
        if path is None:
            emit(results, bench="train-lda", what=what, skipped="20 Newsgroups is not here")
        else:
            measure(what, path)
    return True


BENCHES = {"train-lda": topics}
