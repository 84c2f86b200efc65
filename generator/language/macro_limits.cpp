// Implements the limits of macro expansions and directives. See macro_limits.h.
//
// Tested by tests/unit/language/macro_limits_test.cpp.

#include "language/macro_limits.h"

#include "clang/Basic/SourceManager.h"
#include "clang/Lex/Lexer.h"
#include "clang/Lex/MacroArgs.h"
#include "clang/Lex/MacroInfo.h"
#include "clang/Lex/Preprocessor.h"

#include <algorithm>

namespace tritonc {
namespace {

constexpr uint64_t max_characters = 1 << 20;         // per expansion
constexpr uint64_t max_in_all = 16 * max_characters; // all expansions written in files
constexpr uint64_t max_in_directive = 4096;          // each may be `(`, one recursion of clang
constexpr uint64_t max_steps = 16 << 20;
constexpr int max_depth = 200;
constexpr int max_nesting = 1000; // operators in a directive, before expansion

bool is_end(const clang::Token &token) { return token.is(clang::tok::eof); }

// Whether the text has a conditional directive with so many operators and parentheses that clang's
// recursive evaluation may overflow the stack.
bool has_deep_directive(llvm::StringRef text) {
  while (!text.empty()) {
    size_t end = text.find('\n');
    while (end != text.npos && end > 0 && text[end - 1] == '\\')
      end = text.find('\n', end + 1);
    llvm::StringRef line = text.substr(0, end);
    text = end == text.npos ? llvm::StringRef() : text.substr(end + 1);
    bool may_be = line.size() > max_nesting && (line.contains('#') || line.contains("%:")) &&
                  !line.ltrim(" \t#").starts_with("define");
    if (may_be && std::count_if(line.begin(), line.end(), [](char c) {
                    return llvm::StringRef("(!~-+?").contains(c);
                  }) > max_nesting)
      return true;
  }
  return false;
}

} // namespace

void MacroLimits::MacroExpands(const clang::Token &name, const clang::MacroDefinition &definition,
                               clang::SourceRange, const clang::MacroArgs *arguments) {
  const clang::MacroInfo *macro = definition.getMacroInfo();
  if (!macro || macro->isBuiltinMacro())
    return;
  objects_.clear();
  open_.clear();
  depth_ = 0;
  Sizes sizes;
  for (unsigned i = 0; arguments && i < macro->getNumParams(); i++) {
    if (i >= arguments->getNumMacroArguments()) {
      sizes.push_back(0);
      continue;
    }
    const clang::Token *first = arguments->getUnexpArgument(i);
    sizes.push_back(size_of({first, clang::MacroArgs::getArgLength(first)}, nullptr, {}));
  }
  open_.push_back(macro);
  uint64_t size = size_of(macro->tokens(), macro, sizes);
  bool is_outermost = name.getLocation().isFileID(); // its size includes the inner expansions
  total_ += is_outermost ? size : 0;
  bool in_directive = pp_.isParsingIfOrElifDirective();
  in_directive_ += in_directive && is_outermost ? size : 0;
  if (std::max(size, in_directive_) > (in_directive ? max_in_directive : max_characters) ||
      total_ > max_in_all || steps_ > max_steps)
    stop(Message::macro_too_large, name.getLocation(), {pp_.getSpelling(name)});
}

void MacroLimits::LexedFileChanged(clang::FileID file, LexedFileChangeReason reason,
                                   clang::SrcMgr::CharacteristicKind, clang::FileID,
                                   clang::SourceLocation) {
  if (reason != LexedFileChangeReason::EnterFile || !pp_.getCurrentFileLexer())
    return;
  llvm::StringRef text = pp_.getSourceManager().getBufferData(file);
  if (!has_deep_directive(text))
    return;
  stop(Message::too_deep, pp_.getSourceManager().getLocForStartOfFile(file),
       {std::to_string(max_nesting)});
  static_cast<clang::Lexer *>(pp_.getCurrentFileLexer())
      ->seek(unsigned(text.size()), /*IsAtStartOfLine=*/true);
}

void MacroLimits::stop(Message id, clang::SourceLocation at, std::vector<std::string> arguments) {
  if (!exceeded_)
    diagnostics_.report(id, {at.getRawEncoding()}, std::move(arguments));
  exceeded_ = true;
  pp_.SetMacroExpansionOnlyInDirectives(); // MacroExpands still sees directives
}

// The expanded size of tokens. If `around` is not null, the tokens are in its body, and `arguments`
// has the expanded sizes of its arguments. If null, the tokens are in a source.
uint64_t MacroLimits::size_of(llvm::ArrayRef<clang::Token> tokens, const clang::MacroInfo *around,
                              const Sizes &arguments) {
  if (depth_ >= max_depth)
    return max_characters + 1;
  depth_++;
  uint64_t size = 0;
  for (size_t i = 0; i < tokens.size() && size <= max_characters && steps_ <= max_steps; i++) {
    const clang::Token &token = tokens[i];
    steps_++;
    if (is_end(token) || token.isAnnotation())
      continue;
    clang::IdentifierInfo *identifier = token.getIdentifierInfo();
    int parameter = identifier && around ? around->getParameterNum(identifier) : -1;
    if (parameter >= 0 && size_t(parameter) < arguments.size()) {
      bool as_text = i > 0 && tokens[i - 1].is(clang::tok::hash); // `#` escapes quotes
      size += arguments[size_t(parameter)] * (as_text ? 2 : 1) + 2;
      continue;
    }
    const clang::MacroInfo *macro = identifier ? pp_.getMacroInfo(identifier) : nullptr;
    bool is_expanded = macro && !macro->isBuiltinMacro() &&
                       std::find(open_.begin(), open_.end(), macro) == open_.end();
    if (is_expanded && macro->isFunctionLike() && i + 1 < tokens.size() &&
        tokens[i + 1].is(clang::tok::l_paren))
      size += size_of_call(*macro, tokens, ++i, around, arguments);
    else if (is_expanded && macro->isObjectLike()) {
      auto known = objects_.find(macro);
      if (known == objects_.end()) {
        open_.push_back(macro);
        uint64_t own = size_of(macro->tokens(), macro, {});
        open_.pop_back();
        known = objects_.emplace(macro, own).first;
      }
      size += known->second;
    } else {
      size += token.getLength() + 1;
    }
  }
  depth_--;
  return size;
}

// The expanded size of a macro call. `at` is the index of the opening parenthesis; this function
// moves it to the closing parenthesis.
uint64_t MacroLimits::size_of_call(const clang::MacroInfo &macro,
                                   llvm::ArrayRef<clang::Token> tokens, size_t &at,
                                   const clang::MacroInfo *around, const Sizes &arguments) {
  Sizes sizes;
  size_t first = at + 1;
  int nesting = 1;
  for (size_t i = first; i < tokens.size() && nesting > 0; i++) {
    nesting += tokens[i].is(clang::tok::l_paren) - tokens[i].is(clang::tok::r_paren);
    bool last_is_open = macro.isVariadic() && sizes.size() + 1 == macro.getNumParams();
    bool ends = nesting == 0 || i + 1 == tokens.size() ||
                (nesting == 1 && tokens[i].is(clang::tok::comma) && !last_is_open);
    if (!ends)
      continue;
    sizes.push_back(size_of(tokens.slice(first, i - first), around, arguments));
    first = i + 1;
    at = i;
  }
  sizes.resize(macro.getNumParams());
  open_.push_back(&macro);
  uint64_t size = size_of(macro.tokens(), &macro, sizes);
  open_.pop_back();
  return size;
}

} // namespace tritonc
