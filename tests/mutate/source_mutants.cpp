// Finds all possible mutants of a source file, by clang's AST. See source_mutants.h.
//
// Each edit is small text at a place that the source itself writes: never inside a macro's arguments
// (so never inside `assert`), a type, a template argument, a case label, an enumeration, a
// static_assert or the condition of an `if constexpr`. An edit there rarely compiles, or tests cannot
// notice it. For the same reason the arguments of calls that print or reserve memory do not change.
//
// Tested by tests/mutate/source_mutants_test.cpp.

#include "mutate/source_mutants.h"

#include "clang/AST/ASTConsumer.h"
#include "clang/AST/ASTContext.h"
#include "clang/AST/RecursiveASTVisitor.h"
#include "clang/Driver/CreateInvocationFromArgs.h"
#include "clang/Frontend/CompilerInstance.h"
#include "clang/Frontend/FrontendAction.h"
#include "clang/Frontend/TextDiagnosticBuffer.h"
#include "clang/Lex/Lexer.h"
#include "clang/Lex/PreprocessorOptions.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/ADT/StringSwitch.h"

#include <algorithm>
#include <set>
#include <tuple>

namespace tritonc::mutate {
namespace {

// --- Mutation operators on tokens. ---------------------------------------------------------------

// The other comparison; "" = none. An order changes only at the bound.
llvm::StringRef other_comparison(llvm::StringRef token) {
  return llvm::StringSwitch<llvm::StringRef>(token)
      .Case("<", "<=")
      .Case("<=", "<")
      .Case(">", ">=")
      .Case(">=", ">")
      .Case("==", "!=")
      .Case("!=", "==")
      .Default("");
}

// The other integer operator, also of an assignment; "" = none.
std::string other_arithmetic(llvm::StringRef token) {
  bool assigns = token.size() > 1 && token.consume_back("=");
  llvm::StringRef other = llvm::StringSwitch<llvm::StringRef>(token)
                              .Case("+", "-")
                              .Case("-", "+")
                              .Case("*", "/")
                              .Case("/", "*")
                              .Case("%", "/")
                              .Case("<<", ">>")
                              .Case(">>", "<<")
                              .Case("&", "|")
                              .Case("|", "&")
                              .Case("^", "|")
                              .Default("");
  return other.empty() || !assigns ? other.str() : other.str() + "=";
}

// Calls whose arguments, or whose absence, no test can notice, or only a test of a message's text.
bool is_unobservable(llvm::StringRef function) {
  static const llvm::StringSet<> names = {"printf",       "fprintf", "snprintf",     "vsnprintf",
                                          "dprintf",      "fputs",   "puts",         "say",
                                          "report_error", "reserve", "shrink_to_fit"};
  return names.contains(function);
}

// --- The syntax tree. ----------------------------------------------------------------------------

llvm::StringRef name_of(const clang::NamedDecl *declaration) {
  if (!declaration || !declaration->getIdentifier())
    return "";
  return declaration->getName();
}

// The function that a call names, or the variable with a lambda; "" = another expression.
llvm::StringRef callee_name(const clang::CallExpr &call) {
  const clang::Expr *callee = call.getCallee();
  if (const auto *call_of_object = llvm::dyn_cast<clang::CXXOperatorCallExpr>(&call))
    callee = call_of_object->getOperator() == clang::OO_Call ? call.getArg(0) : nullptr;
  if (!callee)
    return "";
  callee = callee->IgnoreParenImpCasts();
  if (const auto *reference = llvm::dyn_cast<clang::DeclRefExpr>(callee))
    return name_of(reference->getDecl());
  if (const auto *member = llvm::dyn_cast<clang::MemberExpr>(callee))
    return name_of(member->getMemberDecl());
  return "";
}

const clang::Expr *bare(const clang::Expr *expression) {
  if (const auto *cleanups = llvm::dyn_cast<clang::ExprWithCleanups>(expression))
    expression = cleanups->getSubExpr();
  return expression->IgnoreParenImpCasts();
}

// Another mutation operator already inverts the expression by a smaller edit.
bool has_smaller_inversion(const clang::Expr *expression) {
  expression = bare(expression);
  if (const auto *binary = llvm::dyn_cast<clang::BinaryOperator>(expression))
    return binary->isEqualityOp();
  if (const auto *call = llvm::dyn_cast<clang::CXXOperatorCallExpr>(expression))
    return call->getOperator() == clang::OO_EqualEqual ||
           call->getOperator() == clang::OO_ExclaimEqual;
  if (const auto *unary = llvm::dyn_cast<clang::UnaryOperator>(expression))
    return unary->getOpcode() == clang::UO_LNot;
  return llvm::isa<clang::CXXRewrittenBinaryOperator, clang::CXXBoolLiteralExpr>(expression);
}

const clang::Stmt *last_of(const clang::Stmt *statement) {
  if (const auto *block = llvm::dyn_cast_or_null<clang::CompoundStmt>(statement))
    return block->body_empty() ? nullptr : last_of(block->body_back());
  return statement;
}

bool is_early_exit(const clang::Stmt *statement) {
  statement = last_of(statement);
  return statement &&
         llvm::isa<clang::ReturnStmt, clang::ContinueStmt, clang::BreakStmt>(statement);
}

bool is_floating(const clang::Expr *expression) {
  return expression->IgnoreParenImpCasts()->getType()->isFloatingType() ||
         expression->getType()->isFloatingType();
}

class Collector : public clang::RecursiveASTVisitor<Collector> {
  using Base = clang::RecursiveASTVisitor<Collector>;

public:
  Collector(clang::ASTContext &context, const Source &source, std::vector<Mutant> &mutants)
      : sources_(context.getSourceManager()), language_(context.getLangOpts()), source_(source),
        mutants_(mutants) {}

