"""The shipped kernels, in a shared library with C headers that CMakeLists.txt builds.

    library = Library(folder)
    softmax = library.kernel("softmax_half")
    launch = softmax.bind(x=x, y=y, M=1024, N=512, ldx=512, ldy=512)
    launch(stream)

The C headers that tritonc wrote have the struct of each kernel's arguments. exports.py exports the
kernels. The launch is tritonc_launch() without a choice: the library chooses the variant and the
schedule, as for a user.

Does not depend on PyTorch: a tensor is any object with data_ptr().
"""

import ctypes
import hashlib
import itertools
import json
import pathlib
import re

SCALARS = {
    "int8_t": ctypes.c_int8, "uint8_t": ctypes.c_uint8, "int16_t": ctypes.c_int16,
    "uint16_t": ctypes.c_uint16, "int32_t": ctypes.c_int32, "uint32_t": ctypes.c_uint32,
    "int64_t": ctypes.c_int64, "uint64_t": ctypes.c_uint64, "float": ctypes.c_float,
    "double": ctypes.c_double, "bool": ctypes.c_bool,
}


class LaunchError(Exception):
    """A launch was refused. `code` is the runtime's word for it, such as "no_variant"."""

    def __init__(self, code, message):
        super().__init__(message)
        self.code = code


class Status(ctypes.Structure):
    """tritonc_status of runtime.h."""

    _fields_ = [("kernel", ctypes.c_void_p), ("argument", ctypes.c_char_p),
                ("code", ctypes.c_int32), ("detail", ctypes.c_int32)]


class ImageInfo(ctypes.Structure):
    """tritonc_image_info of runtime.h."""

    _fields_ = [("gpu", ctypes.c_char_p), ("schedule", ctypes.c_char_p)] + [
        (name, ctypes.c_int32)
        for name in ("threads", "registers", "shared_bytes", "static_shared_bytes", "spill_stores",
                     "spill_loads", "stack_bytes", "cubin_bytes")
    ] + [("specialization", ctypes.c_char_p)]


class ImageRow(ctypes.Structure):
    """A row of bench_images() in exports.py."""

    _fields_ = [("kernel", ctypes.c_void_p), ("choice", ctypes.POINTER(ctypes.c_int32)),
                ("choice_size", ctypes.c_size_t), ("info", ctypes.POINTER(ImageInfo))]


class Image:
    """The code of one variant for one GPU, schedule and specialization; or of a pair of launches that
    share the work. `object` is a kernel with this image only. `info` has the resources.
    """

    def __init__(self, row):
        self.object, self.info = row.kernel, row.info.contents
        self.choice = tuple(row.choice[:row.choice_size])

    def __str__(self):
        words = [self.info.gpu.decode(), ",".join(map(str, self.choice)), (self.info.schedule or b"").decode(),
                 (self.info.specialization or b"").decode()]
        return " / ".join(word for word in words if word)


def kernels_of_header(text, prefix):
    """The kernels of a C header: name without `prefix` -> (fields, symbol).

    A field is (name, C type); the type of a pointer ends with "*". A kernel whose caller passes the
    grid is left out: a launch here passes none.
    """
    symbols = dict(re.findall(r"(\w+)_launch\(tritonc_stream stream,\s*const \w+_args [^{]*\{"
                              r"\s*return tritonc_launch\(&(\w+),", text))
    kernels = {}
    for body, name in re.findall(r"typedef struct \w+_args \{([^}]*)\} (\w+)_args;", text):
        fields = []
        for line in body.split(";"):
            line = re.sub(r"//[^\n]*", "", line).strip()
            if line:
                kind, field = re.fullmatch(r"(?:const )?(\w+ \*|\w+ )(\w+)", line).groups()
                fields.append((field, kind.replace(" ", "")))
        if name in symbols:
            kernels[name.removeprefix(prefix)] = (fields, symbols[name])
    return kernels


def digests(kernels):
    """Source of kernels -> a digest of its images, and of what chooses among them. `kernels` is the folder
    of the kernels. Its manifests have the hash of each image."""
    found = {}
    for manifest in sorted(pathlib.Path(kernels).glob("*.json")):
        text = json.dumps(json.loads(manifest.read_text(encoding="utf-8"))["kernels"], sort_keys=True)
        found[manifest.stem] = hashlib.sha256(text.encode()).hexdigest()[:16]
    return found


