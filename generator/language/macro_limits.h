// Limits the size of macro expansions and the nesting of directives. Without these limits, a few
// lines of source exhaust the memory or the stack:
//
//     #define A1 A0 A0                        thirty such lines: 2^30 tokens
//     #define D(x) x + x                      D(D(D(... thirty times: the same
//     #if ((((((((...                         clang evaluates it by recursion
//
// clang has no such limits. Before each macro expansion, clang calls MacroExpands, which computes
// the size of the expansion. If the size is above the limit, the preprocessor stops expanding
// macros outside of directives, and `exceeded` becomes true: the tokens no longer match the source.
//
// Sizes count characters, because `##` can make one token arbitrarily long. A size includes the
// arguments and the macros that the body names. A macro whose name appears only after another
// expansion counts when clang expands that macro.

#pragma once

#include "diagnostics/diagnostics.h"

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
  MacroLimits(clang::Preprocessor &pp, DiagnosticEngine &diagnostics, bool &exceeded)
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
  DiagnosticEngine &diagnostics_;
  bool &exceeded_;
  uint64_t total_ = 0, in_directive_ = 0, steps_ = 0;
  int depth_ = 0;
  std::map<const clang::MacroInfo *, uint64_t> objects_; // sizes, valid during one MacroExpands
  std::vector<const clang::MacroInfo *> open_;           // a macro does not expand inside itself
};

} // namespace tritonc
