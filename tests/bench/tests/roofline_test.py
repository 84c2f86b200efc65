import unittest

from bench import main, roofline, rows
from bench.families import families

H100, H200 = "NVIDIA H100 80GB HBM3", "NVIDIA H200"


class Types(unittest.TestCase):
    def test_the_type_is_a_word_of_the_name(self):
        for name, kind in (("softmax/fixed/M=64 N=32 TYPE=half", "half"),
                           ("copy/fixed/TYPE=uint8 N=1", "uint8"),
                           ("attention/random/TYPE=bfloat16", "bfloat16")):
            self.assertEqual(roofline.type_of(name), kind)

    def test_a_name_without_a_type_has_none(self):
        for name in ("copy/fixed/M=64 N=32", "copy/fixed/SUBTYPE=half", ""):
            self.assertIsNone(roofline.type_of(name))

    def test_each_row_of_a_family_with_operations_has_a_peak(self):
        known = [family for family in families() if family.unit == "TFLOP/s"]
        found = rows.all_rows(known, main.HERE / "shapes" / "external.jsonl", "1", 5)
        self.assertGreater(len(found), 100)
        self.assertLessEqual({roofline.type_of(each.id) for each in found}, set(roofline.HOPPER))


class Bounds(unittest.TestCase):
    def seconds(self, name, size, flops, gpu=H100):
        return roofline.bound_seconds(name, {"bytes": size, "flops": flops}, gpu)

    def test_memory_limits_a_row_with_few_operations(self):
        self.assertAlmostEqual(self.seconds("matmul/fixed/M=1 TYPE=half", 3.35e9, 1), 1e-3)
        self.assertAlmostEqual(self.seconds("matmul/fixed/M=1 TYPE=half", 4.8e9, 1, H200), 1e-3)

    def test_the_peak_of_the_type_limits_a_row_with_many_operations(self):
        for kind, rate in (("half", 989.5e12), ("float", 67e12), ("double", 67e12), ("int8", 1979e12)):
            self.assertAlmostEqual(self.seconds(f"matmul/fixed/M=1 TYPE={kind}", 1, rate), 1.0)

    def test_a_row_without_operations_needs_no_peak_of_its_type(self):
        self.assertAlmostEqual(self.seconds("copy/fixed/M=1 TYPE=uint8", 3.35e12, 0), 1.0)

    def test_no_bound_without_a_peak(self):
        self.assertIsNone(self.seconds("matmul/fixed/M=1 TYPE=uint8", 1, 1))
        self.assertIsNone(self.seconds("matmul/fixed/M=1", 1, 1))
        self.assertIsNone(self.seconds("matmul/fixed/M=1 TYPE=half", 1, 1, "NVIDIA H100 PCIe"))

    def test_words_name_the_memory_and_the_source(self):
        self.assertIn("4.8 TB/s", roofline.words(H200))
        self.assertIn("data sheet of NVIDIA H200.", roofline.words(H200))
        self.assertEqual(roofline.words("GPU"), "The benchmark has no peaks of GPU, so no row has a bound.")


if __name__ == "__main__":
    unittest.main()
