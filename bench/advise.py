"""Bench of `shoal advise`: is its choice of algorithm and machines near the best one, from a tenth of what trying all would cost?

Cases are problems x networks x losses to reach x two questions (fastest, cheapest). Truth is advise_truth.py's: every algorithm on every
number of machines, run to the loss. Trying all costs the machine-seconds of all these runs (one that never gets there is given up when it
has taken as long as the slowest that does). SHARE of that is the budget of short runs, for both questions together; the truth is not known
to who makes them:
  1. every algorithm on one machine, where a curve costs least, until the loss is reached or its part of SEED_ONE of the budget is spent;
     then SEED iterations of each on SEED_MACHINES machines, for at most its part of half of what is left;
  2. `shoal advise` is asked; it says which run would help most to answer one question, then the other: that run goes on (or begins) as far
     as it says, and it is asked again; until nothing more is worth it, or the budget is spent. Where it refuses, since too little was
     measured, the runs on the fewest machines are made twice as long.
Runs that go on are not paid for from their beginning (`shoal train --checkpoint` and `--resume`), and each ends where the loss is reached.

Peers: the fewest and the most machines, each with the algorithm that is truly best there; the best of the runs that advice asked for (got
there first, or came nearest), and the best of runs that share the budget equally, without any advice; time alone (Ernest): the machines
with the shortest iteration of those that were run, as if all needed equally many, the algorithm again the truly best one.

One row is of jobs that really change their workers on the way (change).

Rows that begin with "fresh" are of problems that nothing was tuned on (FRESH); no other row has them.
"""
import json
import math
import subprocess
import sys
import time
from pathlib import Path

import advise_truth as truth
from measure import QUICK, data_dir, emit, median, repeats, wanted

SHARE = 0.1
NEAR = 1.05
SEED_ONE, SEED, SEED_MACHINES, ASKED_MAX = 0.6, 4, (4, 16), 40
SETS = {"logreg": {"logreg, two algorithms": ("sdca", "sgd"), "logreg, three algorithms": ("sdca", "sgd", "newton")},
        "mf": {"factors, two algorithms": ("sgd", "als")}}
BAR = ("logreg, two algorithms", "factors, two algorithms")  # together: a row of their own
ALL = "all of two algorithms"
LATER = ("w8a-steep", "mushrooms-flat", "dense", "mf-clicks")  # came when the method was made: rows of their own, too
TARGETS = {"logreg": (0.03, 0.01, 0.003), "mf": (0.1, 0.06, 0.04)}  # above the lowest loss that any run has found, relative


def problems(shoal):
    """Measured now, or before by the same words: kept beside the command."""
    public, store = data_dir("train"), Path(shoal).resolve().parent / "advise-truth"
    store.mkdir(exist_ok=True)
    for name in ("mushrooms", "mf-stars") if QUICK else truth.PROBLEMS:
        kept, key = store / f"{name}.json", json.loads(json.dumps(truth.key_of(name)))
        found = json.loads(kept.read_text()) if kept.exists() else {}
        if found.get("key") != key:
            found = truth.measure(shoal, public, store, name)
            if found is None:
                print(f"bench: advise leaves out {name}, which needs public data", file=sys.stderr)
                continue
            kept.write_text(json.dumps({**found, "key": key}))
            found = json.loads(kept.read_text())
        found["runs"] = {algorithm: {int(m): points for m, points in runs.items()} for algorithm, runs in found["runs"].items()}
        yield name, found


class Case:
    """One problem on one network, with the algorithms that may be chosen and a loss to reach."""

    def __init__(self, problem, found, network, algorithms, target):
        self.name, self.target, self.algorithms = f"{problem}, {network}", target, algorithms
        self.runs = {(a, m): truth.timed(found, problem, network, a, m) for a in algorithms for m in truth.MACHINES}
        self.reached = {pair: next((point[1] for point in run if self.there(point)), math.inf)
                        for pair, run in self.runs.items()}
        self.longest = max((s for s in self.reached.values() if s < math.inf), default=0)

    def value(self, pair, question):
        """Truth: seconds, or machine-seconds."""
        return self.reached[pair] * (pair[1] if question == "cheapest" else 1)

    def best(self, question):
        return min(self.value(pair, question) for pair in self.runs)

    def all_cost(self, per_machine=True):
        return sum(min(s, self.longest) * (m if per_machine else 1) for (_, m), s in self.reached.items())

    def cost(self, pair, count):
        return self.runs[pair][count - 1][1] * pair[1] if count > 0 else 0

    def there(self, point):
        return point[2] is not None and point[2] <= self.target

    def afford(self, pair, start, end, budget):
        """How many points a run with `start` of them may have: at most `end`, until the loss is reached or the budget spent."""
        run, spent = self.runs[pair], self.cost(pair, start)
        while start < min(end, len(run)) and not (start > 0 and self.there(run[start - 1])):
            if self.cost(pair, start + 1) - spent > budget:
                break
            start += 1
        return start


