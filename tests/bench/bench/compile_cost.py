"""Measures the cost of compiling the shipped kernels: `run compile`. Needs no GPU.

Each kernel compiles a fixed sample of its variants, in rounds: once with an empty cache, and once with the
full one. In each round, ptxas assembles a fixed PTX before each kernel: the reference. Other work on the
machine slows both, so compare.py compares the ratio of both.
"""

import collections
import dataclasses
import hashlib
import itertools
import json
import os
import pathlib
import re
import shutil
import tempfile
import time

from bench import compile_libraries, compile_peers, compile_results
from bench.process import Failed, run
from bench.statistics import quantile

GPU = "sm_90a"
VARIANTS = 6  # in the sample of a kernel
ROUNDS = 7
STEPS = 600   # of the reference, which then takes about as long as the ptxas of an image


@dataclasses.dataclass(frozen=True)
class Tools:
    """Paths of programs. None: not installed."""

    tritonc: pathlib.Path
    ptxas: pathlib.Path
    nvcc: pathlib.Path | None
    tile_nvcc: pathlib.Path | None  # compiles CUDA Tile C++
    python: pathlib.Path            # with Triton, or without


def cuda_tool(name):
    """The path of a tool of the CUDA Toolkit, in the order of tritonc; None if there is none."""
    homes = [os.environ[each] + "/bin" for each in ("CUDA_HOME", "CUDA_PATH") if os.environ.get(each)]
    folders = [*homes, *os.environ.get("PATH", "").split(os.pathsep), "/usr/local/cuda/bin"]
    found = shutil.which(name, path=os.pathsep.join(folders))
    return found and pathlib.Path(found)


def installed(tritonc, python):
    """The tools of this machine. Raises FileNotFoundError without the required ones."""
    ptxas = cuda_tool("ptxas")
    if not tritonc.exists():
        raise FileNotFoundError(f"{tritonc} does not exist: build the target tritonc, or use --tritonc")
    if not ptxas:
        raise FileNotFoundError("ptxas is not installed: set CUDA_HOME, or PATH")
    return Tools(tritonc.resolve(), ptxas, cuda_tool("nvcc"), compile_peers.tile_nvcc(), python)


def sources(folder, only=None):
    """The kernels whose names match."""
    try:
        found = [path for path in sorted(folder.glob("*.tc")) if re.search(only or "", path.stem)]
    except re.error as problem:
        raise ValueError(f"--only {only}: {problem}") from problem
    if not found:
        raise ValueError(f"--only {only}: no kernel of {folder} matches")
    return found


def machine():
    """The model of the processor, and the number of cores. Costs of other models are not comparable."""
    text = pathlib.Path("/proc/cpuinfo").read_text(encoding="utf-8")
    facts = dict(re.findall(r"^(.*?)\s*: (.*)$", text, re.MULTILINE))
    name = facts.get("model name", "unknown processor")
    numbers = [f"{word} {facts[key]}" for word, key in (("family", "cpu family"), ("model", "model"))
               if key in facts]
    return {"name": ", ".join([name, *numbers]), "cores": len(os.sched_getaffinity(0))}


def versions(tools):
    """Name -> version of each tool that is installed."""
    found = {"tritonc": run([tools.tritonc, "--version"])[1].removeprefix("tritonc ").strip()}
    for name, path in (("ptxas", tools.ptxas), ("nvcc", tools.nvcc), ("CUDA Tile C++", tools.tile_nvcc)):
        if path:
            found[name] = compile_peers.version_of(path)
    triton = compile_peers.triton_version(tools.python)
    return {**found, **({"Triton": triton} if triton else {})}


def text_of(values):
    """A variant in words: TYPE=half SIZE=512."""
    return " ".join(f"{name}={value}" for name, value in values.items())


def sample(variants, count=VARIANTS):
    """At most `count` variants, with about as many of each value of an axis, and of each pair of values.

    One after the other, it takes the variant whose values and pairs were taken least often. Hashes decide
    among equals. So a run of another day or commit compiles the same variants.
    """
    def parts(variant):
        return [*variant.items(), *itertools.combinations(variant.items(), 2)]

    left = sorted(variants, key=lambda each: hashlib.sha256(text_of(each).encode()).digest())
    taken, frequency = [], collections.Counter()
    while left and len(taken) < count:
        taken.append(min(left, key=lambda each: sum(frequency[part] for part in parts(each))))
        left.remove(taken[-1])
        frequency.update(parts(taken[-1]))
    return taken


