#!/usr/bin/env python3
"""What `shoal train logreg` says of its end is true: over random problems of mixed shape (two classes and more, fewer rows than columns
and more, dense and sparse, correlated, tiny and huge units, any cost, every loss, penalty and algorithm, limits that some reach) the
objective of the saved weights is above the minimum by no more than the gap that the command tells, and it converged where that gap is
within `tol`.

Minima come from solvers of this file alone, in double precision: Newton's method where the loss is smooth, accelerated gradients of the
dual for hinges and of the primal for penalty l1. One that is not quite at the minimum can hide a false claim and not make one, so each
must be as good as what it judges. Models are read byte by byte (sections of src/store/pack_format.h). SLACK, and TOLD for the value that
the command tells: it computes with floats, and weights are floats.
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
PROBLEMS, SLACK, TOLD = 200, 5e-6, 2e-5
WAYS = (("logistic", "l2"), ("hinge", "l2"), ("squared_hinge", "l2"), ("softmax", "l2"), ("logistic", "l1"))


def make(rand, n):
    """Rows, labels, settings."""
    loss, penalty = WAYS[n % 5]
    classes = 3 if n % 4 == 3 else 2
    rows, columns = int(rand.integers(12, 100)), int(rand.integers(2, 60))
    x = rand.normal(size=(rows, columns))
    if n % 3 == 1:  # neighbours are alike
        for j in range(1, columns):
            x[:, j] = 0.95 * x[:, j - 1] + 0.3 * x[:, j]
    if n % 7 >= 4:
        x *= rand.random(size=x.shape) < 0.2
    x[0] += np.arange(1, columns + 1) % 2  # no empty problem
    x *= (1, 1e-3, 30)[n % 3 if n % 2 else 0]
    y = (x @ rand.normal(size=(columns, classes)) / (np.abs(x).mean() + 1e-9) + rand.normal(size=(rows, classes)) * 3).argmax(1)
    y[:classes] = np.arange(classes)
    settings = {"loss": loss, "penalty": penalty, "cost": float(f"{np.exp(rand.uniform(-4, 4)):.5g}"), "tol": (1e-2, 1e-3, 1e-4)[n % 3],
                "epochs": 3 if n % 6 == 5 else 5000}
    if penalty == "l2" and loss != "softmax":
        settings["algorithm"] = ("auto", "newton", "sdca")[n // 5 % 3]
    return x.astype(np.float32), y, settings


def weights_of(path, columns):
    """(columns, lanes)"""
    data = Path(path).read_bytes()
    at, _, count = struct.unpack_from("<QQQ", data, len(data) - 64 + 16)
    for _ in range(count):
        offset, length, name_size = struct.unpack_from("<QQQ", data, at)
        if data[at + 24:at + 24 + name_size] == b"weights":
            found = np.frombuffer(data[offset:offset + length], "<f4").reshape(-1, max(1, length // 4 // columns))
            return found[:columns].astype(float)
        at += 24 + (name_size + 8) // 8 * 8 + -(-length // (1 << 18)) * 8
    raise ValueError("no weights")


def loss_of(name, margins):
    if name == "logistic":
        return np.logaddexp(0, -margins).sum()
    short = np.maximum(1 - margins, 0)
    return (short if name == "hinge" else short * short).sum()


def objective(x, y, w, settings):
    """Of all classes, each against the rest, or of one multinomial model."""
    size = np.abs(w).sum() if settings["penalty"] == "l1" else (w * w).sum() / 2
    scores = x @ w
    if settings["loss"] == "softmax":
        top = scores.max(1)
        errors = (np.log(np.exp(scores - top[:, None]).sum(1)) + top - scores[np.arange(len(y)), y]).sum()
    else:
        errors = loss_of(settings["loss"], signs(y, w.shape[1]) * scores)
    return size + settings["cost"] * errors


def signs(y, lanes):
    """(rows, lanes): of two classes the one lane is for the first."""
    return np.where(y[:, None] == np.arange(lanes), 1, -1)


def newton(gradient_and_curvature, value, w):
    for _ in range(200):
        g, h = gradient_and_curvature(w)
        step, t = np.linalg.solve(h, g), 1.0
        while value(w - t * step) > value(w) - 1e-4 * t * (g @ step) and t > 1e-12:
            t /= 2
        if t <= 1e-12 or g @ g / 2 <= 1e-12 * value(w):  # |g|^2 / 2 bounds what is left, as the penalty is |w|^2 / 2
            break
        w = w - t * step
    return w


def smooth(x, s, name, cost):
    def of(w):
        m = s * (x @ w)
        if name == "logistic":
            p = 1 / (1 + np.exp(np.clip(m, -700, 700)))
            slope, curve = -p, p * (1 - p)
        else:
            slope, curve = -2 * np.maximum(1 - m, 0), 2.0 * (m < 1)
        return w + cost * (x.T @ (s * slope)), np.eye(len(w)) + cost * (x.T * curve) @ x

    return newton(of, lambda w: w @ w / 2 + cost * loss_of(name, s * (x @ w)), np.zeros(x.shape[1]))


def softmax(x, y, lanes, cost, settings):
    columns = x.shape[1]

    def of(flat):
        scores = x @ flat.reshape(columns, lanes)
        p = np.exp(scores - scores.max(1)[:, None])
        p /= p.sum(1)[:, None]
        wrong = p.copy()
        wrong[np.arange(len(y)), y] -= 1
        h = np.eye(flat.size)
        for a in range(lanes):
            for b in range(lanes):
                h[a::lanes, b::lanes] += cost * (x.T * (p[:, a] * ((a == b) - p[:, b]))) @ x
        return flat + cost * (x.T @ wrong).ravel(), h

    flat = newton(of, lambda w: objective(x, y, w.reshape(columns, lanes), settings), np.zeros(columns * lanes))
    return flat.reshape(columns, lanes)


def accelerated(gradient, project, start, step, better, steps=30000):
    """FISTA that starts over where it overshoots. The best point by `better`, looked at now and then."""
    a = b = start
    t, best, found, idle = 1.0, start, better(start), 0
    for k in range(1, steps + 1):
        new = project(b - step * gradient(b), step)
        if (b - new) @ (new - a) > 0:
            t, b = 1.0, a
            continue
        t, before = (1 + np.sqrt(1 + 4 * t * t)) / 2, t
        b, a = new + (before - 1) / t * (new - a), new
        if k % 500 == 0:
            now = better(a)
            idle = 0 if now < found * (1 - 1e-9) else idle + 1
            if now < found:
                best, found = a, now
            if idle == 5:
                break
    return best


def hinge(x, s, cost):
    z = x * s[:, None]
    gram = z @ z.T
    step = 1 / max(np.linalg.eigvalsh(gram)[-1], 1e-12)
    a = accelerated(lambda a: gram @ a - 1, lambda a, _: np.clip(a, 0, cost), np.zeros(len(s)), step,
                    lambda a: (z.T @ a) @ (z.T @ a) / 2 + cost * loss_of("hinge", z @ (z.T @ a)))
    return z.T @ a


def l1(x, s, cost):
    z = x * s[:, None]
    step = 1 / max(cost * np.linalg.eigvalsh(z.T @ z)[-1] / 4, 1e-12)
    return accelerated(lambda w: -cost * (z.T @ (1 / (1 + np.exp(np.clip(z @ w, -700, 700))))),
                       lambda w, t: np.sign(w) * np.maximum(np.abs(w) - t, 0), np.zeros(x.shape[1]), step,
                       lambda w: np.abs(w).sum() + cost * loss_of("logistic", z @ w))


def minimum(x, y, lanes, settings):
    loss, cost = settings["loss"], settings["cost"]
    if loss == "softmax":
        w = softmax(x, y, lanes, cost, settings)
    else:
        lane = (lambda s: l1(x, s, cost)) if settings["penalty"] == "l1" else \
            (lambda s: hinge(x, s, cost)) if loss == "hinge" else (lambda s: smooth(x, s, loss, cost))
        w = np.stack([lane(column.astype(float)) for column in signs(y, lanes).T], 1)
    return objective(x, y, w, settings)


def check(n):
    """What is wrong with a problem's answer, or None; how it ended."""
    x, y, settings = make(np.random.default_rng(n), n)
    Path("p.svm").write_text("".join(f"{k} {' '.join(f'{j + 1}:{float(v):.9g}' for j, v in enumerate(row) if v)}\n" for k, row in zip(y, x)))
    words = [word for key, value in settings.items() for word in ("--set", f"{key}={value}")]
    run = subprocess.run([SHOAL, "train", "logreg", "p.svm", *words, "--workers", str(1 + n % 2), "--threads", "1", "--json", "--out", "m.shoal",
                          "--log", "error"], capture_output=True, text=True)
    if run.returncode != 0:
        return f"problem {n}: {run.stdout}{run.stderr}", None
    told, where = json.loads(run.stdout), f"problem {n}, {settings}"
    if told["converged"] != (told["stopped"] == "tolerance") or told["converged"] != (told["gap"] <= settings["tol"]):
        return f"{where}: converged {told['converged']}, stopped {told['stopped']}, gap {told['gap']}", None
    full = x.astype(float)
    w = weights_of("m.shoal", int(np.flatnonzero(np.abs(x).sum(0))[-1]) + 1)
    w = np.vstack([w, np.zeros((x.shape[1] - len(w), w.shape[1]))])
    value, least = objective(full, y, w, settings), minimum(full, y, w.shape[1], settings)
    if abs(value - told["value"]) > TOLD * value:
        return f"{where}: told {told['value']}, and it is {value}", None
    if least > value * (1 + SLACK):
        return f"{where}: this test found no point as good, {least} and not {value}", None
    if value - least > (told["gap"] + SLACK) * value:
        return f"{where}: {(value - least) / value:.3g} above the minimum, claimed {told['gap']:.3g}", None
    return None, told["stopped"]


def main():
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        os.environ["XDG_RUNTIME_DIR"] = folder
        answers = [check(n) for n in range(PROBLEMS)]
        os.chdir("/")
    problems = [what for what, _ in answers if what]
    ends = [end for _, end in answers]
    if ends.count("tolerance") < 0.6 * PROBLEMS or "limit" not in ends:
        problems.append(f"of {PROBLEMS} problems {ends.count('tolerance')} converged, {ends.count('limit')} ended at a limit")
    print("\n".join(problems) or f"{ends.count('tolerance')} of {PROBLEMS} problems converged, and all claims are true")
    sys.exit(bool(problems))


main()
