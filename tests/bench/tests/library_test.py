"""A library of two kernels on the emulator. BENCH_LIBRARY is its folder (see ../CMakeLists.txt)."""

import ctypes
import math
import os
import struct
import unittest

from bench import kernels

FOLDER = os.environ.get("BENCH_LIBRARY")


class Memory:
    """Device memory with a copy of numbers. `offset`: bytes between the memory and the first number."""

    def __init__(self, library, kind, numbers, offset=0):
        self.library, self.format, self.offset = library, f"={len(numbers)}{kind}", offset
        address = ctypes.c_void_p()
        self.size = struct.calcsize(self.format)
        self.call("bench_allocate", ctypes.byref(address), self.size + offset)
        self.address = address.value + offset
        self.call("bench_copy_to_device", self.address, struct.pack(self.format, *numbers), self.size)

    def call(self, name, *arguments):
        types = [ctypes.c_void_p] * (len(arguments) - 1) + [ctypes.c_size_t]
        function = self.library.function(getattr(self.library.code, name), kernels.Status, types)
        self.library.check(function(*arguments))

    def data_ptr(self):
        return self.address

    def numbers(self):
        text = ctypes.create_string_buffer(self.size)
        self.call("bench_copy_to_host", text, self.address, self.size)
        return struct.unpack(self.format, text.raw)


@unittest.skipUnless(FOLDER, "BENCH_LIBRARY is not set: the CTest bench.library sets it")
class OnTheEmulator(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.library = kernels.Library(FOLDER)

    def softmax(self, rows, columns, ldx, ldy, x_offset=0, y_offset=0):
        """Launches. Returns x and y, with the numbers between the rows."""
        x = [round(8 * math.sin(i)) / 2 for i in range(rows * ldx)]
        y = Memory(self.library, "e", [-7.0] * (rows * ldy), y_offset)
        launch = self.library.kernel("softmax_half").bind(
            x=Memory(self.library, "e", x, x_offset), y=y, M=rows, N=columns, ldx=ldx, ldy=ldy)
        launch()
        return x, y.numbers()

    def test_the_library_has_the_kernels_of_its_headers(self):
        self.assertEqual(sorted(self.library.objects), ["softmax_half", "vector_add_float"])
        self.assertEqual(sorted(self.library.kernels), ["softmax_half", "vector_add_float"])
        self.assertEqual(self.library.sources, {"softmax_half": "softmax", "vector_add_float": "vector_add"})

    def test_each_source_has_a_digest(self):
        self.assertEqual(sorted(kernels.digests(FOLDER)), ["softmax", "vector_add"])

    def test_another_name_is_an_error(self):
        with self.assertRaisesRegex(KeyError, "the library has no kernel softmax_float"):
            self.library.kernel("softmax_float")

    def test_softmax_gives_the_numbers_of_plain_python(self):
        rows, columns, ldx, ldy = 3, 37, 40, 41
        x, y = self.softmax(rows, columns, ldx, ldy)
        for m in range(rows):
            exponentials = [math.exp(each) for each in x[m * ldx:m * ldx + columns]]
            for n in range(columns):
                expected = exponentials[n] / sum(exponentials)
                error = abs(y[m * ldy + n] - expected)
                self.assertLessEqual(error, 1.02 * 2**-11 * expected + 2**-25, (m, n))
            self.assertEqual(y[m * ldy + columns:(m + 1) * ldy], (-7.0,) * (ldy - columns))

    def test_vector_add_gives_the_numbers_of_plain_python(self):
        count = 1000
        x, y = ([factor * i for i in range(count)] for factor in (0.5, 0.25))
        z = Memory(self.library, "f", [-7.0] * (count + 4))
        add = self.library.kernel("vector_add_float")
        add.bind(x=Memory(self.library, "f", x), y=Memory(self.library, "f", y), z=z, n=count)()
        self.assertEqual(z.numbers(), (*(0.75 * i for i in range(count)), -7.0, -7.0, -7.0, -7.0))

    def test_each_image_gives_the_numbers_of_plain_python(self):
        x = [0.5 * i for i in range(1000)]
        add = self.library.kernel("vector_add_float")
        self.assertEqual([str(image) for image in add.images()],
                         ["sm_80 / 1024 / baseline / n % 4", "sm_80 / 1024 / baseline",
                          "sm_80 / 256 / baseline / n % 4", "sm_80 / 256 / baseline"])
        for image in add.images():
            z = Memory(self.library, "f", [-7.0] * len(x))
            launch = add.bind(x=Memory(self.library, "f", x), y=Memory(self.library, "f", x), z=z, n=len(x))
            add.object = image.object
            launch()
            self.assertEqual(z.numbers(), tuple(2 * each for each in x))

    def test_a_launch_of_no_rows_writes_nothing(self):
        y = Memory(self.library, "e", [-7.0] * 8)
        self.library.kernel("softmax_half").bind(x=y, y=y, M=0, N=8, ldx=8, ldy=8)()
        self.assertEqual(y.numbers(), (-7.0,) * 8)

    def test_a_misaligned_pointer_is_refused(self):
        with self.assertRaisesRegex(kernels.LaunchError, r"softmax.*\bx\b") as caught:
            self.softmax(2, 8, 8, 8, x_offset=2)
        self.assertEqual(caught.exception.code, "misaligned_pointer")
        with self.assertRaisesRegex(kernels.LaunchError, r"softmax.*\by\b") as caught:
            self.softmax(2, 8, 8, 8, y_offset=8)
        self.assertEqual(caught.exception.code, "misaligned_pointer")

    def test_a_null_pointer_is_refused(self):
        y = Memory(self.library, "e", [-7.0] * 8)
        launch = self.library.kernel("softmax_half").bind(x=None, y=y, M=1, N=8, ldx=8, ldy=8)
        with self.assertRaises(kernels.LaunchError) as caught:
            launch()
        self.assertEqual(caught.exception.code, "null_pointer")
        self.assertEqual(y.numbers(), (-7.0,) * 8)

    def test_an_aligned_offset_is_accepted(self):
        self.assertEqual(self.softmax(2, 8, 8, 8, x_offset=16, y_offset=48), self.softmax(2, 8, 8, 8))

    def test_a_kernel_knows_its_resources(self):
        images = self.library.kernel("softmax_half").images()
        self.assertEqual({image.info.gpu for image in images}, {b"sm_80"})
        for image in images:
            self.assertTrue(image.info.threads >= 32 and image.info.registers > 0 and image.info.cubin_bytes > 0)


if __name__ == "__main__":
    unittest.main()
