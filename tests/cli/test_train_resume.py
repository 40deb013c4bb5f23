#!/usr/bin/env python3
# ctest: full timeout=300
"""Kills a real `shoal train`, driver and workers, at random moments, and resumes it: the model is the one of an
undisturbed run, byte for byte. Full disks and damaged files cost a checkpoint, not the job."""
import json
import os
import random
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

SHOAL = os.environ["SHOAL_BIN"]
SOURCE = Path(os.environ["SHOAL_SOURCE_DIR"])
POINTS = 20000
SECONDS = 4  # of an undisturbed run, so that there is time to kill it
KILLS = 3
FILES = ("full-0.pack", "full-1.pack", "delta.pack")


def build_app(folder):
    """The example application as a shared object; None where there is no compiler."""
    made = Path(folder) / "kmeans.so"
    words = [os.environ.get("CC", "cc"), "-O2", "-shared", "-fPIC", "-I", str(SOURCE / "include"),
             str(SOURCE / "examples" / "kmeans_app.c"), "-o", str(made)]
    try:
        subprocess.run(words, check=True)
    except FileNotFoundError:
        return None
    return str(made)


def write_points(path):
    draw = random.Random(1)
    with open(path, "w", encoding="ascii") as out:
        for _ in range(POINTS):
            out.write(f"{draw.random():.6f},{draw.random():.6f}\n")


class World:
    """A folder with data, and jobs in it."""

    def __init__(self, folder):
        self.folder = Path(folder)
        self.app = build_app(folder)
        self.saved = self.folder / "saved"
        self.problems = []
        self.clocks = 300
        write_points(self.folder / "points.csv")

    def words(self, *more, model="model", workers=2):
        return [SHOAL, "train", self.app, "points.csv", "--set", "k=50", "--set", f"clocks={self.clocks}", "--workers",
                str(workers), "--threads", "1", "--out", model, *more]

    def env(self):
        env = {"PATH": os.environ["PATH"], "HOME": str(self.folder), "TERM": "dumb", "LC_ALL": "C.UTF-8"}
        env.update({k: v for k, v in os.environ.items() if k.endswith("SAN_OPTIONS")})
        return env

    def start(self, *more, saved=True, every="0.1s", **options):
        if saved:
            more = ("--checkpoint", "saved", "--checkpoint-every", every, *more)
        return subprocess.Popen(self.words(*more, **options), cwd=self.folder, env=self.env(), text=True,
                                stdout=subprocess.PIPE, stderr=subprocess.PIPE)

    def run(self, *more, **options):
        job = self.start(*more, **options)
        out, err = job.communicate(timeout=240)
        return job.returncode, out, err

    def model(self, name="model"):
        return (self.folder / name).read_bytes()

    def there(self):
        return [name for name in FILES if (self.saved / name).exists()]

    def check(self, holds, text):
        if not holds:
            self.problems.append(text)


def children(pid):
    try:
        return [int(p) for p in Path(f"/proc/{pid}/task/{pid}/children").read_text(encoding="ascii").split()]
    except OSError:
        return []


def alive(pid):
    try:
        return Path(f"/proc/{pid}/stat").read_text(encoding="ascii").rsplit(")", 1)[1].split()[0] != "Z"
    except OSError:
        return False


def wait_until(holds, seconds=60):
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if holds():
            return True
        time.sleep(0.01)
    return False


