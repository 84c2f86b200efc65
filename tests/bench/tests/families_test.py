"""What the rows of all families have in common. Nothing here needs PyTorch: a list of rows does not."""

import collections
import subprocess
import sys
import unittest

from bench import main, rows
from bench.families import families

PATH = main.HERE / "shapes" / "external.jsonl"


class Families(unittest.TestCase):
    known = families()

    def test_a_listing_imports_no_peer(self):
        code = ("import sys; from bench import main; sys.argv = ['run', 'list', '--seed', '1'];"
                "main.main(); print(*sys.modules, file=sys.stderr)")
        listing = subprocess.run([sys.executable, "-B", "-c", code], cwd=main.HERE, capture_output=True,
                                 text=True)
        self.assertEqual(listing.returncode, 0, listing.stderr)
        self.assertIn("softmax/fixed/M=32768 N=4096 TYPE=half", listing.stdout.splitlines())
        imported = listing.stderr.split()
        self.assertIn("bench.families.softmax", imported)
        self.assertEqual([name for name in ("torch", "triton", "numpy") if name in imported], [])

    def test_names_and_units(self):
        names = collections.Counter(family.name for family in self.known)
        self.assertEqual([name for name, count in names.items() if count > 1 or set(name) & set(" =/")], [])
        self.assertEqual([family.name for family in self.known if family.unit not in ("GB/s", "TFLOP/s")], [])

    def test_each_shipped_kernel_has_a_family(self):
        shipped = {path.stem for path in (main.ROOT / "kernels").glob("*.tc")}
        self.assertGreater(len(shipped), 30)
        named = {family.name for family in self.known}
        self.assertEqual(shipped - named, set())

    def test_each_family_has_fixed_and_random_rows(self):
        for family in self.known:
            with self.subTest(family.name):
                self.assertTrue(family.fixed())
                self.assertEqual(len(rows.random_rows(family, "1", 10)), 10)

    def test_no_row_appears_twice(self):
        counts = collections.Counter(each.id for each in rows.all_rows(self.known, PATH, "1", 10))
        self.assertEqual([name for name, count in counts.items() if count > 1], [])

    def test_each_value_of_a_row_is_one_word(self):
        wrong = [each.id for each in rows.all_rows(self.known, PATH, "1", 10)
                 for name, value in each.shape if not str(value) or set(f"{name}{value}") & set(" =/")]
        self.assertEqual(wrong, [])


if __name__ == "__main__":
    unittest.main()
