#!/usr/bin/env python3
"""Every CSV file that a command reads may have all its fields in quotes, the header's too, with or without the line that
says the format, and means the same."""
# ctest: fast timeout=300
import csv
import io
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

SHOAL = os.environ["SHOAL_BIN"]
SEEDS = Path(os.environ["SHOAL_SOURCE_DIR"], "tests", "fuzz", "corpus")
HOUR = "2024-01-01T%02d:00:00Z"
PRICES = "#shoal-prices v1\ntime,cloud,zone,instance,market,price\n" + "".join(
    f"{HOUR % h},aws,{zone},p3.2xlarge,{market},{price}\n" for h in range(24)
    for zone, market, price in (("us-east-1a", "spot", 1 + h % 3), ("us-east-1b", "spot", 2), ("us-east-1a", "on-demand", 3)))
DATES = "Date,NC12,NC24\n" + "".join(f"2/{d}/2020,${1 + d % 3},$2\n" for d in range(1, 20))
RUNS = "#shoal-runs v1\nalgorithm,machines,size,run,iteration,time_s,loss\n" + "".join(
    f"sdca,{m},100,,{i},{(i + 1) / m},{0.2 + 0.5 * 0.7 ** i}\n" for m in (1, 2, 4) for i in range(12))
AVAILABLE = "#shoal-availability v1\ntime,zone,kind,count\n" + "".join(
    f"{HOUR % h},{zone},p3.2xlarge,{h % 4}\n" for h in range(0, 24, 2) for zone in ("us-east-1a", "us-east-1b"))
CATALOGUE = "date,cloud,region,zone,accelerator,count,instance_type,ondemand_usd_h,spot_usd_h\n" + "".join(
    f"2022-12-{d:02d},aws,us-east-1,use1-az4,M60,4.0,g3.16xlarge,6.32,{1 + d % 2}\n" for d in range(1, 28))
FLEET = "job,work,start,instances\na,2h,,1\n\"b, c\",1h,2024-01-01T04:00:00Z,2\n"
SPEEDS = "instance,steps_per_s\np3.*,2\n"
RATINGS = "user,item,rating\n" + "".join(f"u{i % 7},i{i % 5},{1 + i % 5}\n" for i in range(35))


def seed(name):
    return (SEEDS / name).read_text()


# The file that is read, its text, and the commands that read it.
MARKET = ["market", "prices.csv", "--kinds", "p3.2xlarge", "--json", "--no-bound"]
READERS = (
    ("shoal.csv", seed("trace_shoal/valid.csv"), ["trace", "info", "--json"]),
    ("alibaba.csv", seed("trace_alibaba/valid.csv"), ["trace", "info", "--json"]),
    ("philly.csv", seed("trace_philly/valid.csv"), ["trace", "info", "--json"]),
    ("pollux.csv", seed("trace_pollux/valid.csv"), ["trace", "info", "--json"]),
    ("nodes.csv", seed("cluster/nodes.csv"), ["sim", "trace.csv", "--json", "--policy", "fifo", "--cluster"]),
    ("prices.csv", PRICES, ["market", "--kinds", "p3.2xlarge", "--work", "3h", "--json", "--no-bound"]),
    ("dates.csv", DATES, ["market", "--kinds", "Standard_NC12", "--work", "3h", "--json", "--no-bound"]),
    ("catalogue.csv", CATALOGUE, ["market", "--kinds", "g3.16xlarge", "--work", "3h", "--json", "--no-bound"]),
    ("available.csv", AVAILABLE, [*MARKET, "--work", "3h", "--availability"]),
    ("fleet.csv", FLEET, [*MARKET, "--jobs"]),
    ("speeds.csv", SPEEDS, [*MARKET, "--work", "7200", "--model"]),
    ("runs.csv", RUNS, ["advise", "--target", "0.25", "--json"]),
    ("ratings.csv", RATINGS, ["train", "mf", "--staleness", "0", "--set", "epochs=3", "--out", "model"]),
)


def quoted(text):
    """(with the first line, without it); the rest in quotes."""
    magic = text[:text.index("\n") + 1] if text.startswith("#shoal") else ""
    out = io.StringIO()
    rows = csv.reader(line for line in text[len(magic):].splitlines() if not line.startswith("#"))
    csv.writer(out, quoting=csv.QUOTE_ALL, lineterminator="\n").writerows(rows)
    return magic + out.getvalue(), out.getvalue()


def answer(words, name):
    """What is said on standard output, but for how long it took; of a model, what it predicts."""
    done = subprocess.run([SHOAL, *words, name], capture_output=True, text=True, timeout=60)
    if words[0] == "train" and done.returncode == 0:
        done = subprocess.run([SHOAL, "predict", "model", "ratings"], capture_output=True, text=True, timeout=60)
    said = re.sub(r'"(input_hash|decision_ms_p\d+|\w*wall_s|\w*cpu_s|took_s|\w*seconds)":[^,}]*', "", done.stdout)
    return done.returncode, said, done.stderr


def main():
    problems = []
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        os.environ["XDG_RUNTIME_DIR"] = folder
        Path("trace.csv").write_text(seed("trace_shoal/valid.csv").replace("v100|t4", "").replace("t4", ""))
        Path("prices.csv").write_text(PRICES)
        Path("ratings").write_text(RATINGS)
        for name, text, words in READERS:
            answers = []
            for version in (text, *quoted(text)):
                Path(name).write_text(version)
                answers.append(answer(words, name))
            Path(name).write_text(text)
            if answers[0][0] != 0 or not answers[0][1]:
                problems.append(f"{name} as it is: {answers[0]}")
            for what, other in zip(("in quotes", "in quotes, without its first line"), answers[1:]):
                if other[:2] != answers[0][:2]:
                    problems.append(f"{name} {what}: {other}, and not {answers[0]}")
    print("\n".join(problems) or "ok")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
