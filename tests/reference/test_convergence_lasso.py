#!/usr/bin/env python3
"""A claim of `shoal train lasso` to have converged is true: over random problems of mixed shape (dense and sparse, fewer rows than
columns and more, correlated, constant and equal columns, tiny and huge units, with and without an intercept, elastic nets) the
objective of the saved coefficients is above the minimum by no more than the gap that the command tells.

The minimum comes from a solver of this file alone: coordinate descent in double precision until its own duality gap is 1e-10. Models
are read byte by byte (sections of src/store/pack_format.h). Rounding: the command reads values as floats and saves coefficients as
floats, so SLACK of the objective and of the targets' squares is allowed for.
"""
# ctest: full timeout=1200
import json
import os
import struct
import subprocess
import sys
import tempfile
from pathlib import Path

os.environ["OPENBLAS_NUM_THREADS"] = "1"  # where numpy has OpenBLAS: its threads wait for each other, and small problems for them
try:
    import numpy as np
except ImportError:  # Debian's packages are seen by Debian's interpreter alone
    debian = "/usr/bin/python3"
    if sys.executable != debian and subprocess.run([debian, "-c", "import numpy"], capture_output=True).returncode == 0:
        os.execv(debian, [debian, *sys.argv])
    print("skipped: numpy is missing (tools/install-deps test)")
    sys.exit(77)

SHOAL = os.environ["SHOAL_BIN"]
PROBLEMS, SLACK = 100, 1e-6


def make(rand, n):
    """Rows, targets, settings."""
    rows, columns = int(rand.integers(8, 120)), int(rand.integers(2, 100))
    x = rand.normal(size=(rows, columns))
    if n % 3 == 1:  # neighbours are alike
        for j in range(1, columns):
            x[:, j] = 0.95 * x[:, j - 1] + 0.3 * x[:, j]
    if n % 4 >= 2:
        x *= rand.random(size=x.shape) < 0.2
    if n % 5 == 2:
        x[:, int(rand.integers(columns))] = 3.25
    if n % 5 == 3:
        x[:, -1] = x[:, 0]
    if n % 7 == 4:
        x += 20
    truth = rand.normal(size=columns) * (rand.random(columns) < 0.2)
    y = x @ truth + rand.normal(size=rows) + 2
    scale = (1, 1e-6, 1e6)[n % 3 if n % 2 else 0]
    settings = {"tol": (1e-2, 1e-3, 1e-5)[n % 3], "mix": 1 if n % 6 else 0.5, "intercept": "true" if n % 4 else "false", "lambdas": 8,
                "ratio": 0.02, "gram": ("auto", "no")[n % 2], "tol_of": ("objective", "null")[n % 5 == 1]}
    return (x * scale).astype(np.float32), y * (1e4 if n % 9 == 5 else 1), settings


def sections(path):
    """Name -> bytes of a pack."""
    data = Path(path).read_bytes()
    directory, size, count = struct.unpack_from("<QQQ", data, len(data) - 64 + 16)
    at, found = directory, {}
    for _ in range(count):
        offset, length, name_size = struct.unpack_from("<QQQ", data, at)
        name = data[at + 24:at + 24 + name_size].decode()
        found[name] = data[offset:offset + length]
        at += 24 + (name_size + 8) // 8 * 8 + -(-length // (1 << 18)) * 8
    return found


def path_of(model, columns):
    """(lambda, intercept, coefficients) of each point."""
    parts = sections(model)
    told = np.frombuffer(parts["lambdas"], "<f8").reshape(-1, 7)
    starts = np.frombuffer(parts["starts"], "<u8")
    entry = np.frombuffer(parts["path"], np.dtype([("column", "<u4"), ("value", "<f4")]))
    for k, row in enumerate(told):
        b = np.zeros(columns)
        here = entry[int(starts[k]):int(starts[k + 1])]
        b[here["column"]] = here["value"]
        yield row[0], row[1], b


def objective(x, y, b0, b, penalty, mix):
    rest = y - b0 - x @ b
    return rest @ rest / (2 * len(y)) + penalty * (mix * np.abs(b).sum() + (1 - mix) / 2 * (b @ b))