def reference_ptx(steps=STEPS):
    """A kernel of dependent multiplications and additions, with branches.

    It must never change: compare.py refuses costs relative to another reference.
    """
    lines = [".version 7.8", ".target sm_80", ".address_size 64",
             ".visible .entry reference(.param .u64 x) {", f".reg .f32 %f<{64 + steps}>;", ".reg .b64 %x;",
             ".reg .b32 %i;", ".reg .pred %p;", "ld.param.u64 %x, [x];", "cvta.to.global.u64 %x, %x;",
             "mov.u32 %i, %tid.x;"]
    lines += [f"ld.global.f32 %f{i}, [%x+{4 * i}];" for i in range(64)]
    for i in range(64, 64 + steps):
        operands = (i - 1 - i * i % 64, i - 1 - i * 7 % 64, i - 1 - i * 13 % 61)
        lines.append(f"fma.rn.f32 %f{i}, %f{operands[0]}, %f{operands[1]}, %f{operands[2]};")
        if i % 32 == 0:
            lines += [f"setp.eq.u32 %p, %i, {i};", f"@%p bra L{i};", f"st.global.f32 [%x+{4 * i}], %f{i};",
                      f"L{i}:"]
    lines += [f"st.global.f32 [%x+{4 * i}], %f{i + steps};" for i in range(64)]
    return "\n".join([*lines, "ret;", "}", ""])


class Reference:
    def __init__(self, ptxas, folder):
        source, cubin = folder / "reference.ptx", folder / "reference.cubin"
        source.write_text(reference_ptx(), encoding="ascii")
        self.command = [ptxas, "-O3", f"-arch={GPU}", source, "-o", cubin]

    def seconds(self):
        return run(self.command)[0]

    @staticmethod
    def digest():
        return hashlib.sha256(reference_ptx().encode()).hexdigest()


class Compilation:
    """Calls of tritonc that compile some variants of a kernel for one GPU, in rounds."""

    part = ""  # of the results

    def __init__(self, tools, source, folder):
        self.tools, self.source, self.name = tools, source, source.stem
        self.folder = folder / self.part / self.name
        self.folder.mkdir(parents=True)
        self.spent = collections.defaultdict(list)
        plan = run([tools.tritonc, "plan", source, "--arch", GPU.removeprefix("sm_"), "--json"])[1]
        self.variants = [each["values"] for part in json.loads(plan)["sources"] for each in part["variants"]]

    def select(self, variants):
        """Sets the variants that call() compiles."""
        (self.folder / "variants.json").write_text(json.dumps(variants), encoding="utf-8")

    def call(self, cache):
        """Returns the core-seconds of a call, and the steps of its report."""
        files = {f"--{name}": self.folder / f"{name}.out" for name in ("object", "header", "manifest")}
        spent, _, errors = run([
            self.tools.tritonc, "compile", self.source, "--arch", GPU.removeprefix("sm_"), "--variant-file",
            self.folder / "variants.json", *itertools.chain(*files.items()), "--ptxas", self.tools.ptxas,
            "--cache-dir", cache, "-j1", "--time-report", "--quiet"])
        return spent, steps_of(errors)

    def images(self):
        """The images of the last call."""
        return compile_libraries.images_of(self.folder / "manifest.out")

    def calls(self):
        """The calls of one round: name -> core-seconds."""
        raise NotImplementedError

    def add_round(self):
        """Measures a round. Returns its core-seconds."""
        spent = self.calls()
        for name, seconds in spent.items():
            self.spent[name].append(seconds)
        return sum(spent.values())

    def costs(self):
        return {name: compile_results.cost(spent) for name, spent in self.spent.items()}


def steps_of(report):
    """Step -> seconds and count, from the output of --time-report."""
    lines = re.findall(r"^ *([\d.]+) +[\d.]+ +(\d+)  (.+)$", report, re.MULTILINE)
    return {step: (float(seconds), int(count)) for seconds, count, step in lines}


