#!/usr/bin/env python3
"""`shoal train lasso` as people run it: workers are killed, added and taken away while it trains, and jobs are stopped and resumed,
and the model is the same, byte for byte; predictions and what `eval` tells agree; the planted columns are found.
"""
# ctest: fast disturb timeout=240
import json
import math
import os
import random
import resource
import signal
from pathlib import Path

from train_jobs import Held, check, disturbed_is_the_same, good, in_own_folder


def settings(*pairs):
    return [word for pair in pairs for word in ("--set", pair)]


def words(tol):
    return ["train", "lasso", "r.svm", *settings("folds=4", f"tol={tol}", "lambdas=40"), "--threads", "1", "--json"]


def workers_die_come_and_go_and_the_model_is_the_same():
    quiet = json.loads(good(*words("1e-9"), "--workers", "1", "--out", "quiet.shoal"))
    check(quiet["app"] == "lasso" and quiet["units"] > 0, f"{quiet}")
    disturbed_is_the_same(words("1e-9"), quiet, (3, 1))


def a_job_that_is_stopped_goes_on_where_it_was():
    """Needs calm.shoal of the job before."""
    told = [*words("1e-9"), "--workers", "2", "--checkpoint", "kept", "--out", "resumed.shoal"]
    held = Held([*told, "--checkpoint-every", "10ms"], "stopped", 6)
    held.step_to_checkpoint()
    held.stop(signal.SIGTERM)
    result = Held([*told, "--resume"], "resumed", None).end()
    check(result["resumed"] and Path("calm.shoal").read_bytes() == Path("resumed.shoal").read_bytes(), f"the models differ: {result}")


def predictions_and_what_eval_tells_agree():
    good("train", "lasso", "r.svm", *settings("folds=5"), "--out", "m.shoal")
    told = json.loads(good("eval", "m.shoal", "r.svm", "--json"))
    known = [float(line.split()[0]) for line in Path("r.svm").read_text().splitlines()]
    said = [float(line) for line in good("predict", "m.shoal", "r.svm").splitlines()]
    rmse = math.sqrt(sum((a - b) ** 2 for a, b in zip(said, known)) / len(known))
    check(len(said) == len(known) and abs(rmse / told["rmse"] - 1) < 1e-4, f"told {told}, found {rmse}")
    check(told["path_gap"] <= 1e-3 and told["r2"] > 0.5 and told["coefficients"] < 600, f"{told}")


def the_end_is_told_in_words():
    told = json.loads(good("train", "lasso", "r.svm", *settings("folds=5"), "--json", "--out", "told.shoal"))
    facts = json.loads(good("eval", "told.shoal", "r.svm", "--json"))
    chosen, held, first = told["said"][:3]
    check(chosen.startswith(f"lambda {facts['lambda']:.4g},") and f": {facts['coefficients']:.0f} of 3000 columns" in chosen, f"{told['said']}")
    check(held.startswith("held-out loss ") and held.endswith(" 5 folds") and first.startswith("column "), f"{told['said']}")
    sizes = [abs(float(line.split()[-1])) for line in told["said"][2:]]
    check(sizes == sorted(sizes, reverse=True) and 1 <= len(sizes) <= 8, f"{told['said']}")


def groups_give_the_same_model_on_any_workers():
    models = []
    for workers in ("1", "3"):
        good("train", "lasso", "r.svm", *settings("groups=4"), "--workers", workers, "--threads", "2", "--out", f"g{workers}.shoal")
        models.append(Path(f"g{workers}.shoal").read_bytes())
    check(models[0] == models[1], "workers change what groups find")
    check(json.loads(good("eval", "g1.shoal", "r.svm", "--json"))["path_gap"] <= 1e-3, "groups leave a gap")


def renamed(text, numbers):
    """The same rows, with columns by other numbers."""
    rows = (line.split() for line in text.splitlines())
    pairs = ((row[0], (pair.split(":") for pair in row[1:])) for row in rows)
    return "".join(f"{y} {' '.join(f'{numbers[int(j)]}:{a}' for j, a in entries)}\n" for y, entries in pairs)


