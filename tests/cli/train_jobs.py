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
HELD = str(Path(os.environ["SHOAL_BUILD_DIR"], "tests", "held.so"))  # tests/cli/held_app.c
SLOW = 10 if os.environ.get("SHOAL_SANITIZE") else 1
LIMIT_S = 100 * SLOW  # for what happens within a moment on a machine that has nothing else to do
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


def start(*words, before=(), **options):
    """In the background, until in_own_folder ends; `before` runs the command that follows it."""
    child = subprocess.Popen([*before, SHOAL, *words], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                             text=True, **options)
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
        except (Ended, subprocess.TimeoutExpired) as error:
            problems.append(str(error))
            status = 0
        finally:
            end_all()
            os.chdir("/")
    if not status:
        print("\n".join(problems) or "ok")
    sys.exit(status or (1 if problems else 0))


def job(name):
    """What `shoal jobs` knows of it; None: not there (yet)."""
    jobs = json.loads(good("jobs", "--json"))["jobs"]
    return next((j for j in jobs if j["name"] == name and isinstance(j.get("status"), dict)), None)


def wait_for(what, holds):
    until = time.monotonic() + LIMIT_S
    while time.monotonic() < until:
        if holds():
            return True
        time.sleep(0.02)
    problems.append(f"waited in vain: {what}")
    return False


def workers_up(name):
    found = job(name)
    return [w for w in found["status"]["crew"] if w["state"] == "up"] if found else []


def alive(pid):
    try:
        return Path(f"/proc/{pid}/stat").read_text(encoding="ascii").rsplit(")", 1)[1].split()[0] != "Z"
    except OSError:
        return False


def told(name, field):
    """What a job says of itself; -1: it says nothing now."""
    found = job(name)
    return found["status"][field] if found else -1


class Ended(Exception):
    """A job ended too early or not well."""


class Held:
    """A job of held_app.c: it is at the clock where it is held for as long as that takes. `words` are those of `shoal train APP ...`;
    with None for a clock it is not held."""

    def __init__(self, words, name, clock, **options):
        self.name, self.clock, self.next_s, self.pause_s, self.out = name, None, 0, 0, None
        self.words = [words[0], HELD, *words[2:], "--name", name]
        self.file = Path(f"{name}.held").absolute()
        self.env = dict(os.environ, HELD_APP=words[1], HELD_FILE=str(self.file))
        self.hold(clock)
        self.child = start(*self.words, env=self.env, **options)

    def hold(self, clock):
        """Tasks below this clock may run; None: all."""
        self.clock = clock
        if clock is None:
            self.file.unlink(missing_ok=True)
        else:
            fresh = self.file.with_suffix(".new")
            fresh.write_text(f"{clock}\n")
            fresh.rename(self.file)

    def is_there(self):
        return told(self.name, "clocks") == self.clock

    def wait(self, what, holds):
        """Until this holds of a job that has not ended."""
        wait_for(what, lambda: self.child.poll() is not None or holds())
        if self.child.poll() is not None:
            raise Ended(f"{self.name}: exit {self.child.returncode} before {what}: {self.child.communicate()}")

    def wait_up(self, count):
        """Its workers, once they are so many and it is where it is held."""
        self.wait(f"clock {self.clock} with {count} workers", lambda: self.is_there() and len(workers_up(self.name)) == count)
        return workers_up(self.name)

    def step(self):
        """On to the next clock, if it is where it is held; the later the slower, so that it does not come to its end."""
        if time.monotonic() >= self.next_s and self.is_there():
            self.hold(self.clock + 1)
            self.pause_s += 0.05
            self.next_s = time.monotonic() + self.pause_s

    def step_until(self, what, holds):
        """A clock at a time, since workers leave and checkpoints are taken between tasks."""
        self.next_s = self.pause_s = 0
        self.wait(what, lambda: holds() or self.step())

    def step_to_checkpoint(self):
        """One that is taken where it is held now, or later."""
        self.wait(f"clock {self.clock}", self.is_there)
        before = told(self.name, "checkpoints")
        self.step_until("a checkpoint", lambda: told(self.name, "checkpoints") > before)

    def stop(self, number):
        """By a signal, in the middle of a clock: what it says on standard error; `out` is what it prints."""
        self.wait(f"clock {self.clock}", self.is_there)
        self.child.send_signal(number)
        self.next_s = self.pause_s = 0
        wait_for(f"the end of {self.name}", lambda: self.child.poll() is not None or self.step())
        self.out, err = self.child.communicate(timeout=LIMIT_S)
        check(self.child.returncode == -number, f"{self.name}: exit {self.child.returncode} after {number!r}: {err}")
        return err

    def kill(self):
        """Driver and workers, as a machine that loses power."""
        workers = [worker["pid"] for worker in workers_up(self.name) if not worker["away"]]
        self.child.kill()
        for pid in workers:
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                pass
        self.child.communicate()
        wait_for("workers to be gone", lambda: not any(alive(pid) for pid in workers))

    def finish(self):
        """Not held any more: how it ends, what it prints and what it says."""
        self.hold(None)
        out, err = self.child.communicate(timeout=LIMIT_S)
        return self.child.returncode, out, err

    def end(self):
        """Not held any more: the closing object, in good order."""
        code, out, err = self.finish()
        if code != 0:
            raise Ended(f"{self.name}: exit {code}, {err}")
        return json.loads(out)


def disturbed_is_the_same(words, quiet, scales):
    """The job of these words, disturbed, ends as the quiet one did whose closing object this is: a worker is killed in the middle of
    a task, then there are other numbers of workers, and the job is not over before."""
    models = []
    for name, workers in (("calm", "1"), ("disturbed", "2")):
        model = Path(f"{name}.shoal")
        held = Held([*words, "--workers", workers, "--out", str(model)], name, quiet["clocks"] // 4 if name == "disturbed" else None)
        if name == "disturbed":
            os.kill(held.wait_up(2)[0]["pid"], signal.SIGKILL)
            held.wait("the loss", lambda: told(name, "workers_lost") == 1)
            for count in scales:
                good("scale", name, str(count))
                held.step_until(f"{count} workers", lambda: len(workers_up(name)) == count)
        result = held.end()
        check(result["tasks"] == quiet["tasks"], f"{name}: {result['tasks']} tasks, {quiet['tasks']} when quiet")
        check(result["value"] == quiet["value"], f"{name}: value {result['value']}, {quiet['value']} when quiet")
        models.append(model.read_bytes())
    check(result["workers_lost"] == 1 and result["moves"] > 0, f"{result}")
    check(models[0] == models[1], "the models differ")


def killed_driver_goes_on(words, quiet, calm="calm", clock=2):
    """The job of these words, whose driver is killed between a checkpoint at this clock or later and the end, goes on to the model of
    one that nobody disturbs, calm.shoal, which is made where disturbed_is_the_same has not."""
    if not Path(f"{calm}.shoal").exists():
        Held([*words, "--workers", "1", "--out", f"{calm}.shoal"], calm, None).end()
    words = [*words, "--workers", "2", "--out", "resumed.shoal", "--checkpoint", "kept"]
    held = Held([*words, "--checkpoint-every", "10ms"], "cut-short", clock)
    held.step_to_checkpoint()
    held.child.kill()
    held.child.wait()
    result = Held([*words, "--resume"], "resumed", None).end()
    check(result["resumed"] and result["clocks"] == quiet["clocks"], f"resumed: {result}")
    check(Path(f"{calm}.shoal").read_bytes() == Path("resumed.shoal").read_bytes(), "the resumed model differs")