  // --- What stays. -------------------------------------------------------------------------------

  bool TraverseTypeLoc(clang::TypeLoc, bool = true) { return true; }
  bool TraverseTemplateArgumentLoc(const clang::TemplateArgumentLoc &) { return true; }
  bool TraverseAttr(clang::Attr *) { return true; }
  bool TraverseStaticAssertDecl(clang::StaticAssertDecl *) { return true; }
  bool TraverseEnumDecl(clang::EnumDecl *) { return true; }
  bool TraverseCaseStmt(clang::CaseStmt *statement) {
    return TraverseStmt(statement->getSubStmt());
  }
  bool TraverseIfStmt(clang::IfStmt *statement) {
    if (!statement->isConstexpr())
      return Base::TraverseIfStmt(statement);
    return TraverseStmt(statement->getThen()) && TraverseStmt(statement->getElse());
  }
  bool TraverseCallExpr(clang::CallExpr *call) {
    return is_unobservable(callee_name(*call)) || Base::TraverseCallExpr(call);
  }
  bool TraverseCXXMemberCallExpr(clang::CXXMemberCallExpr *call) {
    return is_unobservable(callee_name(*call)) || Base::TraverseCXXMemberCallExpr(call);
  }
  bool TraverseCXXOperatorCallExpr(clang::CXXOperatorCallExpr *call) {
    return is_unobservable(callee_name(*call)) || Base::TraverseCXXOperatorCallExpr(call);
  }

  bool TraverseStmt(clang::Stmt *statement) {
    path_.push_back(statement);
    bool goes_on = Base::TraverseStmt(statement);
    path_.pop_back();
    return goes_on;
  }

  // --- What changes. -----------------------------------------------------------------------------

  bool VisitBinaryOperator(clang::BinaryOperator *binary) {
    llvm::StringRef token = binary->getOpcodeStr();
    if (binary->isLogicalOp())
      change_logical(binary, token);
    else if (binary->isEqualityOp() || (binary->isRelationalOp() && !is_floating(binary->getLHS())))
      replace("comparison", binary->getOperatorLoc(), token, other_comparison(token));
    else if (binary->getType()->isIntegerType() &&
             binary->getLHS()->IgnoreParenImpCasts()->getType()->isIntegerType() &&
             binary->getRHS()->IgnoreParenImpCasts()->getType()->isIntegerType())
      replace("arithmetic", binary->getOperatorLoc(), token, other_arithmetic(token));
    return true;
  }