class Kernel:
    """A kernel of the library. `bind` gives a launch. `numbers` are the integer arguments of the last
    `bind`."""

    def __init__(self, library, name, fields):
        self.library, self.name, self.fields = library, name, fields
        self.object = library.objects[name]
        self.struct = type(name + "_args", (ctypes.Structure,), {
            "_fields_": [(field, ctypes.c_void_p if kind.endswith("*") else SCALARS[kind])
                         for field, kind in fields]
        })

    def bind(self, **arguments):
        """A function of a stream (an integer) that launches the kernel with these arguments.

        A pointer is a tensor or None. Raises TypeError if an argument is missing or unknown, and
        OverflowError if a number does not fit.
        """
        if set(arguments) != {field for field, _ in self.fields}:
            raise TypeError(f"{self.name} takes {[field for field, _ in self.fields]}, not {list(arguments)}")
        values = self.struct()
        for field, kind in self.fields:
            value = arguments[field]
            if kind.endswith("*"):
                value = None if value is None else value.data_ptr()
            setattr(values, field, value)
            if kind in SCALARS and isinstance(value, int) and getattr(values, field) != value:
                raise OverflowError(f"{self.name}: {field} = {value} does not fit {kind}")  # ctypes cuts it
        self.numbers = {name: value for name, value in arguments.items() if isinstance(value, int)}
        launch, check, pointer = self.library.launch, self.library.check, ctypes.byref(values)
        kept = (values, arguments)  # the tensors must stay alive

        def run(stream=0):
            status = launch(self.object, stream, pointer, None)
            if status.code:
                check(status)

        run.kept = kept
        return run

    def images(self):
        """All images. After `kernel.object = image.object`, launches run this image, or raise
        LaunchError if it does not take the arguments."""
        list_images = self.library.list_images
        found = (ImageRow * list_images(self.object, None, 0))()
        list_images(self.object, found, len(found))
        return [Image(row) for row in found]


class TableRow(ctypes.Structure):
    """A row of bench_kernels in exports.py."""

    _fields_ = [("name", ctypes.c_char_p), ("kernel", ctypes.c_void_p)]


class Library:
    """The folder that the target `bench_kernels` builds: libbench_kernels.so and *.h. `sources` has the
    source of each kernel: the stem of its header."""

    def __init__(self, folder):
        self.folder = folder = pathlib.Path(folder)
        code = ctypes.CDLL(str(folder / "libbench_kernels.so"))
        self.launch = self.function(code.bench_launch, Status, [ctypes.c_void_p] * 4)
        self.list_images = self.function(code.bench_images, ctypes.c_size_t,
                                         [ctypes.c_void_p, ctypes.POINTER(ImageRow), ctypes.c_size_t])
        self.status_name = self.function(code.bench_status_name, ctypes.c_char_p, [Status])
        self.status_message = self.function(code.bench_status_message, ctypes.c_size_t,
                                            [Status, ctypes.c_char_p, ctypes.c_size_t])
        self.code, self.objects = code, {}
        row = ctypes.pointer(TableRow.in_dll(code, "bench_kernels"))
        for i in itertools.takewhile(lambda i: row[i].name, itertools.count()):
            self.objects[row[i].name.decode()] = row[i].kernel
        self.kernels, self.sources = {}, {}
        for header in sorted(folder.glob("*.h")):
            found = kernels_of_header(header.read_text(encoding="utf-8"), "bench_")
            self.kernels.update(found)
            self.sources.update(dict.fromkeys(found, header.stem))

    @staticmethod
    def function(found, result, arguments):
        found.restype, found.argtypes = result, arguments
        return found

    def kernel(self, name):
        """The kernel with this name, the template arguments appended: "softmax_half"."""
        if name not in self.kernels:
            raise KeyError(f"the library has no kernel {name}")
        return Kernel(self, name, self.kernels[name][0])

    def check(self, status):
        """Raises LaunchError unless the status is success."""
        if status.code:
            message = ctypes.create_string_buffer(1024)
            self.status_message(status, message, len(message))
            raise LaunchError(self.status_name(status).decode(), message.value.decode())
