// Tests language/declarations.cpp.

#include "language/front_end.h"
#include "support/kernel_file.h"
#include "support/messages.h"

#include <doctest/doctest.h>

using namespace tritonc;
using namespace tritonc::test;

namespace {

// For example "variant A: x {M=1} y {M=2}; tune ...", or the first message.
std::string axes_of(const std::string &text) {
  Declarations declarations = read_declarations(KernelFile(text).input);
  std::vector<ToldMessage> messages = read_messages(declarations.diagnostics_text);
  CHECK(declarations.failed == !messages.empty());
  if (!messages.empty())
    return messages[0].severity + ": " + messages[0].text;
  std::string out;
  for (const Axis &axis : declarations.axes) {
    out += (out.empty() ? "" : "; ") + std::string(axis.tuned ? "tune " : "variant ") + axis.name +
           ":";
    for (const AxisValue &value : axis.values) {
      out += " " + value.name;
      for (const Define &define : value.defines)
        out += " {" + define.name + "=" + define.value + "}";
    }
  }
  return out;
}

} // namespace

TEST_CASE("read_declarations: unnamed value defines the axis macro") {
  CHECK(axes_of("#pragma tritonc variant(TYPE: half, float)") ==
        "variant TYPE: half {TYPE=half} float {TYPE=float}");
  CHECK(axes_of("#pragma tritonc tune(TM: 32, 64) tune(TK: 8)") ==
        "tune TM: 32 {TM=32} 64 {TM=64}; tune TK: 8 {TK=8}");
}

TEST_CASE("read_declarations: named value defines its macros") {
  CHECK(axes_of("#pragma tritonc variant(A: N = { USE_A=a, SHAPE_A=TM, TK }, "
                "T = { USE_A=^a, SHAPE_A=TK, TM })") ==
        "variant A: N {USE_A=a} {SHAPE_A=TM, TK} T {USE_A=^a} {SHAPE_A=TK, TM}");
  CHECK(axes_of("#pragma tritonc variant(A: N = { B=newaxis, :, C=f(x, y=1); D=\"p, q\" })") ==
        "variant A: N {B=newaxis, :} {C=f(x, y=1)} {D=p, q}");
  CHECK(axes_of("#pragma tritonc variant(A: N = { }, T = { X= })") == "variant A: N T {X=}");
}

TEST_CASE("read_declarations: axes may span lines and skip conditions") {
  CHECK(axes_of("#pragma tritonc variant(A: \\\n  x, \\\n  y)\n"
                "#if 0\n#pragma tritonc tune(B: 1)\n#endif\n") == "variant A: x {A=x} y {A=y}");
}

TEST_CASE("read_declarations: does not expand names and values") {
  CHECK(axes_of("#define TM 8\n#define half float\n#pragma tritonc variant(TM: half)") ==
        "variant TM: half {TM=half}");
}

TEST_CASE("read_declarations: ignores errors outside of axes") {
  CHECK(axes_of("#include \"none.h\"\n#pragma tritonc nonsense\nint a = TM ` ;\n"
                "#pragma tritonc tune(TM: 32)\n#if\n") == "tune TM: 32 {TM=32}");
  CHECK(axes_of("__global__ void f() {}") == "");
}

TEST_CASE("read_declarations: reports errors in axes") {
  CHECK(axes_of("#pragma tritonc tune(TM: 32) tune(TM: 64)") ==
        "error: axis `TM` is declared twice");
  CHECK(axes_of("#pragma tritonc tune(TM: 32, 32)") == "error: axis `TM` has the value `32` twice");
  CHECK(axes_of("#pragma tritonc tune(TM:)") == "error: axis `TM` has no values");
  CHECK(axes_of("#pragma tritonc tune(TM)") ==
        "error: expected `:` after the name of the axis, found `)`");
  CHECK(axes_of("#pragma tritonc tune(3: 4)") == "error: expected the name of an axis, found `3`");
  CHECK(axes_of("#pragma tritonc variant(TYPE: unsigned char)") ==
        "error: `unsigned char` cannot name a value of axis `TYPE`");
  CHECK(axes_of("#pragma tritonc variant(A: N = { = })") ==
        "error: expected the name of a macro, found `=`");
}

TEST_CASE("read_declarations: note says how to name a value") {
  Declarations declarations = read_declarations(KernelFile("#pragma tritonc variant(T: -1)").input);
  CHECK(texts_of(declarations.diagnostics_text, "note") ==
        std::vector<std::string>{
            "separate values with commas; name a value of several words: `name = { T=... }`"});
}

TEST_CASE("read_declarations: reports an unreadable file") {
  Declarations declarations = read_declarations({.path = "/none/kernel.tc"});
  CHECK(declarations.failed);
  CHECK(declarations.diagnostics_text ==
        "error: cannot read `/none/kernel.tc`: No such file or directory\n");
}

TEST_CASE("read_declarations: lists dependencies") {
  KernelFile kernel("#include \"a.h\"\n");
  std::string a = kernel.folder.write("a.h", "#pragma tritonc tune(TM: 32)");
  Declarations declarations = read_declarations(kernel.input);
  CHECK(declarations.axes.size() == 1);
  CHECK(declarations.dependencies == std::vector<std::string>{kernel.input.path, a});
}
