// Converts cases to files and back, and compares outputs. See case.h.
//
// Tested by tests/random_kernels/case_test.cpp.

#include "random_kernels/case.h"

#include "random_kernels/print.h"

#include <algorithm>
#include <cmath>
#include <sstream>

namespace tritonc::random {
namespace {

using Role = Parameter::Role;

constexpr const char *role_names[] = {"number", "input", "output", "both"};

std::string text_of(Scalar scalar, const DataValue &value) {
  if (!is_float(scalar))
    return scalar == Scalar::uint64 ? std::to_string(uint64_t(value.integer))
                                    : std::to_string(value.integer);
  char buffer[40];
  std::snprintf(buffer, sizeof buffer, "%.17g", value.real);
  return buffer;
}

std::vector<uint8_t> expected_bytes(const Argument &argument) {
  std::vector<uint8_t> bytes, nothing = unwritten_bytes(argument.scalar, 1);
  for (size_t i = 0; i < argument.expected.size(); i++)
    if (argument.written[i] || argument.role == Role::both)
      append_bytes(argument.scalar, {argument.expected[i].integer, argument.expected[i].real},
                   bytes);
    else
      bytes.insert(bytes.end(), nothing.begin(), nothing.end());
  return bytes;
}

void expect(Argument &argument, const Contents &contents) {
  argument.expected = contents.elements;
  argument.written = contents.written;
  for (size_t i = 0; i < contents.elements.size(); i++)
    if (contents.written[i])
      argument.bound = std::max(argument.bound, contents.elements[i].error);
  argument.has_hash = argument.bound == 0;
  if (argument.has_hash)
    argument.hash = hash_of(argument.scalar, expected_bytes(argument));
}

// Whether an output element is correct.
bool is_good(Scalar scalar, const Number &expected, const DataValue &found) {
  if (!is_float(scalar))
    return expected.integer == found.integer;
  if (expected.error == 0 || std::isinf(expected.real))
    return expected.real == found.real;
  return std::fabs(expected.real - found.real) <= expected.error;
}

std::string difference(const Argument &argument, const std::vector<uint8_t> &bytes) {
  if (argument.expected.empty()) {
    bool is_good = !argument.has_hash || hash_of(argument.scalar, bytes) == argument.hash;
    return is_good ? "" : argument.name + " is not what it was";
  }
  size_t size = size_t(bytes_of(argument.scalar));
  std::vector<uint8_t> nothing = unwritten_bytes(argument.scalar, 1);
  for (size_t i = 0; i < argument.expected.size(); i++) {
    const uint8_t *at = &bytes[i * size];
    std::string place = argument.name + "[" + std::to_string(i) + "] ";
    DataValue found = from_bytes(argument.scalar, at);
    bool is_kept = !argument.written[i] && argument.role == Role::output;
    if (is_kept && !std::equal(nothing.begin(), nothing.end(), at))
      return place + "is written: " + text_of(argument.scalar, found);
    if (is_kept)
      continue;
    const Number &expected = argument.expected[i];
    if (is_good(argument.scalar, expected, found))
      continue;
    std::string text = place + "is " + text_of(argument.scalar, found) + ", not " +
                       text_of(argument.scalar, {expected.integer, expected.real});
    if (std::equal(nothing.begin(), nothing.end(), at))
      text += " (it may not be written at all)";
    return expected.error == 0 ? text : text + " +- " + std::to_string(expected.error);
  }
  return "";
}

} // namespace

Case case_of(const Kernel &kernel, const Evaluation &evaluation) {
  Case made{source_of(kernel), "k", kernel.grid, kernel.data_seed, {}};
  for (size_t i = 0; i < kernel.parameters.size(); i++) {
    const Parameter &parameter = kernel.parameters[i];
    if (parameter.role == Role::constant) // the source has its values
      continue;
    Argument argument{.name = kernel.variables[size_t(parameter.variable)].name,
                      .role = parameter.role,
                      .scalar = kernel.type_of(parameter.variable).scalar,
                      .integer = parameter.integer,
                      .real = parameter.real,
                      .count = evaluation.contents[i].count,
                      .data = parameter.data};
    if (argument.is_written())
      expect(argument, evaluation.contents[i]);
    made.arguments.push_back(std::move(argument));
  }
  return made;
}

std::vector<uint8_t> initial_bytes(const Case &tried, int argument) {
  const Argument &buffer = tried.arguments[size_t(argument)];
  if (buffer.role == Role::output)
    return unwritten_bytes(buffer.scalar, buffer.count);
  return bytes_of(buffer.data, buffer.scalar, stream_of(tried.data_seed, buffer.name),
                  buffer.count);
}

std::string difference(const Case &tried, const std::vector<std::vector<uint8_t>> &buffers) {
  for (size_t i = 0; i < tried.arguments.size(); i++)
    if (tried.arguments[i].is_written())
      if (std::string text = difference(tried.arguments[i], buffers[i]); !text.empty())
        return text;
  return "";
}

// --- Files. --------------------------------------------------------------------------------------

std::string file_text(const Case &tried, const std::string &comment) {
  std::ostringstream out;
  std::istringstream lines(comment);
  for (std::string line; std::getline(lines, line);)
    out << "// " << line << "\n";
  // Comments at the start of the source stay first.
  std::istringstream source(tried.source);
  std::string line;
  while (std::getline(source, line) && line.rfind("//", 0) == 0)
    if (line.rfind("//! ", 0) != 0)
      out << line << "\n";
  out << "//! grid " << tried.grid[0] << " " << tried.grid[1] << " " << tried.grid[2] << "\n";
  out << "//! data " << tried.data_seed << "\n";
  for (const Argument &argument : tried.arguments) {
    out << "//! " << argument.name << " " << role_names[int(argument.role)] << " "
        << name_of(argument.scalar);
    if (argument.role == Role::number)
      out << " " << text_of(argument.scalar, {argument.integer, argument.real});
    else
      out << " " << argument.count;
    if (argument.role == Role::input || argument.role == Role::both)
      out << " " << argument.data.low << " " << argument.data.high << " "
          << argument.data.fraction_bits;
    if (argument.has_hash)
      out << " hash " << std::hex << argument.hash << std::dec;
    out << "\n";
  }
  for (; source; std::getline(source, line))
    out << line << "\n";
  return out.str();
}

namespace {

bool read_argument(const std::string &name, std::istringstream &words, Case &made) {
  Argument argument{.name = name};
  std::string role, scalar, word;
  words >> role >> scalar;
  auto found = std::find(std::begin(role_names), std::end(role_names), role);
  std::optional<Scalar> named = scalar_named(scalar);
  if (found == std::end(role_names) || !named)
    return false;
  argument.role = Role(found - std::begin(role_names));
  argument.scalar = *named;
  if (argument.role == Role::number) {
    words >> word;
    if (is_float(*named))
      argument.real = std::strtod(word.c_str(), nullptr);
    else if (*named == Scalar::uint64)
      argument.integer = int64_t(std::strtoull(word.c_str(), nullptr, 10));
    else
      argument.integer = std::strtoll(word.c_str(), nullptr, 10);
  } else {
    words >> argument.count;
  }
  if (argument.role == Role::input || argument.role == Role::both)
    words >> argument.data.low >> argument.data.high >> argument.data.fraction_bits;
  if (!words)
    return false;
  if (words >> word && word == "hash") {
    argument.has_hash = true;
    words >> std::hex >> argument.hash;
  }
  made.arguments.push_back(std::move(argument));
  return true;
}

} // namespace

std::optional<Case> read_case(const std::string &text, std::string &problem) {
  Case made;
  made.name = "k";
  std::istringstream lines(text);
  bool has_grid = false;
  for (std::string line; std::getline(lines, line);) {
    made.source += line + "\n";
    if (line.rfind("//! ", 0) != 0)
      continue;
    std::istringstream words(line.substr(4));
    std::string name;
    words >> name;
    bool good = true;
    if (name == "grid")
      has_grid = good = bool(words >> made.grid[0] >> made.grid[1] >> made.grid[2]);
    else if (name == "data")
      good = bool(words >> made.data_seed);
    else
      good = read_argument(name, words, made);
    if (!good) {
      problem = "does not read: " + line;
      return std::nullopt;
    }
  }
  if (!has_grid || made.arguments.empty()) {
    problem = "has no lines //! that say how it is launched";
    return std::nullopt;
  }
  return made;
}

} // namespace tritonc::random