def lower_bound(x, y, b, penalty, mix):
    """The dual of centred data: with squares in the penalty slopes may be larger, at a price."""
    n, rest = len(y), y - x @ b
    slope = np.abs(x.T @ rest) / n
    if mix < 1:
        over = np.maximum(slope - penalty * mix, 0)
        return (rest @ y - rest @ rest / 2) / n - over @ over / (2 * penalty * (1 - mix))
    t = min(1, penalty / slope.max()) if slope.max() > 0 else 1
    return (t * (rest @ y) - t * t * (rest @ rest) / 2) / n


def minimum(x, y, penalty, mix, b):
    """The least objective over b, of centred data; b is where it starts and ends. Where columns are too alike for a gap of 1e-10 it is
    that of the best point found, which the claim must hold against as well."""
    n = len(y)
    gram, slope, squares = x.T @ x / n, x.T @ (y - x @ b) / n, (x * x).sum(0) / n
    for _ in range(2000):
        for j in np.flatnonzero((b != 0) | (np.abs(slope) > penalty * mix)):
            if squares[j] <= 1e-12 * squares.max():
                continue
            want = slope[j] + squares[j] * b[j]
            step = np.sign(want) * max(abs(want) - penalty * mix, 0) / (squares[j] + penalty * (1 - mix)) - b[j]
            b[j] += step
            slope -= step * gram[:, j]
        slope = x.T @ (y - x @ b) / n
        value = objective(x, y, 0, b, penalty, mix)
        if value - lower_bound(x, y, b, penalty, mix) <= 1e-10 * value:
            break
    return value


def check(n):
    """What is wrong with a problem's answer, or None; whether it claims to have converged."""
    x, y, settings = make(np.random.default_rng(n), n)
    Path("p.svm").write_text("".join(f"{t:.17g} {' '.join(f'{j + 1}:{float(v):.9g}' for j, v in enumerate(row) if v)}\n" for t, row in zip(y, x)))
    words = [word for key, value in settings.items() for word in ("--set", f"{key}={value}")]
    run = subprocess.run([SHOAL, "train", "lasso", "p.svm", *words, "--workers", "1", "--threads", "1", "--json", "--out", "m.shoal", "--log", "error"],
                         capture_output=True, text=True)
    if run.returncode != 0:
        return f"problem {n}: {run.stdout}{run.stderr}", False
    told = json.loads(run.stdout)
    of_null = settings["tol_of"] == "null"
    if not of_null and told["converged"] != (told["gap"] <= settings["tol"]):
        return f"problem {n}: converged {told['converged']}, gap {told['gap']} of {settings['tol']}", False
    full, centred = x.astype(float), settings["intercept"] == "true"
    inner_x, inner_y = (full - full.mean(0), y - y.mean()) if centred else (full, y)
    least, room = np.zeros(x.shape[1]), SLACK * (inner_y @ inner_y) / len(y)
    for penalty, b0, b in path_of("m.shoal", x.shape[1]):
        value = objective(full, y, b0, b, penalty, settings["mix"])
        over = value - minimum(inner_x, inner_y, penalty, settings["mix"], least)
        if of_null and told["converged"] and over > settings["tol"] * (inner_y @ inner_y) / (2 * len(y)) + room:
            return f"problem {n}, lambda {penalty:g}: {over:.3g} above the minimum of a path that converged; {settings}", True
        if over > told["gap"] * value + room:
            return f"problem {n}, lambda {penalty:g}: {over / value:.3g} above the minimum, claimed {told['gap']:.3g}; {settings}", True
    return None, told["converged"]


def main():
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        os.environ["XDG_RUNTIME_DIR"] = folder
        answers = [check(n) for n in range(PROBLEMS)]
        os.chdir("/")
    problems = [what for what, _ in answers if what]
    converged = sum(claimed for _, claimed in answers)
    if converged < 0.9 * PROBLEMS:
        problems.append(f"only {converged} of {PROBLEMS} problems converged")
    print("\n".join(problems) or f"{converged} of {PROBLEMS} problems converged, and all claims are true")
    sys.exit(bool(problems))


main()
