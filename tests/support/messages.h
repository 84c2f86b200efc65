// Parses the diagnostics of the tool, so that tests can compare them.

#pragma once

#include <algorithm>
#include <sstream>
#include <string>
#include <vector>

namespace tritonc::test {

/// `kernel.tc:5:13: error: text`, or `error: text` with line 0 and no file.
struct ToldMessage {
  int line = 0;
  std::string severity, text, file;
};

/// Omits source lines, clang's notes about macros and includes, and the option names of warnings.
inline std::vector<ToldMessage> read_messages(const std::string &diagnostics) {
  std::vector<ToldMessage> messages;
  std::istringstream lines(diagnostics);
  for (std::string line; std::getline(lines, line);) {
    ToldMessage message;
    size_t found = std::string::npos;
    for (const char *severity : {"error: ", "warning: ", "note: "}) {
      size_t at = line.find(severity);
      bool starts = at == 0 || (at != line.npos && at >= 2 &&
                                (line.substr(at - 2, 2) == ": " || line.substr(at - 2, 2) == "l "));
      if (starts && at < found) {
        found = at;
        message.severity = std::string(severity).substr(0, std::string(severity).size() - 2);
      }
    }
    if (found == std::string::npos || line.find(" | ") < found)
      continue;
    message.text = line.substr(found + message.severity.size() + 2);
    if (size_t option = message.text.rfind(" [-W"); option != std::string::npos)
      message.text.resize(option);
    if (message.text.rfind("expanded from", 0) == 0)
      continue;
    std::string place = line.substr(0, found); // "file:line:column: ", optionally with "fatal "
    if (size_t fatal = place.find("fatal "); fatal != place.npos)
      place.resize(fatal);
    if (size_t second = place.rfind(':', place.size() > 2 ? place.size() - 3 : 0);
        !place.empty() && second != place.npos) {
      size_t first = place.rfind(':', second - 1);
      message.file = place.substr(0, first);
      message.line = std::stoi(place.substr(first + 1, second - first - 1));
    }
    messages.push_back(std::move(message));
  }
  return messages;
}

/// The texts of all messages of one severity.
inline std::vector<std::string> texts_of(const std::string &diagnostics,
                                         const std::string &severity) {
  std::vector<std::string> texts;
  for (const ToldMessage &message : read_messages(diagnostics))
    if (message.severity == severity)
      texts.push_back(message.text);
  return texts;
}

} // namespace tritonc::test
