"""What it really takes to reach a loss, by algorithm and machines: the truth that bench/advise.py holds advice against.

Losses are real: `shoal train` with as many executors as machines, bulk synchronous, every executor with its own part of the data and all
of them from the same weights (logreg: `wave`), so that a clock is what that many machines would do. Its values are equal bit for bit on
any number of workers; here one thread runs the parts one after the other.

Times are put together of what was measured and what is stated:
  compute   CPU seconds of a clock of the run, by the number of machines, times `slow`, times how much longer the slowest of that many takes
            when each is off by a log-normal factor (SPREAD). Measured: CPU seconds of the run less those of one with a single epoch, by the
            clocks that it has more; of runs too short for that, the median clock's wall seconds in tasks. Other work on the machine only
            adds, so the least of REPEATS runs is taken where they are short
  network   messages of a tree there and back (logreg, als) or around a ring (sgd of factors), by latency and bandwidth
  dispatch  DISPATCH_S a task
Everything drawn is drawn by a seed made of names, so the same measurements give the same truth.
"""
import itertools
import json
import lzma
import math
import random
import statistics
import subprocess

MACHINES = (1, 2, 4, 8, 16, 32, 64)
SPREAD = 0.05
DISPATCH_S = 2e-6
SHORT_S, TOO_SHORT_S, REPEATS = 0.5, 0.03, 2
NORMAL = statistics.NormalDist()

# name: latency of a message, bytes a second, how much slower than here a machine is
NETWORKS = {"rack": (20e-6, 1.25e9, 4), "cloud": (150e-6, 250e6, 4), "small": (150e-6, 125e6, 40)}

GENERATED = {"tall": ("sparse", "--rows 16000 --columns 500 --nonzeros 25 --noise 0.1 --signal 3"),
             "square": ("sparse", "--rows 8000 --columns 4000 --nonzeros 30 --noise 0.05"),
             "wide": ("sparse", "--rows 4000 --columns 20000 --nonzeros 60 --noise 0.02"),
             "dense": ("sparse", "--rows 6000 --columns 200 --nonzeros 60 --noise 0.1 --seed 7"),
             "clicks": ("ratings", "--users 3000 --items 3000 --ratings 200000 --rank 16 --noise 0.3 --seed 7"),
             "stars": ("ratings", "--users 4000 --items 1500 --ratings 300000 --rank 8"),
             "shops": ("ratings", "--users 20000 --items 500 --ratings 400000 --rank 4 --noise 0.5"),
             "ads": ("sparse", "--rows 10000 --columns 1000 --nonzeros 15 --noise 0.15 --signal 2 --ones --seed 11"),
             "thick": ("sparse", "--rows 3000 --columns 300 --nonzeros 100 --noise 0.02 --signal 6 --seed 12"),
             "long": ("sparse", "--rows 30000 --columns 100 --nonzeros 10 --noise 0.2 --signal 1.5 --seed 13"),
             "broad": ("sparse", "--rows 6000 --columns 8000 --nonzeros 40 --noise 0.1 --seed 14"),
             "films": ("ratings", "--users 6000 --items 2000 --ratings 250000 --rank 12 --seed 21"),
             "songs": ("ratings", "--users 2000 --items 6000 --ratings 300000 --rank 6 --noise 0.4 --seed 22"),
             "books": ("ratings", "--users 1500 --items 800 --ratings 120000 --rank 20 --noise 0.2 --seed 23")}
# problem: data and options of all its algorithms
LINES = {"a9a": 12000, "w8a": 16000}  # of these the first so many
LOGREG = {"a9a": ("a9a", "cost=1"), "a9a-steep": ("a9a", "cost=10 rate=0.01"), "w8a": ("w8a", "cost=1"),
          "mushrooms": ("mushrooms", "cost=1"), "tall": ("tall", "cost=3"), "tall-steep": ("tall", "cost=30 rate=0.01"),
          "square": ("square", "cost=30"), "wide": ("wide", "cost=30"), "w8a-steep": ("w8a", "cost=10"),
          "mushrooms-flat": ("mushrooms", "cost=0.1"), "dense": ("dense", "cost=1 rate=0.03")}
FACTORS = {"mf-movielens": ("movielens", "rank=16 rate=0.1 l2=0.05"), "mf-stars": ("stars", "rank=32 rate=0.1 l2=0.05"),
           "mf-shops": ("shops", "rank=32 rate=0.1 l2=0.05"), "mf-clicks": ("clicks", "rank=24 rate=0.1 l2=0.05")}
