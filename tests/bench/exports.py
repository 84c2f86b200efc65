"""Writes the C++ file that exports the kernels of C headers from a shared library, for bench/kernels.py.

    exports.py OUT HEADER...

Objects of kernels and the runtime have hidden symbols, so that two libraries in one process do not mix.
"""

import pathlib
import sys

from bench.kernels import kernels_of_header

FUNCTIONS = """
EXPORT tritonc_status bench_launch(const tritonc_kernel *kernel, tritonc_stream stream,
                                   const void *arguments, const int32_t *choice) {
  return tritonc_launch(kernel, stream, arguments, choice, nullptr);
}
EXPORT const char *bench_status_name(tritonc_status status) { return tritonc_status_name(status); }
EXPORT size_t bench_status_message(tritonc_status status, char *buffer, size_t size) {
  return tritonc_status_message(status, buffer, size);
}

struct bench_image {
  const tritonc_kernel *kernel; // its launches run this image, or fail
  const int32_t *choice;        // values of the kernel's tuned axes
  size_t choice_size;
  const tritonc_image_info *info;
};
// Writes the first `size` images of the kernel. Returns the number of all. Not thread-safe.
EXPORT size_t bench_images(const tritonc_kernel *kernel, bench_image *images, size_t size) {
  static std::map<const tritonc_kernel *, std::vector<std::unique_ptr<const tritonc::test::OneImage>>> known;
  auto &found = known[kernel];
  if (found.empty())
    found = tritonc::test::images_of(*reinterpret_cast<const tritonc::abi::kernel *>(kernel));
  for (size_t i = 0; i < found.size() && i < size; i++)
    images[i] = {reinterpret_cast<const tritonc_kernel *>(&found[i]->kernel), found[i]->choice,
                 found[i]->kernel.axis_count, reinterpret_cast<const tritonc_image_info *>(found[i]->info)};
  return found.size();
}

// For programs without PyTorch.
EXPORT tritonc_status bench_allocate(void **memory, size_t bytes) { return tritonc_allocate(memory, bytes); }
EXPORT tritonc_status bench_copy_to_device(void *to, const void *from, size_t bytes) {
  return tritonc_copy_to_device(to, from, bytes);
}
EXPORT tritonc_status bench_copy_to_host(void *to, const void *from, size_t bytes) {
  return tritonc_copy_to_host(to, from, bytes);
}
"""


def exports(headers):
    """The text of the C++ file for the paths of C headers."""
    symbols = {}
    for header in headers:
        for name, (_, symbol) in kernels_of_header(header.read_text(encoding="utf-8"), "bench_").items():
            if name in symbols:
                raise ValueError(f"{header}: another header has a kernel {name}, too")
            symbols[name] = symbol
    includes = "".join(f'#include "{header.resolve()}"\n' for header in headers)
    rows = "".join(f'    {{"{name}", &{symbol}}},\n' for name, symbol in symbols.items())
    return f"""// Written by exports.py.
{includes}
#include "support/one_image.h"

#include <map>

#define EXPORT extern "C" __attribute__((visibility("default")))

struct bench_row {{
  const char *name;
  const tritonc_kernel *kernel;
}};

EXPORT const bench_row bench_kernels[];
const bench_row bench_kernels[] = {{
{rows}    {{nullptr, nullptr}},
}};
{FUNCTIONS}"""


if __name__ == "__main__":
    out, *paths = map(pathlib.Path, sys.argv[1:])
    try:
        out.write_text(exports(paths), encoding="utf-8")
    except ValueError as problem:
        sys.exit(f"exports.py: {problem}")
