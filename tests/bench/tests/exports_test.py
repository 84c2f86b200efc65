import pathlib
import subprocess
import sys
import tempfile
import unittest

import exports
from kernels_test import HEADER, WITHOUT_GRID


def run_program(*arguments):
    return subprocess.run([sys.executable, "-B", exports.__file__, *arguments], capture_output=True, text=True)


class Exports(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name).resolve()

    def header(self, name, text=HEADER):
        path = self.folder / name
        path.write_text(text, encoding="utf-8")
        return path

    def test_the_table_has_the_kernels_of_all_headers(self):
        second = self.header("second.h", HEADER.replace("softmax", "copy").replace("dropout", "permute"))
        text = exports.exports([self.header("first.h"), second])
        self.assertIn(f'#include "{self.folder}/first.h"\n#include "{second}"\n', text)
        self.assertIn("""const bench_row bench_kernels[] = {
    {"softmax_half", &tritonc_bench_softmax_931110946fc7},
    {"dropout_float", &tritonc_bench_dropout_0a1b2c3d4e5f},
    {"copy_half", &tritonc_bench_copy_931110946fc7},
    {"permute_float", &tritonc_bench_permute_0a1b2c3d4e5f},
    {nullptr, nullptr},
};
""", text)

    def test_a_header_without_kernels_adds_nothing(self):
        self.assertIn("bench_kernels[] = {\n    {nullptr, nullptr},\n};\n",
                      exports.exports([self.header("free.h", WITHOUT_GRID)]))

    def test_two_kernels_of_one_name_are_refused(self):
        paths = [self.header("first.h"), self.header("second.h")]
        out = self.folder / "exports.cpp"
        run = run_program(out, *paths)
        self.assertEqual(run.returncode, 1)
        self.assertEqual(run.stderr,
                         f"exports.py: {paths[1]}: another header has a kernel softmax_half, too\n")
        self.assertFalse(out.exists())

    def test_the_program_writes_the_file(self):
        paths = [self.header("first.h")]
        out = self.folder / "exports.cpp"
        run = run_program(out, *paths)
        self.assertEqual((run.returncode, run.stderr), (0, ""))
        self.assertEqual(out.read_text(encoding="utf-8"), exports.exports(paths))


if __name__ == "__main__":
    unittest.main()
