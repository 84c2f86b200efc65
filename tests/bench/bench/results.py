"""The file of results: results/GPU.json. Pure Python.

    {"schema": 2, "gpu": {...}, "peers": {name: version}, "seed": "...",
     "families": {name: {"commit": "...", "date": "2026-11-26", "seeds": [...],
                         "kernels": {source: digest}}},
     "rows": {id: {...}}}

All rows of a family belong to the same kernels: the sources that its rows launched, each with the digest
of its images. So families may be measured on different days, and a family stays valid until its kernels
change. A row that was measured:

    {"bytes": ..., "flops": ..., "error": 0.4,
     "isolated": {"ours": [low, median, high], peer: [...]}, "stream": {...},
     "absent": {peer: reason}}

Times are in microseconds. A row that was not measured has "refused" or "failed" with the reason. The
dates are in UTC. The seed of the file is that of the last measurement.
"""

import json
import os
import pathlib

SCHEMA = 2
KIND = "kernels"  # of a file without "kind"
KEYS = {"gpu": dict, "peers": dict, "seed": str, "families": dict, "rows": dict}
FAMILY_KEYS = {"commit": str, "date": str, "seeds": list, "kernels": dict}
COLUMNS = ("isolated", "stream")
NO_PEERS = ("ours", "copy")  # a copy of as many bytes is no peer


class Mismatch(Exception):
    """Results that are damaged, or do not belong together."""


def empty(**facts):
    return {"schema": SCHEMA, **facts, "families": {}, "rows": {}}


def family_of(name):
    """The family of a row's name."""
    return name.split("/")[0]


def add(found, name, result, commit, date, kernels):
    """Adds a row. `kernels` has the digests of all sources; result["kernels"] lists those that the row
    launched."""
    sources = result.pop("kernels", [])
    facts = found["families"].setdefault(family_of(name), {"seeds": [], "kernels": {}})
    facts.update(commit=commit, date=date, kernels={**facts["kernels"], **{each: kernels[each] for each in sources}},
                 seeds=sorted({*facts["seeds"], found["seed"]}))
    found["rows"][name] = result


def have_same_kernels(one, other):
    """Whether the facts of a family in two files are those of the same kernels."""
    common = one["kernels"].keys() & other["kernels"].keys()
    return bool(common) and all(one["kernels"][each] == other["kernels"][each] for each in common)


def remove_family(found, family):
    """Removes a family with its rows, and returns the number of rows."""
    names = [name for name in found["rows"] if family_of(name) == family]
    for name in names:
        del found["rows"][name]
    del found["families"][family]
    return len(names)


def remove_outdated(found, families, kernels):
    """Removes those of the families whose kernels changed: `kernels` has the digests now. Returns the
    number of removed rows of each."""
    outdated = [family for family, facts in found["families"].items()
                if family in families and not have_same_kernels(facts, {"kernels": kernels})]
    return {family: remove_family(found, family) for family in outdated}


def load(path):
    """The contents of a file of any kind. Only its schema is checked."""
    try:
        results = json.loads(pathlib.Path(path).read_text(encoding="utf-8"))
    except ValueError as error:
        raise Mismatch(f"{path} is damaged: {error}") from error
    if not isinstance(results, dict) or results.get("schema") != SCHEMA:
        raise Mismatch(f"{path} is not a file of results with schema {SCHEMA}")
    return results


def kind_of(results):
    return results.get("kind", KIND)


def read(path):
    return checked(path, KIND, damage_of)


def checked(path, kind, damage_of):
    """The contents of a file of this kind. damage_of(results) says what is wrong with them."""
    results = load(path)
    if kind_of(results) != kind:
        raise Mismatch(f"{path} has results of {kind_of(results)}, not of {kind}")
    damage = damage_of(results)
    if damage:
        raise Mismatch(f"{path} is damaged: {damage}")
    return results


def missing(results, keys):
    """The first key of another type, in words; empty if there is none."""
    wrong = [key for key, kind in keys.items() if not isinstance(results.get(key), kind)]
    return f"{wrong[0]} is missing" if wrong else ""


