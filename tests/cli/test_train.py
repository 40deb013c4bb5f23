#!/usr/bin/env python3
"""Real training jobs, with the application of examples/kmeans_app.c: what they report, and all that can be done to them
while they run: scale, drain, join, kill, watch, interrupt. Everything is in a folder of its own and on loopback; at the
end no process is left.
"""
# ctest: fast disturb timeout=240
import fcntl
import json
import os
import pty
import random
import select
import signal
import struct
import subprocess
import sys
import tempfile
import termios
import time
from pathlib import Path

SHOAL = os.environ["SHOAL_BIN"]
SOURCE = Path(os.environ["SHOAL_SOURCE_DIR"])
SLOW = 5 if os.environ.get("SHOAL_SANITIZE") else 1
LIMIT_S = 100 * SLOW

CLOSING = {"v": int, "app": str, "name": str, "objective": str, "value": float, "seconds": float, "load_seconds": float,
           "cpu_s": float, "units_per_s": float, "units": int, "clocks": int, "tasks": int, "tasks_redone": int,
           "moves": int, "max_pause_ms": float, "task_s": float, "blocked_s": float, "workers": int, "workers_lost": int, "workers_stalled": int,
           "checkpoints": int, "checkpoints_failed": int, "checkpoint_bytes": int, "executors": int, "staleness": list,
           "model": (str, type(None)), "resumed": bool}
STATUS = {"v": int, "value": float, "progress": float, "units": int, "clocks": int, "tasks": int, "tasks_redone": int,
          "moves": int, "max_pause_ms": float, "task_s": float, "blocked_s": float, "workers": int, "workers_lost": int, "workers_stalled": int,
          "checkpoints": int, "checkpoints_failed": int, "checkpoint_bytes": int,
          "checkpoint_age_s": (float, type(None)), "executors": int, "refused": int, "staleness": list, "app": str,
          "objective": str, "unit": str, "staleness_bound": int, "wanted": int, "units_per_s": float, "uptime_s": float, "history": list,
          "tables": list, "crew": list}
WORKER = {"worker": int, "state": str, "threads": int, "executors": int, "pid": int, "busy": float, "away": bool,
          "oldest_s": float, "host": str}
TABLE = {"name": str, "rows": int, "width": int, "shards": int, "held": bool, "bytes": int}
LISTED = {"pid": int, "name": str, "app": str, "data": str, "state": str, "address": (str, type(None)),
          "status": (dict, type(None))}

problems = []
seen = set()  # processes of jobs
folder = ""
env = {}


def check(holds, text):
    if not holds:
        problems.append(text)
    return holds


def has_fields(what, found, fields):
    for name, kind in fields.items():
        kinds = (float, int) if kind is float else kind
        check(name in found and isinstance(found[name], kinds), f"{what}: '{name}' is {found.get(name, 'missing')!r}")


def shoal(*words, **options):
    return subprocess.run([SHOAL, *words], capture_output=True, text=True, cwd=folder, env=env, timeout=LIMIT_S, **options)


def good(*words):
    done = shoal(*words)
    check(done.returncode == 0, f"{words}: exit {done.returncode}: {done.stdout}{done.stderr}")
    return done.stdout


def refused(words, status, text, **options):
    done = shoal(*words, **options)
    check(done.returncode == status and text in done.stderr and done.stderr.count("\n") == 1,
          f"{words}: exit {done.returncode}, {done.stdout!r}, {done.stderr!r}; expected {status}, {text!r}")


def start(*words, **options):
    child = subprocess.Popen([SHOAL, *words], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                             text=True, cwd=folder, env=env, **options)
    seen.add(child.pid)
    return child


def wait_for(what, holds):
    """Until holds() gives something; a job that gets there late is a problem, one that never does ends the test."""
    end = time.monotonic() + LIMIT_S
    while time.monotonic() < end:
        found = holds()
        if found:
            return found
        time.sleep(0.02)
    raise TimeoutError(f"{what}: not after {LIMIT_S} s")


def listed(name):
    """The job as `shoal jobs` tells, or None."""
    jobs = [job for job in json.loads(shoal("jobs", "--json").stdout)["jobs"] if job["name"] == name]
    if not jobs:
        return None
    seen.update(worker["pid"] for worker in (jobs[0]["status"] or {}).get("crew", []) if worker["pid"] is not None)
    return jobs[0]


