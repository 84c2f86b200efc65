// Reads compile_commands.json. See compile_commands.h.
//
// Tested by tests/mutate/compile_commands_test.cpp.

#include "mutate/compile_commands.h"

#include "llvm/Support/Allocator.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/StringSaver.h"

#include <set>

namespace tritonc::mutate {
namespace {

CompileCommand command_of(llvm::StringRef source, llvm::StringRef text) {
  llvm::BumpPtrAllocator memory;
  llvm::StringSaver saver(memory);
  llvm::SmallVector<const char *, 64> words;
  llvm::cl::TokenizeGNUCommandLine(text, saver, words);
  CompileCommand command = {source.str(), "", {}};
  for (size_t i = 1; i < words.size(); i++) {
    llvm::StringRef word = words[i];
    if (word == "-o" && i + 1 < words.size())
      command.object = words[++i];
    else if (word != "-c" && word != source && word != "-fpch-preprocess" && word != "-Werror" &&
             word != "-Winvalid-pch")
      command.flags.push_back(word.str());
  }
  return command;
}

} // namespace

std::vector<CompileCommand> read_compile_commands(const std::string &json) {
  std::vector<CompileCommand> commands;
  llvm::Expected<llvm::json::Value> value = llvm::json::parse(json);
  if (!value) {
    llvm::consumeError(value.takeError());
    return commands;
  }
  std::set<llvm::StringRef> seen;
  if (const llvm::json::Array *entries = value->getAsArray())
    for (const llvm::json::Value &entry : *entries)
      if (const llvm::json::Object *object = entry.getAsObject()) {
        std::optional<llvm::StringRef> file = object->getString("file");
        std::optional<llvm::StringRef> text = object->getString("command");
        if (file && text && seen.insert(*file).second)
          commands.push_back(command_of(*file, *text));
      }
  return commands;
}

} // namespace tritonc::mutate
