"""Measures the size of libraries of a kernel for six GPUs. Needs a C++ compiler. Pure Python.

    archive   a static library: the object of tritonc, as triton_add_kernels() makes it
    linked    a stripped shared library with the object, the runtime, and a function that launches
"""

import json
import pathlib

from bench import compile_peers, compile_results
from bench.kernels import kernels_of_header
from bench.process import Failed, run

GPUS = ("75", "80", "86", "89", "90a", "100a")
CXX = ("c++", "-std=c++20", "-O2", "-fPIC", "-shared", "-s", "-static-libstdc++", "-static-libgcc",
       "-Wl,--gc-sections")
NAME = "bench"  # of the library
EXPORTS = """#include "{header}"
#define EXPORT extern "C" __attribute__((visibility("default")))

EXPORT const tritonc_kernel *const kernels[];
const tritonc_kernel *const kernels[] = {{{kernels}nullptr}};
EXPORT tritonc_status launch(const tritonc_kernel *kernel, tritonc_stream stream, const void *arguments) {{
  return tritonc_launch(kernel, stream, arguments, nullptr, nullptr);
}}
"""


def measure(tools, samples, folder, say):
    """Name -> entry of "libraries". `samples` has the variants of each source."""
    folder = folder / "libraries"
    folder.mkdir()
    entries = {source.stem: lambda source=source: of_kernel(tools, source, samples[source], folder)
               for source in samples if source.stem in compile_peers.CASES}
    if entries:
        entries[compile_results.RUNTIME] = lambda: of_runtime(tools.tritonc, folder)
    found = {}
    for name, entry in entries.items():
        try:
            found[name] = entry()
        except Failed as problem:
            found[name] = {"failed": str(problem)}
        say(f"library of {name}: {found[name]}")
    return found


def of_kernel(tools, source, variants, folder):
    (folder / "variants.json").write_text(json.dumps(variants), encoding="utf-8")
    run([tools.tritonc, "compile", source, "--arch", ",".join(GPUS), "--variant-file",
         folder / "variants.json", "--name", NAME, "--object", folder / "kernels.o", "--c-header",
         folder / "kernels.h", "--manifest", folder / "manifest.json", "--ptxas", tools.ptxas,
         "--cache-dir", "off", "--quiet"])
    archive = folder / f"{source.stem}.a"
    run(["ar", "rcs", archive, folder / "kernels.o"])
    return {"images": len(images_of(folder / "manifest.json")), "archive": archive.stat().st_size,
            "linked": linked(tools.tritonc, folder / "kernels.h", [folder / "kernels.o"], folder)}


def of_runtime(tritonc, folder):
    archive, headers = runtime_of(tritonc)
    return {"images": 0, "archive": archive.stat().st_size,
            "linked": linked(tritonc, headers / "tritonc" / "runtime.h", [], folder)}


def linked(tritonc, header, objects, folder):
    """The size of a stripped shared library of the kernels of a C header."""
    runtime, headers = runtime_of(tritonc)
    (folder / "exports.cpp").write_text(exports(header), encoding="utf-8")
    run([*CXX, "-I", headers, folder / "exports.cpp", *objects, runtime, "-ldl", "-lpthread", "-o",
         folder / "library.so"])
    return (folder / "library.so").stat().st_size


def exports(header):
    """C++ that exports the kernels of a C header: without it, a shared library would lack them."""
    found = kernels_of_header(header.read_text(encoding="utf-8"), NAME + "_")
    symbols = "".join(f"&{symbol}, " for _, symbol in found.values())
    return EXPORTS.format(header=header, kernels=symbols)


def runtime_of(tritonc):
    """The static library of the runtime, and the folder of its headers: of a build, or installed."""
    root = pathlib.Path(tritonc).resolve().parent.parent
    for folder, headers in ((root / "runtime", compile_peers.BENCH.parent.parent / "runtime/include"),
                            (root / "lib", root / "include")):
        if (folder / "libtritonc_runtime.a").exists():
            return folder / "libtritonc_runtime.a", headers
    raise Failed(f"{root} has no libtritonc_runtime.a in runtime/ or lib/")


def images_of(manifest):
    """The images in a file of --manifest."""
    kernels = json.loads(manifest.read_text(encoding="utf-8"))["kernels"]
    return [image for kernel in kernels for variant in kernel["variants"] for image in variant["images"]]
