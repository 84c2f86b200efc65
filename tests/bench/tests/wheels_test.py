"""The wheels of optional peers: their download, with a fake pip, and their use."""

import os
import pathlib
import subprocess
import sys
import tempfile
import unittest
import zipfile
from unittest import mock

from bench import main, wheels

# Writes an archive as large as FAKE_SIZE for "name==version", and a line to the file FAKE_LOG.
FAKE_PIP = f"""#!{sys.executable} -S
import os, pathlib, sys, zipfile
name, version = sys.argv[-1].split("==")
folder = pathlib.Path(sys.argv[sys.argv.index("--dest") + 1])
with zipfile.ZipFile(folder / f"{{name.replace('-', '_')}}-{{version}}-py3-none-any.whl", "w") as wheel:
    wheel.writestr(name + ".py", "x" * int(os.environ["FAKE_SIZE"]))
with open(os.environ["FAKE_LOG"], "a") as log:
    print(*sys.argv[1:], file=log)
"""


class Folder(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name) / "wheels"
        self.folder.mkdir()

    def wheel(self, name, **files):
        path = self.folder / f"{name}-1.0-py3-none-any.whl"
        with zipfile.ZipFile(path, "w") as archive:
            for stem, text in files.items():
                archive.writestr(stem.replace("__", "/") + ".py", text)
        return path

    def names(self, folder):
        return sorted(str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file())


class Unpack(Folder):
    def test_all_wheels_go_into_one_folder_beside_them(self):
        self.wheel("a", a="1")
        self.wheel("b", b__c="2")
        packages = wheels.unpack(self.folder)
        self.assertEqual(packages, self.folder.parent / "wheels_unpacked")
        self.assertEqual(self.names(packages), ["a.py", "b/c.py", wheels.LIST])

    def test_nothing_happens_without_wheels(self):
        for folder in (self.folder, self.folder / "missing"):
            self.assertFalse(wheels.unpack(folder).exists())

    def test_packages_that_are_there_are_kept(self):
        self.wheel("a", a="1")
        packages = wheels.unpack(self.folder)
        (packages / "new").touch()
        wheels.unpack(self.folder)
        self.assertIn("new", self.names(packages))

    def test_another_wheel_unpacks_all_anew(self):
        self.wheel("a", a="1")
        packages = wheels.unpack(self.folder)
        (packages / "new").touch()
        self.wheel("b", b="2")
        wheels.unpack(self.folder)
        self.assertEqual(self.names(packages), ["a.py", "b.py", wheels.LIST])

    def test_an_interrupt_is_repaired(self):
        self.wheel("a", a="1")
        packages = wheels.unpack(self.folder)
        (packages / wheels.LIST).unlink()
        (packages / "a.py").unlink()
        wheels.unpack(self.folder)
        self.assertEqual(self.names(packages), ["a.py", wheels.LIST])

    def test_parts_are_joined(self):
        path = self.wheel("a", a="text " * 100)
        self.split(path)
        packages = wheels.unpack(self.folder)
        self.assertEqual((packages / "a.py").read_text(encoding="utf-8"), "text " * 100)

    def test_a_missing_part_is_an_error(self):
        for missing in (0, 1):
            path = self.wheel("a", a="text " * 100)
            self.split(path)[missing].unlink()
            with self.assertRaisesRegex(ValueError, r"any\.whl is damaged, or a part is missing"):
                wheels.unpack(self.folder)

    def split(self, path):
        parts = [path.with_name(path.name + suffix) for suffix in (".00", ".01")]
        content = path.read_bytes()
        parts[0].write_bytes(content[:300])
        parts[1].write_bytes(content[300:])
        path.unlink()
        return parts


class Use(Folder):
    def setUp(self):
        super().setUp()
        for patch in (mock.patch.object(sys, "path", list(sys.path)), mock.patch.dict(sys.modules)):
            patch.start()
            self.addCleanup(patch.stop)

    def test_a_package_is_importable_and_its_path_file_is_read(self):
        path = self.wheel("a", bench_fake_a="value = 1", more__bench_fake_b="value = 2")
        with zipfile.ZipFile(path, "a") as archive:
            archive.writestr("a.pth", "more\n")
        wheels.use(wheels.unpack(self.folder))
        import bench_fake_a
        import bench_fake_b
        self.assertEqual((bench_fake_a.value, bench_fake_b.value), (1, 2))

    def test_the_packages_of_the_machine_come_first(self):
        self.wheel("a", zipfile="value = 1")
        before = list(sys.path)
        wheels.use(wheels.unpack(self.folder))
        self.assertEqual(sys.path[:len(before)], before)

    def test_nothing_happens_without_the_folder(self):
        before = list(sys.path)
        wheels.use(self.folder / "missing")
        self.assertEqual(sys.path, before)


class Download(Folder):
    def setUp(self):
        super().setUp()
        self.log = self.folder.parent / "log"
        pip = self.folder.parent / "bin" / "pip"
        pip.parent.mkdir()
        pip.write_text(FAKE_PIP, encoding="utf-8")
        pip.chmod(0o755)

    def download(self, size=10):
        """The calls of pip."""
        self.log.write_text("", encoding="utf-8")
        path = f"{self.folder.parent / 'bin'}{os.pathsep}{os.environ['PATH']}"
        subprocess.run([main.HERE / "peers_download", self.folder], check=True, stdout=subprocess.DEVNULL,
                       env={**os.environ, "PATH": path, "FAKE_SIZE": str(size), "FAKE_LOG": str(self.log)})
        return self.log.read_text(encoding="utf-8").splitlines()

    def test_each_package_without_its_dependencies(self):
        calls = self.download()
        self.assertTrue(all("--no-deps" in call and "--python-version 3.12" in call for call in calls))
        names = {call.split()[-1].split("==")[0] for call in calls}
        self.assertLessEqual({"quack-kernels", "nvidia-cudnn-frontend", "nvidia-cutlass-dsl"}, names)
        self.assertEqual(len(wheels.parts_of(self.folder)), len(calls))
        found = self.names(wheels.unpack(self.folder))
        self.assertEqual(found, sorted([*(name + ".py" for name in names), wheels.LIST]))

    def test_a_wheel_that_exists_is_kept(self):
        self.download()
        before = self.names(self.folder)
        self.assertEqual(self.download(), [])
        self.assertEqual(self.names(self.folder), before)
        path = self.folder / next(name for name in before if name.startswith("quack_kernels-"))
        path.unlink()
        self.assertEqual(len(self.download()), 1)
        self.assertTrue(path.exists())

    def test_a_wheel_of_another_version_is_removed(self):
        old = self.folder / "quack_kernels-0.0.1-py3-none-any.whl"
        old.touch()
        self.download()
        self.assertFalse(old.exists())

    def test_a_large_wheel_is_in_parts(self):
        self.download()
        path = next(self.folder.glob("quack_kernels-*"))
        path.unlink()
        self.download(size=50 << 20)
        parts = wheels.parts_of(self.folder)[path.name]
        self.assertEqual([part.suffix for part in parts], [".00", ".01"])
        self.assertTrue(all(part.stat().st_size < 60e6 for part in parts))
        self.assertEqual(self.download(), [])
        text = wheels.unpack(self.folder) / "quack-kernels.py"
        self.assertEqual(text.stat().st_size, 50 << 20)


if __name__ == "__main__":
    unittest.main()
