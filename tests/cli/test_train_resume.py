#!/usr/bin/env python3
# ctest: full disturb timeout=300
"""Kills a real `shoal train`, driver and workers, at random moments, and resumes it: the model is the one of an
undisturbed run, byte for byte. Full disks and damaged files cost a checkpoint, not the job.

Every job is held until it was disturbed (train_jobs.Held), so none is over before.
"""
import json
import os
import random
import resource
import shutil
import signal
import subprocess
from pathlib import Path

from train_jobs import LIMIT_S, Held, check, in_own_folder, shoal, told, wait_for, workers_up

SAVED = Path("saved")
KILLS, ENDS = 3, 8
CLOCKS = 300  # more than are ever stepped through, and fewer than it takes to converge


def words(*more, model="model", workers=2, saved=True):
    keep = ("--checkpoint", "saved", "--checkpoint-every", "20ms") if saved else ()
    return ["train", "kmeans", "points.csv", "--set", "k=50", "--set", f"clocks={CLOCKS}", "--workers", str(workers),
            "--threads", "1", "--out", model, *keep, *more]


def start(*more, clock=2, **options):
    return Held(words(*more, **options), "job", clock)


def run(*more, **options):
    """A job that nobody holds: how it ends, what it prints and what it says."""
    return start(*more, clock=None, **options).finish()


def model(name="model"):
    return Path(name).read_bytes()


def files():
    """Checkpoints, the oldest first."""
    return sorted(SAVED.glob("*.pack"), key=lambda path: path.stat().st_mtime_ns)


def step_to_files(held, count):
    held.step_until(f"{count} checkpoints", lambda: len(files()) >= count)


def limit_files(held, size):
    """Files of the job's driver may not grow beyond this; None: they may again."""
    _, hard = resource.prlimit(held.child.pid, resource.RLIMIT_FSIZE)
    resource.prlimit(held.child.pid, resource.RLIMIT_FSIZE, (hard if size is None else size, hard))


def killed_jobs_go_on(want):
    draw = random.Random(2)
    more = ()
    for kill in range(KILLS):
        held = start(*more, workers=1 + kill % 3)
        if more:  # where the one before was, and a little later
            held.wait("workers", lambda: workers_up("job"))
            held.hold(told("job", "clocks") + 2)
        held.step_to_checkpoint()
        held.hold(held.clock + draw.randrange(20))  # whatever it is at when it is killed
        held.kill()
        more = ("--resume",)
    (SAVED / ".shoal-1-1").write_bytes(b"half a file")
    code, _, err = run("--resume")
    check(code == 0 and "resuming from 'saved/" in err, f"resumed with {code}: {err}")
    check(model() == want, "another model after kills")
    check(list(SAVED.iterdir()) == [], f"left behind: {list(SAVED.iterdir())}")


def a_stopped_job_says_how_to_go_on(want):
    err = start().stop(signal.SIGTERM)
    check("stopped after" in err and "--resume goes on from here" in err, f"said: {err}")
    code, _, err = run()
    check(code == 1 and "there is a checkpoint already" in err, f"a new job wrote over the old one: {err}")
    code, _, err = run("--resume", "--set", "k=51")
    check(code != 0 and "it was made with k '" in err and "', not '51'" in err, f"other settings: {err}")
    code, _, err = run("--resume")
    check(code == 0 and model() == want, f"another model after a stop: {err}")


def damaged_files_are_passed_over(want):
    held = start()
    step_to_files(held, 2)
    held.kill()
    newest = files()[-1]
    newest.write_bytes(newest.read_bytes()[:-100])
    code, _, err = run("--resume")
    check(code == 0 and "damaged" in err and newest.name in err, f"a file cut short: {code} {err}")
    check(model() == want, "another model after damage")


def a_limit_on_files_costs_checkpoints_only(want):
    held = start()
    step_to_files(held, 2)
    limit_files(held, 100)
    held.step_until("a checkpoint that fails", lambda: told("job", "checkpoints_failed") >= 1)
    kept = {path: path.read_bytes() for path in files()}
    failed = told("job", "checkpoints_failed")
    held.step_until("another one", lambda: told("job", "checkpoints_failed") > failed)
    check(kept == {path: path.read_bytes() for path in files()}, "files changed while nothing could be written")
    limit_files(held, None)
    code, _, err = held.finish()
    check(code == 0 and model() == want, f"at a limit: {code} {err}")
    check(err.count("no checkpoint could be written") == 1, f"said: {err}")