  bool VisitCXXOperatorCallExpr(clang::CXXOperatorCallExpr *call) {
    llvm::StringRef token = clang::getOperatorSpelling(call->getOperator());
    if (call->getOperator() == clang::OO_EqualEqual ||
        call->getOperator() == clang::OO_ExclaimEqual)
      replace("comparison", call->getOperatorLoc(), token, other_comparison(token));
    return true;
  }

  bool VisitCXXRewrittenBinaryOperator(clang::CXXRewrittenBinaryOperator *binary) {
    llvm::StringRef token = binary->getOpcodeStr();
    replace("comparison", binary->getOperatorLoc(), token, other_comparison(token));
    return true;
  }

  bool VisitUnaryOperator(clang::UnaryOperator *unary) {
    if (unary->getOpcode() == clang::UO_LNot)
      replace("negation", unary->getOperatorLoc(), "!", "");
    return true;
  }

  bool VisitIntegerLiteral(clang::IntegerLiteral *literal) {
    if (const auto *cast = llvm::dyn_cast_or_null<clang::ImplicitCastExpr>(parent()))
      if (cast->getCastKind() == clang::CK_NullToPointer)
        return true;
    if (llvm::isa_and_nonnull<clang::UserDefinedLiteral>(parent()))
      return true;
    std::string text = text_of(literal->getSourceRange()).value_or("");
    std::string suffix = text.substr(std::min(text.size(), text.find_first_of("uUlLzZ")));
    llvm::APInt value = literal->getValue().zext(literal->getValue().getBitWidth() + 2);
    for (int step : {1, -1}) {
      llvm::APInt changed = value + llvm::APInt(value.getBitWidth(), uint64_t(step), true);
      std::string digits = llvm::toString(changed, 10, true) + suffix;
      replace("integer", literal->getBeginLoc(), text,
              changed.isNegative() ? "(" + digits + ")" : digits);
    }
    return true;
  }

  bool VisitCXXBoolLiteralExpr(clang::CXXBoolLiteralExpr *literal) {
    replace("boolean", literal->getBeginLoc(), literal->getValue() ? "true" : "false",
            literal->getValue() ? "false" : "true");
    return true;
  }

  bool VisitIfStmt(clang::IfStmt *statement) {
    if (statement->hasVarStorage() || !statement->getCond())
      return true;
    invert("condition", statement->getCond());
    if (!statement->isConstexpr()) {
      bool drops_exit = !statement->getElse() && is_early_exit(statement->getThen());
      replace_all("dropped condition", statement->getCond()->getSourceRange(),
                  drops_exit ? "false" : "true");
    }
    return true;
  }

  bool VisitWhileStmt(clang::WhileStmt *statement) {
    if (!statement->hasVarStorage())
      invert("condition", statement->getCond());
    return true;
  }

  bool VisitConditionalOperator(clang::ConditionalOperator *conditional) {
    invert("condition", conditional->getCond());
    return true;
  }

  bool VisitReturnStmt(clang::ReturnStmt *statement) {
    const clang::Expr *value = statement->getRetValue();
    if (value && value->getType()->isBooleanType() &&
        !llvm::isa<clang::InitListExpr>(value->IgnoreImplicit()))
      invert("return", value);
    return true;
  }

  bool VisitContinueStmt(clang::ContinueStmt *statement) {
    remove_jump(statement, "continue");
    return true;
  }

  bool VisitBreakStmt(clang::BreakStmt *statement) {
    remove_jump(statement, "break");
    return true;
  }

  bool VisitCallExpr(clang::CallExpr *call) {
    swap_min_max(call);
    const clang::FunctionDecl *function = call->getDirectCallee();
    if (call->getType()->isVoidType() && is_statement() && !(function && function->isNoReturn()) &&
        !is_unobservable(callee_name(*call)))
      replace_all("removed call", call->getSourceRange(), "(void)0");
    return true;
  }

private:
  void change_logical(const clang::BinaryOperator *binary, llvm::StringRef token) {
    replace("logical", binary->getOperatorLoc(), token, token == "&&" ? "||" : "&&");
    clang::SourceRange left = binary->getLHS()->getSourceRange();
    clang::SourceRange right = binary->getRHS()->getSourceRange();
    if (!text_of(binary->getSourceRange()))
      return;
    replace_range("dropped operand", left.getBegin(), right.getBegin(), "");
    replace_range("dropped operand", end_of(left), end_of(right), "");
  }