def status(name):
    """What the job says of itself, once it does; None: there is no such job."""
    def answer():
        job = listed(name)
        return [job and job["status"]] if job is None or job["status"] else None

    return wait_for(f"an answer of {name}", answer)[0]


def up(name, count=None):
    """The workers that are up, once there are so many, all with executors."""
    now = status(name)
    if not now:
        return None
    crew = [worker for worker in now["crew"] if worker["state"] == "up" and worker["executors"] > 0]
    return crew if crew and (count is None or len(crew) == count == now["workers"] == len(now["crew"])) else None


def alive(pid):
    try:
        return Path(f"/proc/{pid}/stat").read_text().split(")")[-1].split()[0] != "Z"
    except (FileNotFoundError, ProcessLookupError):
        return False


# ---- whole runs ----

def the_closing_object_is_what_is_promised():
    for words, workers in (([], 1), (["--workers", "3", "--threads", "1"], 3)):
        done = good("train", "./kmeans.so", "points.csv", "--json", "--out", f"m{workers}.shoal", "--set", "clocks=30", *words)
        found = json.loads(done)
        has_fields(f"closing object, {words}", found, CLOSING)
        check(found["clocks"] == 30 and found["tasks"] == 480 and found["units"] == 30 * 3000, f"counts: {done}")
        check(sum(found["staleness"]) == 480 and len(found["staleness"]) == 1, f"bulk synchronous, and stale: {done}")
        check(found["workers"] == workers and found["workers_lost"] == 0, f"{workers} workers: {done}")
        check(found["model"] == f"m{workers}.shoal", f"model: {done}")
    one, three = (Path(folder, f"m{n}.shoal").read_bytes() for n in (1, 3))
    check(one == three, "the models of one worker and of three differ")


def words_at_the_end_say_the_same():
    text = good("train", "./kmeans.so", "points.csv", "--set", "clocks=3", "--out", "m.shoal")
    check(text.startswith("kmeans: mean squared distance ") and " after 3 iterations in " in text and
          text.endswith("points/s\nmodel: m.shoal\n"), f"words: {text!r}")


def a_model_that_cannot_be_written_is_known_before_the_work():
    refused(["train", "./kmeans.so", "points.csv", "--set", "clocks=1000000", "--out", "no/m.shoal"], 1, "cannot write")
    refused(["train", "./kmeans.so", "points.csv", "--set", "clocks=1000000", "--out", "points.csv"], 2, "also an input")
    refused(["train", "./kmeans.so", "points.csv", "--set", "clocks=1000000", "--out", "kmeans.so"], 2, "also an input")


# ---- a long job and what is done to it ----

def it_is_listed():
    wait_for("a worker", lambda: up("long", 1))
    wait_for("a first objective", lambda: status("long")["value"] is not None)
    job = listed("long")
    has_fields("a listed job", job, LISTED)
    has_fields("its status", job["status"], STATUS)
    has_fields("its worker", job["status"]["crew"][0], WORKER)
    has_fields("its table", job["status"]["tables"][0], TABLE)
    listing = Path(folder, "run/shoal/jobs/long.job")
    check(listing.stat().st_mode & 0o777 == 0o600, f"its listing, which holds the key: {oct(listing.stat().st_mode)}")
    check(job["state"] == "running" and job["app"] == "kmeans" and job["data"] == "points.csv", f"listed: {job}")
    check([table["bytes"] for table in job["status"]["tables"]] == [64, 96], f"tables: {job['status']['tables']}")
    lines = good("jobs").splitlines()
    check(len(lines) == 2 and lines[0].split()[:3] == ["JOB", "APP", "STATE"] and
          lines[1].split()[:4] == ["long", "kmeans", "running", "1"], f"jobs: {lines}")


def its_name_is_taken():
    refused(["train", "./kmeans.so", "points.csv", "--name", "long"], 1, "a job 'long' runs already; choose another --name")
    check(listed("long") is not None, "a second job of the name took the listing away")