def a_full_disk_costs_checkpoints_only(want):
    """A file system of four pages, where this user may mount one."""
    SAVED.mkdir(exist_ok=True)
    small = ["unshare", "--mount", "--map-root-user", "sh", "-c", 'mount -t tmpfs -o size=16k none saved && exec "$@"', "sh"]
    try:
        mounts = subprocess.run([*small, "true"], capture_output=True, timeout=LIMIT_S, check=False).returncode == 0
    except FileNotFoundError:
        mounts = False
    if not mounts:
        print("no file system can be mounted here: a full disk is tried as a limit only")
        return
    held = Held(words(), "job", 2, before=small)
    held.step_until("a checkpoint that fails", lambda: told("job", "checkpoints_failed") >= 1)
    code, _, err = held.finish()
    check(code == 0 and model() == want, f"on a full disk: {code} {err}")
    check("no checkpoint could be written" in err, f"a full disk was not told: {err}")


def a_model_that_cannot_be_written_takes_nothing_else_with_it(want):
    """Its folder is gone: the result and the page are there all the same, and so is the work."""
    gone = Path("gone")
    gone.mkdir()
    held = start("--report", "page.html", model="gone/model")
    step_to_files(held, 2)
    gone.rmdir()
    code, out, err = held.finish()
    check(code == 1 and "mean squared distance" in out and "model:" not in out, f"result: {out!r}")
    check("gone/model" in err and "the checkpoint in 'saved' is kept" in err and "--resume" in err, f"said: {err}")
    check("not kept: cannot" in Path("page.html").read_text(), "the page does not say that there is no model")
    gone.mkdir()
    code, _, err = run("--resume", "--report", "page.html", model="gone/model")
    page = Path("page.html").read_text()
    check("--checkpoint saved" in page and "--resume" not in page, "to repeat it is to resume it")
    check(code == 0 and model("gone/model") == want, f"resumed after that: {code} {err}")
    check(list(SAVED.iterdir()) == [], f"left behind: {list(SAVED.iterdir())}")
    shutil.rmtree(gone)


def a_model_that_does_not_fit_leaves_the_old_one(want):
    held = start("--report", "page.html", "--json")
    step_to_files(held, 2)
    limit_files(held, 100)
    code, out, err = held.finish()
    closing = json.loads(out)  # one object
    check(code == 1 and closing["model"] is None and closing["report"] is None and closing["value"] > 0, f"told: {out}")
    check("file too large" in closing["error"]["message"].lower() and "is kept" in closing["error"]["hint"], f"told: {out}")
    check("warning: no page: " in err and "file too large" in err.lower(), f"the page: {err}")
    check(closing["curve"] and closing["error"]["message"] not in err, f"said twice: {err}")
    check(model() == want, "the old model is not what it was")
    code, _, err = run("--resume")
    check(code == 0 and model() == want, f"resumed after that: {code} {err}")
    check(list(SAVED.iterdir()) == [], f"left behind: {list(SAVED.iterdir())}")


def a_good_end_leaves_no_checkpoint():
    """Also where one was being written."""
    for _ in range(ENDS):
        code, _, err = run()
        check(code == 0 and list(SAVED.iterdir()) == [], f"left behind: {code} {list(SAVED.iterdir())} {err}")


def a_folder_is_one_jobs():
    held = start()
    step_to_files(held, 1)
    code, _, err = Held(words("--resume"), "second", None).finish()
    check(code == 1 and "a job that runs keeps its checkpoints" in err, f"a second job: {code} {err}")
    held.kill()
    shutil.rmtree(SAVED)


def what_is_not_there_is_not_resumed():
    """That is said before the data is opened, and nothing is made."""
    for made in (False, True):
        if made:
            SAVED.mkdir()
        done = shoal("train", "mf", "no-such-data", "--checkpoint", "saved", "--resume")
        check(done.returncode == 1 and "there is no checkpoint" in done.stderr, f"nothing to resume: {done.stderr}")
        check(SAVED.exists() == made, "a folder was made to resume from")
    SAVED.rmdir()


def main():
    draw = random.Random(1)
    Path("points.csv").write_text("".join(f"{draw.random():.6f},{draw.random():.6f}\n" for _ in range(20000)))
    code, _, err = run(saved=False)
    check(code == 0, f"the undisturbed run ended with {code}: {err}")
    want = model()
    killed_jobs_go_on(want)
    a_stopped_job_says_how_to_go_on(want)
    damaged_files_are_passed_over(want)
    a_limit_on_files_costs_checkpoints_only(want)
    a_full_disk_costs_checkpoints_only(want)
    a_model_that_cannot_be_written_takes_nothing_else_with_it(want)
    a_model_that_does_not_fit_leaves_the_old_one(want)
    a_good_end_leaves_no_checkpoint()
    a_folder_is_one_jobs()
    what_is_not_there_is_not_resumed()


if __name__ == "__main__":
    in_own_folder(main)
