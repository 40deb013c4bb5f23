#!/usr/bin/env python3
"""`shoal train mf` on MovieLens (ml-latest-small), as people run it: workers are killed, added and taken away while it
trains, and the model is the same, byte for byte; predictions and their errors agree with each other.
"""
# ctest: fast timeout=240
import json
import lzma
import math
import os
import subprocess
import sys
import tempfile
from pathlib import Path

from train_jobs import FIELDS, SHOAL, SLOW, check, disturbed_is_the_same, good, job, problems, shoal, wait_for

DATA = Path(os.environ["SHOAL_DATA"]) / "train" / "movielens" / "ratings.csv.xz"
EPOCHS = 2500 // min(SLOW, 4)  # some seconds; sanitizers slow the commands beside it, too
WORDS = ["train", "mf", "train.csv", "--set", f"epochs={EPOCHS}", "--set", "rank=24", "--set", "l2=0.15",
         "--threads", "1", "--json"]


def workers_die_come_and_go_and_the_model_is_the_same():
    quiet = json.loads(good(*WORDS, "--workers", "1", "--out", "quiet.shoal"))
    for field in FIELDS:
        check(field in quiet, f"no field '{field}' in {quiet}")
    check(quiet["app"] == "mf" and quiet["objective"] == "rmse" and quiet["clocks"] == EPOCHS, f"{quiet}")
    disturbed_is_the_same(WORDS, quiet, (4, 1, 3))


def a_job_goes_on_after_its_driver_was_killed():
    """From its last checkpoint, to the same model. Needs quiet.shoal."""
    words = [*WORDS, "--workers", "2", "--out", "resumed.shoal", "--checkpoint", "kept"]
    child = subprocess.Popen([SHOAL, *words, "--checkpoint-every", "200ms", "--name", "cut-short"],
                             stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    wait_for("a checkpoint", lambda: (now := job("cut-short")) and now["status"]["checkpoints"] > 0 and
             now["status"]["clocks"] > EPOCHS // 8)
    check(child.poll() is None, "it ended before it could be killed")
    child.kill()
    child.wait()
    told = json.loads(good(*words, "--resume"))
    check(told["clocks"] == EPOCHS, f"resumed: {told}")
    check(Path("quiet.shoal").read_bytes() == Path("resumed.shoal").read_bytes(), "the resumed model differs")


def predictions_and_errors_agree():
    for algorithm, at_most in (("sgd", 0.93), ("als", 0.93)):
        model = f"{algorithm}.shoal"
        good("train", "mf", "train.csv", "--set", f"algorithm={algorithm}", "--set", "l2=0.1", "--out", model)
        predicted = [float(line) for line in good("predict", model, "test.csv").split()]
        known = [float(line.split(",")[2]) for line in Path("test.csv").read_text().split()]
        check(len(predicted) == len(known), f"{algorithm}: {len(predicted)} predictions of {len(known)}")
        if len(predicted) != len(known):
            continue
        rmse = math.sqrt(sum((p - k) ** 2 for p, k in zip(predicted, known)) / len(known))
        mae = sum(abs(p - k) for p, k in zip(predicted, known)) / len(known)
        told = json.loads(good("eval", model, "test.csv", "--json"))
        check(abs(told["rmse"] - rmse) < 1e-5 and abs(told["mae"] - mae) < 1e-5 and told["count"] == len(known),
              f"{algorithm}: told {told}, found rmse {rmse}, mae {mae}")
        # Biases alone have 0.91 here, no model at all 1.06.
        check(rmse < at_most, f"{algorithm}: rmse {rmse}")
        Path("pairs.csv").write_text("1,31\n1,no such film\nnobody,31\nnobody,no such film\n")
        unknown = [float(line) for line in good("predict", model, "pairs.csv").split()]
        check(len(unknown) == 4 and all(0 < x < 6 for x in unknown), f"{algorithm}: {unknown}")


def counts_are_learnt_too():
    told = json.loads(good("train", "mf", "train.csv", "--set", "algorithm=implicit", "--set", "epochs=3",
                           "--workers", "2", "--json", "--out", "implicit.shoal"))
    check(0 < told["value"] < 1, f"{told}")
    seen = json.loads(good("eval", "implicit.shoal", "train.csv", "--json"))["rmse"]
    unseen = json.loads(good("eval", "implicit.shoal", "test.csv", "--json"))["rmse"]
    check(seen < unseen < 1, f"implicit: {seen} for what it has seen, {unseen} for the rest")


def mistakes_are_named():
    def refused(name, words, *settings):
        result = shoal("train", "mf", name, *(w for s in settings for w in ("--set", s)))
        check(result.returncode in (1, 2) and words in result.stderr and result.stdout == "",
              f"{name} {settings}: exit {result.returncode}, {result.stderr!r}")

    Path("bad.csv").write_text("1,2,3.5\n1,3,nan\n")
    Path("pairs.csv").write_text("1,2\n1,3\n")
    refused("bad.csv", "line 2")
    refused("missing.csv", "missing.csv")
    refused("pairs.csv", "algorithm=implicit")
    refused("train.csv", "lower rate", "rate=10", "l2=0", "epochs=50")
    refused("train.csv", "rank", "rank=0")
    refused("train.csv", "nothing_like_it", "nothing_like_it=1")
    result = shoal("eval", "sgd.shoal", "pairs.csv")
    check(result.returncode == 1 and "no ratings" in result.stderr, f"eval of pairs: {result.stderr!r}")


def main():
    if not DATA.exists():
        print(f"skipped: {DATA} is missing")
        sys.exit(77)
    lines = lzma.open(DATA, "rt").read().split()
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        os.environ["XDG_RUNTIME_DIR"] = folder
        Path("train.csv").write_text("".join(f"{l}\n" for i, l in enumerate(lines) if i % 10 != 3))
        Path("test.csv").write_text("".join(f"{l}\n" for i, l in enumerate(lines) if i % 10 == 3))
        for test in (workers_die_come_and_go_and_the_model_is_the_same, a_job_goes_on_after_its_driver_was_killed,
                     predictions_and_errors_agree, counts_are_learnt_too, mistakes_are_named):
            test()
        os.chdir("/")
    for problem in problems:
        print(problem)
    sys.exit(1 if problems else 0)


if __name__ == "__main__":
    main()