# made up when the method was done, and measured once: nothing was chosen by what they show, nor may it be
FRESH = {"ads": ("ads", "cost=2"), "thick": ("thick", "cost=5"), "long": ("long", "cost=0.5"), "broad": ("broad", "cost=10"),
         "a9a-test": ("a9a.t", "cost=3"), "news": ("news20", "cost=10"), "mf-films": ("films", "rank=16 rate=0.1 l2=0.05"),
         "mf-songs": ("songs", "rank=24 rate=0.1 l2=0.05"), "mf-books": ("books", "rank=40 rate=0.1 l2=0.05")}
PROBLEMS = {**LOGREG, **FACTORS, **FRESH}
NEWS_EVERY, NEWS_GROUPS = 4, range(1, 6)  # of 20 newsgroups' training documents; those about computers against the rest
# with the tolerance at which it stops: below all targets
ALGORITHMS = {"logreg": {"sdca": "epochs=250 judge=1 tol=5e-4", "sgd": "epochs=150 judge=1", "newton": "epochs=40 tol=1e-4"},
              "mf": {"sgd": "epochs=150 tolerance=1e-9", "als": "epochs=60 tolerance=1e-9"}}
FLOAT = 4  # bytes


def write_news(folder, path):
    """Rows of 1 + ln count, length 1."""
    with lzma.open(folder / "labels.txt.xz", "rt") as lines:
        labels = [(part, int(group)) for part, group in map(str.split, lines)]
    rows = {d: [] for d, (part, _) in enumerate(labels, 1) if part == "train" and d % NEWS_EVERY == 0}
    with lzma.open(folder / "docword.20news.txt.xz", "rt") as lines:
        for document, word, count in (map(int, line.split()) for line in itertools.islice(lines, 3, None)):
            if document in rows:
                rows[document].append((word, 1 + math.log(count)))
    with path.open("w") as out:
        for document, row in rows.items():
            length = math.hypot(*(value for _, value in row)) or 1
            words = " ".join(f"{word}:{value / length:.6g}" for word, value in sorted(row))
            out.write(f"{1 if labels[document - 1][1] in NEWS_GROUPS else -1} {words}\n")


def make_data(shoal, public, work, name):
    """The file of a data set, and its columns; None: it needs public data that is not there."""
    path = work / f"{name}.data"
    if name in GENERATED and not path.exists():
        kind, words = GENERATED[name]
        subprocess.run([shoal, "gen", kind, *words.split(), "-o", path], check=True, capture_output=True)
    elif not path.exists():
        files = {"movielens": "movielens/ratings.csv.xz", "news20": "news20/docword.20news.txt.xz"}
        source = public and public / files.get(name, f"libsvm/{name}.xz")
        if not source or not source.exists():
            return None
        if name == "news20":
            write_news(source.parent, path)
            return path
        lines = lzma.open(source).read().splitlines(keepends=True)
        path.write_bytes(b"".join(lines[:LINES.get(name)]))
    return path


def columns_of(path):
    return max(int(line.split()[-1].split(":")[0]) for line in path.open() if ":" in line)


def items_of(path):
    """Items and users of ratings."""
    pairs = [line.split(",")[:2] for line in path.open() if line[:1].isdigit()]
    return len({item for _, item in pairs}), len({user for user, _ in pairs})


def app_of(problem):
    return "mf" if problem.startswith("mf-") else "logreg"


def words_of(problem, algorithm, machines):
    """Of `shoal train`, but for the data."""
    app = app_of(problem)
    options = PROBLEMS[problem][1]
    pairs = [*options.split(), f"algorithm={algorithm}", f"executors={machines}", *ALGORITHMS[app][algorithm].split()]
    pairs += [f"wave={machines}"] if app == "logreg" else []
    return [app, "--staleness", "0", "--workers", "1", "--threads", "1", "--json", *(w for pair in pairs for w in ("--set", pair))]


def key_of(problem):
    """What a measurement depends on."""
    data = PROBLEMS[problem][0]
    return [LINES.get(data), GENERATED.get(data), MACHINES, *(words_of(problem, a, 0) for a in ALGORITHMS[app_of(problem)])]


def train(shoal, words, path):
    """The object that a run prints; None: it diverges."""
    child = subprocess.run([shoal, "train", *words, path], capture_output=True, text=True)
    if child.returncode == 0:
        return json.loads(child.stdout)
    if "diverges" in child.stdout + child.stderr:
        return None
    raise SystemExit(f"bench: shoal train {' '.join(words)}: {child.stdout}{child.stderr}")