def it_scales():
    check(good("scale", "long", "3").startswith("scaled long 1 -> 3    watch: shoal top long"), "scale to 3")
    wait_for("three workers", lambda: up("long", 3))
    check("has 3 workers already" in good("scale", "last", "3"), "scale to what it has")
    answer = json.loads(good("scale", "long", "2", "--json"))
    has_fields("answer to scale", answer, STATUS)
    check(answer["wanted"] == 2, f"wanted: {answer['wanted']}")
    wait_for("two workers", lambda: up("long", 2))
    refused(["scale", "long", "0"], 2, "cannot run on 0 workers; 1 to ")
    refused(["scale", "long", "99999"], 2, "cannot run on 99999 workers")
    refused(["scale", "long", "many"], 2, "expected a whole number of workers, found 'many'")
    refused(["scale", "short", "2"], 1, "no job 'short' runs here")
    refused(["scale", "lung", "2"], 1, "no job 'lung' runs here; did you mean 'long'?")
    check("long has 2 workers already" in good("scale", "lo", "2"), "the beginning of a name")
    check("long has 2 workers already" in good("scale", str(listed("long")["pid"]), "2"), "the number of a process")


def a_killed_worker_is_replaced_and_its_work_done_once():
    before = status("long")
    os.kill(wait_for("two workers", lambda: up("long", 2))[0]["pid"], signal.SIGKILL)
    wait_for("the loss", lambda: status("long")["workers_lost"] > before["workers_lost"])
    now = wait_for("another one", lambda: up("long", 2) and status("long"))
    check(now["workers_lost"] == before["workers_lost"] + 1, f"lost: {now['workers_lost']}")
    check(now["tasks"] <= 16 * (now["clocks"] + 1), f"{now['tasks']} tasks in {now['clocks']} clocks")


def a_worker_that_gets_notice_is_replaced_and_not_lost():
    before = status("long")
    gone = wait_for("two workers", lambda: up("long", 2))[1]["pid"]
    os.kill(gone, signal.SIGTERM)
    wait_for("another one", lambda: (crew := up("long", 2)) and gone not in {worker["pid"] for worker in crew})
    check(status("long")["workers_lost"] == before["workers_lost"], "a worker that left with notice counts as lost")


def it_drains():
    worker = wait_for("two workers", lambda: up("long", 2))[1]["worker"]
    check(good("drain", "long", str(worker)).startswith(f"worker {worker} of long leaves"), "drain")
    left = wait_for("one worker", lambda: up("long", 1))[0]["worker"]
    refused(["drain", "long", str(left)], 1, "is the last one; give the job another one first")
    refused(["drain", "long", "77"], 1, "it has no worker 77 that is up")
    found = json.loads(shoal("drain", "long", "77", "--json").stdout)
    check(found["error"]["code"] == "SHOAL_E_NOTFOUND", f"drain --json: {found}")


def others_join_and_leave():
    before = status("long")
    address = listed("long")["address"]
    key = good("jobs", "--key", "long")
    check(json.loads(good("jobs", "--key", "long", "--json"))["key"] == key.strip(), "key as JSON")
    Path(folder, "key").write_text(key)
    Path(folder, "key").chmod(0o644)
    refused(["join", address, "--key", "key"], 1, "'key' holds a key and others may read it; chmod 600 key")
    Path(folder, "key").chmod(0o600)
    join = start("join", address, "--key", "key", "--threads", "1", "--spill", ".")
    crew = wait_for("two workers", lambda: up("long", 2))
    check([worker["pid"] for worker in crew if worker["away"]] == [join.pid], f"joined: {crew}")
    join.send_signal(signal.SIGTERM)
    err = join.communicate(timeout=LIMIT_S)[1]
    check(join.returncode == 0 and "joined kmeans at" in err and err.endswith("left\n"), f"join: {join.returncode} {err!r}")
    wait_for("one worker", lambda: up("long", 1))
    check(status("long")["workers_lost"] == before["workers_lost"], "one that left in good order counts as lost")
    wrong = key.strip()[:-1] + ("0" if key.strip()[-1] != "0" else "1")
    refused(["join", address], 1, "does not know this key; 'shoal jobs --key JOB' prints", input=wrong)
    refused(["join", address], 1, "a key is 64 hexadecimal digits", input="sesame")
    refused(["join", address, "--key", "nokey"], 1, "cannot open 'nokey'")
    refused(["join", "127.0.0.1:1", "--key", "key"], 1, "connection refused; 'shoal jobs --json' says where")
    refused(["join", "nowhere", "--key", "key"], 2, "'nowhere' is not an address")
    check(status("long")["refused"] >= before["refused"] + 1, "a stranger was not counted")


