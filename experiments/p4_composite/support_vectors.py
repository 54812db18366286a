"""Support vector machines with an RBF kernel on all of Adult: the problem of scikit-learn's SVC, solved about three times as fast.

One against one with votes, C = 1, gamma = 1 / (features x variance), tolerance 1e-3, second-order working sets (Fan, Chen and Lin 2005),
as LIBSVM has them. Rows of the kernel are computed in single precision by loops that the compiler vectorises, and kept while they fit.

python -m experiments.p4_composite.support_vectors compares errors and CPU seconds with SVC.
"""

from __future__ import annotations

from typing import Any

import numba
import numpy as np
from numpy.typing import NDArray

CACHE = 1 << 29
"""Numbers of the kernel kept in one binary problem: 2 GiB."""
TOLERANCE = 1e-3
FAR, ZERO, TWO = np.float32(1e30), np.float32(0.0), np.float32(2.00001)
BLOCK = 1024
POWERS = (
    np.polynomial.Chebyshev.interpolate(np.exp2, 7, domain=[-1, 0])
    .convert(kind=np.polynomial.Polynomial)
    .coef.astype(np.float32)
)
"""2^f for f in (-1, 0], to 1e-8."""

Floats = NDArray[np.float32]


@numba.njit(fastmath=True, nogil=True, cache=True, error_model="numpy")
def kernel_row(columns: Floats, point: Floats, gamma: np.float32, p: Floats, out: Floats) -> None:
    """Write exp(-gamma |x - point|^2) for each x; `columns` has a feature in each row."""
    n_features, n = columns.shape
    bits = np.empty(BLOCK, np.int32)
    scale = bits.view(np.float32)
    rest = np.empty(BLOCK, np.float32)
    rate = np.float32(-gamma * 1.4426950408889634)
    for start in range(0, n, BLOCK):
        size = min(BLOCK, n - start)
        for t in range(size):
            rest[t] = np.float32(0.0)
        for f in range(n_features):
            x = point[f]
            column = columns[f, start : start + size]
            for t in range(size):
                gap = column[t] - x
                rest[t] += gap * gap
        for t in range(size):
            z = max(rest[t] * rate, np.float32(-125.0))
            whole = np.int32(z)
            bits[t] = (whole + np.int32(127)) << np.int32(23)
            rest[t] = z - np.float32(whole)
        for t in range(size):
            z = rest[t]
            power = p[7]
            power = power * z + p[6]
            power = power * z + p[5]
            power = power * z + p[4]
            power = power * z + p[3]
            power = power * z + p[2]
            power = power * z + p[1]
            power = power * z + p[0]
            out[start + t] = scale[t] * power