def damage_of(results):
    """What is wrong with the results, in words; empty if nothing."""
    if damage := missing(results, KEYS):
        return damage
    if not isinstance(results["gpu"].get("name"), str):
        return "the GPU's name is missing"
    for family, facts in results["families"].items():
        if damage := missing(facts, FAMILY_KEYS) if isinstance(facts, dict) else "no object":
            return f"the family {family}: {damage}"
    for name in results["rows"]:
        if family_of(name) not in results["families"]:
            return f"the family of the row {name} is missing"
    wrong = [name for name, row in results["rows"].items() if not is_row(row)]
    return f"the row {wrong[0]} is incomplete" if wrong else ""


def is_row(row):
    if not isinstance(row, dict):
        return False
    if any(isinstance(row.get(word), str) for word in ("refused", "failed")):
        return True
    columns = [row.get(column) for column in COLUMNS]
    return (is_number(row.get("bytes")) and is_number(row.get("flops"))
            and isinstance(row.get("absent"), dict)
            and all(isinstance(column, dict) and "ours" in column for column in columns)
            and all(are_positive(times, 3) for column in columns for times in column.values()))


def are_positive(values, count):
    """Whether this is a list of so many positive numbers."""
    return (isinstance(values, list) and len(values) == count
            and all(is_number(value) and value > 0 for value in values))


def is_number(value):
    return isinstance(value, (int, float))


def write(path, results):
    """Writes a file; an interrupt leaves the old one."""
    path = pathlib.Path(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    draft = path.with_name(path.name + ".tmp")
    draft.write_text(text_of(results) + "\n", encoding="utf-8")
    os.replace(draft, path)


def text_of(value, depth=0):
    """The JSON text, with one line per row, so that a difference of two files shows the rows."""
    if depth == 2 or not isinstance(value, dict) or not value:
        return json.dumps(value, sort_keys=True)
    indent = "\n" + " " * depth
    items = (f"{indent} {json.dumps(key)}: {text_of(value[key], depth + 1)}" for key in sorted(value))
    return "{" + ",".join(items) + indent + "}"


def merge(parts):
    """One file of several. A later row replaces an earlier one. If a later file has a family with other
    kernels, its rows replace all earlier ones of this family."""
    merged = dict(parts[0], peers={}, families={}, rows={}, seed=parts[-1]["seed"])
    for part in parts:
        require_equal("GPUs", gpu_of(merged), gpu_of(part))
        for peer, version in part["peers"].items():
            require_equal(f"versions of {peer}", merged["peers"].setdefault(peer, version), version)
        for family, facts in part["families"].items():
            known = merged["families"].get(family)
            if known and not have_same_kernels(known, facts):
                remove_family(merged, family)
                known = None
            if known:
                facts = dict(facts, date=max(known["date"], facts["date"]),
                             kernels={**known["kernels"], **facts["kernels"]},
                             seeds=sorted({*known["seeds"], *facts["seeds"]}))
            merged["families"][family] = facts
        merged["rows"].update(part["rows"])
    return merged


def require_equal(what, one, other):
    if one != other:
        raise Mismatch(f"the results are of different {what}: {one} and {other}")


def gpu_of(found):
    """The GPU's name. The clocks change, so they may differ."""
    return found["gpu"].get("name")


def best_peer(row, column="isolated"):
    """The fastest peer of a measured row and its median; None if no peer was measured."""
    times = {name: each[1] for name, each in row.get(column, {}).items() if name not in NO_PEERS}
    return min(times.items(), key=lambda item: item[1]) if times else None


def peers_of(rows):
    """The names of all peers of the rows, also of absent ones."""
    names = {name for row in rows for words in ("isolated", "absent") for name in row.get(words, {})}
    return names.difference(NO_PEERS)


def ratio(row, column="isolated"):
    """The time of the best peer over ours: more is faster. None if one of them is missing."""
    best = best_peer(row, column)
    ours = row.get(column, {}).get("ours")
    return best[1] / ours[1] if best and ours else None