def a_snapshot_of_it_is_plain():
    text = good("top", "long")
    for words in ("long  kmeans on points.csv  up ", "objective  mean squared distance ", "staleness  0: 100 %", "executors",
                  "tables     centres 8 x 2, 1 shard, 64 B   sums 8 x 3", "WORKER  STATE", "longest pause"):
        check(words in text, f"top lacks {words!r}:\n{text}")
    check("\033" not in text and "█" not in text and "quit" not in text, f"top, piped:\n{text}")
    one, all_jobs = json.loads(good("top", "last", "--json")), json.loads(good("jobs", "--json"))
    check(set(one) == set(all_jobs) and set(one["jobs"][0]) == set(all_jobs["jobs"][0]), "top --json and jobs --json differ")
    refused(["top", "short"], 1, "no job 'short' runs here")


class Terminal:
    """A program on a terminal of its own."""

    def __init__(self, columns, rows, *words):
        self.ours, self.theirs = pty.openpty()
        self.resize(columns, rows)
        self.text = ""
        self.child = subprocess.Popen([SHOAL, *words], stdin=self.theirs, stdout=self.theirs, stderr=self.theirs, cwd=folder,
                                      env={**env, "TERM": "xterm"}, start_new_session=True,
                                      preexec_fn=lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0))
        seen.add(self.child.pid)

    def resize(self, columns, rows):
        fcntl.ioctl(self.theirs, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))

    def read(self):
        while select.select([self.ours], [], [], 0)[0]:
            self.text += os.read(self.ours, 65536).decode(errors="replace")
        return self.text

    def wait(self, words):
        wait_for(f"{words!r} on the terminal", lambda: words in self.read())

    def press(self, keys):
        os.write(self.ours, keys.encode())

    def end(self):
        code = self.child.wait(LIMIT_S)
        self.read()
        settings = termios.tcgetattr(self.theirs)
        os.close(self.ours)
        os.close(self.theirs)
        check(self.text.rstrip().endswith("\033[?1049l") or "\033[?1049l" in self.text, f"the screen stays: {self.text[-80:]!r}")
        check(settings[3] & termios.ICANON and settings[3] & termios.ECHO, "the terminal's settings stay")
        return code


def it_can_be_watched():
    terminal = Terminal(80, 24, "top", "long", "--every", "0.1s")
    terminal.wait("q quit")
    check(terminal.text.startswith("\033[?1049h\033[?25l"), f"top begins with {terminal.text[:40]!r}")
    check("● live" in terminal.text and "▁" in terminal.text, f"top: {terminal.text!r}")
    terminal.press("+")
    terminal.wait("scaled to 2")
    wait_for("two workers", lambda: up("long", 2))
    terminal.press("-")
    wait_for("one worker", lambda: up("long", 1))
    terminal.read()
    terminal.text = ""
    terminal.resize(50, 12)
    terminal.wait("\033[2J")  # a new size is drawn anew
    terminal.wait("q quit")
    terminal.press("q")
    check(terminal.end() == 0, "top did not end well")
    terminal = Terminal(80, 24, "top")
    terminal.wait("q quit")
    terminal.press("\x03")
    check(terminal.end() == -signal.SIGINT, "Ctrl-C does not end top by that signal")


