// Limits of what macros and directives may ask for: without, a few lines of source take all memory,
// or all of the stack.
//
//     #define A1 A0 A0                        thirty such lines: 2^30 tokens
//     #define D(x) x + x                      D(D(D(... thirty times: the same
//     #if ((((((((...                         clang evaluates it by recursion
//
// clang has no such limits. What it calls here before each expansion works out how large that one
// becomes. Where it is too large, macros are not expanded any more, which soon ends whatever was
// begun; `exceeded` says that the tokens are then not those of the source.
//
// Sizes are characters, since `##` makes tokens longer and longer. They count what is in arguments
// and in the macros of a body; a macro that only appears once another one is expanded counts when
// clang comes to it.

#pragma once

#include "source/diagnostics.h"

#include "clang/Lex/PPCallbacks.h"
#include "clang/Lex/Token.h"

#include <cstdint>
#include <map>
#include <vector>

namespace clang {
class MacroInfo;
class Preprocessor;
} // namespace clang

namespace tritonc {

class MacroLimits : public clang::PPCallbacks {
public:
  MacroLimits(clang::Preprocessor &pp, Diagnostics &diagnostics, bool &exceeded)
      : pp_(pp), diagnostics_(diagnostics), exceeded_(exceeded) {}

  void MacroExpands(const clang::Token &name, const clang::MacroDefinition &definition,
                    clang::SourceRange, const clang::MacroArgs *arguments) override;
  void LexedFileChanged(clang::FileID file, LexedFileChangeReason reason,
                        clang::SrcMgr::CharacteristicKind, clang::FileID,
                        clang::SourceLocation) override;
  void If(clang::SourceLocation, clang::SourceRange, ConditionValueKind) override {
    in_directive_ = 0;
  }
  void Elif(clang::SourceLocation, clang::SourceRange, ConditionValueKind,
            clang::SourceLocation) override {
    in_directive_ = 0;
  }

private:
  using Sizes = std::vector<uint64_t>;
  uint64_t size_of(llvm::ArrayRef<clang::Token> tokens, const clang::MacroInfo *around,
                   const Sizes &arguments);
  uint64_t size_of_call(const clang::MacroInfo &macro, llvm::ArrayRef<clang::Token> tokens,
                        size_t &at, const clang::MacroInfo *around, const Sizes &arguments);
  void stop(Message id, clang::SourceLocation at, std::vector<std::string> arguments);

  clang::Preprocessor &pp_;
  Diagnostics &diagnostics_;
  bool &exceeded_;
  uint64_t total_ = 0, in_directive_ = 0, steps_ = 0;
  int depth_ = 0;
  std::map<const clang::MacroInfo *, uint64_t> objects_; // of one question
  std::vector<const clang::MacroInfo *> open_;           // a macro is not expanded in itself
};

} // namespace tritonc
