"""Writes the pages of the C and C++ API from the comments of the public headers.

A line `::: header runtime.hpp` on a page becomes the documentation of this header. Doxygen reads
the comments; this module renders its XML as Markdown, in the order of the header. A warning of
Doxygen, such as a member without a comment, is a warning of MkDocs and stops docs/build.
"""

import html
import re
import subprocess
import tempfile
import xml.etree.ElementTree as xml
from pathlib import Path

from mkdocs.exceptions import PluginError
from mkdocs.plugins import get_plugin_logger

log = get_plugin_logger("api")
headers = Path(__file__).resolve().parent.parent / "runtime/include/tritonc"

# The structs of descriptor.hpp, except image_info, are private to the runtime and the generator.
PRIVATE_HEADER = "descriptor.hpp"
PUBLIC_IN_PRIVATE_HEADER = {"image_info"}

PAGE_COLUMNS = 80  # of a block of code, without scrolling

SETTINGS = f"""
INPUT = "{headers}"
FILE_PATTERNS = *.h *.hpp
EXCLUDE_SYMBOLS = tritonc::v1::detail
GENERATE_HTML = NO
GENERATE_LATEX = NO
GENERATE_XML = YES
XML_PROGRAMLISTING = NO
STRIP_CODE_COMMENTS = NO
MACRO_EXPANSION = YES
EXPAND_ONLY_PREDEF = YES
PREDEFINED = TRITONC_NODISCARD= TRITONC_ALIGNAS(x)=alignas(x)
WARN_IF_INCOMPLETE_DOC = NO
QUIET = YES
"""


def run_doxygen():
    """Returns the root of each XML file that Doxygen writes."""
    with tempfile.TemporaryDirectory() as folder:
        try:
            done = subprocess.run(
                ["doxygen", "-"],
                input=SETTINGS + f'OUTPUT_DIRECTORY = "{folder}"\n',
                capture_output=True,
                text=True,
            )
        except FileNotFoundError:
            raise PluginError("doxygen is missing: run cmake/setup.sh") from None
        for line in done.stderr.splitlines():
            log.warning("%s", line)
        if done.returncode != 0:
            raise PluginError(f"doxygen fails with exit code {done.returncode}")
        return [xml.parse(file).getroot() for file in sorted(Path(folder).glob("xml/*.xml"))]


def without_namespace(name):
    return name.replace("tritonc::v1::", "").replace("tritonc::", "")


def anchor_of(name):
    return re.sub(r"\W+", "-", name).strip("-")


class Entity:
    """A struct, function, enum, constant or macro of a header."""

    def __init__(self, element, location, name, kind):
        self.element = element
        self.file = Path(location.get("file")).name
        self.line = int(location.get("line"))
        self.name = without_namespace(name)
        self.kind = kind
        if self.name.startswith("@"):
            self.name = "Status codes"  # the enum without a name of runtime.h

    @property
    def anchor(self):
        return f"{'c' if self.file.endswith('.h') else 'cpp'}-{anchor_of(self.name)}"


