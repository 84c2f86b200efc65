// Parses sources with options, and runs the front end on them. See source_input.h.

#include "fuzz/source_input.h"

#include "fuzz/memory_files.h"
#include "ir/verifier.h"

#include <algorithm>
#include <charconv>
#include <cstdio>
#include <cstdlib>

namespace tritonc::fuzz {
namespace {

constexpr std::string_view mark = "//! ";

std::string_view take(std::string_view &text, char end) {
  size_t at = text.find(end);
  std::string_view taken = text.substr(0, at);
  text = at == text.npos ? std::string_view() : text.substr(at + 1);
  return taken;
}

} // namespace

SourceInput::SourceInput(std::string_view text) {
  input.path = "/kernel.tc";
  input.include_dirs = {"/"};
  files.emplace_back(input.path, "");
  while (!text.empty()) {
    std::string_view line = text.substr(0, text.find('\n')), rest = line;
    text.remove_prefix(std::min(text.size(), line.size() + 1));
    if (!rest.starts_with(mark)) {
      files.back().second.append(line).append("\n");
      continue;
    }
    rest.remove_prefix(mark.size());
    std::string_view what = take(rest, ' ');
    if (what == "define" && input.defines.size() < 8) {
      std::string_view name = take(rest, ' ');
      input.defines.push_back({std::string(name), std::string(rest)});
    } else if (what == "grid") {
      input.grid = rest;
    } else if (what == "gpu") {
      gpu = take(rest, ' ');
      std::from_chars(rest.data(), rest.data() + rest.size(), schedule);
    } else if (what == "file" && files.size() < 4) {
      files.emplace_back("/" + std::string(rest), "");
    }
  }
}

const Gpu *SourceInput::known_gpu() const {
  const Gpu *known = find_gpu(gpu);
  return known ? known : find_gpu("80");
}

bool SourceInput::may_have_axes() const {
  return std::any_of(files.begin(), files.end(), [](const auto &file) {
    return file.second.find("variant") != std::string::npos ||
           file.second.find("tune") != std::string::npos;
  });
}

Schedule SourceInput::chosen(std::vector<Schedule> schedules) const {
  return schedules[schedule % schedules.size()];
}

Count::~Count() { std::fprintf(stderr, "%ld %s\n", count_, what_); }

void fail(const std::string &what, const std::string &about) {
  std::fprintf(stderr, "%s\n%s\n", what.c_str(), about.c_str());
  std::abort();
}

FrontEndResult run_front_end(const SourceInput &source) {
  set_files(source.files);
  FrontEndInput input = source.input;
  Declarations declarations;
  if (source.may_have_axes()) // otherwise, translate_source reports the same errors
    declarations = read_declarations(input);
  for (const Axis &axis : declarations.axes)
    if (!axis.values.empty())
      for (const Define &define : axis.values[0].defines)
        input.defines.push_back(define);
  FrontEndResult result = translate_source(input);
  static Count count("sources without errors");
  count += result.errors == 0;
  if (result.errors > 0 && result.diagnostics_text.find("error: ") == std::string::npos)
    fail("an error without a message", result.diagnostics_text);
  if (result.errors > 0 && !result.kernels.empty())
    fail("kernels in spite of errors", result.diagnostics_text);
  for (const auto *kernels : {&result.kernels, &result.checked})
    for (const ir::Function &kernel : *kernels)
      if (std::string broken = ir::verify(kernel); !broken.empty())
        fail("what the front end made breaks a rule of tile IR", broken);
  return result;
}

} // namespace tritonc::fuzz
