// Tests backend/scalarize_vectors.cpp.

#include "backend/scalarize_vectors.h"

#include "llvm/AsmParser/Parser.h"
#include "llvm/IR/LLVMContext.h"
#include "llvm/IR/Module.h"
#include "llvm/IR/Verifier.h"
#include "llvm/Support/SourceMgr.h"
#include "llvm/Support/raw_ostream.h"

#include <doctest/doctest.h>

using namespace tritonc;

namespace {

std::string text_of(const llvm::Module &module) {
  std::string text;
  llvm::raw_string_ostream(text) << module;
  return text;
}

std::unique_ptr<llvm::Module> parsed(llvm::LLVMContext &context, const std::string &body) {
  llvm::SMDiagnostic error;
  std::unique_ptr<llvm::Module> module = llvm::parseAssemblyString(
      "declare <2 x float> @next(<2 x float>)\n"
      "declare <4 x i8> @next_bytes(<4 x i8>)\n"
      "define void @k(i1 %c, i1 %d, ptr %out, <2 x float> %v) {\nentry:\n" +
          body + "}",
      error, context);
  REQUIRE_MESSAGE(module, error.getMessage().str());
  return module;
}

std::string split(const std::string &body) {
  llvm::LLVMContext context;
  std::unique_ptr<llvm::Module> module = parsed(context, body);
  scalarize_vectors(*module);
  std::string problem;
  llvm::raw_string_ostream problems(problem);
  CHECK_FALSE(llvm::verifyModule(*module, &problems));
  CHECK(problem == "");
  return text_of(*module);
}

bool is_unchanged(const std::string &body) {
  llvm::LLVMContext context;
  return split(body) == text_of(*parsed(context, body));
}

size_t count(const std::string &text, const std::string &what) {
  size_t times = 0;
  for (size_t at = 0; (at = text.find(what, at)) != std::string::npos; at++)
    times++;
  return times;
}

} // namespace

TEST_CASE("scalarize_vectors: loop carries elements, not a vector") {
  std::string text = split(R"(
      br label %loop
    loop:
      %s = phi <2 x float> [ <float 1.0, float 2.0>, %entry ], [ %t, %loop ]
      %t = call <2 x float> @next(<2 x float> %s)
      %x = extractelement <2 x float> %s, i64 1
      store float %x, ptr %out
      br i1 %c, label %loop, label %end
    end:
      ret void
  )");
  CAPTURE(text);
  CHECK(count(text, "phi <2 x float>") == 0);
  CHECK(count(text, "phi float [ 1.000000e+00, %entry ]") == 1);
  CHECK(count(text, "phi float [ 2.000000e+00, %entry ]") == 1);
  CHECK(count(text, "extractelement <2 x float> %t, i64 0") == 1);
  CHECK(count(text, "extractelement <2 x float> %t, i64 1") == 1);
  CHECK(count(text, "extractelement") == 2); // %x is the second phi
  CHECK(count(text, "insertelement") == 2);  // for the call
}

TEST_CASE("scalarize_vectors: uses known elements directly") {
  std::string text = split(R"(
      %a = insertelement <2 x float> poison, float 3.0, i64 0
      %b = insertelement <2 x float> %a, float 4.0, i64 1
      br i1 %c, label %one, label %end
    one:
      br label %end
    end:
      %s = phi <2 x float> [ %b, %entry ], [ poison, %one ]
      %x = extractelement <2 x float> %s, i64 0
      store float %x, ptr %out
      ret void
  )");
  CAPTURE(text);
  CHECK(count(text, "phi float [ 3.000000e+00, %entry ], [ poison, %one ]") == 1);
  CHECK(count(text, "extractelement") == 0);
}

TEST_CASE("scalarize_vectors: splits vectors across nested loops") {
  std::string text = split(R"(
      br label %outer
    outer:
      %s = phi <2 x float> [ %v, %entry ], [ %u, %after ]
      br label %inner
    inner:
      %t = phi <2 x float> [ %s, %outer ], [ %n, %inner ]
      %n = call <2 x float> @next(<2 x float> %t)
      br i1 %c, label %inner, label %after
    after:
      %u = phi <2 x float> [ %t, %inner ]
      br i1 %d, label %outer, label %end
    end:
      store <2 x float> %u, ptr %out
      ret void
  )");
  CAPTURE(text);
  CHECK(count(text, "phi <2 x float>") == 0);
  CHECK(count(text, "phi float") == 6);
  CHECK(count(text, "extractelement <2 x float> %v") == 2);
  CHECK(count(text, "extractelement <2 x float> %n") == 2);
  CHECK(count(text, "extractelement") == 4);
}

TEST_CASE("scalarize_vectors: two edges from one block have one value") {
  std::string text = split(R"(
      %a = call <2 x float> @next(<2 x float> %v)
      switch i1 %c, label %end [ i1 0, label %end ]
    end:
      %s = phi <2 x float> [ %a, %entry ], [ %a, %entry ]
      store <2 x float> %s, ptr %out
      ret void
  )");
  CAPTURE(text);
  CHECK(count(text, "extractelement") == 2);
}

TEST_CASE("scalarize_vectors: variable index rebuilds the vector") {
  std::string text = split(R"(
      %i = zext i1 %d to i64
      br i1 %c, label %one, label %end
    one:
      br label %end
    end:
      %s = phi <2 x float> [ %v, %entry ], [ zeroinitializer, %one ]
      %x = extractelement <2 x float> %s, i64 %i
      store float %x, ptr %out
      ret void
  )");
  CAPTURE(text);
  CHECK(count(text, "phi float") == 2);
  CHECK(count(text, "i64 %i") == 1);
}

TEST_CASE("scalarize_vectors: does nothing to i8 vectors and scalars") {
  CHECK(is_unchanged(R"(
      br label %loop
    loop:
      %s = phi <4 x i8> [ zeroinitializer, %entry ], [ %t, %loop ]
      %f = phi float [ 0.0, %entry ], [ 1.0, %loop ]
      %t = call <4 x i8> @next_bytes(<4 x i8> %s)
      store float %f, ptr %out
      br i1 %c, label %loop, label %end
    end:
      ret void
  )"));
  CHECK(is_unchanged("%t = call <2 x float> @next(<2 x float> %v)\n ret void\n"));
}
