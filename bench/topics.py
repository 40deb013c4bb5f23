"""Benches of topic models: the sampler inside the runtime against the bare loop (bench_lda), and two threads against one.

Both sample 1000 topics with equal priors. Seconds are of an iteration: the difference of two runs, the second with more
iterations, so that reading, cutting, likelihood and writing are in neither.
"""
import lzma
import subprocess

from jobs import Jobs, settings
from measure import QUICK, data_dir, emit, lines_of, load, median, program, repeats

TOPICS, ALPHA, BETA = 1000, 0.05, 0.01
FEW, MANY = (5, 25) if QUICK else (10, 70)


def news20(shoal, work):
    data = data_dir("train/news20")
    if data is None:
        return None
    path = work / "docword.20news.txt"
    path.write_bytes(lzma.open(data / "docword.20news.txt.xz").read())
    return path


def generated(shoal, work):
    path = work / "docword.made.txt"
    subprocess.run([shoal, "gen", "corpus", "--documents", "3000" if QUICK else "340000", "--words", "100000", "--topics", "500",
                    "--length", "300", "--format", "uci", "-o", path, "--log", "error"], check=True, stderr=subprocess.DEVNULL)
    return path


CORPORA = {"20news": news20, "generated, 100 M tokens": generated}


def bare(shoal, path, threads, iterations):
    """CPU and wall seconds of sampling."""
    last = None
    for line in lines_of([program(shoal, "lda"), path, f"topics={TOPICS}", f"alpha={ALPHA * TOPICS}", f"beta={BETA}", f"threads={threads}",
                          f"iterations={iterations}", f"every={iterations}"]):
        last = line
    return last["cpu_s"], last["wall_s"]


def inside(jobs, path, iterations):
    return jobs.run("lda", path, *settings(topics=TOPICS, alpha=ALPHA, beta=BETA, evaluate=0, iterations=iterations), "--workers", 1,
                    "--threads", 1)["cpu_s"]


def each(run, many):
    """Seconds of an iteration."""
    few = run(FEW)
    return [(b - a) / (many - FEW) for a, b in zip(few, run(many))]


def topics(shoal, work, results):
    jobs = Jobs(shoal, work)
    for what, make in CORPORA.items():
        path = make(shoal, work)
        if path is None:
            emit(results, bench="train-lda", what=what, skipped="20 Newsgroups is not here")
            continue
        many = MANY if "20news" in what or QUICK else 20
        alone, pair, job = [], [], []
        for _ in range(repeats(5)):
            alone.append(each(lambda n: bare(shoal, path, 1, n), many))
            job.append(each(lambda n: [inside(jobs, path, n)], many)[0])
            pair.append(each(lambda n: bare(shoal, path, 2, n), many))
        ours, loop = median(job), median([cpu for cpu, _ in alone])
        emit(results, bench="train-lda", what=f"{what}: an iteration inside the runtime", ours=round(ours, 4), unit="CPU s",
             against="the bare loop", peer=round(loop, 4), ratio=round(ours / loop, 4), bound="at most 1.05", holds=ours <= 1.05 * loop,
             n=len(job), load=load())
        one, two = median([wall for _, wall in alone]), median([wall for _, wall in pair])
        emit(results, bench="train-lda", what=f"{what}: two threads against one, bare loop", ours=round(one / two, 3), unit="times",
             bound="at least 1.8", holds=one / two >= 1.8, seconds=round(two, 4), n=len(pair), load=load())
    return True


BENCHES = {"train-lda": topics}
