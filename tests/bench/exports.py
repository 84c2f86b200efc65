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
EXPORT const tritonc_image_info *bench_info(const tritonc_kernel *kernel, const int32_t *choice,
                                            size_t *count) {
  return tritonc_info(kernel, choice, count);
}
EXPORT const char *bench_status_name(tritonc_status status) { return tritonc_status_name(status); }
EXPORT size_t bench_status_message(tritonc_status status, char *buffer, size_t size) {
  return tritonc_status_message(status, buffer, size);
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