def columns_may_have_any_number():
    """Up to the largest there is, as with hashed names: that costs neither memory nor time, and changes no prediction."""
    text = good("gen", "regression", "--rows", "300", "--columns", "400", "--density", "0.02", "--log", "error")
    rand = random.Random(1)
    used = sorted({int(pair.split(":")[0]) for line in text.splitlines() for pair in line.split()[1:]})
    large = sorted(rand.sample(range(1, 2**31 - 1), len(used) - 1)) + [2**31 - 1]
    Path("plain.svm").write_text(renamed(text, dict(zip(used, range(1, len(used) + 1)))))
    Path("large.svm").write_text(renamed(text, dict(zip(used, large))))
    said = []
    for name in ("plain", "large"):
        good("train", "lasso", f"{name}.svm", *settings("folds=3", "ratio=0.01"), "--out", f"{name}.shoal", "--report", f"{name}.html")
        said.append(good("predict", f"{name}.shoal", f"{name}.svm"))
    check(said[0] == said[1] and len(set(said[0].splitlines())) > 100, "other numbers of columns make other predictions")
    told = json.loads(good("eval", "large.shoal", "large.svm", "--json"))
    check(told["r2"] > 0.1 and told["coefficients"] > 5, f"{told}")
    check(any(f">{number}<" in Path("large.html").read_text() for number in large), "the page does not call columns by their numbers")
    peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss
    check(os.environ.get("SHOAL_SANITIZE") or peak < 300 * 1024, f"{peak} KiB of memory")


def the_order_of_options_does_not_change_the_model():
    told = (("folds=3", "lambdas=20", "mix=0.5"), ("mix=5e-1", "lambdas=7", "folds=3", "tol=0.001", "lambdas=20"))
    models = []
    for pairs in told:
        good("train", "lasso", "r.svm", *settings(*pairs), "--out", "order.shoal")
        models.append(Path("order.shoal").read_bytes())
    check(models[0] == models[1], "the order of options changes the model")


def columns_that_never_vary_are_counted():
    rand = random.Random(2)
    rows = [[1 if j == 2 else 7.5 if j == 4 else round(rand.gauss(0, 1), 4) for j in range(6)] for _ in range(80)]
    Path("flat.svm").write_text("".join(f"{row[0] - row[1]:.4f} {' '.join(f'{j + 1}:{a}' for j, a in enumerate(row))}\n" for row in rows))
    said = json.loads(good("train", "lasso", "flat.svm", "--json"))["said"]
    check("2 of 6 columns never vary: the intercept has them" in said, f"{said}")
    said = json.loads(good("train", "lasso", "r.svm", "--json"))["said"]
    check(not any("never vary" in line for line in said), f"{said}")


def products_are_made_in_parts_and_give_the_same_model_on_any_workers():
    """8,000 x 520: two ranges of rows; without products the objective is the same."""
    good("gen", "regression", "--rows", "8000", "--columns", "520", "--dense", "-o", "tall.svm", "--log", "error")
    told = [json.loads(good("train", "lasso", "tall.svm", *settings(*pairs, "lambdas=20", "tol=1e-6"), "--workers", workers, "--json", "--out", f"t{n}.shoal"))
            for n, (workers, pairs) in enumerate((("1", ("gram=yes",)), ("3", ("gram=yes",)), ("1", ("gram=no",))))]
    check(Path("t0.shoal").read_bytes() == Path("t1.shoal").read_bytes(), "workers change the model")
    check(told[0]["clocks"] == 21 and told[2]["clocks"] > 40, f"clocks: {told[0]['clocks']} and {told[2]['clocks']}")
    check(abs(told[0]["value"] / told[2]["value"] - 1) < 2e-6, f"{told[0]['value']} and {told[2]['value']}")
    Path("tall.svm").unlink()


def how_it_ended_is_told():
    for pairs, converged in ((("tol=1e-2",), True), (("tol=1e-12", "lambdas=20"), None)):
        told = json.loads(good("train", "lasso", "r.svm", *settings(*pairs), "--json"))
        tol = float(pairs[0][4:])
        check(told["converged"] == (told["gap"] <= tol) and (told["converged"] or not converged), f"{told}")
        check((told["stopped"] == "tolerance") == told["converged"] and 0 <= told["gap"] < 2e-2, f"{told}")


def main():
    good("gen", "regression", "--rows", "1000", "--columns", "3000", "-o", "r.svm", "--log", "error")
    for test in (workers_die_come_and_go_and_the_model_is_the_same, a_job_that_is_stopped_goes_on_where_it_was,
                 predictions_and_what_eval_tells_agree, the_end_is_told_in_words, groups_give_the_same_model_on_any_workers,
                 columns_may_have_any_number, the_order_of_options_does_not_change_the_model, columns_that_never_vary_are_counted,
                 products_are_made_in_parts_and_give_the_same_model_on_any_workers, how_it_ended_is_told):
        test()


if __name__ == "__main__":
    in_own_folder(main)
