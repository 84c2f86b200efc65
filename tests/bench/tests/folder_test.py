"""The folder of the target bench_kernels, which you copy to a machine with a GPU. BENCH_FOLDER is its path."""

import os
import pathlib
import subprocess
import unittest

from bench import kernels, main

FOLDER = os.environ.get("BENCH_FOLDER")


@unittest.skipUnless(FOLDER, "BENCH_FOLDER is not set: the CTest bench.folder sets it")
class Folder(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = pathlib.Path(FOLDER)
        cls.library = kernels.Library(cls.folder / "kernels")

    def test_the_library_has_the_kernels_of_its_headers(self):
        self.assertEqual(sorted(self.library.objects), sorted(self.library.kernels))

    def test_each_shipped_kernel_has_code(self):
        sources = {each.stem for each in (main.HERE.parent.parent / "kernels").glob("*.tc")}
        headers = list((self.folder / "kernels").glob("*.h"))
        self.assertGreater(len(sources), 30)
        self.assertEqual({each.stem for each in headers}, sources)
        self.assertEqual(set(kernels.digests(self.folder / "kernels")), sources)
        for header in headers:
            self.assertTrue(kernels.kernels_of_header(header.read_text(encoding="utf-8"), "bench_"), header)
        for name in self.library.kernels:
            self.assertTrue(self.library.kernel(name).images(), name)

    def test_the_folder_lists_the_same_rows_as_the_source_tree(self):
        listings = [subprocess.run([each / "run", "list", "--seed", "1"], capture_output=True, text=True,
                                   env={**os.environ, "PYTHONDONTWRITEBYTECODE": "1"})
                    for each in (self.folder, main.HERE)]
        self.assertEqual([(each.returncode, each.stderr) for each in listings], [(0, ""), (0, "")])
        self.assertEqual(listings[0].stdout, listings[1].stdout)
        self.assertGreater(len(listings[0].stdout.splitlines()), 100)


if __name__ == "__main__":
    unittest.main()
