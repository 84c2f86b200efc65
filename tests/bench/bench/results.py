"""The file of results: results/GPU.json. Pure Python.

    {"schema": 1, "gpu": {...}, "peers": {name: version}, "commit": "...", "kernels": "sha256",
     "seed": "...", "rows": {id: {...}}}

A row that was measured:

    {"bytes": ..., "flops": ..., "error": 0.4,
     "isolated": {"ours": [low, median, high], peer: [...]}, "stream": {...},
     "absent": {peer: reason}}

Times are in microseconds. A row that was not measured has "refused" or "failed" with the reason.
"""

import json
import os
import pathlib

SCHEMA = 1
KEYS = {"gpu": dict, "peers": dict, "commit": str, "kernels": str, "seed": str, "rows": dict}
COLUMNS = ("isolated", "stream")
NO_PEERS = ("ours", "copy")  # a copy of as many bytes is no peer
FACTS = ("gpu", "kernels")  # results with other values are not comparable


class Mismatch(Exception):
    """Results that are damaged, or do not belong together."""


def empty(**facts):
    return {"schema": SCHEMA, **facts, "rows": {}}


def read(path):
    try:
        results = json.loads(pathlib.Path(path).read_text(encoding="utf-8"))
    except ValueError as error:
        raise Mismatch(f"{path} is damaged: {error}") from error
    if not isinstance(results, dict) or results.get("schema") != SCHEMA:
        raise Mismatch(f"{path} is not a file of results with schema {SCHEMA}")
    damage = damage_of(results)
    if damage:
        raise Mismatch(f"{path} is damaged: {damage}")
    return results


def damage_of(results):
    """What is wrong with the results, in words; empty if nothing."""
    for key, kind in KEYS.items():
        if not isinstance(results.get(key), kind):
            return f"{key} is missing"
    if not isinstance(results["gpu"].get("name"), str):
        return "the GPU's name is missing"
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
            and all(is_times(times) for column in columns for times in column.values()))


def is_times(times):
    return isinstance(times, list) and len(times) == 3 and all(is_number(time) and time > 0 for time in times)


def is_number(value):
    return isinstance(value, (int, float))


def write(path, results):
    """Writes a file; an interrupt leaves the old one."""
    path = pathlib.Path(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    draft = path.with_name(path.name + ".tmp")
    draft.write_text(json.dumps(results, indent=1, sort_keys=True) + "\n", encoding="utf-8")
    os.replace(draft, path)


def merge(parts):
    """One file of the parts of a run. Later parts replace rows of earlier ones."""
    merged = dict(parts[0], rows={})
    for part in parts:
        for fact in (*FACTS, "commit", "seed"):
            if comparable(part.get(fact)) != comparable(merged.get(fact)):
                raise Mismatch(f"the parts have different values of {fact}: "
                               f"{comparable(merged.get(fact))} and {comparable(part.get(fact))}")
        merged["rows"].update(part["rows"])
    return merged


def comparable(fact):
    """The part of a fact that must agree: of a GPU its name, because the clocks change."""
    return fact.get("name") if isinstance(fact, dict) else fact


def best_peer(row, column="isolated"):
    """The fastest peer of a measured row and its median; None if no peer was measured."""
    times = {name: each[1] for name, each in row.get(column, {}).items() if name not in NO_PEERS}
    return min(times.items(), key=lambda item: item[1]) if times else None


def ratio(row, column="isolated"):
    """The time of the best peer over ours: more is faster. None if one of them is missing."""
    best = best_peer(row, column)
    ours = row.get(column, {}).get("ours")
    return best[1] / ours[1] if best and ours else None