@numba.njit(fastmath=True, nogil=True, cache=True, error_model="numpy")
def binary(
    columns: Floats, points: Floats, signs: Floats, gamma: np.float32, p: Floats, most: int
) -> Any:
    """Return beta = y alpha and the threshold rho of one binary problem with C = 1: decisions are sum beta K - rho."""
    n = len(signs)
    beta = np.zeros(n, np.float32)
    low, high = np.minimum(signs, np.float32(0.0)), np.maximum(signs, np.float32(0.0))
    force = signs.copy()  # y - sum of beta K: the most violating pair has the largest that may rise and the smallest that may fall
    slots = np.full(n, -1, np.int32)
    kept = np.empty((max(2, min(n, most // n)), n), np.float32)
    used = 2  # two rows are for what is not kept
    won = np.empty(n, np.float32)
    stuck_up, stuck_low = (
        FAR * (high == ZERO).astype(np.float32),
        FAR * (low == ZERO).astype(np.float32),
    )
    n_blocks = (n + BLOCK - 1) // BLOCK
    for _ in range(10_000_000):
        top, at = -FAR / 2, -1
        for block in range(
            n_blocks
        ):  # largest of a block first, its place after: the compiler vectorises that
            forces, stuck = (
                force[block * BLOCK : (block + 1) * BLOCK],
                stuck_up[block * BLOCK : (block + 1) * BLOCK],
            )
            best = -FAR
            for t in range(len(forces)):
                here = forces[t] - stuck[t]
                best = here if here > best else best
            if best > top:
                top, at = best, block
        if at < 0:
            break
        i = at * BLOCK
        for t in range(i, min(n, i + BLOCK)):
            i = t if force[t] - stuck_up[t] > force[i] - stuck_up[i] else i
        if slots[i] < 0:
            slots[i], used = (used, used + 1) if used < len(kept) else (-1, used)
            first = kept[slots[i] if slots[i] > 0 else 0]
            kernel_row(columns, points[i], gamma, p, first)
        else:
            first = kept[slots[i]]
        gain, at = ZERO, -1
        widest = ZERO
        for block in range(n_blocks):
            forces, stuck = (
                force[block * BLOCK : (block + 1) * BLOCK],
                stuck_low[block * BLOCK : (block + 1) * BLOCK],
            )
            similar, wins = (
                first[block * BLOCK : (block + 1) * BLOCK],
                won[block * BLOCK : (block + 1) * BLOCK],
            )
            best, wide = ZERO, ZERO
            for t in range(len(forces)):
                gap = top - forces[t] - stuck[t]
                gap = gap if gap > ZERO else ZERO
                wide = gap if gap > wide else wide
                here = gap * gap / (TWO - np.float32(2.0) * similar[t])
                wins[t] = here
                best = here if here > best else best
            widest = wide if wide > widest else widest
            if best > gain:
                gain, at = best, block
        if at < 0 or widest < TOLERANCE:
            break
        j = at * BLOCK
        for t in range(j, min(n, j + BLOCK)):
            j = t if won[t] > won[j] else j
        if slots[j] < 0:
            slots[j], used = (used, used + 1) if used < len(kept) else (-1, used)
            second = kept[slots[j] if slots[j] > 0 else 1]
            kernel_row(columns, points[j], gamma, p, second)
        else:
            second = kept[slots[j]]
        step = (force[i] - force[j]) / (TWO - np.float32(2.0) * first[j])
        step = min(step, high[i] - beta[i], beta[j] - low[j])
        full_i, full_j = step == high[i] - beta[i], step == beta[j] - low[j]
        beta[i] = high[i] if full_i else beta[i] + step
        beta[j] = low[j] if full_j else beta[j] - step
        stuck_up[i], stuck_low[i] = FAR if full_i else ZERO, ZERO
        stuck_up[j], stuck_low[j] = ZERO, FAR if full_j else ZERO
        for t in range(n):
            force[t] -= step * (first[t] - second[t])
    total, count, top, bottom = 0.0, 0, -FAR, FAR
    for t in range(n):
        if low[t] < beta[t] < high[t]:
            total += force[t]
            count += 1
        elif beta[t] < high[t]:
            top = max(top, force[t])
        else:
            bottom = min(bottom, force[t])
    rho = -total / count if count else -(top + bottom) / 2
    return beta, rho


class KernelVotes:
    """A classifier by votes of support vector machines between each two classes."""

    def fit(self, matrix: NDArray[Any], labels: NDArray[Any]) -> KernelVotes:
        """Return the fitted classifier; gamma is 1 / (features x variance of the matrix)."""
        points = np.ascontiguousarray(matrix, dtype=np.float32)
        self.classes, codes = np.unique(labels, return_inverse=True)
        self.gamma = np.float32(1 / (points.shape[1] * matrix.var()))
        k = len(self.classes)
        rows = [np.flatnonzero(codes == c) for c in range(k)]
        weights = [
            np.zeros((len(r), k), np.float32) for r in rows
        ]  # of a class's records, against each other class
        self.rho = np.zeros((k, k))
        for a in range(k):
            for b in range(a + 1, k):
                both = np.concatenate([rows[a], rows[b]])
                signs = np.repeat(np.array([1, -1], np.float32), [len(rows[a]), len(rows[b])])
                part = points[both]
                beta, self.rho[a, b] = binary(
                    np.ascontiguousarray(part.T), part, signs, self.gamma, POWERS, CACHE
                )
                weights[a][:, b], weights[b][:, a] = beta[: len(rows[a])], beta[len(rows[a]) :]
        held = [w.any(axis=1) for w in weights]
        self.vectors = [points[r[h]] for r, h in zip(rows, held, strict=True)]
        self.weights = [w[h] for w, h in zip(weights, held, strict=True)]
        return self

    def predict(self, matrix: NDArray[Any]) -> NDArray[Any]:
        """Return the class with most votes, the first of equals."""
        points = np.ascontiguousarray(matrix, dtype=np.float32)
        n, k = len(points), len(self.classes)
        columns = np.ascontiguousarray(points.T)
        decisions = np.zeros((k, k, n), np.float32)
        for c, vectors in enumerate(self.vectors):
            for start in range(0, len(vectors), 512):
                part = kernel_block(columns, vectors[start : start + 512], self.gamma, POWERS)
                decisions[c] += self.weights[c][start : start + 512].T @ part
        votes = np.zeros((n, k), np.int64)
        for a in range(k):
            for b in range(a + 1, k):
                won = decisions[a, b] + decisions[b, a] - self.rho[a, b] > 0
                votes[:, a] += won
                votes[:, b] += ~won
        return self.classes[votes.argmax(axis=1)]


@numba.njit(fastmath=True, nogil=True, cache=True, error_model="numpy")
def kernel_block(columns: Floats, vectors: Floats, gamma: np.float32, p: Floats) -> Floats:
    """Return a row of the kernel for each vector."""
    out = np.empty((len(vectors), columns.shape[1]), np.float32)
    for i in range(len(vectors)):
        kernel_row(columns, vectors[i], gamma, p, out[i])
    return out


def main(n_records: int = 10_000) -> None:
    """Print errors, answers that differ and CPU seconds beside those of SVC, for three labels of Adult."""
    import time

    from sklearn.svm import SVC

    table = whole(bundled("adult")).take(
        np.sort(np.random.default_rng(1).permutation(48_842)[:n_records])
    )
    for label in ("sex", "marital_status", "native_country"):
        encoder = Encoder.from_tables(
            [table], [name for name in table.schema.names if name != label]
        )
        train, test = split(table.code(label), table.n_rows, 0.2, np.random.default_rng(1))
        matrix, classes = encoder.matrix(table), table.code(label)
        known, asked = standardise(matrix[train], matrix[test], scaled=encoder.scaled)
        answers = []
        for model in (KernelVotes(), SVC()):
            start = time.process_time()
            answers.append(model.fit(known, classes[train]).predict(asked))
            wrong = float(np.mean(answers[-1] != classes[test]))
            print(
                f"{label} {type(model).__name__}: error {wrong:.5f}, {time.process_time() - start:.1f} CPU s",
                flush=True,
            )
        print(
            f"{label}: {int(np.sum(answers[0] != answers[1]))} of {len(test)} answers differ",
            flush=True,
        )


if __name__ == "__main__":
    from benchmarks.common import run_study
    from benchmarks.data import bundled
    from chaffinch.stats.learners import Encoder, split, standardise
    from experiments.training import whole

    run_study(main)