class Search:
    """Short runs of a case, within the budget: how many points there are of each pair."""

    def __init__(self, case):
        self.case, self.left, self.count = case, SHARE * case.all_cost(), {}
        part = SEED_ONE * self.left / len(case.algorithms)
        for algorithm in case.algorithms:
            self.go_on((algorithm, truth.MACHINES[0]), math.inf, part)
        pairs = [(a, m) for m in SEED_MACHINES for a in case.algorithms]
        for number, pair in enumerate(pairs):
            self.go_on(pair, SEED, self.left / 2 / (len(pairs) - number))

    def go_on(self, pair, to, budget):
        """Whether the run got any longer."""
        before = self.count.get(pair, 0)
        after = self.case.afford(pair, before, to, min(budget, self.left))
        if after == before:
            return False
        self.left -= self.case.cost(pair, after) - self.case.cost(pair, before)
        self.count[pair] = after
        return True

    def points(self):
        return {pair: self.case.runs[pair][:count] for pair, count in self.count.items()}

    def step(self, told):
        """As far as the advice says; False: there is nothing to do, or nothing left to pay it with."""
        went = False
        for question in ("fastest", "cheapest"):
            hint = told.get(f"next_{question}")
            if hint:
                pair = (hint["algorithm"], hint["machines"])
                to = sum(point[0] <= hint["to_iteration"] for point in self.case.runs[pair])
                went = self.go_on(pair, max(to, self.count.get(pair, 0) + 1), self.left) or went
        return went

    def double(self):
        """Too little to say anything: the curves on the fewest machines, which cost least, get longer."""
        least = [pair for pair in self.count if pair[1] == min(m for a, m in self.count if a == pair[0])]
        return any([self.go_on(pair, 2 * self.count[pair], self.left) for pair in least])


def write_runs(path, explored):
    rows = [f"{a},{m},{i},{s!r},{'nan' if loss is None else repr(loss)}" for (a, m), cut in explored.items() for i, s, loss in cut]
    path.write_text("\n".join(["#shoal-runs v1", "algorithm,machines,iteration,time_s,loss", *rows]) + "\n")
    return path


def ask(shoal, path, case):
    """What `shoal advise` says."""
    machines = ",".join(map(str, truth.MACHINES))
    words = [shoal, "advise", path, "--target", repr(case.target), "--machines", machines, "--json"]
    child = subprocess.run(words, capture_output=True, text=True)
    if not child.stdout.startswith("{"):
        sys.exit(f"bench: shoal advise failed: {child.stderr}")
    return json.loads(child.stdout)


def explore(shoal, work, case):
    """The points that were measured, and the last answer."""
    search, path = Search(case), work / "runs.csv"
    for _ in range(ASKED_MAX):
        told = ask(shoal, write_runs(path, search.points()), case)
        if not (search.double() if "error" in told else search.step(told)):
            break
    return search.points(), ask(shoal, write_runs(path, search.points()), case)


def pair_of(row):
    return (row["algorithm"], row["machines"]) if row else None


# ---- peers ----


def at(case, machines, question):
    """The truly best algorithm on so many machines."""
    return min(((a, machines) for a in case.algorithms), key=lambda pair: case.value(pair, question))


def measured_best(case, explored, question):
    """Of what was measured: what got there soonest or cheapest, else what came nearest."""
    def rank(pair):
        cut = explored[pair]
        if case.there(cut[-1]):
            return False, cut[-1][1] * (pair[1] if question == "cheapest" else 1)
        return True, min(math.inf if loss is None else loss for _, _, loss in cut)
    return min(explored, key=rank) if explored else at(case, 1, question)


def time_alone(case, explored, question):
    """The shortest iteration (or the cheapest one), as measured."""
    step = {(a, m): cut[-1][1] / cut[-1][0] * (m if question == "cheapest" else 1) for (a, m), cut in explored.items()}
    picks = [min((pair for pair in step if pair[0] == a), key=step.get) for a in case.algorithms if any(pair[0] == a for pair in step)]
    return min(picks or [at(case, 1, question)], key=lambda pair: case.value(pair, question))


def equal_shares(case):
    """Without advice: every pair has an equal part of the budget; what a run that gets there leaves passes on to more machines."""
    left, out = SHARE * case.all_cost(), {}
    order = sorted(case.runs, key=lambda pair: pair[1])
    for number, pair in enumerate(order):
        count = case.afford(pair, 0, len(case.runs[pair]), left / (len(order) - number))
        if count > 0:
            out[pair] = case.runs[pair][:count]
            left -= case.cost(pair, count)
    return out


