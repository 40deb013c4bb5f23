"""Training jobs that a bench runs, watches and disturbs: real processes, each set of them in a folder of its own."""
import json
import os
import subprocess
import threading
import time
from pathlib import Path


LIMIT_S = 3600  # longer than any job here takes: one that hangs is killed and has failed


class Failed(SystemExit):
    """A job did not end well; ends the bench unless that is what it counts."""


def settings(**options):
    """--set KEY=VALUE for each."""
    return [word for key, value in options.items() for word in ("--set", f"{key}={value}")]


def cpu_s(pid):
    """Processor time of a process so far, with threads that have ended."""
    return time.clock_gettime((~pid << 3) | 2)  # what clock_getcpuclockid makes of it


class Jobs:
    """Runs the command with a listing of jobs that is nobody else's."""

    def __init__(self, shoal, folder):
        runtime = Path(folder, "jobs")
        runtime.mkdir(mode=0o700, exist_ok=True)
        self.shoal, self.folder = str(Path(shoal).resolve()), Path(folder)
        self.env = dict(os.environ, XDG_RUNTIME_DIR=str(runtime))

    def say(self, *words):
        """Another command's output; None when it failed, as to a job that has just ended."""
        result = subprocess.run([self.shoal, *map(str, words)], capture_output=True, text=True, env=self.env)
        return result.stdout if result.returncode == 0 else None

    def start(self, *words):
        return Job(self, words)

    def run(self, *words, parts=False):
        return self.start(*words).finish(parts)


class Job:
    count = 0

    def __init__(self, jobs, words):
        Job.count += 1
        self.jobs, self.name, self.words = jobs, f"bench-{Job.count}", words
        self.child = subprocess.Popen([jobs.shoal, "train", *map(str, words), "--name", self.name, "--json", "--log", "error"],
                                      stdout=subprocess.PIPE, env=jobs.env)

    def status(self):
        """Of a job at work; None before and after."""
        text = self.jobs.say("jobs", "--json")
        found = [job for job in json.loads(text)["jobs"] if job["name"] == self.name] if text else []
        return found[0]["status"] if found and found[0]["state"] == "running" else None

    def crew(self):
        status = self.status()
        return [worker for worker in status["crew"] if worker["state"] == "up"] if status else []

    def wait_up(self, count, pause_s=0.01):
        """The workers, once there are so many; fewer when the job ended before."""
        crew = self.crew()
        while len(crew) != count and self.running():
            time.sleep(pause_s)
            crew = self.crew()
        return crew

    def running(self):
        return os.waitid(os.P_PID, self.child.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is None

    def loading_cpu_s(self):
        """Waits for the first worker, which is started when the data is in memory: processor time until then."""
        spent = 0.0
        while self.running():
            try:
                spent = cpu_s(self.child.pid)
            except OSError:
                pass
            if len(self.processes()) > 1:
                break
            time.sleep(0.001)
        return spent

    def processes(self):
        """The driver and those that it has started; none once it has ended."""
        try:
            tasks = list(Path(f"/proc/{self.child.pid}/task").iterdir())
            return [self.child.pid, *(int(pid) for task in tasks for pid in (task / "children").read_text().split())]
        except OSError:
            return []

    def peak_bytes(self, pause_s=0.05):
        """Waits for the end: the sum of what each process had resident at most, what they share counted in each."""
        most, end = {}, time.monotonic() + LIMIT_S
        while self.running() and time.monotonic() < end:
            for pid in self.processes():
                try:
                    text = Path(f"/proc/{pid}/status").read_text()
                except OSError:
                    continue
                most.update((pid, 1024 * int(line.split()[1])) for line in text.splitlines() if line.startswith("VmHWM:"))
            time.sleep(pause_s)
        return sum(most.values())

    def finish(self, parts=False):
        """The closing object, with processor time: of the whole and, if asked for parts, without loading."""
        loading = self.loading_cpu_s() if parts else 0.0
        hangs = threading.Timer(LIMIT_S, self.child.kill)
        hangs.start()
        out = self.child.stdout.read()
        _, status, usage = os.wait4(self.child.pid, 0)
        hangs.cancel()
        self.child.returncode = os.waitstatus_to_exitcode(status)
        if self.child.returncode != 0:
            raise Failed(f"bench: shoal train {' '.join(map(str, self.words))} failed: {out.decode()}")
        result = json.loads(out)
        result["process_cpu_s"] = usage.ru_utime + usage.ru_stime
        result["train_cpu_s"] = result["process_cpu_s"] - loading
        return result
