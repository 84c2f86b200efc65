"""The bytes of rows, from logs of ncu."""

import types
import unittest

from bench import dram_bytes

HEADER = '"ID","Kernel Name","dram__bytes_read.sum","dram__bytes_write.sum"\n"","","byte","byte"\n'
FLUSH = "void at::reduce_kernel<512, 1>"


def log(*launches):
    rows = [f'"{i}","{name}","{read}","{written}"' for i, (name, read, written) in enumerate(launches)]
    return "==PROF== Connected\n" + HEADER + "\n".join(rows) + "\n"


def of_rows(*launches):
    return dram_bytes.bytes_of_rows(dram_bytes.launches(log(*launches)), lambda name: "at::" in name)


class Bytes(unittest.TestCase):
    def test_a_row_has_its_launches_and_what_the_next_flush_writes(self):
        self.assertEqual(of_rows((FLUSH, 1000, 7), ("softmax", 100, 60), (FLUSH, 1000, 40),
                                 (FLUSH, 1000, 9), ("reduce_parts", 50, 1), ("reduce", 2, 3), (FLUSH, 1000, 4)),
                         [(100, 100), (52, 8)])

    def test_a_flush_of_two_launches(self):
        self.assertEqual(of_rows((FLUSH, 1, 7), (FLUSH, 1, 8), ("copy", 10, 2), (FLUSH, 1, 3), (FLUSH, 1, 5)),
                         [(10, 10)])

    def test_numbers_with_separators(self):
        self.assertEqual(dram_bytes.launches(log(("copy", "1,234,567", "2.0"))), [("copy", 1234567, 2)])

    def test_an_incomplete_row_is_an_error(self):
        with self.assertRaisesRegex(ValueError, "no complete row"):
            of_rows((FLUSH, 1, 7), ("copy", 10, 2))

    def test_a_log_without_launches_is_an_error_with_the_log(self):
        with self.assertRaisesRegex(ValueError, "ERR_NVGPUCTRPERM"):
            dram_bytes.launches("==ERROR== ERR_NVGPUCTRPERM\n")


class Chosen(unittest.TestCase):
    def chosen(self, unit, *sizes):
        family = types.SimpleNamespace(name="copy", unit=unit)
        return [shape for _, shape in dram_bytes.chosen([family], lambda family: sizes, lambda family, size: size)]

    def test_the_largest_shape_within_the_limits(self):
        self.assertEqual(self.chosen("GB/s", 1e8, 3e8, 2e8, 1e7, 1e10), [3e8])

    def test_no_shape_within_the_limits(self):
        self.assertEqual(self.chosen("GB/s", 1e3, 1e11), [])

    def test_families_that_arithmetic_limits_have_no_row(self):
        self.assertEqual(self.chosen("TFLOP/s", 3e8), [])


class Text(unittest.TestCase):
    def test_the_table(self):
        self.assertEqual(dram_bytes.text([("copy/fixed/N=1", 200000000, 101000000, 100600000)]).splitlines()[2:],
                         ["| copy/fixed/N=1 | 200.0 | 101.0 | 100.6 | 1.008 |"])