def clock_s(whole, base):
    """Seconds in tasks of a clock: of a run and its repeats, and of the same with a single epoch."""
    cpu_s = min(told["cpu_s"] for told in whole) - min(told["cpu_s"] for told in base)
    clocks = whole[0]["clocks"] - base[0]["clocks"]
    task_s = min(told["task_s"] for told in whole) / whole[0]["clocks"]
    if cpu_s > TOO_SHORT_S and clocks > 0:
        return min(cpu_s / clocks, task_s)  # what the driver adds is not the machines'
    return min(statistics.median((now[3] - before[3]) / (now[0] - before[0]) for before, now in zip(told["curve"], told["curve"][1:]))
               if len(told["curve"]) > 1 else task_s for told in whole)


def curve(shoal, words, path):
    """{"clock_s": seconds in tasks of a clock, "points": [[clock, loss], ...]}; no points: it diverges."""
    once = [word if not word.startswith("epochs=") else "epochs=1" for word in words]
    whole = [train(shoal, words, path)]
    if whole[0] is None:
        return {"clock_s": 0, "points": []}
    while len(whole) < REPEATS and whole[0]["cpu_s"] < SHORT_S:
        whole.append(train(shoal, words, path))
    base = [train(shoal, once, path) for _ in range(REPEATS)]
    return {"clock_s": clock_s(whole, base), "points": [[point[0], point[2]] for point in whole[0]["curve"]]}


def measure(shoal, public, work, problem):
    """All runs of a problem: {"columns" ..., "runs": {algorithm: {machines: curve}}}, or None where data is missing."""
    app = app_of(problem)
    data, options = PROBLEMS[problem]
    path = make_data(shoal, public, work, data)
    if path is None:
        return None
    found = {"app": app}
    if app == "logreg":
        found["columns"] = columns_of(path)
    else:
        found["items"], found["users"] = items_of(path)
        found["rank"] = int(options.split("rank=")[1].split()[0])
    found["runs"] = {a: {m: curve(shoal, words_of(problem, a, m), path) for m in MACHINES} for a in ALGORITHMS[app]}
    if app == "logreg":  # Newton's method with few columns: every other clock is a Hessian
        newton = found["runs"]["newton"][1]["points"]
        found["gram"] = newton[1][0] - newton[0][0] == 2
    return found


def hops(machines):
    return math.ceil(math.log2(machines)) if machines > 1 else 0


def exchange(machines, size, network):
    """Seconds in which `size` bytes are summed up over all machines and told to all: a tree of messages, pipelined."""
    latency, rate, _ = network
    return 2 * hops(machines) * latency + (2 * size / rate if machines > 1 else 0)


def network_s(found, algorithm, machines, clocks, network):
    """Of one iteration, which has so many clocks."""
    latency, rate, _ = network
    if found["app"] == "mf":
        rank = found["rank"] * FLOAT
        if algorithm == "sgd":  # as many rounds as machines, each passing a block of items on
            return machines * (latency + found["items"] * rank / machines / rate) if machines > 1 else 0
        return exchange(machines, found["items"] * rank / 2, network) + exchange(machines, found["users"] * rank / 2, network) + \
            exchange(machines, 8, network)
    size = found["columns"] * FLOAT
    if algorithm != "newton":  # a pass, and the objective
        return exchange(machines, size, network) + exchange(machines, 8, network)
    if found["gram"]:  # half of the clocks exchange a matrix
        return clocks * (exchange(machines, size, network) + exchange(machines, size * found["columns"] / 2, network)) / 2
    return clocks * exchange(machines, size, network)


def timed(found, problem, network_name, algorithm, machines):
    """[(iteration, seconds, loss), ...]: an iteration is an epoch; of newton, whose epochs differ in length, a clock."""
    network, out, seconds, before = NETWORKS[network_name], [], 0.0, 0
    rand = random.Random(f"{problem} {network_name} {algorithm} {machines}")
    run = found["runs"][algorithm][machines]
    for number, (clock, loss) in enumerate(run["points"]):
        slowest = math.exp(SPREAD * NORMAL.inv_cdf(max(rand.random(), 1e-9) ** (1 / machines)))
        clocks = clock - before
        seconds += clocks * run["clock_s"] * network[2] / machines * slowest + network_s(found, algorithm, machines, clocks, network)
        seconds += DISPATCH_S * machines * clocks
        before = clock
        out.append((clock if algorithm == "newton" else number + 1, seconds, loss))
    return out