PEERS = {"fewest machines": lambda case, explored, question: at(case, truth.MACHINES[0], question),
         "most machines": lambda case, explored, question: at(case, truth.MACHINES[-1], question),
         "best of the runs it asked for": measured_best,
         "best of equal shares": lambda case, explored, question: measured_best(case, equal_shares(case), question),
         "time alone": time_alone}


# ---- the score ----


class Score:
    """Ratios of what was chosen to the best, and whether intervals hold."""

    def __init__(self):
        self.ratios, self.refused, self.spent, self.spent_wall, self.misses = [], 0, [], [], []
        self.hits = {"fastest": [], "cheapest": []}  # by question
        self.inside, self.predicted_inside, self.chosen_inside = [], [], []  # of all, of those no run of which got there, of the fastest

    def add(self, case, question, pair):
        best = case.best(question)
        self.ratios.append(case.value(pair, question) / best if pair else math.inf)
        self.hits[question].append(self.ratios[-1] <= NEAR)
        if self.ratios[-1] > NEAR:
            least = min(case.runs, key=lambda other: case.value(other, question))
            self.misses.append((case.name, question, case.target, pair, least, self.ratios[-1]))

    def near(self):
        return sum(ratio <= NEAR for ratio in self.ratios) / len(self.ratios)


def share(values):
    return round(sum(values) / len(values), 4) if values else None


def cases_of(name, found, algorithms):
    lowest = min(loss for runs in found["runs"].values() for run in runs.values() for _, loss in run["points"] if loss is not None)
    for network in truth.NETWORKS:
        for above in TARGETS[found["app"]]:
            case = Case(name, found, network, algorithms, lowest * (1 + above))
            if case.longest > 0:
                yield case


def holds(case, row):
    """Whether what is said of a pair's time is so; None: nothing is said, or the truth does not know."""
    pair, low, high = pair_of(row), row["low_s"], row["high_s"]
    high = math.inf if high is None else high
    if row["verdict"] == "never":
        low = high = math.inf
    elif low is None:
        return None
    true = case.reached[pair]
    if true == math.inf:  # not in as long a run as there is
        return False if high < case.runs[pair][-1][1] else None
    return low * (1 - 1e-6) <= true <= high * (1 + 1e-6)


def judge_first(shoal, work, case, first):
    """The answer after the first runs alone, by whether it says that evidence is enough for a choice."""
    told = ask(shoal, write_runs(work / "first.csv", Search(case).points()), case)
    for question in ("fastest", "cheapest"):
        if told.get(question):
            ratio = case.value(pair_of(told[question]), question) / case.best(question)
            first.setdefault(told[f"{question}_evidence"], []).append(ratio <= NEAR)


def judge(shoal, work, case, scores, peers):
    explored, told = explore(shoal, work, case)
    chosen = {question: pair_of(told.get(question)) for question in ("fastest", "cheapest")}
    for ours in scores:
        ours.refused += "error" in told
        ours.spent.append(sum(cut[-1][1] * m for (_, m), cut in explored.items()) / case.all_cost())
        ours.spent_wall.append(sum(cut[-1][1] for cut in explored.values()) / case.all_cost(per_machine=False))
        for row in told.get("candidates", []):
            pair, inside = pair_of(row), holds(case, row)
            if inside is None:
                continue
            ours.inside.append(inside)
            if pair not in explored or not case.there(explored[pair][-1]):
                ours.predicted_inside.append(inside)
            if pair == chosen["fastest"]:
                ours.chosen_inside.append(inside)
        for question in chosen:
            ours.add(case, question, chosen[question])
    for peer, score in peers.items():
        for question in chosen:
            score.add(case, question, PEERS[peer](case, explored, question))


def worst(score):
    ratio = max(score.ratios)
    return round(ratio, 3) if ratio < math.inf else "never there"


