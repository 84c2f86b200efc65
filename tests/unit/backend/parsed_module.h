// A module of LLVM IR from its text.

#pragma once

#include "backend/ptx.h"

#include "llvm/AsmParser/Parser.h"
#include "llvm/IR/LLVMContext.h"
#include "llvm/IR/Module.h"
#include "llvm/Support/SourceMgr.h"
#include "llvm/Support/raw_ostream.h"

#include <doctest/doctest.h>

#include <memory>
#include <string>

namespace tritonc::test {

/// The module, ready for `optimize` and `generate_ptx`.
struct ParsedModule {
  llvm::LLVMContext context;
  std::unique_ptr<llvm::Module> module;

  explicit ParsedModule(const std::string &ir) {
    llvm::SMDiagnostic error;
    module = llvm::parseAssemblyString(ir, error, context);
    REQUIRE_MESSAGE(module, error.getMessage().str());
    prepare_module(*module);
  }

  std::string text() const {
    std::string result;
    llvm::raw_string_ostream(result) << *module;
    return result;
  }
};

} // namespace tritonc::test
