#!/usr/bin/env python3
"""tests/cli/alone.py fails a test that leaves a process behind, ends that process, and passes on how others end."""
import os
import subprocess
import sys
import tempfile
from pathlib import Path

ALONE = [sys.executable, str(Path(os.environ["SHOAL_SOURCE_DIR"], "tests", "cli", "alone.py")), "1"]


def run(script):
    return subprocess.run([*ALONE, "sh", "-c", script], capture_output=True, text=True)


with tempfile.TemporaryDirectory() as folder:
    pid = Path(folder, "pid")
    done = run(f"setsid sh -c 'echo $$ > {pid}.new && mv {pid}.new {pid}; exec sleep 1000' > /dev/null 2>&1 & until [ -e {pid} ]; do :; done")
    assert done.returncode == 1 and f"left behind: {pid.read_text().strip()} sleep 1000" in done.stdout, done
    assert not Path("/proc", pid.read_text().strip()).exists(), "it still runs"
for script, status in (("exit 0", 0), ("exit 77", 77), ("exit 3", 3), ("kill -9 $$", 1)):
    done = run(script)
    assert done.returncode == status and done.stdout == "", (script, done)