class Kernel(Compilation):
    """A row: the sample of a kernel, with an empty cache and with a full one."""

    part = "rows"

    def __init__(self, tools, source, folder):
        super().__init__(tools, source, folder)
        self.sample, self.shares = sample(self.variants), []
        self.select(self.sample)

    def calls(self):
        cache = self.folder / "cache"
        shutil.rmtree(cache, ignore_errors=True)
        cold, steps = self.call(cache)
        self.shares.append(steps["ptxas"][0] / sum(seconds for seconds, _ in steps.values()))
        cached, steps = self.call(cache)
        if steps["ptxas"][1]:
            raise Failed("the cache lacks code that the call before compiled")
        return {"cold": cold, "cached": cached}

    def entry(self):
        images = self.images()
        return {"sample": list(map(text_of, self.sample)), "variants": len(self.variants),
                "images": len(images), "bytes": sum(image["image_bytes"] for image in images),
                "ptxas": round(quantile(self.shares, 0.5), 3), **self.costs()}


class Comparison(Compilation):
    """An entry of "peers": one variant of a kernel per call, and the same kernel compiled by its peers."""

    part = "peers"

    def __init__(self, tools, source, folder):
        super().__init__(tools, source, folder)
        self.variant = compile_peers.CASES[self.name].variant
        if self.variant not in self.variants:
            raise Failed(f"{self.name} has no variant {text_of(self.variant)}")
        self.select([self.variant])
        found = compile_peers.peers(self.name, tools, self.folder)
        self.peers = {name: peer for name, peer in found.items() if callable(peer)}
        self.absent = {name: peer for name, peer in found.items() if not callable(peer)}

    def calls(self):
        spent = {compile_results.OURS: self.call("off")[0]}
        for name, peer in list(self.peers.items()):
            try:
                spent[name] = peer()
            except Failed as problem:  # a fact about the peer; the run goes on
                self.absent[name] = str(problem)
                del self.peers[name]
        return spent

    def entry(self):
        calls = {name: cost for name, cost in self.costs().items() if name not in self.absent}
        return {"variant": text_of(self.variant), "images": len(self.images()), "calls": calls,
                "absent": self.absent}


def measure(tools, sources, say, commit="", rounds=ROUNDS):
    """The results of all sources. say(line) is called as the measurement goes on."""
    found = compile_results.empty(machine=machine(), gpu=GPU, tools=versions(tools), commit=commit,
                                  date=time.strftime("%Y-%m-%d", time.gmtime()), rounds=rounds)
    running, references = [], []

    def identity():
        return tools.tritonc.stat().st_ino, tools.tritonc.stat().st_mtime_ns

    def attempt(kind, name, action):
        """The result of the action. If it fails, that is the entry of the results, and the result is None."""
        try:
            return action()
        except Failed as problem:
            found[kind.part][name] = {"failed": str(problem)}
            return None

    before = identity()
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        reference = Reference(tools.ptxas, folder)
        for source in sources:
            for kind in (Kernel, Comparison) if source.stem in compile_peers.CASES else (Kernel,):
                running.append(attempt(kind, source.stem, lambda: kind(tools, source, folder)))
        running = list(filter(None, running))
        if not running:
            raise ValueError(f"no kernel compiles: {next(iter(found['rows'].values()))['failed']}")
        for number in range(rounds):
            spent = {}
            for each in running:
                references.append(reference.seconds())
                spent[each] = attempt(each, each.name, each.add_round)
            running = [each for each in running if spent[each] is not None]
            total = sum(spent[each] for each in running)
            say(f"round {number + 1} of {rounds}: {len(running)} compilations, {total:.1f} core-seconds")
        for each in running:
            found[each.part][each.name] = each.entry()
        found["reference"] = {"ptx": reference.digest(), "seconds": compile_results.cost(references)}
        samples = {each.source: each.sample for each in running if isinstance(each, Kernel)}
        found["libraries"] = compile_libraries.measure(tools, samples, folder, say)
    if identity() != before:
        raise ValueError(f"{tools.tritonc} changed during the measurement: measure again")
    return found
