import ctypes
import json
import pathlib
import tempfile
import types
import unittest

from bench import kernels

# The beginning of a header that tritonc wrote, without its comments and functions that nobody reads here.
HEADER = """
#pragma once

#include <tritonc/runtime.h>

// Names a variant of softmax.
typedef struct bench_softmax_params {
  int32_t SIZE; // 512, 1024
} bench_softmax_params;

// ---- bench::softmax<half> ----

extern const tritonc_kernel tritonc_bench_softmax_931110946fc7;

typedef struct bench_softmax_half_args {
  const tritonc_half *x;
  tritonc_half *y;
  int32_t M;
  int32_t N;
  int32_t ldx;
  int32_t ldy;
} bench_softmax_half_args;
TRITONC_STATIC_ASSERT(sizeof(bench_softmax_half_args) == 32,
                      "the layout that the kernel was compiled for");

// A prepared launch: see tritonc_prepared_launch.
typedef struct bench_softmax_half_prepared {
  bench_softmax_half_args arguments;
  tritonc_prepared_launch launch;
} bench_softmax_half_prepared;

TRITONC_NODISCARD static inline tritonc_status
bench_softmax_half_launch(tritonc_stream stream, const bench_softmax_half_args *arguments) {
  return tritonc_launch(&tritonc_bench_softmax_931110946fc7, stream, arguments, NULL, NULL);
}
TRITONC_NODISCARD static inline tritonc_status
bench_softmax_half_prepare(tritonc_stream stream, const bench_softmax_half_args *arguments,
                           bench_softmax_half_prepared *ready) {
  ready->arguments = *arguments;
  return tritonc_prepare(&tritonc_bench_softmax_931110946fc7, stream, &ready->arguments, NULL, NULL,
                         &ready->launch);
}
TRITONC_NODISCARD static inline tritonc_status
bench_softmax_half_launch_variant(tritonc_stream stream, const bench_softmax_half_args *arguments,
                                  const bench_softmax_params *which) {
  return tritonc_launch(&tritonc_bench_softmax_931110946fc7, stream, arguments,
                        (const int32_t *)which, NULL);
}

// ---- bench::dropout<float> ----

extern const tritonc_kernel tritonc_bench_dropout_0a1b2c3d4e5f;

typedef struct bench_dropout_float_args {
  const float *x;
  float *y;
  int64_t n;
  uint32_t seed;
  float p;
  bool inplace;
} bench_dropout_float_args;

TRITONC_NODISCARD static inline tritonc_status
bench_dropout_float_launch(tritonc_stream stream,
                           const bench_dropout_float_args *arguments) {
  return tritonc_launch(&tritonc_bench_dropout_0a1b2c3d4e5f, stream, arguments, NULL, NULL);
}
"""

# A kernel that declares no grid.
WITHOUT_GRID = """
typedef struct bench_free_args {
  float *x;
} bench_free_args;

TRITONC_NODISCARD static inline tritonc_status
bench_free_launch(tritonc_stream stream, const tritonc_grid *programs,
                  const bench_free_args *arguments) {
  return tritonc_launch(&tritonc_bench_free_111111111111, stream, arguments, NULL, programs);
}
"""

SOFTMAX = [("x", "tritonc_half*"), ("y", "tritonc_half*"), ("M", "int32_t"), ("N", "int32_t"),
           ("ldx", "int32_t"), ("ldy", "int32_t")]
DROPOUT = [("x", "float*"), ("y", "float*"), ("n", "int64_t"), ("seed", "uint32_t"), ("p", "float"),
           ("inplace", "bool")]


class Headers(unittest.TestCase):
    def test_the_kernels_of_a_header(self):
        self.assertEqual(kernels.kernels_of_header(HEADER, "bench_"), {
            "softmax_half": (SOFTMAX, "tritonc_bench_softmax_931110946fc7"),
            "dropout_float": (DROPOUT, "tritonc_bench_dropout_0a1b2c3d4e5f"),
        })

    def test_only_the_prefix_is_removed(self):
        self.assertEqual(list(kernels.kernels_of_header(HEADER, "other_")),
                         ["bench_softmax_half", "bench_dropout_float"])

    def test_a_kernel_whose_caller_passes_the_grid_is_no_kernel_of_the_benchmark(self):
        self.assertEqual(kernels.kernels_of_header(WITHOUT_GRID, "bench_"), {})
        self.assertEqual(list(kernels.kernels_of_header(WITHOUT_GRID + HEADER, "bench_")),
                         ["softmax_half", "dropout_float"])

    def test_another_text_has_no_kernels(self):
        self.assertEqual(kernels.kernels_of_header("typedef struct size { int x; } size;", "bench_"), {})


class Tensor:
    def __init__(self, address):
        self.address = address

    def data_ptr(self):
        return self.address


