import unittest

from bench.statistics import Quartiles, Summary, geometric_mean, quantile


class Statistics(unittest.TestCase):
    def test_a_quantile_interpolates_between_the_sorted_values(self):
        values = [40.0, 10.0, 30.0, 20.0]
        self.assertEqual([quantile(values, q) for q in (0, 0.25, 0.5, 1)], [10.0, 17.5, 25.0, 40.0])
        self.assertEqual(values, [40.0, 10.0, 30.0, 20.0])

    def test_all_quantiles_of_one_value_are_the_value(self):
        self.assertEqual([quantile([3.0], q) for q in (0, 0.1, 0.5, 1)], [3.0] * 4)

    def test_a_geometric_mean_of_inverse_ratios_is_1(self):
        self.assertAlmostEqual(geometric_mean([4.0, 0.25]), 1.0)
        self.assertAlmostEqual(geometric_mean([2.0, 2.0, 16.0]), 4.0)

    def test_the_noise_is_half_of_the_distance_of_the_quartiles(self):
        self.assertAlmostEqual(Quartiles.of([90.0, 95.0, 100.0, 110.0, 200.0]).noise(), 0.075)
        self.assertEqual(Quartiles.of([100.0] * 5).noise(), 0.0)

    def test_one_outlier_changes_neither_median_nor_noise(self):
        self.assertEqual(Quartiles.of([100.0] * 9 + [1e6]), Quartiles.of([100.0] * 10))

    def test_a_summary_counts_the_bounds_as_met(self):
        summary = Summary.of(iter([1.0, 0.8, 0.5, 2.0]))
        self.assertEqual((summary.count, summary.least), (4, 0.5))
        self.assertEqual((summary.at_least_one, summary.below), (0.5, 0.25))
        self.assertAlmostEqual(summary.mean, 0.8**0.25)
        self.assertAlmostEqual(summary.tenth, 0.59)

    def test_no_ratios_have_no_summary(self):
        self.assertIsNone(Summary.of([]))


if __name__ == "__main__":
    unittest.main()