def kill_all(job):
    """Driver and workers, as a machine that loses power."""
    workers = children(job.pid)
    job.kill()
    for pid in workers:
        try:
            os.kill(pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
    job.communicate()
    return wait_until(lambda: not any(alive(pid) for pid in workers), 10)


def killed_jobs_go_on(world, want):
    draw = random.Random(2)
    more = ()
    for kill in range(KILLS):
        job = world.start(*more, workers=1 + kill % 3)
        before = {name: (world.saved / name).stat().st_mtime_ns for name in world.there()}
        if not wait_until(lambda: job.poll() is not None or any(
                before.get(name) != (world.saved / name).stat().st_mtime_ns for name in world.there())):
            world.check(False, "no checkpoint within a minute")
        time.sleep(0.3 * draw.random())
        world.check(job.poll() is None, f"kill {kill}: the job was over before it could be killed")
        world.check(kill_all(job), "a worker lives on after its driver")
        more = ("--resume",)
    (world.saved / ".shoal-1-1").write_bytes(b"half a file")
    code, _, err = world.run("--resume")
    world.check(code == 0 and "resuming from 'saved/" in err, f"resumed with {code}: {err}")
    world.check(world.model() == want, "another model after kills")
    world.check(list(world.saved.iterdir()) == [], f"left behind: {list(world.saved.iterdir())}")


def a_stopped_job_says_how_to_go_on(world, want):
    job = world.start(every="100s")
    wait_until(lambda: len(children(job.pid)) == 2)
    time.sleep(0.5)
    job.send_signal(signal.SIGTERM)
    _, err = job.communicate(timeout=60)
    world.check(job.returncode == -signal.SIGTERM, f"ended with {job.returncode}")
    world.check("stopped after" in err and "--resume goes on from here" in err, f"said: {err}")
    code, _, err = world.run()
    world.check(code == 1 and "there is a checkpoint already" in err, f"a new job wrote over the old one: {err}")
    code, _, err = world.run("--resume", "--set", "k=51")
    world.check(code != 0 and "it was made with k '" in err and "', not '51'" in err, f"other settings: {err}")
    code, _, err = world.run("--resume")
    world.check(code == 0 and world.model() == want, f"another model after a stop: {err}")


def damaged_files_are_passed_over(world, want):
    for _ in range(5):  # on a busy machine a job may be over before it is seen to have two files
        job = world.start()
        wait_until(lambda: len(world.there()) >= 2 or job.poll() is not None)
        kill_all(job)
        files = sorted((world.saved / name for name in world.there()), key=lambda p: p.stat().st_mtime_ns)
        if len(files) >= 2:
            break
        for file in files:
            file.unlink()
    if len(files) < 2:
        world.check(False, "no job was caught with two checkpoints")
        return
    newest = files[-1]
    newest.write_bytes(newest.read_bytes()[:-100])
    code, _, err = world.run("--resume")
    world.check(code == 0 and "damaged" in err and newest.name in err, f"a file cut short: {code} {err}")
    world.check(world.model() == want, "another model after damage")


def a_limit_on_files_costs_checkpoints_only(world, want):
    job = world.start()
    wait_until(lambda: len(world.there()) >= 2)
    soft, hard = resource.prlimit(job.pid, resource.RLIMIT_FSIZE)
    resource.prlimit(job.pid, resource.RLIMIT_FSIZE, (100, hard))
    time.sleep(0.3)
    kept = {name: (world.saved / name).read_bytes() for name in world.there()}
    time.sleep(0.4)
    world.check(job.poll() is None, "the job ended at the limit")
    world.check(kept == {name: (world.saved / name).read_bytes() for name in world.there()},
                "files changed while nothing could be written")
    if job.poll() is None:
        resource.prlimit(job.pid, resource.RLIMIT_FSIZE, (soft, hard))
    _, err = job.communicate(timeout=120)
    world.check(job.returncode == 0 and world.model() == want, f"at a limit: {job.returncode} {err}")
    world.check(err.count("no checkpoint could be written") == 1, f"said: {err}")


def a_full_disk_costs_checkpoints_only(world, want):
    """A file system of four pages, where this user may mount one."""
    world.saved.mkdir(exist_ok=True)
    shell = ["unshare", "--mount", "--map-root-user", "sh", "-c",
             'mount -t tmpfs -o size=16k none saved || exit 99; exec "$@"', "sh"]
    words = world.words("--checkpoint", "saved", "--checkpoint-every", "0.1s")
    try:
        done = subprocess.run(shell + words, cwd=world.folder, env=world.env(), text=True, capture_output=True,
                              timeout=240, check=False)
    except FileNotFoundError:
        return
    if done.returncode == 99 or "unshare:" in done.stderr:
        print("no file system can be mounted here: a full disk is tried as a limit only")
        return
    world.check(done.returncode == 0 and world.model() == want, f"on a full disk: {done.returncode} {done.stderr}")
    world.check("no checkpoint could be written" in done.stderr, f"a full disk was not told: {done.stderr}")


def a_model_that_cannot_be_written_takes_nothing_else_with_it(world, want):
    """Its folder is gone: the result and the page are there all the same, and so is the work."""
    gone = world.folder / "gone"
    gone.mkdir()
    job = world.start("--report", "page.html", model="gone/model")
    wait_until(lambda: len(world.there()) >= 2 or job.poll() is not None)
    gone.rmdir()
    out, err = job.communicate(timeout=240)
    world.check(job.returncode == 1 and "mean squared distance" in out and "model:" not in out, f"result: {out!r}")
    world.check("gone/model" in err and "the checkpoint in 'saved' is kept" in err and "--resume" in err, f"said: {err}")
    page = (world.folder / "page.html").read_text(encoding="utf-8")
    world.check("not kept: cannot" in page, "the page does not say that there is no model")
    gone.mkdir()
    code, _, err = world.run("--resume", "--report", "page.html", model="gone/model")
    page = (world.folder / "page.html").read_text(encoding="utf-8")
    world.check("--checkpoint saved" in page and "--resume" not in page, "to repeat it is to resume it")
    world.check(code == 0 and world.model("gone/model") == want, f"resumed after that: {code} {err}")
    world.check(list(world.saved.iterdir()) == [], f"left behind: {list(world.saved.iterdir())}")
    shutil.rmtree(gone)


def a_model_that_does_not_fit_leaves_the_old_one(world, want):
    job = world.start("--report", "page.html", "--json")
    wait_until(lambda: len(world.there()) >= 2 or job.poll() is not None)
    soft, hard = resource.prlimit(job.pid, resource.RLIMIT_FSIZE)
    resource.prlimit(job.pid, resource.RLIMIT_FSIZE, (100, hard))
    out, err = job.communicate(timeout=240)
    told = json.loads(out)  # one object
    world.check(job.returncode == 1 and told["model"] is None and told["report"] is None and told["value"] > 0, f"told: {out}")
    world.check("file too large" in told["error"]["message"].lower() and "is kept" in told["error"]["hint"], f"told: {out}")
    world.check("warning: no page: " in err and "file too large" in err.lower(), f"the page: {err}")
    world.check(told["curve"] and told["error"]["message"] not in err, f"said twice: {err}")
    world.check(world.model() == want, "the old model is not what it was")
    code, _, err = world.run("--resume")
    world.check(code == 0 and world.model() == want, f"resumed after that: {code} {err}")


def a_folder_is_one_jobs(world):
    job = world.start()
    wait_until(lambda: len(world.there()) >= 1)
    code, _, err = world.run("--resume")
    world.check(code == 1 and "a job that runs keeps its checkpoints" in err, f"a second job: {code} {err}")
    kill_all(job)
    shutil.rmtree(world.saved)


def what_is_not_there_is_not_resumed(world):
    """That is said before the data is opened, and nothing is made."""
    for made in (False, True):
        if made:
            world.saved.mkdir()
        done = subprocess.run([SHOAL, "train", world.app, "no-such-data", "--checkpoint", "saved", "--resume"],
                              cwd=world.folder, env=world.env(), text=True, capture_output=True, timeout=60, check=False)
        world.check(done.returncode == 1 and "there is no checkpoint" in done.stderr, f"nothing to resume: {done.stderr}")
        world.check(world.saved.exists() == made, "a folder was made to resume from")
    world.saved.rmdir()


def main():
    with tempfile.TemporaryDirectory() as folder:
        world = World(folder)
        if world.app is None:
            print("skipped: no C compiler")
            return 77
        for _ in range(2):  # the first one tells how fast this machine is
            began = time.monotonic()
            code, _, err = world.run(saved=False)
            if code != 0:
                print(f"the undisturbed run ended with {code}: {err}")
                return 1
            if world.clocks == 300:
                world.clocks = max(1500, int(300 * SECONDS / (time.monotonic() - began)))
        want = world.model()
        killed_jobs_go_on(world, want)
        a_stopped_job_says_how_to_go_on(world, want)
        damaged_files_are_passed_over(world, want)
        a_limit_on_files_costs_checkpoints_only(world, want)
        a_full_disk_costs_checkpoints_only(world, want)
        a_model_that_cannot_be_written_takes_nothing_else_with_it(world, want)
        a_model_that_does_not_fit_leaves_the_old_one(world, want)
        a_folder_is_one_jobs(world)
        what_is_not_there_is_not_resumed(world)
        for problem in world.problems:
            print(problem)
        return 1 if world.problems else 0


if __name__ == "__main__":
    sys.exit(main())
