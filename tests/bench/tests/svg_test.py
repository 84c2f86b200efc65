import unittest
import xml.etree.ElementTree

from bench import svg
from bench.svg import Axis, Mark, Panel


class Axes(unittest.TestCase):
    def test_an_axis_goes_from_power_of_10_to_power_of_10(self):
        axis = Axis.of([30.0, 4000.0])
        self.assertEqual((axis.low, axis.high, axis.ticks), (10.0, 10000.0, (10.0, 100.0, 1000.0, 10000.0)))

    def test_equal_values_and_no_values_have_an_axis_of_at_least_a_power_of_10(self):
        for values in ([100.0], [100.0, 100.0]):
            self.assertEqual((Axis.of(values).low, Axis.of(values).high), (100.0, 1000.0))
        self.assertEqual((Axis.of([]).low, Axis.of([]).high), (1.0, 10.0))

    def test_a_long_axis_has_few_ticks(self):
        ticks = Axis.of([1.0, 1e9], most=4).ticks
        self.assertEqual(ticks, (1.0, 1e3, 1e6, 1e9))
        self.assertLessEqual(len(Axis.of([1.0, 1e8], most=4).ticks), 4)

    def test_values_are_placed_by_their_logarithm_and_at_the_ends_if_outside(self):
        axis = Axis(1.0, 10000.0, ())
        self.assertEqual([round(axis.place(value), 9) for value in (1, 10, 100, 10000, 0.5, 1e9)],
                         [0, 0.25, 0.5, 1, 0, 1])

    def test_y_grows_upward(self):
        panel = Panel(10, 20, 100, 50, Axis(1, 100, ()), Axis(1, 100, ()))
        self.assertEqual([panel.place(*each) for each in ((1, 1), (100, 100), (10, 10))],
                         [(10, 70), (110, 20), (60, 45)])


class Parts(unittest.TestCase):
    def test_numbers_have_prefixes(self):
        self.assertEqual([svg.short(each) for each in (0.1, 1, 999, 1000, 1e5, 2.5e6, 1e9, 1e12)],
                         ["0.1", "1", "999", "1k", "100k", "2.5M", "1G", "1T"])

    def test_all_points_of_a_mark_are_one_path(self):
        self.assertEqual(svg.points([(1, 2), (3.04, 4.25)], Mark("#123456")),
                         '<path d="M1 2h0M3 4.2h0" fill="none" stroke="#123456" stroke-width="4.4" '
                         'stroke-linecap="round"/>')
        self.assertEqual(svg.points([], Mark("#123456")), "")

    def test_the_forms_differ(self):
        drawn = {svg.points([(1, 2)], Mark("#000", form)) for form in svg.FORMS}
        self.assertEqual(len(drawn), len(svg.FORMS))

    def test_a_picture_is_a_document_whose_words_are_escaped(self):
        panel = Panel(50, 50, 100, 80, Axis.of([10, 1e5]), Axis.of([0.1, 10]))
        text = svg.picture(200, 160, "a < b", [
            *panel.frame("R&D", "bytes", "ratio"), *svg.legend(10, 40, [(Mark("#000"), "a > b")]),
            panel.points([(100, 1)], Mark("#000")), panel.across(1)])
        root = xml.etree.ElementTree.fromstring(text)
        self.assertEqual(root.get("viewBox"), "0 0 200 160")
        words = [each.text for each in root.iter() if each.text and each.text.strip()]
        self.assertEqual(words, ["a < b", "a < b", "R&D", "10", "100", "1k", "10k", "100k", "0.1", "1", "10",
                                 "bytes", "ratio", "a > b"])


if __name__ == "__main__":
    unittest.main()
