"""scikit-learn's enet_path as a peer: `lasso_peer.py DATA [BINARY]`, then a line "LAMBDA_RATIO LAMBDAS MIX TOL" for each run, answered by
a JSON line with the objective at each penalty. BINARY: the data is written there first, for glmnet_peer.R.

Without intercept, as enet_path is: its centred variant of sparse data is many times slower, which would flatter ours. Measured
is enet_path alone, one thread, data in the double-precision columns that it wants, with the Gram matrix (precompute=True) where the
data is dense and has more rows than columns.
"""
import os
import sys
for threads in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
    os.environ[threads] = "1"
import json
import time
import warnings

import numpy as np
from sklearn.datasets import load_svmlight_file
from sklearn.linear_model import enet_path

warnings.simplefilter("ignore")
x, y = load_svmlight_file(sys.argv[1])
x = x.tocsc()
dense = 2 * x.nnz > x.shape[0] * x.shape[1]
if dense:
    x = np.asfortranarray(x.toarray())
gram = dense and x.shape[0] >= x.shape[1]
if len(sys.argv) > 2:
    with open(sys.argv[2], "wb") as out:
        np.array([*x.shape, 0 if dense else x.nnz, dense], dtype=np.int32).tofile(out)
        y.tofile(out)
        for part in (x.T,) if dense else (x.indptr.astype(np.int32), x.indices.astype(np.int32), x.data):
            part.tofile(out)
    print("{}", flush=True)


def objective(b, penalty, mix):
    rest = y - x @ b
    return float(rest @ rest / (2 * len(y)) + penalty * (mix * np.abs(b).sum() + (1 - mix) / 2 * (b @ b)))


for line in sys.stdin:
    ratio, count, mix, tol = line.split()
    ratio, count, mix, tol = float(ratio), int(count), float(mix), float(tol)
    first = np.abs(x.T @ y).max() / len(y) / mix
    cpu = time.process_time()
    alphas, coefs, _, rounds = enet_path(x, y, l1_ratio=mix, alphas=np.geomspace(first, first * ratio, count), tol=tol,
                                         max_iter=10000, precompute=gram, check_input=gram, copy_X=False,
                                         return_n_iter=True)
    cpu = time.process_time() - cpu
    print(json.dumps({"cpu_s": cpu, "epochs": int(np.sum(rounds)),
                      "objectives": [objective(coefs[:, k], alphas[k], mix) for k in range(count)]}), flush=True)
