import pathlib
import tempfile
import unittest

from bench import main, pages, report, results
from support import Family, file_of, measured

KNOWN = [Family(name="softmax")]
BLOCKS = [("names", lambda report: [f"{name}: {found['gpu']['name']}" for name, found in report.files.items()]
           or ["none"]),
          ("two", lambda report: ["1", "", "2"])]
FOUND = file_of({"softmax/random/M=8 N=64": measured(1.0, size=1000, copy=1.0, PyTorch=2.0)})

PAGE = """\
# A page

<!-- tests/bench/run write: names -->
old
<!-- end -->
By hand.
<!-- tests/bench/run write: two -->
<!-- end -->
<!-- end -->
"""
FILLED = """\
# A page

<!-- tests/bench/run write: names -->

{}

<!-- end -->
By hand.
<!-- tests/bench/run write: two -->

1

2

<!-- end -->
<!-- end -->
"""


class Text(unittest.TestCase):
    contents = {"names": ["a", "b"], "two": ["1", "", "2"]}

    def test_blocks_are_replaced_and_the_rest_stays(self):
        text, names = pages.filled(PAGE, self.contents, "a.md")
        self.assertEqual(text, FILLED.format("a\nb"))
        self.assertEqual(names, ["names", "two"])
        self.assertEqual(pages.filled(text, self.contents, "a.md")[0], text)

    def test_a_page_without_blocks_stays(self):
        text = "# A page\n\n<!-- end -->\n"
        self.assertEqual(pages.filled(text, self.contents, "a.md"), (text, []))

    def test_a_block_that_does_not_exist(self):
        message = 'a.md: there is no block "other": write one of names, two'
        with self.assertRaisesRegex(results.Mismatch, message):
            pages.filled("<!-- tests/bench/run write: other -->\n<!-- end -->\n", self.contents, "a.md")

    def test_a_block_without_an_end(self):
        begin = "<!-- tests/bench/run write: names -->\n"
        for text in (begin, begin + "text\n", begin + "<!-- tests/bench/run write: two -->\n<!-- end -->\n"):
            message = 'a.md: the block "names" has no end: add the line <!-- end -->'
            with self.assertRaisesRegex(results.Mismatch, message):
                pages.filled(text, self.contents, "a.md")


class Files(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = pathlib.Path(folder.name)
        self.page = self.root / "a.md"
        self.page.write_text(PAGE, encoding="utf-8")

    def wanted(self, blocks=BLOCKS):
        return pages.wanted(self.root, KNOWN, ["a.md"], blocks)

    def add(self, name, found=FOUND):
        results.write(self.root / pages.RESULTS / name, found)

    def plots(self):
        return sorted(each.name for each in (self.root / pages.PLOTS).glob("*"))

    def test_without_results_only_pages_are_written(self):
        pages.write(self.root, self.wanted())
        self.assertEqual(self.page.read_text(encoding="utf-8"), FILLED.format("none"))
        self.assertEqual(sorted(each.name for each in self.root.iterdir()), ["a.md"])
        self.assertEqual(pages.outdated(self.root, self.wanted()), [])

    def test_results_become_pages_and_plots(self):
        self.add("h200.json", file_of(FOUND["rows"], gpu={"name": "H200"}))
        self.add("h100.json")
        pages.write(self.root, self.wanted())
        self.assertEqual(self.page.read_text(encoding="utf-8"), FILLED.format("h100: GPU\nh200: H200"))
        self.assertEqual(self.plots(), sorted(f"{gpu}_{plot}.svg" for gpu in ("h100", "h200")
                                              for plot in ("families", "maps", "roofline", "sizes")))
        self.assertEqual(pages.outdated(self.root, self.wanted()), [])

    def test_each_file_that_differs_is_outdated(self):
        self.add("h100.json")
        pages.write(self.root, self.wanted())
        (self.root / pages.PLOTS / "h100_sizes.svg").write_text("other", encoding="utf-8")
        (self.root / pages.PLOTS / "h100_maps.svg").unlink()
        (self.root / pages.PLOTS / "gone_maps.svg").write_text("old", encoding="utf-8")
        self.page.write_text(PAGE, encoding="utf-8")
        plots = [f"{pages.PLOTS}/{name}.svg" for name in ("gone_maps", "h100_maps", "h100_sizes")]
        self.assertEqual(sorted(pages.outdated(self.root, self.wanted())), ["a.md", *plots])

    def test_plots_without_results_are_deleted(self):
        self.add("h100.json")
        self.add("h200.json")
        pages.write(self.root, self.wanted())
        (self.root / pages.RESULTS / "h200.json").unlink()
        pages.write(self.root, self.wanted())
        self.assertEqual({name.split("_")[0] for name in self.plots()}, {"h100"})

    def test_a_file_that_is_up_to_date_is_not_written(self):
        pages.write(self.root, self.wanted())
        self.page.chmod(0o444)
        before = self.page.stat()
        pages.write(self.root, self.wanted())
        self.assertEqual(self.page.stat(), before)

    def test_a_block_without_a_place(self):
        with self.assertRaisesRegex(results.Mismatch, 'no page has the block "third": add the lines'):
            self.wanted([*BLOCKS, ("third", lambda report: [])])

    def test_results_of_another_kind_are_left_out(self):
        self.add("other.json", {"schema": results.SCHEMA, "kind": "others"})
        self.assertEqual(self.wanted()["a.md"], FILLED.format("none"))

    def test_damaged_results(self):
        self.add("h100.json", file_of({"softmax/random/M=8 N=64": {}}))
        with self.assertRaisesRegex(results.Mismatch, "h100.json is damaged"):
            self.wanted()


class Repository(unittest.TestCase):
    def test_the_pages_have_each_block(self):
        texts = "".join((main.ROOT / page).read_text(encoding="utf-8") for page in pages.PAGES)
        self.assertEqual(sorted(pages.BEGIN.findall(texts)), sorted(name for name, _ in report.BLOCKS))


if __name__ == "__main__":
    unittest.main()