class Api:
    def __init__(self):
        self.entities = []
        self.files = {}  # name of a header -> compounddef
        self.groups = []  # (file, line of the first entity, compounddef, entities)
        self.targets = {}  # id of Doxygen -> entity
        self.source = {file.name: file.read_text().splitlines() for file in headers.iterdir()}
        for root in run_doxygen():
            for compound in root.iter("compounddef"):
                self.read(compound)
        self.entities.sort(key=lambda entity: entity.line)
        self.read_groups()

    def read(self, compound):
        kind = compound.get("kind")
        if kind == "file":
            self.files[compound.findtext("compoundname")] = compound
        elif kind == "group":
            self.groups.append(compound)
        elif kind in ("struct", "class"):
            self.add(compound, compound.findtext("compoundname"), kind)
        if kind == "namespace":
            self.read_namespace(compound)
        if kind in ("file", "namespace", "group"):
            for member in compound.iter("memberdef"):
                self.add(member, member.findtext("qualifiedname") or member.findtext("name"),
                         member.get("kind"))

    def read_namespace(self, compound):
        """A namespace with a description is an entity of the header that describes it."""
        name = compound.findtext("compoundname")
        for file, lines in self.source.items():
            for number, (line, next_line) in enumerate(zip(lines, lines[1:]), 1):
                if line.startswith("///") and next_line == f"namespace {name.split('::')[-1]} {{":
                    location = {"file": file, "line": number + 1}
                    self.entities.append(Entity(compound, location, name, "namespace"))

    def add(self, element, name, kind):
        entity = Entity(element, element.find("location"), name, kind)
        if element.get("id") in self.targets:
            return
        if kind == "typedef" and "".join(element.find("type").itertext()) == f"struct {name}":
            return  # typedef struct x {...} x: the struct has the description
        self.targets[element.get("id")] = entity
        if entity.file == PRIVATE_HEADER and entity.name not in PUBLIC_IN_PRIVATE_HEADER:
            return
        self.entities.append(entity)
        for value in element.findall("enumvalue"):
            self.targets[value.get("id")] = entity
        if kind in ("struct", "class"):
            for member in element.iter("memberdef"):
                self.targets[member.get("id")] = entity

    def read_groups(self):
        compounds, self.groups = self.groups, []
        for compound in compounds:
            ids = {member.get("id") for member in compound.iter("memberdef")}
            ids |= {inner.get("refid") for inner in compound.findall("innerclass")}
            inside = [entity for entity in self.entities if entity.element.get("id") in ids]
            self.groups.append((inside[0].file, inside[0].line, compound, inside))
        self.groups.sort(key=lambda group: group[1])

    # ---- the declaration, as in the header ----

    def declaration(self, file, line):
        lines = self.source[file]
        if lines[line - 1].startswith("#define"):
            return lines[line - 1]
        text = "\n".join(lines[line - 1:])
        if line >= 2 and re.match(r"\s*template <.*>$", lines[line - 2]):
            text = lines[line - 2] + "\n" + text
        depth = 0
        for i, char in enumerate(text):
            depth += (char in "([") - (char in ")]")
            is_initializer = text[i - 1:i + 2] == " : " and ")" in text[:i]  # of a constructor
            if depth == 0 and (char in ";{" or is_initializer) and not text[:i].endswith("= "):
                break
        text = text[:i].rstrip()
        text = re.sub(r"\[\[nodiscard\]\] ?| TRITONC_NODISCARD|TRITONC_ALIGNAS\(\d+\) ", "", text)
        text = re.sub(r" *///<.*", "", text)
        indent = len(text) - len(text.lstrip())
        text = "\n".join(part[indent:] for part in text.split("\n"))
        return text if max(map(len, text.split("\n"))) < PAGE_COLUMNS else wrapped(text)

    # ---- descriptions ----

    def link(self, refid, text):
        entity = self.targets.get(refid)
        if not entity or entity not in self.entities:
            return text
        page = "c_api.md" if entity.file.endswith(".h") else "cpp_api.md"
        return f"[{text}]({page}#{entity.anchor})"

    def inline(self, element):
        """Renders the contents of a paragraph that stand in a line."""
        out = [escaped(element.text)]
        for child in element:
            if child.tag == "computeroutput":
                text = "".join(child.itertext())
                ref = child.find("ref")
                code = f"`{text}`"
                out.append(self.link(ref.get("refid"), code) if ref is not None else code)
            elif child.tag == "ref":
                text = "".join(child.itertext()).removeprefix("::")
                out.append(self.link(child.get("refid"), f"`{text}`"))
            elif child.tag == "bold":
                out.append(f"**{self.inline(child)}**")
            elif child.tag == "emphasis":
                out.append(f"*{self.inline(child)}*")
            elif child.tag not in BLOCKS:
                log.warning("docs/hooks.py does not render <%s>", child.tag)
            out.append(escaped(child.tail))
        return re.sub(r"\s+", " ", "".join(out)).strip()

    def blocks(self, element):
        """Renders paragraphs, lists, code and parameters, each as one Markdown block."""
        out = []
        for paragraph in element.findall("para"):
            inline = xml.Element("para")
            inline.text = paragraph.text

            def flush():
                nonlocal inline
                if text := self.inline(inline):
                    out.append(text)
                inline = xml.Element("para")

            for child in paragraph:
                if child.tag not in BLOCKS:
                    inline.append(child)
                    continue
                flush()
                out += getattr(self, child.tag)(child)
                inline.text = child.tail
            flush()
        return out

    def programlisting(self, element):
        for space in element.iter("sp"):
            space.text = " "
        code = "\n".join("".join(line.itertext()) for line in element.findall("codeline"))
        language = "c" if element.get("filename") == ".c" else "cpp"
        return [f"```{language}\n{code.rstrip()}\n```"]

    def itemizedlist(self, element):
        return ["\n".join(f"- {' '.join(self.blocks(item))}" for item in element)]

    def simplesect(self, element):
        if element.get("kind") == "par":
            return [f"**{element.findtext('title')}**", *self.blocks(element)]
        return [f"Returns {' '.join(self.blocks(element))}{end_of(element)}"]

    def parameterlist(self, element):
        lines = []
        for item in element:
            name = item.findtext("parameternamelist/parametername")
            description = item.find("parameterdescription")
            lines.append(f"- `{name}`: {' '.join(self.blocks(description))}{end_of(description)}")
        return ["\n".join(lines)]

    def description(self, element):
        return [block for tag in ("briefdescription", "detaileddescription")
                for block in self.blocks(element.find(tag))]

    def paragraph(self, element):
        """Renders a short description. Brief and detailed description form one paragraph."""
        return " ".join(self.description(element))

    # ---- entities ----

    def text_of(self, entities):
        """Renders entities. Functions with the same description share a heading."""
        out = []
        for i, entity in enumerate(entities):
            description = self.description(entity.element)
            if i and entity.kind == "function" and description == self.description(
                    entities[i - 1].element):
                continue
            same = [entity]
            for other in entities[i + 1:]:
                if entity.kind != "function" or self.description(other.element) != description:
                    break
                same.append(other)
            names = ", ".join(f"`{each.name}`" for each in same)
            if entity.kind == "namespace":
                names = f"namespace {names}"
            anchors = "".join(f'<a id="{each.anchor}"></a>' for each in same[1:])
            out.append(f"### {names} {{#{entity.anchor}}}")
            if anchors:
                out.append(anchors)
            end = "" if entity.kind == "define" else ";"
            code = "\n".join(self.declaration(each.file, each.line) + end for each in same)
            if entity.kind in ("struct", "class", "enum"):
                is_plain = not re.search("template|alignas|enum class", code)
            else:
                is_plain = entity.kind == "namespace"
            if not is_plain:
                language = "c" if entity.file.endswith(".h") else "cpp"
                out.append(f"```{language}\n{code}\n```")
            out += description
            if entity.kind == "enum":
                out += self.enumerators(entity)
            elif entity.kind in ("struct", "class"):
                out += self.members(entity)
        return out

    def enumerators(self, entity):
        """One table per part of the enum. A `//` comment in the header begins a part."""
        values = {value.findtext("name"): value for value in entity.element.findall("enumvalue")}
        parts = [("", [])]
        for line in self.source[entity.file][entity.line:]:
            line = line.strip()
            if line.startswith("};"):
                break
            if line.startswith("// "):
                parts.append((escaped(line[3:]), []))
            name = re.match(r"\w+", line)
            if name and name[0] in values:
                row = f"| {unbroken(name[0])} | {self.paragraph(values[name[0]])} |"
                parts[-1][1].append(row)
        return [block for title, rows in parts
                for block in (title, "| value | meaning |\n|---|---|\n" + "\n".join(rows)) if block]

    def members(self, entity):
        members = [member for member in entity.element.iter("memberdef")
                   if member.get("prot") == "public" and
                   any(text.strip() for tag in ("briefdescription", "detaileddescription")
                       for text in member.find(tag).itertext())]
        members.sort(key=lambda member: int(member.find("location").get("line")))
        out = []
        if all(member.get("kind") == "variable" for member in members) and members:
            rows = [f"| {unbroken(self.member(entity, member))} | {self.paragraph(member)} |"
                    for member in members]
            return ["| member | meaning |\n|---|---|\n" + "\n".join(rows)]
        for member in members:
            code = self.member(entity, member)
            text = "\n\n".join(self.description(member)).replace("\n", "\n    ")
            out.append(f"`{code}`\n:   {text}")
        return out

    def member(self, entity, member):
        """The declaration of a member, in one line."""
        code = self.declaration(entity.file, int(member.find("location").get("line")))
        return " ".join(code.split())

    def header(self, name):
        """Renders a header: its own description, then its entities."""
        if name not in self.files:
            raise PluginError(f"there is no public header {name}")
        out = self.description(self.files[name])
        groups = [group for group in self.groups if group[0] == name]
        if groups:
            for _, _, compound, entities in groups:
                out.append(f"## {compound.findtext('title')}")
                out += self.description(compound)
                out += self.text_of(entities)
            return "\n\n".join(out)
        return "\n\n".join(
            out + self.text_of([entity for entity in self.entities if entity.file == name]))


