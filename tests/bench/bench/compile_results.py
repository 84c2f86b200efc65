"""The file of compile costs: results/compile.json. Pure Python.

    {"schema": 2, "kind": "compile cost", "machine": {"name": "...", "cores": 2}, "gpu": "sm_90a",
     "tools": {name: version}, "commit": "...", "date": "2026-11-26", "rounds": 7,
     "reference": {"ptx": "sha256", "seconds": [least, low, median, high]},
     "rows": {kernel: {...}}, "peers": {kernel: {...}}, "libraries": {name: {...}}}

A row, a kernel whose sample of variants was compiled:

    {"sample": ["TYPE=half SIZE=512", ...], "variants": of the kernel, "images": of the sample,
     "bytes": of these images, "ptxas": share of the time, "cold": cost, "cached": cost}

An entry of "peers", where each call compiles one variant:

    {"variant": "TYPE=half SIZE=1024", "images": 1, "calls": {"TritonC": cost, peer: cost},
     "absent": {peer: reason}}

A cost has the core-seconds of one call, with those of its child processes: [least, low, median, high].
An entry of "libraries", in bytes: {"images": 36, "archive": ..., "linked": ...}. An entry that was not
measured has "failed" with the reason.
"""

from bench import results
from bench.results import are_positive, is_number
from bench.statistics import Quartiles

KIND = "compile cost"
OURS = "TritonC"
RUNTIME = "runtime"  # the library of the runtime alone
KEYS = {"machine": dict, "gpu": str, "tools": dict, "commit": str, "date": str, "rounds": int,
        "reference": dict, "rows": dict, "peers": dict, "libraries": dict}
COLUMNS = ("cold", "cached")


def empty(**facts):
    return {"schema": results.SCHEMA, "kind": KIND, **facts, "rows": {}, "peers": {}, "libraries": {}}


def read(path):
    return results.checked(path, KIND, damage_of)


def facts(found):
    """Name -> value; costs with other values are not comparable."""
    return {"machines": found["machine"]["name"], "GPUs": found["gpu"],
            "versions of ptxas": found["tools"]["ptxas"], "references": found["reference"]["ptx"]}


def cost(seconds):
    """The cost of the calls of all rounds."""
    of = Quartiles.of(seconds)
    return [float(f"{value:.4g}") for value in (min(seconds), of.low, of.median, of.high)]


def relative(cost, found):
    """The cost over that of the reference, by the medians; and its noise: the distance of the quartiles."""
    of = Quartiles(*cost[1:])
    return of.median / found["reference"]["seconds"][2], 2 * of.noise()


def damage_of(found):
    """What is wrong with the results, in words; empty if nothing."""
    if damage := results.missing(found, KEYS):
        return damage
    if not isinstance(found["machine"].get("name"), str):
        return "the machine's name is missing"
    if not isinstance(found["tools"].get("ptxas"), str):
        return "the version of ptxas is missing"
    reference = found["reference"]
    if not isinstance(reference.get("ptx"), str) or not is_cost(reference.get("seconds")):
        return "the reference is incomplete"
    for part, is_whole in (("rows", is_row), ("peers", is_comparison), ("libraries", is_library)):
        for name, entry in found[part].items():
            if not isinstance(entry, dict) or not (isinstance(entry.get("failed"), str) or is_whole(entry)):
                return f"the entry {name} of {part} is incomplete"
    return ""


def is_row(row):
    return (isinstance(row.get("sample"), list) and is_number(row.get("ptxas"))
            and are_positive([row.get(key) for key in ("variants", "images", "bytes")], 3)
            and all(is_cost(row.get(column)) for column in COLUMNS))


def is_comparison(entry):
    calls = entry.get("calls")
    return (isinstance(entry.get("variant"), str) and are_positive([entry.get("images")], 1)
            and isinstance(entry.get("absent"), dict) and isinstance(calls, dict) and OURS in calls
            and all(is_cost(each) for each in calls.values()))


def is_library(entry):
    return (is_number(entry.get("images"))
            and are_positive([entry.get("archive"), entry.get("linked")], 2))


def is_cost(entry):
    return are_positive(entry, 4)
