#!/usr/bin/env python3
"""`shoal doctor` tells the truth about this machine, and says what is wrong under conditions made here."""
import json
import os
import resource
import subprocess
import sys
import tempfile

SHOAL = os.environ["SHOAL_BIN"]


def doctor(folder, limit=None, **env):
    world = {"PATH": os.environ["PATH"], "HOME": folder, "LC_ALL": "C.UTF-8", **env}
    world.update({k: v for k, v in os.environ.items() if k.endswith("SAN_OPTIONS")})

    def lower():
        if limit:
            resource.setrlimit(resource.RLIMIT_NOFILE, (limit, limit))

    done = subprocess.run([SHOAL, "doctor", "--json"], capture_output=True, text=True, env=world, timeout=100,
                          preexec_fn=lower)
    assert done.returncode == 0, (done.returncode, done.stderr)
    assert done.stderr == "", done.stderr
    assert done.stdout.count("\n") == 1, "one object on one line"
    return json.loads(done.stdout)


def told(report, words):
    return [p for p in report["problems"] if words in p["what"] and p["hint"]]


def main():
    with tempfile.TemporaryDirectory() as folder:
        good = doctor(folder)
        assert good["v"] == 1
        assert good["cores"] == len(os.sched_getaffinity(0)), good["cores"]
        pages = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGESIZE")
        assert good["memory_bytes"] == pages, good["memory_bytes"]
        assert good["open_files"] == resource.getrlimit(resource.RLIMIT_NOFILE)[0]
        with open("/proc/cpuinfo", encoding="utf-8") as file:
            flags = next((line.split() for line in file if line.startswith("flags")), None)
        if flags:
            names = {"sse4.2": "sse4_2", "avx2": "avx2", "fma": "fma", "avx512f": "avx512f"}
            want = {name for name, flag in names.items() if flag in flags}
            assert set(good["cpu_features"].split()) - {"none"} == want, good["cpu_features"]
        assert not told(good, "locale") and not told(good, "configuration")

        assert told(doctor(folder, LC_ALL="C"), "locale is not UTF-8")
        assert told(doctor(folder, limit=256), "fewer than 1024 files")
        assert told(doctor(folder, TMPDIR=folder + "/missing"), "temporary folder")
        os.makedirs(folder + "/.config/shoal")
        with open(folder + "/.config/shoal/config", "w", encoding="utf-8") as file:
            file.write("nonsense\n")
        broken = told(doctor(folder), "configuration file is wrong")
        assert broken and "line 1" in broken[0]["hint"], broken
    return 0


if __name__ == "__main__":
    sys.exit(main())
