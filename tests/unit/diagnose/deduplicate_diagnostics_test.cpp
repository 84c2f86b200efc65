// Tests generator/diagnose/deduplicate_diagnostics.cpp.

#include "diagnose/deduplicate_diagnostics.h"

#include <doctest/doctest.h>

using namespace tritonc;

namespace {

// The variants of two axes: (8, a), (8, b), (16, a), (16, b).
std::vector<MergedMessages::Variant> four_variants() {
  std::vector<MergedMessages::Variant> variants;
  for (std::string m : {"8", "16"})
    for (std::string n : {"a", "b"})
      variants.push_back({"M=" + m + " N=" + n, {{"M", m}, {"N", n}}});
  return variants;
}

struct Merged {
  explicit Merged(DiagnosticOptions options = {}) : messages(four_variants(), options) {
    for (size_t i = 0; i < 4; i++)
      messages.add_variant("k", i);
  }
  std::string text() const {
    DiagnosticList all;
    messages.append_to(all);
    return all.diagnostics_text;
  }
  MergedMessages messages;
};

Diagnostic at_line(int line, const std::string &name) {
  Diagnostic made = diagnostic(Message::undeclared, {name});
  made.at = {"k.tc", line, 1, line, 2};
  return made;
}

Error too_large(const char *gpu, const char *bytes = "9") {
  return {Message::shared_too_large, {"k", gpu, bytes, "8"}};
}

} // namespace

TEST_CASE("MergedMessages: message of all variants has no note") {
  Merged merged;
  for (size_t i = 0; i < 4; i++)
    merged.messages.add(at_line(1, "x"), "k", i);
  CHECK(merged.text() == "error: undeclared identifier `x`\n");
}

TEST_CASE("MergedMessages: note gives number and common axis values") {
  auto note = [](std::vector<size_t> variants) {
    Merged merged;
    for (size_t i : variants)
      merged.messages.add(at_line(1, "x"), "k", i);
    std::string text = merged.text();
    return text.substr(text.find('\n') + 1);
  };
  CHECK(note({0, 1}) == "note: in 2 of 4 variants (M=8)\n");
  CHECK(note({1, 3}) == "note: in 2 of 4 variants (N=b)\n");
  CHECK(note({2}) == "note: in 1 of 4 variants (M=16, N=a)\n");
  CHECK(note({0, 3}) == "note: in 2 of 4 variants (first M=8 N=a)\n");
  CHECK(note({0, 1, 2}) == "note: in 3 of 4 variants (first M=8 N=a)\n");
}

TEST_CASE("MergedMessages: note gives several values of an axis") {
  std::vector<MergedMessages::Variant> variants;
  for (std::string m : {"8", "16", "32"})
    for (std::string n : {"a", "b"})
      variants.push_back({"M=" + m + " N=" + n, {{"M", m}, {"N", n}}});
  auto note = [&](std::vector<size_t> with) {
    MergedMessages messages(variants, {});
    for (size_t i = 0; i < 6; i++)
      messages.add_variant("k", i);
    for (size_t i : with)
      messages.add(at_line(1, "x"), "k", i);
    DiagnosticList all;
    messages.append_to(all);
    return all.diagnostics_text.substr(all.diagnostics_text.find('\n') + 1);
  };
  CHECK(note({0, 1, 4, 5}) == "note: in 4 of 6 variants (M=8 or 32)\n");
  CHECK(note({0, 1, 5}) == "note: in 3 of 6 variants (M=8 or 32; first M=8 N=a)\n");
}

TEST_CASE("MergedMessages: one message if only its values differ") {
  Merged merged;
  for (size_t i = 0; i < 4; i++)
    merged.messages.add(at_line(1, std::to_string(i)), "k", i);
  CHECK(merged.text() == "error: undeclared identifier `0`\n"
                         "note: values differ between variants; shown for M=8 N=a\n");
}

TEST_CASE("MergedMessages: two messages at one location stay separate") {
  Merged merged;
  for (size_t i = 0; i < 4; i++)
    for (const char *name : {"x", "y"})
      merged.messages.add(at_line(1, name), "k", i);
  CHECK(merged.text() == "error: undeclared identifier `x`\nerror: undeclared identifier `y`\n");
}

TEST_CASE("MergedMessages: GPUs with the same variants share a message") {
  Merged merged;
  for (size_t i : {0, 1})
    for (const char *gpu : {"sm_90a", "sm_80"})
      merged.messages.add(too_large(gpu), "k", i, gpu, four_variants()[i].text);
  CHECK(merged.text() == "error: `k` for sm_80, sm_90a needs 9 bytes of shared memory, but a block "
                         "has at most 8\nnote: in 2 of 4 variants (M=8)\n");
  merged.messages.add(too_large("sm_80"), "k", 2, "sm_80", "M=16 N=a");
  CHECK(merged.text() == "error: `k` for sm_80 needs 9 bytes of shared memory, but a block has at "
                         "most 8\nnote: in 3 of 4 variants (first M=8 N=a)\n"
                         "error: `k` for sm_90a needs 9 bytes of shared memory, but a block has at "
                         "most 8\nnote: in 2 of 4 variants (M=8)\n");
}

TEST_CASE("MergedMessages: one message if only the amounts differ") {
  Merged merged;
  for (size_t i : {0, 1})
    merged.messages.add(too_large("sm_80", i == 0 ? "9" : "10"), "k", i, "sm_80",
                        four_variants()[i].text);
  CHECK(merged.text() == "error: `k` for sm_80 needs 9 bytes of shared memory, but a block has at "
                         "most 8\nnote: in 2 of 4 variants (M=8)\n"
                         "note: values differ between variants; shown for M=8 N=a\n");
}

TEST_CASE("MergedMessages: counts variants per source or kernel") {
  Merged merged;
  merged.messages.add_variant("other", 3);
  merged.messages.add(at_line(1, "x"), "other", 3);
  CHECK(merged.text() == "error: undeclared identifier `x`\n");
}

TEST_CASE("MergedMessages: max_errors limits errors of all variants") {
  Merged merged({.max_errors = 2});
  for (size_t i = 0; i < 4; i++)
    merged.messages.add(at_line(int(i) + 1, "x"), "k", i);
  std::string text = merged.text();
  CHECK(text.find("note: too many errors: only the first 2 are shown") != text.npos);
  CHECK(text.find("(M=16") == text.npos);
}