def a_job_that_does_not_answer_is_silent_and_its_workers_wait(driver):
    """Those from elsewhere, too, and longer than the 10 s after which a wire is dead by itself."""
    join = start("join", listed("long")["address"], "--key", "key", "--threads", "1")
    crew = wait_for("two workers", lambda: up("long", 2))
    workers, lost = {worker["pid"] for worker in crew}, status("long")["workers_lost"]
    check(join.pid in workers, f"joined: {crew}")
    again = time.monotonic() + 12
    driver.send_signal(signal.SIGSTOP)
    late = start("join", listed("long")["address"], "--key", "key", "--threads", "1")
    try:
        job = json.loads(good("jobs", "--json"))["jobs"][0]
        check(job["state"] == "silent" and job["status"] is None, f"stopped: {job}")
        done = shoal("jobs")
        check("silent" in done.stdout and "does not answer" in done.stderr, f"stopped: {done}")
        refused(["scale", "long", "2"], 1, "does not answer")
        time.sleep(max(0, again - time.monotonic()))
    finally:
        driver.send_signal(signal.SIGCONT)
    wait_for("an answer, and the one that came meanwhile", lambda: up("long", 3))
    workers.add(late.pid)
    clocks = status("long")["clocks"]
    now = wait_for("work", lambda: (told := status("long")) and told["clocks"] > clocks + 10 and told)
    check(now["workers_lost"] == lost and {worker["pid"] for worker in now["crew"]} == workers, f"stood still: {now}")
    for one in (join, late):
        one.send_signal(signal.SIGTERM)
        err = one.communicate(timeout=LIMIT_S)[1]
        check(one.returncode == 0 and err.endswith("left\n"), f"join: {one.returncode} {err!r}")
        check(("has not answered yet" in err) == (one is late), f"waiting is told of: {err!r}")
    wait_for("one worker", lambda: up("long", 1))


def an_interrupt_leaves_nothing(driver):
    workers = {worker["pid"] for worker in wait_for("a worker", lambda: up("long", 1))}
    driver.send_signal(signal.SIGINT)
    out, err = driver.communicate(timeout=LIMIT_S)
    check(driver.returncode == -signal.SIGINT and not out, f"interrupt: {driver.returncode} {out!r}")
    lines = [line for line in err.splitlines() if not line.startswith("kmeans ")]  # a long job tells how far it is
    check(lines[-1].startswith("shoal train: stopped after ") and len(lines) == 2, f"interrupt: {err!r}")
    check(lines[0].startswith("shoal train: turned away 127.0.0.1:") and "key" in lines[0], f"a stranger: {err!r}")
    wait_for("workers to be gone", lambda: not any(alive(pid) for pid in workers))
    check(os.listdir(Path(folder, "run/shoal/jobs")) == [], "files of the job stay")


def a_long_job():
    driver = start("train", "./kmeans.so", "points.csv", "--set", "clocks=1000000", "--name", "long", "--threads", "1")
    try:
        it_is_listed()
        its_name_is_taken()
        it_scales()
        a_killed_worker_is_replaced_and_its_work_done_once()
        a_worker_that_gets_notice_is_replaced_and_not_lost()
        it_drains()
        others_join_and_leave()
        a_snapshot_of_it_is_plain()
        it_can_be_watched()
        a_job_that_does_not_answer_is_silent_and_its_workers_wait(driver)
        an_interrupt_leaves_nothing(driver)
    finally:
        driver.kill()
        driver.wait()


# ---- listings ----

def a_job_that_reads_its_data_is_loading_and_one_that_was_killed_is_gone():
    os.mkfifo(Path(folder, "fifo"))
    driver = start("train", "./kmeans.so", "fifo", "--name", "reader")
    try:
        job = wait_for("a listing", lambda: listed("reader"))
        check(job["state"] == "loading" and job["address"] is None and job["status"] is None, f"loading: {job}")
        check("loading" in good("jobs"), "jobs does not say 'loading'")
        check("reads its data" in good("top", "reader"), "top does not say that it reads its data")
        refused(["scale", "reader", "2"], 1, "still reads its data; ask again")
        refused(["jobs", "--key", "reader"], 1, "still reads its data")
        driver.send_signal(signal.SIGINT)
        check(driver.wait(timeout=LIMIT_S) == -signal.SIGINT, "Ctrl-C does not end a job that reads its data")
    finally:
        driver.kill()
        driver.wait()
    check(listed("reader") is None, "a killed job is listed")
    check(os.listdir(Path(folder, "run/shoal/jobs")) == [], "files of a killed job stay")


