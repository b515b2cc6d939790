"""Posteriors of operator/kinds/sweep/search/gaussian.c against scikit-learn's GaussianProcessRegressor, with kernel and
noise fixed: PROGRAM is test_gaussian, whose `posterior` reads and prints numbers. Choices are one-hot columns there."""
import subprocess
import sys

import numpy as np
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import ConstantKernel, Matern

TOLERANCE = 1e-6


def one_hot(points, choices):
    """choices: for each dimension the number of values, 0: a range."""
    columns = []
    for i, count in enumerate(choices):
        columns.append(np.eye(count)[(points[:, i] * count).astype(int)] if count else points[:, i:i + 1])
    return np.hstack(columns)


def ours(program, choices, length, noise, points, values, asked):
    numbers = [len(choices), *map(bool, choices), length, noise, len(points), *points.ravel(), *values, len(asked), *asked.ravel()]
    text = " ".join(repr(float(x)) for x in numbers)
    said = subprocess.run([program, "posterior"], input=text, capture_output=True, text=True, check=True).stdout
    rows = np.array([[float(x) for x in line.split()] for line in said.splitlines()])
    return rows[0, 0], rows[0, 1], rows[1:, 0], rows[1:, 1]


def worst(program, seed, choices, length, noise, count):
    random = np.random.default_rng(seed)

    def draw(n):
        points = random.random((n, len(choices)))
        for i, values in enumerate(choices):
            if values:
                points[:, i] = (random.integers(values, size=n) + 0.5) / values
        return points
    points, asked = draw(count), draw(200)
    values = np.sin(5 * points).sum(axis=1) + random.normal(size=count) * 0.1
    amplitude, likelihood, mean, deviation = ours(program, choices, length, noise, points, values, asked)
    known = one_hot(points, choices)

    def theirs(a):
        kernel = ConstantKernel(a, "fixed") * Matern(length, "fixed", nu=2.5)
        return GaussianProcessRegressor(kernel, alpha=a * noise, optimizer=None).fit(known, values)
    model = theirs(amplitude)
    their_mean, their_deviation = model.predict(one_hot(asked, choices), return_std=True)
    best = model.log_marginal_likelihood_value_
    assert best > max(theirs(amplitude * f).log_marginal_likelihood_value_ for f in (0.99, 1.01)), "the amplitude is not the likeliest"
    return max(np.abs(mean - their_mean).max(), np.abs(deviation - their_deviation).max(), abs(likelihood / best - 1))


CASES = [([0], 0.2, 1e-3, 20), ([0, 0], 0.5, 1e-4, 60), ([0] * 6, 1.0, 1e-2, 128), ([0, 4], 0.7, 1e-2, 50),
         ([3, 2, 0, 0], 1.5, 1e-1, 90), ([5, 5], 1.0, 1e-1, 25), ([0], 0.05, 1e-6, 1), ([0] * 32, 3.0, 1e-3, 128)]
failed = 0
for seed in range(int(sys.argv[2]), int(sys.argv[2]) + int(sys.argv[3])):
    for choices, length, noise, count in CASES:
        off = worst(sys.argv[1], seed, choices, length, noise, count)
        if not off <= TOLERANCE:
            print(f"# seed {seed}, choices {choices}, length {length}, noise {noise}, {count} seen: {off:g} off")
            failed += 1
sys.exit(failed > 0)