  void invert(const char *change, const clang::Expr *expression) {
    if (has_smaller_inversion(expression))
      return;
    if (std::optional<std::string> text = text_of(expression->getSourceRange()))
      replace_all(change, expression->getSourceRange(), "!(" + *text + ")");
  }

  // A jump that is all that a condition guards has the mutant `dropped condition` already. Without
  // the `break` of a loop without a condition, the loop would not end.
  void remove_jump(const clang::Stmt *jump, llvm::StringRef token) {
    const auto *block = llvm::dyn_cast_or_null<clang::CompoundStmt>(parent());
    const clang::Stmt *loop = enclosing_loop();
    if (!block || block->size() < 2 || !loop || llvm::isa<clang::SwitchStmt>(loop))
      return;
    if (const auto *for_loop = llvm::dyn_cast<clang::ForStmt>(loop))
      if (!for_loop->getCond())
        return;
    if (const auto *while_loop = llvm::dyn_cast<clang::WhileStmt>(loop))
      if (llvm::isa<clang::CXXBoolLiteralExpr>(while_loop->getCond()))
        return;
    replace("removed jump", jump->getBeginLoc(), token, "(void)0");
  }

  void swap_min_max(const clang::CallExpr *call) {
    const auto *callee =
        llvm::dyn_cast<clang::DeclRefExpr>(call->getCallee()->IgnoreParenImpCasts());
    if (!callee || !callee->getDecl()->isInStdNamespace())
      return;
    llvm::StringRef name = name_of(callee->getDecl());
    if (name == "min" || name == "max")
      replace("min and max", callee->getLocation(), name, name == "min" ? "max" : "min");
  }

  // --- Where the current node is. ----------------------------------------------------------------

  const clang::Stmt *parent() const { return path_.size() < 2 ? nullptr : path_[path_.size() - 2]; }

  // The current node is a whole statement, not a part of an expression.
  bool is_statement() const {
    size_t at = path_.size() - 1;
    while (at > 0 && llvm::isa<clang::ExprWithCleanups>(path_[at - 1]))
      at--;
    if (at == 0)
      return false;
    const clang::Stmt *outer = path_[at - 1], *node = path_[at];
    if (const auto *branch = llvm::dyn_cast<clang::IfStmt>(outer))
      return node == branch->getThen() || node == branch->getElse();
    if (const auto *loop = llvm::dyn_cast<clang::ForStmt>(outer))
      return node == loop->getBody();
    if (const auto *loop = llvm::dyn_cast<clang::WhileStmt>(outer))
      return node == loop->getBody();
    if (const auto *loop = llvm::dyn_cast<clang::CXXForRangeStmt>(outer))
      return node == loop->getBody();
    return llvm::isa<clang::CompoundStmt, clang::CaseStmt, clang::DefaultStmt>(outer);
  }

  // The loop or switch that a jump leaves or continues.
  const clang::Stmt *enclosing_loop() const {
    for (auto node = path_.rbegin(); node != path_.rend(); ++node) {
      if (!*node)
        continue;
      if (llvm::isa<clang::ForStmt, clang::WhileStmt, clang::DoStmt, clang::CXXForRangeStmt,
                    clang::SwitchStmt>(*node))
        return *node;
    }
    return nullptr;
  }

  // --- Text and edits. ---------------------------------------------------------------------------

  bool is_written(clang::SourceLocation at) const {
    return at.isFileID() && sources_.isWrittenInMainFile(at);
  }

  clang::SourceLocation end_of(clang::SourceRange range) const {
    return clang::Lexer::getLocForEndOfToken(range.getEnd(), 0, sources_, language_);
  }

  // nullopt if a macro writes the text or a part of it.
  std::optional<std::string> text_of(clang::SourceRange range) const {
    if (!is_written(range.getBegin()) || !is_written(range.getEnd()))
      return std::nullopt;
    size_t first = sources_.getFileOffset(range.getBegin());
    return source_.text.substr(first, sources_.getFileOffset(end_of(range)) - first);
  }

