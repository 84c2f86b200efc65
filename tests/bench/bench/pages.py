"""Writes the generated parts of the pages, and the plots; or checks that they are up to date. Pure Python.

In a page, a generated part stands between two lines:

    <!-- tests/bench/run write: NAME -->
    <!-- end -->

The rest of the page is written by hand. The folder of the plots belongs to this program: a plot without
results is deleted.
"""

import re

from bench import compile_results, plots, report, results

RESULTS = "tests/bench/results"
PAGES = ("README.md", "docs/pages/index.md", "docs/pages/performance.md", "docs/pages/tutorial/matmul.md",
         "docs/pages/tutorial/transposition.md")
PLOTS = "docs/pages/images/bench"
BEGIN, END = re.compile(r"<!-- tests/bench/run write: (.*) -->"), "<!-- end -->"


def filled(text, blocks, page):
    """The text of a page with new blocks, and their names. `blocks`: name -> lines."""
    lines, names, inside = [], [], None
    for line in text.removesuffix("\n").split("\n"):
        begin = BEGIN.fullmatch(line)
        if begin:
            if inside:
                raise results.Mismatch(f"{page}: the block \"{inside}\" has no end: add the line {END}")
            inside = begin[1]
            if inside not in blocks:
                raise results.Mismatch(f"{page}: there is no block \"{inside}\": "
                                       f"write one of {', '.join(blocks)}")
            names.append(inside)
            lines += [line, "", *blocks[inside], ""]
        elif line == END and inside:
            inside = None
        if not inside:
            lines.append(line)
    if inside:
        raise results.Mismatch(f"{page}: the block \"{inside}\" has no end: add the line {END}")
    return "".join(each + "\n" for each in lines), names


def wanted(root, known, pages=PAGES, blocks=report.BLOCKS):
    """Path from the root -> text, of all files that the results determine; None: no such file."""
    folder = root / RESULTS
    files = {path.stem: results.read(path) for path in sorted(folder.glob("*.json"))
             if results.kind_of(results.load(path)) == results.KIND}
    compiled = folder / "compile.json"
    whole = report.Report(files, known, compile_results.read(compiled) if compiled.exists() else None)
    contents = {name: lines_of(whole) for name, lines_of in blocks}
    texts, placed = {}, set()
    for page in pages:
        texts[page], names = filled((root / page).read_text(encoding="utf-8"), contents, page)
        placed.update(names)
    missing = [name for name in contents if name not in placed]
    if missing:
        raise results.Mismatch(f"no page has the block \"{missing[0]}\": add the lines "
                               f"<!-- tests/bench/run write: {missing[0]} --> and {END} "
                               f"to one of {', '.join(pages)}")
    texts.update({f"{PLOTS}/{path.name}": None for path in (root / PLOTS).glob("*")})
    for name, found in files.items():
        drawn = {f"{PLOTS}/{name}_{plot}.svg": draw(found, known) for plot, draw in plots.PLOTS.items()}
        texts.update({path: text for path, text in drawn.items() if text is not None})
    return texts


def outdated(root, texts):
    """The paths whose files differ from the texts."""
    def text_of(path):
        return path.read_text(encoding="utf-8") if path.exists() else None

    return [path for path, text in texts.items() if text_of(root / path) != text]


def write(root, texts):
    for path in outdated(root, texts):
        file = root / path
        if texts[path] is None:
            file.unlink()
        else:
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(texts[path], encoding="utf-8")
