"""Real training jobs, for tests: run, watched, disturbed. What does not hold is kept in `problems`."""
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

SHOAL = os.environ["SHOAL_BIN"]
SLOW = 10 if os.environ.get("SHOAL_SANITIZE") else 1
FIELDS = ("app objective value seconds load_seconds cpu_s units_per_s units clocks tasks tasks_redone moves "
          "max_pause_ms task_s blocked_s workers workers_lost executors staleness model machines threads size options algorithm curve").split()
problems = []
children = []


def check(holds, text):
    if not holds:
        problems.append(text)


def shoal(*words, **options):
    return subprocess.run([SHOAL, *words], capture_output=True, text=True, timeout=180 * SLOW, **options)


def good(*words, folder=None):
    result = shoal(*words, cwd=folder)
    check(result.returncode == 0, f"{words}: exit {result.returncode}, {result.stderr}")
    return result.stdout


def start(*words):
    """In the background, until in_own_folder ends."""
    child = subprocess.Popen([SHOAL, *words], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                             text=True)
    children.append(child)
    return child


def end_all():
    for child in children:
        if child.poll() is None:
            child.kill()
        child.wait()


def in_own_folder(test):
    """Runs a test in a folder that is its own, also for the list of jobs, and exits: by what it gives, or by `problems`."""
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        os.environ["XDG_RUNTIME_DIR"] = folder
        os.chmod(folder, 0o700)
        try:
            status = test()
        finally:
            end_all()
    if not status:
        print("\n".join(problems) or "ok")
    sys.exit(status or (1 if problems else 0))


def job(name):
    """What `shoal jobs` knows of it; None: not there (yet)."""
    jobs = json.loads(good("jobs", "--json"))["jobs"]
    return next((j for j in jobs if j["name"] == name and isinstance(j.get("status"), dict)), None)


def wait_for(what, holds):
    until = time.monotonic() + 30 * SLOW
    while time.monotonic() < until:
        if holds():
            return True
        time.sleep(0.02)
    problems.append(f"waited in vain: {what}")
    return False


def workers_up(name):
    found = job(name)
    return [w for w in found["status"]["crew"] if w["state"] == "up"] if found else []


def disturb(name, scales):
    """A worker killed in the middle, then other numbers of workers."""
    wait_for("a job with two workers at work",
             lambda: len(workers_up(name)) == 2 and (job(name) or {"status": {"clocks": 0}})["status"]["clocks"] > 5)
    victims = workers_up(name)
    if victims:
        os.kill(victims[0]["pid"], signal.SIGKILL)
    wait_for("the loss", lambda: (job(name) or {"status": {"workers_lost": 1}})["status"]["workers_lost"] >= 1)
    for workers in scales:
        result = shoal("scale", name, str(workers))
        check(result.returncode == 0 or job(name) is None, f"scale to {workers}: {result.stderr}")
        wait_for(f"{workers} workers", lambda: job(name) is None or len(workers_up(name)) == workers)


def disturbed_is_the_same(words, quiet, scales):
    """The job of these words, disturbed, ends as the quiet one did whose closing object and quiet.shoal are there."""
    child = subprocess.Popen([SHOAL, *words, "--workers", "2", "--name", "disturbed", "--out", "disturbed.shoal"],
                             stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    try:
        disturb("disturbed", scales)
        out, err = child.communicate(timeout=180 * SLOW)
    finally:
        child.kill()
    check(child.returncode == 0, f"disturbed: exit {child.returncode}, {err}")
    if child.returncode != 0:
        return
    disturbed = json.loads(out)
    check(disturbed["workers_lost"] == 1 and disturbed["moves"] > 0, f"{disturbed}")
    check(disturbed["tasks"] == quiet["tasks"], f"{disturbed['tasks']} tasks, {quiet['tasks']} when quiet")
    check(disturbed["value"] == quiet["value"], f"value {disturbed['value']}, {quiet['value']} when quiet")
    check(Path("quiet.shoal").read_bytes() == Path("disturbed.shoal").read_bytes(), "the models differ")