  void add(const char *change, clang::SourceLocation at, std::string before, std::string after) {
    size_t offset = sources_.getFileOffset(at);
    if (!added_.insert({offset, before, after}).second)
      return;
    mutants_.push_back({source_.file, sources_.getSpellingLineNumber(at),
                        sources_.getSpellingColumnNumber(at), change, offset, std::move(before),
                        std::move(after)});
  }

  // Replaces the token at a place.
  void replace(const char *change, clang::SourceLocation at, llvm::StringRef before,
               llvm::StringRef after) {
    if (before == after || before.empty() || (after.empty() && before != "!") || !is_written(at))
      return;
    if (llvm::StringRef(source_.text).substr(sources_.getFileOffset(at)).starts_with(before))
      add(change, at, before.str(), after.str());
  }

  void replace_all(const char *change, clang::SourceRange range, std::string after) {
    std::optional<std::string> text = text_of(range);
    if (text && *text != after)
      add(change, range.getBegin(), *text, std::move(after));
  }

  void replace_range(const char *change, clang::SourceLocation begin, clang::SourceLocation end,
                     std::string after) {
    if (!is_written(begin) || !is_written(end))
      return;
    size_t first = sources_.getFileOffset(begin), last = sources_.getFileOffset(end);
    if (first < last)
      add(change, begin, source_.text.substr(first, last - first), std::move(after));
  }

  const clang::SourceManager &sources_;
  const clang::LangOptions &language_;
  const Source &source_;
  std::vector<Mutant> &mutants_;
  std::vector<const clang::Stmt *> path_; // from the declaration to the current node
  std::set<std::tuple<size_t, std::string, std::string>> added_;
};

class Consumer : public clang::ASTConsumer {
public:
  Consumer(const Source &source, std::vector<Mutant> &mutants)
      : source_(source), mutants_(mutants) {}

  void HandleTranslationUnit(clang::ASTContext &context) override {
    Collector collector(context, source_, mutants_);
    for (clang::Decl *declaration : context.getTranslationUnitDecl()->decls())
      if (context.getSourceManager().isWrittenInMainFile(declaration->getLocation()))
        collector.TraverseDecl(declaration);
  }

private:
  const Source &source_;
  std::vector<Mutant> &mutants_;
};

class Action : public clang::ASTFrontendAction {
public:
  Action(const Source &source, std::vector<Mutant> &mutants) : source_(source), mutants_(mutants) {}

private:
  std::unique_ptr<clang::ASTConsumer> CreateASTConsumer(clang::CompilerInstance &,
                                                        llvm::StringRef) override {
    return std::make_unique<Consumer>(source_, mutants_);
  }

  const Source &source_;
  std::vector<Mutant> &mutants_;
};

} // namespace

std::vector<Mutant> mutants_of(const Source &source, std::string &problem) {
  std::vector<Mutant> mutants;
  // The driver finds clang's own headers by the path of the program.
  std::vector<const char *> arguments = {TRITONC_CLANG, "-fsyntax-only", "-w"};
  for (const std::string &flag : source.flags)
    arguments.push_back(flag.c_str());
  arguments.push_back(source.path.c_str());

  clang::TextDiagnosticBuffer messages;
  std::unique_ptr<clang::CompilerInvocation> invocation = clang::createInvocation(arguments);
  if (!invocation) {
    problem = "clang does not accept the flags";
    return mutants;
  }
  clang::CompilerInstance compiler(std::move(invocation));
  compiler.createVirtualFileSystem();
  compiler.createDiagnostics(&messages, false);
  compiler.setVerboseOutputStream(std::make_unique<llvm::raw_null_ostream>());
  compiler.getPreprocessorOpts().addRemappedFile(
      source.path, llvm::MemoryBuffer::getMemBufferCopy(source.text, source.path).release());
  Action action(source, mutants);
  compiler.ExecuteAction(action);
  problem = messages.err_begin() == messages.err_end() ? "" : messages.err_begin()->second;
  std::stable_sort(mutants.begin(), mutants.end(),
                   [](const Mutant &a, const Mutant &b) { return a.offset < b.offset; });
  name_mutants(source.text, mutants);
  return mutants;
}

} // namespace tritonc::mutate