BLOCKS = {"programlisting", "itemizedlist", "simplesect", "parameterlist"}


def escaped(text):
    return re.sub(r"([*_`\[\]|])", r"\\\1", html.escape(text or "", quote=False))


def unbroken(code):
    return f'`{code}`{{style="white-space: nowrap"}}'


def wrapped(declaration):
    """Breaks a function's list of parameters, so that no line is too long for a page."""
    begin, parameters = " ".join(declaration.split()).split("(", 1)
    template = re.match(r"template <[^>]*> ", begin)
    first = [template[0]] if template else []
    begin = begin[len(template[0]) if template else 0:]
    lines = [*first, begin + "("]
    for part in re.split(r"(?<=,) ", parameters):
        if len(lines[-1]) + len(part) >= PAGE_COLUMNS and not lines[-1].endswith("("):
            lines.append(" " * (len(begin) + 1))
        lines[-1] += part + (" " if part.endswith(",") else "")
    return "\n".join(line.rstrip() for line in lines)


def end_of(element):
    """Ends the text of @param and @return with a period."""
    return "" if "".join(element.itertext()).rstrip().endswith(".") else "."


api = None


def on_pre_build(config, **_):
    global api
    api = Api()


def on_page_markdown(markdown, **_):
    return re.sub(r"^::: header (\S+)$", lambda match: api.header(match[1]), markdown, flags=re.M)
