#!/usr/bin/env python3
"""Training takes memory by what the data holds and not by what it claims, and works where address space is limited."""
# ctest: fast timeout=300
import json
import lzma
import os
import resource
from pathlib import Path

from train_jobs import check, good, in_own_folder, shoal

DATA = Path(os.environ["SHOAL_DATA"]) / "train" / "libsvm" / "a9a.xz"
GB = 1 << 30


def limited(size):
    return lambda: resource.setrlimit(resource.RLIMIT_AS, (size, size))


def jobs_run_where_address_space_is_limited():
    good("gen", "sparse", "--rows", "2000", "--columns", "100", "--nonzeros", "5", "-o", "small.svm")
    data = [("small.svm", 100 * GB), ("small.svm", GB)]
    if DATA.exists():
        Path("a9a").write_bytes(lzma.decompress(DATA.read_bytes()))
        data += [("a9a", 100 * GB), ("a9a", 4 * GB)]
    for path, limit in data:
        free = json.loads(good("train", "logreg", path, "--json"))
        for workers in ("1", "2"):
            result = shoal("train", "logreg", path, "--workers", workers, "--json", preexec_fn=limited(limit))
            check(result.returncode == 0 and json.loads(result.stdout)["value"] == free["value"],
                  f"{path}, {workers} workers within {limit} bytes: {result.returncode}, {result.stderr} {result.stdout}")


def wide(column):
    """A number far apart from its neighbours', the last one the largest there is."""
    return 2147483647 - (40 - column) * 53687091


def rows_with(name):
    return "".join(f"{1 if i % 3 else -1} {name(1 + i % 7)}:{1 + i % 5} {name(8 + i % 33)}:1\n" for i in range(60))


def large_column_numbers_cost_nothing_and_change_nothing():
    """Two rows with the largest number there is, and sixty that are the same but for names, train and predict alike."""
    for name, text in (("two", f"1 1:1 {2 ** 31 - 1}:2\n-1 2:1\n"), ("wide", rows_with(wide)), ("narrow", rows_with(int))):
        Path(name).write_text(text)
    Path("new").write_text("1 5:1 2000000000:3\n-1 1:1 7:2\n")
    for words in (["logreg"], ["logreg", "--set", "penalty=l1"], ["logreg", "--set", "algorithm=sdca"],
                  ["logreg", "--set", "algorithm=sgd", "--set", "bias=true"],
                  ["logreg", "--set", "loss=softmax"], ["lasso", "--set", "ratio=0.01"]):
        told = {}
        for name in ("two", "wide", "narrow"):
            words_of = {"train": ["train", *words, name, "--staleness", "0", "--out", "model"],
                        "same": ["predict", "model", name], "new": ["predict", "model", "new"],
                        "eval": ["eval", "model", name, "--json"]}
            for what, line in words_of.items():
                result = shoal(*line, preexec_fn=limited(GB))
                told[name, what] = result.stdout
                check(result.returncode == 0, f"{line} of {words} within 1 GB: {result.returncode}, {result.stderr}")
        check(told["wide", "same"] == told["narrow", "same"] != "", f"{words}: other predictions for other names")
        wide_says, narrow_says = (json.loads(told[name, "eval"] or "{}") for name in ("wide", "narrow"))
        check(wide_says.pop("model", 0) == narrow_says.pop("model", 0) and wide_says == narrow_says,
              f"{words}: {wide_says} and {narrow_says}")


def words_that_are_only_claimed_cost_nothing():
    for name, text in (("words.uci", "4\n4000000\n3\n1 1 2\n2 5 1\n4 4000000 3\n"), ("words.ldac", "2 0:2 3999999:4\n1 5:1\n"),
                       ("documents.mm", "%%MatrixMarket matrix coordinate real general\n4000000 40 2\n1 1 2\n3999999 5 1\n")):
        Path(name).write_text(text)
        for line in (["train", "lda", name, "--set", "topics=200", "--set", "iterations=3", "--out", "model"],
                     ["eval", "model", name]):
            result = shoal(*line, preexec_fn=limited(GB))
            check(result.returncode == 0, f"{line} within 1 GB: {result.returncode}, {result.stderr}")


def test():
    if os.environ.get("SHOAL_SANITIZE"):
        print("skipped: sanitizers take all address space there is")
        return 77
    jobs_run_where_address_space_is_limited()
    large_column_numbers_cost_nothing_and_change_nothing()
    words_that_are_only_claimed_cost_nothing()
    return 0


if __name__ == "__main__":
    in_own_folder(test)