def tell(results, what, ours, peers):
    emit(results, bench="advise", what=f"{what}: share of choices within 5 % of the best", ours=round(ours.near(), 4), unit="",
         bound="at least 0.9", holds=ours.near() >= 0.9, choices=len(ours.ratios), median_ratio=round(median(ours.ratios), 4),
         worst_ratio=worst(ours), refused=ours.refused, fastest=share(ours.hits["fastest"]), cheapest=share(ours.hits["cheapest"]))
    emit(results, bench="advise", what=f"{what}: most that was spent, of the cost of trying all", ours=round(max(ours.spent), 4), unit="",
         bound="at most 0.1", holds=max(ours.spent) <= SHARE, mean=share(ours.spent), mean_wall=share(ours.spent_wall))
    emit(results, bench="advise", what=f"{what}: 90 % intervals of time that hold", ours=share(ours.inside), unit="", bound="at least 0.9",
         holds=bool(ours.inside) and share(ours.inside) >= 0.9, intervals=len(ours.inside),
         without_those_measured_to_the_end=share(ours.predicted_inside), of_choices=share(ours.chosen_inside))
    for peer, score in peers.items():
        emit(results, bench="advise", what=f"{what}: {peer}", ours=round(ours.near(), 4), unit="", against=peer,
             peer=round(score.near(), 4), median_ratio=round(median(score.ratios), 4), worst_ratio=worst(score),
             fastest=share(score.hits["fastest"]), cheapest=share(score.hits["cheapest"]))


# ---- a change on the way ----

CHANGE = ("--set algorithm=sgd --set epochs=300 --set judge=1 --set executors=16 --set wave=16 --staleness 0 --threads 1 --json").split()


def stop(words, folder):
    """A job that is stopped when it has left a checkpoint; False: it was over before."""
    with subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as job:
        end = time.monotonic() + 60
        while job.poll() is None and time.monotonic() < end and not (folder / "full-0.pack").exists():
            time.sleep(0.01)
        job.terminate()
        return b"SHOAL_E_CANCELLED" in job.communicate(timeout=60)[0]


def change(shoal, work, results):
    """Two workers for a part of the way and one for the rest: seconds of the rest that advice foresees from runs without a change, over
    those that it takes; and whether losses are those of a run without. `shoal train` changes workers on the way, nothing else."""
    path, foreseen, equal = truth.make_data(shoal, None, work, "tall"), [], []
    for number in range(repeats(3)):
        folder, words = work / f"change-{number}", [shoal, "train", "logreg", path, *CHANGE]
        whole = [subprocess.run([*words, "--workers", w], capture_output=True, text=True, check=True).stdout for w in ("1", "2")]
        (work / "change.json").write_text("".join(whole))
        if not stop([*words, "--workers", "2", "--checkpoint", folder, "--checkpoint-every", "0.1s"], folder):
            continue
        rest = subprocess.run([*words, "--workers", "1", "--checkpoint", folder, "--resume"], capture_output=True, text=True, check=True)
        curve, straight = json.loads(rest.stdout)["curve"], {point[0]: point[2] for point in json.loads(whole[0])["curve"]}
        asked = [shoal, "advise", work / "change.json", "--target", repr(curve[-1][2]), "--machines", "1,2", "--json"]
        told = json.loads(subprocess.run(asked, capture_output=True, text=True, check=True).stdout)
        step_s = next(row["iteration_s"] for row in told["candidates"] if row["machines"] == 1)
        foreseen.append((curve[-1][0] - curve[0][0]) * step_s / (curve[-1][1] - curve[0][1]))
        equal.append(all(straight[clock] == loss for clock, _, loss, *_ in curve))
    if foreseen:
        emit(results, bench="advise", what="a job that changes from two workers to one: seconds foreseen for the rest, over those taken",
             ours=round(median(foreseen), 3), unit="", least=round(min(foreseen), 3), most=round(max(foreseen), 3), jobs=len(foreseen),
             losses_as_without=all(equal), holds=all(equal), bound="losses as without a change")


def advise(shoal, work, results):
    if wanted("a change on the way"):
        change(shoal, work, results)
    scores, peers, first = {}, {}, {}
    for name, found in problems(shoal):
        for what, algorithms in SETS[found["app"]].items():
            group = "fresh: " if name in truth.FRESH else ""
            rows = [group + what, *([group + ALL] if what in BAR else []), *([f"{what}, later problems"] if name in LATER else [])]
            ours = [scores.setdefault(row, Score()) for row in rows]
            beside = peers.setdefault(group + what, {peer: Score() for peer in PEERS})
            for case in cases_of(name, found, algorithms):
                if wanted(case.name):
                    judge(shoal, work, case, ours, beside)
                    judge_first(shoal, work, case, first)
    for evidence, near in sorted(first.items()):
        emit(results, bench="advise", what=f"after the first runs, evidence {evidence}: share of best predictions within 5 % of the best",
             ours=share(near), unit="", choices=len(near))
    for what, ours in sorted(scores.items()):
        if ours.ratios:
            tell(results, what, ours, peers.get(what, {}))
        for name, question, target, pair, least, ratio in ours.misses if what in peers else ():
            print(f"bench: {name}, loss {target:.6g}, {question}: chose {pair}, best {least}, {ratio:.3f} times", file=sys.stderr)
    return bool(scores)


BENCHES = {"advise": advise}
