"""What a family needs to build a case: kernels, tensors on random data, and peers."""

import torch

from bench.peers import Absent

TYPES = {"half": torch.float16, "bfloat16": torch.bfloat16, "float": torch.float32, "double": torch.float64,
         "e4m3": torch.float8_e4m3fn, "e5m2": torch.float8_e5m2, "int8": torch.int8, "uint8": torch.uint8,
         "int": torch.int32}

STREAM_BYTES = 512 << 20  # of all buffer sets: so much is read and written before a buffer is used again
MAX_SETS = 20


class Build:
    """`at` is called with each step, so that the parent process knows the step that hangs. `without` has
    the reasons of peers to leave out. If `prepares`, the case only compiles its kernels. `only`: the names
    of the peers to measure; None: all. `sources` has the sources of the kernels that the case launches.
    """

    def __init__(self, library, timer, seed, at=lambda step: None, without=None, prepares=False,
                 only=None):
        self.library, self.timer, self.at, self.prepares = library, timer, at, prepares
        self.without, self.only, self.sources = without or {}, only, set()
        self.generator = torch.Generator("cuda")
        self.generator.manual_seed(seed)

    def kernel(self, name):
        kernel = self.library.kernel(name)
        self.sources.add(self.library.sources[name])
        return kernel

    def sets(self, bytes):
        """The number of buffer sets for a case that reads and writes so many bytes."""
        return min(MAX_SETS, max(2, -(-STREAM_BYTES // max(bytes, 1))))

    def random(self, sets, shape, type, low=-1.0, high=1.0):
        """Tensors of uniform random numbers, one per set."""
        dtype = TYPES[type]
        tensors = []
        for _ in range(sets):
            if dtype in (torch.int8, torch.uint8, torch.int32):
                tensors.append(torch.randint(int(low), int(high) + 1, shape, dtype=dtype, device="cuda",
                                             generator=self.generator))
            else:
                values = torch.rand(shape, dtype=torch.float64 if dtype == torch.float64 else torch.float32,
                                    device="cuda", generator=self.generator)
                tensors.append(values.mul_(high - low).add_(low).to(dtype))
        return tensors

    def empty(self, sets, shape, type):
        return [torch.empty(shape, dtype=TYPES[type], device="cuda") for _ in range(sets)]

    def peers(self, **makers):
        """Name -> launch, or the reason why the peer cannot run. A maker returns a launch; a word of
        the name may be separated by "_"."""
        found = {}
        for name, make in makers.items():
            name = name.replace("_", " ")
            if name in self.without:
                found[name] = self.without[name]
                continue
            if self.only is not None and name not in self.only:
                found[name] = "not in --peers"
                continue
            self.at(f"peer {name}")
            try:
                launch = make()
                launch(0)
                torch.cuda.synchronize()
                found[name] = launch
            except Absent as absent:
                found[name] = str(absent)
            except torch.cuda.OutOfMemoryError:
                found[name] = "out of memory"
            except Exception as error:  # a peer's failure is a fact about the peer; the run goes on
                found[name] = f"{type(error).__name__}: {first_line(error)}"
        return found

    def fastest(self, launches):
        """The launch with the least time of a short measurement; of those that run at all."""
        best = None
        for launch in launches:
            try:
                if self.prepares:
                    launch(0)
                    best = best or (0.0, launch)
                    continue
                seconds = self.timer.quick(launch)
            except Exception:  # a configuration that needs too much shared memory, for example
                continue
            if best is None or seconds < best[0]:
                best = (seconds, launch)
        if best is None:
            raise Absent("no configuration runs")
        return best[1]


class WithoutPeers(Build):
    """For a case that is checked, and not measured. `kernels` has the kernels that it launches."""

    def __init__(self, library, seed):
        super().__init__(library, None, seed)
        self.kernels = []

    def kernel(self, name):
        self.kernels.append(super().kernel(name))
        return self.kernels[-1]

    def sets(self, bytes):
        return 1

    def peers(self, **makers):
        return {}


def first_line(error):
    lines = str(error).strip().splitlines()
    return lines[0][:200] if lines else ""
