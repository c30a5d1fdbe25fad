"""Where the largest is not alone, and other kinks: our conventions, the same in both modes."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests.hard_cases.kit import close, gradient


@pytest.mark.parametrize(
    "f",
    [
        lambda x: np.max(np.stack([x, x, x])),
        lambda x: np.min(np.array([x, x])),
        lambda x: np.maximum(x, x),
        lambda x: np.fmin(x, x),
        lambda x: max(x, x),
    ],
)
def test_the_largest_of_copies_of_one_number(f: Any) -> None:
    """The shares of the copies add up to 1."""
    close(gradient(f, -4.0), 1.0)


@pytest.mark.parametrize("f", [np.maximum, np.minimum, np.fmax, np.fmin])
def test_two_equal_arguments_share_equally(f: Any) -> None:
    """½ and ½."""
    close(gradient(f, 2.5, 2.5, argnums=(0, 1)), (0.5, 0.5))


def test_clip_at_its_bounds() -> None:
    """A bound shares with the argument: ½."""
    close(gradient(lambda x: np.sum(np.clip(x, 1.0, 3.0)), np.array([3.0, 2.0, 1.0])), [0.5, 1.0, 0.5])


@pytest.mark.parametrize("f", [np.abs, np.absolute, np.fabs, abs])
def test_abs_at_zero(f: Any) -> None:
    """0, by every name and in both modes."""
    close(gradient(f, 0.0), 0.0)
    close(gradient(f, -0.0), 0.0)


def test_median() -> None:
    """The middle one; of an even number, the two in the middle, half each."""
    close(gradient(np.median, np.array([5.0, -1.0, 8.0, 2.0, 0.0])), [0.0, 0.0, 0.0, 1.0, 0.0])
    close(gradient(np.median, np.array([5.0, -1.0, 8.0, 2.0])), [0.5, 0.0, 0.0, 0.5])


def test_sort_of_equal_elements() -> None:
    """A permutation, that of a stable sort: every weight goes to one element."""
    weights = np.array([1.0, 20.0, 300.0, 4000.0])
    close(gradient(lambda x: np.sum(np.sort(x) * weights), np.array([2.0, 0.0, 2.0, 0.0])), [300.0, 1.0, 4000.0, 20.0])


def test_max_with_initial_and_where() -> None:
    """Nothing flows where the initial value is larger, nor to what `where` leaves out."""
    x = np.array([6.0, 9.0, 2.0])
    close(gradient(lambda x: np.max(x, initial=4.0), x), [0.0, 1.0, 0.0])
    close(gradient(lambda x: np.max(x, initial=10.0), x), [0.0, 0.0, 0.0])
    close(gradient(lambda x: np.max(x, initial=-1.0, where=np.array([True, False, True])), x), [1.0, 0.0, 0.0])


def test_percentile_and_quantile() -> None:
    """The weights of linear interpolation between order statistics; at the ends, one element."""
    x = np.array([30.0, 10.0, 50.0, 20.0, 40.0])
    close(gradient(lambda x: np.percentile(x, 35), x), [0.4, 0.0, 0.0, 0.6, 0.0])
    close(gradient(lambda x: np.quantile(x, 0.0), x), [0.0, 1.0, 0.0, 0.0, 0.0])
    close(gradient(lambda x: np.quantile(x, 1.0), x), [0.0, 0.0, 1.0, 0.0, 0.0])
