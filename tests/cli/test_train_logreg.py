#!/usr/bin/env python3
"""`shoal train logreg` on a9a, as people run it: workers are killed, added and taken away while it trains and the model
is the same, byte for byte; every loss learns; predictions, probabilities and what `eval` tells agree with each other.
"""
# ctest: fast disturb timeout=300
import json
import lzma
import math
import os
from pathlib import Path

from train_jobs import FIELDS, check, disturbed_is_the_same, good, in_own_folder, killed_driver_goes_on

DATA = Path(os.environ["SHOAL_DATA"]) / "train" / "libsvm"


def settings(*pairs):
    return [word for pair in pairs for word in ("--set", pair)]


def workers_die_come_and_go_and_the_model_is_the_same():
    # A gap that is never reached: the number of epochs decides when it ends.
    words = ["train", "logreg", "a9a", *settings("loss=hinge", "algorithm=sdca", "tol=1e-12", "epochs=60"),
             "--staleness", "0", "--threads", "1", "--json"]
    quiet = json.loads(good(*words, "--workers", "1", "--out", "quiet.shoal"))
    for field in FIELDS:
        check(field in quiet, f"no field '{field}' in {quiet}")
    check(quiet["app"] == "logreg" and quiet["objective"] == "objective" and quiet["units"] > 0, f"{quiet}")
    disturbed_is_the_same(words, quiet, (3, 1))
    killed_driver_goes_on(words, quiet)


def every_loss_learns():
    """Objectives of LIBLINEAR 2.3 with a tiny eps (of the hinge a lower bound: its gap), and how far above we may end."""
    for pairs, least, above in (([], 10529.56, 1e-4), (["penalty=l1"], 10558.72, 2.3e-3),
                                (["loss=hinge"], 11433.73, 1e-4), (["loss=squared_hinge"], 13742.40, 1e-4),
                                (["loss=softmax"], None, 0), (["algorithm=newton", "bias=true"], None, 0),
                                (["algorithm=sdca", "tol=0.001"], 10529.56, 1e-3), (["algorithm=sgd"], None, 0)):
        told = json.loads(good("train", "logreg", "a9a", *settings(*pairs), "--workers", "2", "--threads", "1",
                               "--json", "--out", "m.shoal"))
        if least:
            check(least * (1 - 1e-6) < told["value"] < least * (1 + above), f"{pairs}: objective {told['value']}")
        same = json.loads(good("eval", "m.shoal", "a9a", "--json"))
        check(abs(same["objective"] / told["value"] - 1) < 1e-4, f"{pairs}: {same['objective']} and {told['value']}")
        test = json.loads(good("eval", "m.shoal", "a9a.t", "--json"))
        check(0.84 < test["accuracy"] < 0.86 and test["rows"] == 16281, f"{pairs}: {test}")
        check(("log_loss" in test) == ("hinge" not in "".join(pairs)), f"{pairs}: {test}")


def the_curve_is_how_the_objective_fell():
    """Of machines that meet once an epoch: the more, the less an epoch helps, whoever runs them."""
    size = Path("a9a").stat().st_size
    first, after = {}, {}
    for machines in (1, 8, 64):
        words = ["train", "logreg", "a9a", *settings("algorithm=sdca", f"executors={machines}", f"wave={machines}", "judge=1", "epochs=10",
                                                    "tol=1e-9"), "--staleness", "0", "--threads", "1", "--json"]
        told = json.loads(good(*words))
        check(told["algorithm"] == "logreg-sdca" and told["machines"] == told["threads"] == 1 and told["size"] == size, f"{told}")
        check(told["options"]["executors"] == str(machines) and told["options"]["loss"] == "logistic", f"{told['options']}")
        curve = told["curve"]
        check([row[0] for row in curve] == [2 * epoch for epoch in range(1, 11)], f"{machines}: a pass and a look an epoch, {curve}")
        check(all(a[1] <= b[1] and a[3] <= b[3] for a, b in zip(curve, curve[1:])), f"time goes on: {curve}")
        check(curve[-1][2] == told["value"] and curve[-1][1] <= told["seconds"] and curve[-1][3] <= told["task_s"] + 1e-6, f"{told}")
        first[machines], after[machines] = curve[0][2], curve[-1][2]
        again = json.loads(good(*words, "--workers", "2"))
        check([row[2] for row in again["curve"]] == [row[2] for row in curve], "two workers give another curve")
    check(after[1] < after[8] < after[64] < min(first.values()), f"{first} {after}")


def predictions_and_what_eval_tells_agree():
    good("train", "logreg", "a9a", "--set", "probabilities=true", "--out", "p.shoal")
    told = json.loads(good("eval", "p.shoal", "a9a.t", "--json"))
    known = [int(line.split()[0]) for line in Path("a9a.t").read_text().splitlines()]
    said = [line.split() for line in good("predict", "p.shoal", "a9a.t").splitlines()]
    check(len(said) == len(known), f"{len(said)} predictions of {len(known)}")
    right = sum(int(s[0]) == k for s, k in zip(said, known)) / len(known)
    loss = -sum(math.log(float(s[1 if k < 0 else 2])) for s, k in zip(said, known)) / len(known)
    check(abs(right - told["accuracy"]) < 1e-9 and abs(loss - told["log_loss"]) < 1e-4,
          f"told {told}, found {right} and {loss}")
    check(all(abs(float(s[1]) + float(s[2]) - 1) < 1e-5 for s in said), "probabilities do not add up")


def main():
    if not (DATA / "a9a.xz").exists() or not (DATA / "a9a.t.xz").exists():
        print(f"skipped: a9a is missing in {DATA}")
        return 77
    for name in ("a9a", "a9a.t"):
        Path(name).write_bytes(lzma.open(DATA / f"{name}.xz").read())
    for test in (workers_die_come_and_go_and_the_model_is_the_same, every_loss_learns,
                 the_curve_is_how_the_objective_fell, predictions_and_what_eval_tells_agree):
        test()
    return 0


if __name__ == "__main__":
    in_own_folder(main)
