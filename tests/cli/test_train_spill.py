#!/usr/bin/env python3
# ctest: full disturb timeout=300
"""Data larger than memory: with --spill a job trains within a limit of a quarter of its data and leaves the model of a
run without any, byte for byte; without, it ends with words that name the option. A disk that is full
or fails is an error as well."""
import os
import resource
import subprocess
import sys
import tempfile
from pathlib import Path

from train_jobs import SHOAL, SLOW, check, good, job, problems, wait_for

LIMIT = 16 << 20  # bytes of private memory
SANITIZED = bool(os.environ.get("SHOAL_SANITIZE"))


def limited(words, **options):
    """Runs under the limit: files that are mapped and shared do not count, all other memory does."""
    def limit():
        resource.setrlimit(resource.RLIMIT_DATA, (LIMIT, LIMIT))
    return subprocess.run([SHOAL, *words], capture_output=True, text=True, timeout=300 * SLOW, preexec_fn=limit, **options)


def a_job_that_spills_leaves_the_same_model(folder, app, data, *settings):
    size = (folder / data).stat().st_size
    check(size >= 4 * LIMIT, f"{data} has {size} bytes only")
    words = ("train", app, data, "--staleness", "0", "--threads", "1", "--workers", "2",
             *(word for setting in settings for word in ("--set", setting)), "--out")
    good(*words, "want", folder=folder)
    result = limited([*words, "model"], cwd=folder)
    check(result.returncode == 1 and "--spill DIR" in result.stderr and "memory" in result.stderr,
          f"{app} without: {result.returncode} {result.stderr}")
    check(not (folder / "model").exists(), f"{app}: a model of a job that failed")
    result = limited([*words, "model", "--spill", "spill"], cwd=folder)
    check(result.returncode == 0, f"{app}: {result.returncode} {result.stderr}")
    if result.returncode == 0:
        check((folder / "model").read_bytes() == (folder / "want").read_bytes(), f"{app}: another model")
        (folder / "model").unlink()
    check(not list((folder / "spill").iterdir()), f"{app}: files are left")


def a_model_is_used_within_the_limit_too(folder, data):
    want = good("eval", "want", data, folder=folder)
    result = limited(["eval", "want", data], cwd=folder)
    check(result.returncode == 1 and "--spill DIR" in result.stderr, f"eval without: {result.returncode} {result.stderr}")
    result = limited(["eval", "want", data, "--spill", "spill"], cwd=folder)
    check(result.stdout == want, f"eval: {result.returncode} {result.stdout} {result.stderr}")


def a_full_disk_is_told(folder, data):
    script = 'mount -t tmpfs -o size=8m none spill || exit 77; "$@"'
    words = ["unshare", "--mount", "sh", "-c", script, "sh", SHOAL, "train", "logreg", data, "--spill", "spill"]
    try:
        result = subprocess.run(words, capture_output=True, text=True, cwd=folder, timeout=60 * SLOW)
    except FileNotFoundError:
        print("a full disk was not tried: there is no unshare")
        return
    if os.geteuid() != 0 or result.returncode == 77 or result.stderr.startswith("unshare:"):
        print("a full disk was not tried: a small one cannot be mounted")
        return
    check(result.returncode == 1 and "cannot spill to 'spill': no space left on device" in result.stderr,
          f"a full disk: {result.returncode} {result.stderr}")


def cut_files(pid, folder):
    """What a failing disk does to pages of files, as near as can be: whoever reads them gets the same signal."""
    cut = 0
    for name in Path(f"/proc/{pid}/fd").iterdir():
        try:
            if os.readlink(name).startswith(str(folder)):
                os.truncate(name, 0)
                cut += 1
        except OSError:
            pass  # closed while we looked
    return cut


def a_disk_that_fails_is_told(folder):
    good("gen", "ratings", "--users", "20000", "--items", "4000", "--ratings", "400000", "-o", "long.csv", folder=folder)
    words = [SHOAL, "train", "mf", "long.csv", "--set", "epochs=100000", "--set", "tolerance=0", "--spill", "spill",
             "--name", "cut"]
    driver = subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=folder)
    try:
        wait_for("training", lambda: (job("cut") or {"status": {"clocks": 0}})["status"]["clocks"] > 2)
        check(cut_files(driver.pid, (folder / "spill").resolve()) > 0, "no file is spilled to")
        err = driver.communicate(timeout=60 * SLOW)[1]
    finally:
        driver.kill()
        driver.wait()
    check(driver.returncode == 1 and "cannot read or write memory spilled to" in err, f"a bad disk: {driver.returncode} {err}")


def a_folder_that_is_not_there_is_told(folder, data):
    result = subprocess.run([SHOAL, "train", "logreg", data, "--spill", "nowhere"], capture_output=True, text=True,
                            cwd=folder, timeout=60)
    check(result.returncode == 1 and "cannot spill to 'nowhere': no such file or directory" in result.stderr,
          f"no folder: {result.returncode} {result.stderr}")


def main():
    if SANITIZED:
        print("skipped: sanitizers take memory of their own")
        return 77
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "spill").mkdir()
        os.environ["XDG_RUNTIME_DIR"] = name
        good("gen", "sparse", "--rows", "120000", "--columns", "20000", "--nonzeros", "50", "-o", str(folder / "d.svm"))
        good("gen", "ratings", "--users", "60000", "--items", "4000", "--ratings", "5200000", "-o", str(folder / "d.csv"))
        a_job_that_spills_leaves_the_same_model(folder, "logreg", "d.svm")
        a_model_is_used_within_the_limit_too(folder, "d.svm")
        a_job_that_spills_leaves_the_same_model(folder, "mf", "d.csv")
        good("gen", "corpus", "--documents", "45000", "--words", "20000", "--length", "150", "-o", str(folder / "d.txt"))
        a_job_that_spills_leaves_the_same_model(folder, "lda", "d.txt", "topics=50", "iterations=2", "evaluate=0")
        a_full_disk_is_told(folder, "d.svm")
        a_disk_that_fails_is_told(folder)
        a_folder_that_is_not_there_is_told(folder, "d.svm")
    for problem in problems:
        print(problem)
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
