// Parses pragmas and decides which functions are kernels. See parser.h.
//
// Tested by tests/unit/language/parser_test.cpp.

#include "language/parser.h"

#include <algorithm>
#include <iterator>
#include <utility>

namespace tritonc::ast {

// Reports a clause without `#pragma tritonc`: `tune(TM: 32, 64);`.
void Parser::fail_pragma(const Token &name, const PragmaWord &word) {
  fail(Message::outside_pragma, name.at, {std::string(name.spelling)});
  note(Message::write_pragma, name.at, {std::string(word.example)});
}

void Parser::take_pragma() {
  Pragma made = pragma();
  // read_declarations() has already read the axes.
  if (made.name != "variant" && made.name != "tune" && !panic_)
    pending_.push_back(std::move(made));
}

Pragma Parser::pragma() {
  Pragma out;
  out.token = position_;
  Token name = next();
  out.name = name.spelling;
  out.at = name.at;
  Token opening = next();
  if (out.name == "variant" || out.name == "tune") {
    for (int depth = 1; depth > 0 && !peek().is(TokenKind::end);) {
      depth += peek().is("(") - peek().is(")");
      next();
    }
    return out;
  }
  in_pragma_ = true;
  do
    out.arguments.push_back(conditional());
  while (accept(","));
  in_pragma_ = false;
  expect_closing(")", "after the arguments", opening);
  return out;
}

// Decides which functions are kernels. The only function of a file is a kernel even without
// `__global__`. If the file marks some functions, all other functions are device functions.
void Parser::choose_kernels(Program &program) {
  std::vector<Function> &functions = program.functions;
  bool is_marked = std::any_of(functions.begin(), functions.end(),
                               [](const Function &f) { return f.is_kernel; });
  if (functions.empty() && diagnostics_.errors() == 0) {
    diagnostics_.report(Message::no_kernel, {}, {path_});
    diagnostics_.report(Message::write_kernel, {});
  }
  if (functions.size() == 1 && !is_marked)
    functions[0].is_kernel = true;
  else if (!is_marked && !functions.empty()) {
    diagnostics_.report(Message::mark_kernels, functions[0].at, {functions[0].name});
    diagnostics_.report(Message::add_global, functions[0].at);
    for (Function &function : functions)
      function.is_kernel = true; // the checker then checks them as kernels
  }
  // Pragmas before a device function belong to the next kernel.
  for (size_t i = 0; i < functions.size(); i++) {
    std::vector<Pragma> &pragmas = functions[i].pragmas;
    if (functions[i].is_kernel || pragmas.empty())
      continue;
    std::vector<Pragma> &next = i + 1 < functions.size() ? functions[i + 1].pragmas : pending_;
    next.insert(next.begin(), std::make_move_iterator(pragmas.begin()),
                std::make_move_iterator(pragmas.end()));
    pragmas.clear();
  }
}

// Pragmas after the last function belong to the only kernel. The command line's grid belongs to
// every kernel, so the parser parses it again for each kernel.
void Parser::place_trailing_pragmas(Program &program) {
  std::vector<Function *> kernels;
  for (Function &function : program.functions)
    if (function.is_kernel)
      kernels.push_back(&function);
  for (Pragma &trailing : pending_) {
    bool is_host = trailing.name == "host_grid";
    if (!is_host && kernels.size() == 1)
      kernels[0]->pragmas.push_back(std::move(trailing));
    else if (!is_host)
      diagnostics_.report(Message::pragma_without_kernel, trailing.at, {trailing.name});
    for (Function *kernel : kernels) {
      if (!is_host)
        continue;
      auto is_grid = [](const Pragma &p) { return p.name == "grid"; };
      kernel->pragmas.erase(std::remove_if(kernel->pragmas.begin(), kernel->pragmas.end(), is_grid),
                            kernel->pragmas.end());
      position_ = trailing.token;
      kernel->pragmas.push_back(pragma());
      kernel->pragmas.back().name = "grid";
    }
  }
  pending_.clear();
}

} // namespace tritonc::ast
