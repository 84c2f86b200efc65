"""Statistics of times and of ratios. Pure Python."""

import dataclasses
import math


def quantile(values, fraction):
    """The quantile of sorted or unsorted values, with linear interpolation."""
    ordered = sorted(values)
    place = fraction * (len(ordered) - 1)
    below = math.floor(place)
    above = min(below + 1, len(ordered) - 1)
    return ordered[below] + (place - below) * (ordered[above] - ordered[below])


def geometric_mean(values):
    return math.exp(sum(map(math.log, values)) / len(values))


@dataclasses.dataclass(frozen=True)
class Quartiles:
    """Quartiles of samples, in the unit of the samples."""

    low: float
    median: float
    high: float

    @staticmethod
    def of(samples):
        return Quartiles(*(quantile(samples, q) for q in (0.25, 0.5, 0.75)))

    def noise(self):
        """Half of the distance between the quartiles, relative to the median."""
        return (self.high - self.low) / 2 / self.median


@dataclasses.dataclass(frozen=True)
class Summary:
    """Of the ratios of a set of rows: the best peer's time over ours, so more is faster."""

    count: int
    mean: float        # geometric
    tenth: float       # 10th percentile
    least: float
    at_least_one: float  # share of ratios >= 1
    below: float       # share of ratios < 0.8

    @staticmethod
    def of(ratios):
        ratios = list(ratios)
        if not ratios:
            return None
        share = lambda test: sum(map(test, ratios)) / len(ratios)
        return Summary(len(ratios), geometric_mean(ratios), quantile(ratios, 0.1), min(ratios),
                       share(lambda r: r >= 1), share(lambda r: r < 0.8))
