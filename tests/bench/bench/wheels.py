"""The wheels of optional peers, which tests/bench/peers_download writes. Pure Python.

A machine with a GPU often has no network. There, `run measure` unpacks the wheels, and the workers add the
folder to sys.path, after the packages of the machine.
"""

import io
import json
import pathlib
import re
import shutil
import site
import zipfile

LIST = "wheels.json"  # in the folder of the packages: the size of each wheel


def parts_of(wheels):
    """Name of a wheel -> its files, in order. A large wheel is in parts: NAME.whl.00, NAME.whl.01, ..."""
    parts = {}
    for path in sorted(pathlib.Path(wheels).glob("*.whl*")):
        parts.setdefault(re.sub(r"\.whl\.\d+$", ".whl", path.name), []).append(path)
    return parts


def unpack(wheels):
    """The folder of the packages, beside that of the wheels, which are unpacked unless they are in it.

    Without wheels, nothing happens. Raises ValueError if a wheel is damaged.
    """
    wheels = pathlib.Path(wheels)
    packages, parts = wheels.with_name(wheels.name + "_unpacked"), parts_of(wheels)
    sizes = {name: sum(path.stat().st_size for path in paths) for name, paths in parts.items()}
    known = packages / LIST
    if not parts or known.exists() and json.loads(known.read_text(encoding="utf-8")) == sizes:
        return packages
    shutil.rmtree(packages, ignore_errors=True)
    for name, paths in parts.items():
        whole = io.BytesIO(b"".join(path.read_bytes() for path in paths))
        try:
            zipfile.ZipFile(whole).extractall(packages)
        except (zipfile.BadZipFile, ValueError) as error:
            raise ValueError(f"{wheels / name} is damaged, or a part is missing: {error}") from error
    known.write_text(json.dumps(sizes), encoding="utf-8")
    return packages


def use(packages):
    """Makes the packages importable. A package that the machine has comes first."""
    if pathlib.Path(packages).is_dir():
        site.addsitedir(str(packages))