class Bind(unittest.TestCase):
    def setUp(self):
        self.launched = []
        self.status = kernels.Status()
        self.library = types.SimpleNamespace(
            objects={"softmax_half": 11, "dropout_float": 22}, launch=self.launch, check=self.check)
        found = kernels.kernels_of_header(HEADER, "bench_")
        self.softmax, self.dropout = (kernels.Kernel(self.library, name, found[name][0])
                                      for name in ("softmax_half", "dropout_float"))

    def launch(self, kernel, stream, pointer, choice):
        values = pointer._obj
        fields = {name: getattr(values, name) for name, _ in values._fields_}
        self.launched.append((kernel, stream, choice, fields))
        return self.status

    def check(self, status):
        raise kernels.LaunchError(status.code, "refused")

    def softmax_arguments(self, **changes):
        return {**dict(x=Tensor(256), y=Tensor(512), M=2, N=3, ldx=4, ldy=5), **changes}

    def dropout_arguments(self, **changes):
        return {**dict(x=Tensor(256), y=Tensor(512), n=1, seed=2, p=0.5, inplace=False), **changes}

    def test_a_launch_passes_kernel_stream_and_arguments(self):
        launch = self.softmax.bind(**self.softmax_arguments())
        self.assertEqual(self.launched, [])
        launch()
        launch(99)
        values = dict(x=256, y=512, M=2, N=3, ldx=4, ldy=5)
        self.assertEqual(self.launched, [(11, 0, None, values), (11, 99, None, values)])

    def test_the_struct_is_that_of_the_header(self):
        self.assertEqual(ctypes.sizeof(self.softmax.struct), 32)
        offsets = [getattr(self.dropout.struct, name).offset for name, _ in DROPOUT]
        self.assertEqual(offsets, [0, 8, 16, 24, 28, 32])

    def test_two_launches_have_their_own_arguments(self):
        first = self.dropout.bind(**self.dropout_arguments())
        second = self.dropout.bind(**self.dropout_arguments(n=7))
        first()
        second()
        self.assertEqual([values["n"] for _, _, _, values in self.launched], [1, 7])

    def test_none_is_a_null_pointer(self):
        self.softmax.bind(**self.softmax_arguments(y=None))()
        self.assertIsNone(self.launched[0][3]["y"])

    def test_a_missing_or_unknown_argument_is_an_error(self):
        missing = self.softmax_arguments()
        del missing["ldy"]
        for arguments in (missing, self.softmax_arguments(rows=2), {}):
            message = r"softmax_half takes \['x', 'y', 'M', 'N', 'ldx', 'ldy'\], not "
            with self.assertRaisesRegex(TypeError, message):
                self.softmax.bind(**arguments)

    def test_a_number_that_does_not_fit_is_an_error(self):
        for arguments, message in ((dict(M=2**31), "softmax_half: M = 2147483648 does not fit int32_t"),
                                   (dict(N=-2**31 - 1), "N = -2147483649 does not fit int32_t")):
            with self.assertRaisesRegex(OverflowError, message):
                self.softmax.bind(**self.softmax_arguments(**arguments))
        with self.assertRaisesRegex(OverflowError, "seed = -1 does not fit uint32_t"):
            self.dropout.bind(**self.dropout_arguments(seed=-1))

    def test_the_largest_and_the_smallest_number_fit(self):
        self.softmax.bind(**self.softmax_arguments(x=Tensor(2**64 - 1), M=2**31 - 1, N=-2**31))()
        self.dropout.bind(**self.dropout_arguments(n=2**62, seed=2**32 - 1, p=1, inplace=True))()
        first, second = (values for _, _, _, values in self.launched)
        self.assertEqual((first["x"], first["M"], first["N"]), (2**64 - 1, 2**31 - 1, -2**31))
        self.assertEqual((second["n"], second["seed"], second["p"], second["inplace"]),
                         (2**62, 2**32 - 1, 1.0, True))

    def test_a_number_of_another_type_is_an_error(self):
        with self.assertRaises(TypeError):
            self.softmax.bind(**self.softmax_arguments(M=2.5))
        with self.assertRaises(TypeError):
            self.dropout.bind(**self.dropout_arguments(p="half"))

    def test_a_refused_launch_raises(self):
        launch = self.softmax.bind(**self.softmax_arguments())
        launch()
        self.status = kernels.Status(code=3)
        with self.assertRaisesRegex(kernels.LaunchError, "refused"):
            launch()


class Digests(unittest.TestCase):
    def digest(self, **manifest):
        with tempfile.TemporaryDirectory() as folder:
            (pathlib.Path(folder) / "softmax.json").write_text(json.dumps(manifest), encoding="utf-8")
            (found,) = kernels.digests(folder).items()
            self.assertEqual(found[0], "softmax")
            return found[1]

    def test_a_digest_depends_on_the_images_only(self):
        first = self.digest(kernels=[{"image_sha256": "ab", "cost": "3"}], tool="1.0", source="kernels/softmax.tc")
        self.assertEqual(first, self.digest(kernels=[{"cost": "3", "image_sha256": "ab"}], tool="1.1", source="x"))
        self.assertNotEqual(first, self.digest(kernels=[{"image_sha256": "cd", "cost": "3"}], tool="1.0"))
        self.assertNotEqual(first, self.digest(kernels=[{"image_sha256": "ab", "cost": "4"}], tool="1.0"))


if __name__ == "__main__":
    unittest.main()
