// Tests translate/translate.cpp and translator.cpp: from a file to functions.

#include "translated.h"

using namespace tritonc;
using namespace tritonc::test;

TEST_CASE("translate: parameters keep types and attributes") {
  ir::Function f = kernel_of(
      "__global__ void scale(const half *x __aligned(64), float *y __noalias __writeonly,\n"
      "  int n __multipleof(8), unsigned char c, bool b, bfloat16 s, long l, double *d) {}");
  CHECK(f.name == "scale");
  CHECK(f.location.line == 1);
  REQUIRE(f.parameters.size() == 8);
  struct {
    const char *name, *type;
  } rows[] = {{"x", "ptr<f16>"}, {"y", "ptr<f32>"}, {"n", "i32"}, {"c", "i8"},
              {"b", "i1"},       {"s", "bf16"},     {"l", "i64"}, {"d", "ptr<f64>"}};
  for (size_t i = 0; i < 8; i++) {
    CHECK(f.parameters[i].name == rows[i].name);
    CHECK(text_of(f.parameters[i].value->type) == rows[i].type);
  }
  CHECK(f.parameters[0].read_only);
  CHECK(f.parameters[0].aligned_bytes == 64);
  CHECK(f.parameters[1].no_alias);
  CHECK(f.parameters[1].write_only);
  CHECK(f.parameters[1].aligned_bytes == 16);
  CHECK(f.parameters[2].multiple_of == 8);
  CHECK(f.parameters[2].is_signed);
  CHECK_FALSE(f.parameters[3].is_signed);
}

TEST_CASE("translate: returns all kernels of a file, or none") {
  KernelFile good("__global__ void f() {}\n__global__ void g() {}");
  FrontEndResult result = translate_source(good.input);
  CHECK(result.kernels.size() == 2);
  CHECK(result.errors == 0);
  CHECK(result.dependencies == std::vector<std::string>{good.input.path});

  FrontEndResult bad =
      translate_source(KernelFile("__global__ void f() {}\n__global__ void g() { x; }").input);
  CHECK(bad.kernels.empty());
  CHECK(bad.errors == 1);
  CHECK(bad.dependencies.size() == 1);
}

TEST_CASE("translate: warnings do not stop the translation") {
  FrontEndResult result =
      translate_source(KernelFile("__global__ void f(float *p) { *p = *p * 0.5; }").input);
  CHECK(result.kernels.size() == 1);
  CHECK(result.warnings == 1);
}

TEST_CASE("translate: missing file is one error") {
  FrontEndResult result = translate_source({.path = "/none/kernel.tc"});
  CHECK(result.errors == 1);
  CHECK(result.diagnostics_text ==
        "error: cannot read `/none/kernel.tc`: No such file or directory\n");
}

TEST_CASE("translate: operations have the location of the macro use") {
  ir::Function f =
      kernel_of("#define LOAD(x) \\\n  *x\n__global__ void f(float *p) {\n  *p = LOAD(p);\n}");
  ir::for_each_op(*f.body, [](ir::Op &op) {
    if (op.is(ir::Opcode::load_) || op.is(ir::Opcode::store_))
      CHECK(op.location.line == 4);
  });
}

TEST_CASE("translate: same source gives the same text") {
  std::string source =
      "__global__ void f(float *p, int n) {\n"
      "  int a = 0, b = 1, c = 2, d = 3;\n"
      "  for (int i = 0; i < n; i++) { d += c; c += b; b += a; a += i; if (d > 9) break; }\n"
      "  *p = a + b + c + d;\n}";
  CHECK(ir::print(kernel_of(source)) == ir::print(kernel_of(source)));
}