def a_driver_that_is_killed_takes_its_workers_and_guests_along():
    driver = start("train", "./kmeans.so", "points.csv", "--set", "clocks=1000000", "--name", "doomed", "--threads", "1")
    workers = [worker["pid"] for worker in wait_for("a worker", lambda: up("doomed", 1))]
    Path(folder, "key").write_text(good("jobs", "--key", "doomed"))
    Path(folder, "key").chmod(0o600)
    join = start("join", listed("doomed")["address"], "--key", "key", "--threads", "1", "--retry", "0")
    wait_for("two workers", lambda: up("doomed", 2))
    driver.kill()
    driver.wait()
    err = join.communicate(timeout=LIMIT_S)[1]
    check(join.returncode == 1 and "the job is gone: " in err, f"join without a driver: {join.returncode} {err!r}")
    wait_for("workers to be gone", lambda: not any(alive(pid) for pid in workers))
    done = shoal("jobs")
    check(done.stdout == "" and done.returncode == 0 and "no job runs here" in done.stderr, f"no job: {done}")
    check(json.loads(good("jobs", "--json")) == {"v": 1, "jobs": []}, "no job as JSON")
    check(json.loads(good("top", "--json")) == {"v": 1, "jobs": []}, "top without jobs as JSON")
    refused(["scale", "last", "2"], 1, "no job 'last': none runs here; start one")


def junk_in_the_folder_does_no_harm():
    jobs = Path(folder, "run/shoal/jobs")
    (jobs / "old.job").write_text("name old\napp x\naddress 127.0.0.1:1\nkey " + "0" * 64 + f"\npid {os.getpid()}\ndata y\n")
    (jobs / "broken.job").write_text("nonsense")
    (jobs / "note.txt").write_text("keep me")
    check(json.loads(good("jobs", "--json"))["jobs"] == [], "a listing without a driver is listed")
    check(os.listdir(jobs) == ["note.txt"], f"in the folder: {os.listdir(jobs)}")
    (jobs / "note.txt").unlink()
    os.chmod(jobs, 0o755)
    refused(["jobs"], 1, "holds keys and others may enter it; make it yours alone: chmod 700")
    done = shoal("train", "./kmeans.so", "points.csv", "--set", "clocks=1")
    check(done.returncode == 0 and "will not show this one" in done.stderr, f"unlisted: {done}")
    os.chmod(jobs, 0o700)


def make_world():
    global env
    env = {"PATH": os.environ["PATH"], "HOME": folder, "XDG_RUNTIME_DIR": f"{folder}/run", "TERM": "dumb", "LC_ALL": "C.UTF-8"}
    env.update({k: v for k, v in os.environ.items() if k.endswith("SAN_OPTIONS")})
    os.mkdir(Path(folder, "run"), 0o700)
    subprocess.run([os.environ.get("CC", "cc"), "-std=c17", "-O2", "-shared", "-fPIC", "-I", str(SOURCE / "include"),
                    str(SOURCE / "examples/kmeans_app.c"), "-o", f"{folder}/kmeans.so", "-lm"], check=True)
    dice = random.Random(7)
    points = (f"{dice.randrange(3) + dice.random():.4f},{dice.random():.4f}\n" for _ in range(3000))
    Path(folder, "points.csv").write_text("".join(points))


def main():
    global folder
    signal.signal(signal.SIGINT, signal.default_int_handler)  # whoever runs this may ignore it, and children would too
    with tempfile.TemporaryDirectory() as folder:
        make_world()
        for test in (the_closing_object_is_what_is_promised, words_at_the_end_say_the_same,
                     a_model_that_cannot_be_written_is_known_before_the_work, a_long_job,
                     a_job_that_reads_its_data_is_loading_and_one_that_was_killed_is_gone,
                     a_driver_that_is_killed_takes_its_workers_and_guests_along, junk_in_the_folder_does_no_harm):
            try:
                test()
            except (TimeoutError, subprocess.TimeoutExpired, json.JSONDecodeError) as error:
                problems.append(f"{test.__name__}: {error}")
        left = [pid for pid in seen if alive(pid)]
        check(not left, f"processes are left: {left}")
        for pid in left:
            os.kill(pid, signal.SIGKILL)
    print("\n".join(problems) or "ok")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
