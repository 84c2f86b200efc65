// Tests generator/variants/variant_condition.cpp: conditions on variants (--where).

#include "variants/variant_condition.h"

#include <doctest/doctest.h>

#include <map>

using namespace tritonc;

namespace {

const std::map<std::string, std::string> values = {
    {"TM", "128"}, {"TN", "64"}, {"TYPE", "half"}, {"BIG", "9223372036854775807"}};

// "yes", "no" or the error.
std::string answer(const std::string &text) {
  Result<Condition> condition = Condition::parse(text);
  if (!condition)
    return tritonc::text(condition.error());
  ConditionSubject subject;
  subject.kernel = "matmul";
  subject.arch = 90;
  subject.value_of = [](const std::string &axis) -> std::optional<std::string> {
    auto found = values.find(axis);
    return found == values.end() ? std::nullopt : std::optional(found->second);
  };
  Result<bool> holds = condition->holds(subject);
  return !holds ? tritonc::text(holds.error()) : *holds ? "yes" : "no";
}

} // namespace

TEST_CASE("Condition: evaluates as C does") {
  for (const char *text : {"1",
                           "TM*TN <= 8192",
                           "TM * TN == 8192",
                           "TM > TN && TN > 32",
                           "TM < TN || TN == 64",
                           "!(TM < TN)",
                           "TM - TN - 32 == 32",
                           "TM / TN / 2 == 1",
                           "-TM % 100 == -28",
                           "2 + 3 * 4 == 14",
                           "(2 + 3) * 4 == 20",
                           "1 < 2 == 1",
                           "TYPE == half",
                           "half == TYPE",
                           "TYPE != float",
                           "TYPE != 3",
                           "kernel == matmul",
                           "kernel != add && arch >= 80",
                           "0x10 == 16",
                           "0 && TYPE || 1",
                           "1 || 1 / 0",
                           "!0 && !!2"}) {
    CAPTURE(text);
    CHECK(answer(text) == "yes");
  }
  for (const char *text :
       {"0", "TM*TN<8192", "TM < TN", "1 && 0", "0 || 0", "!TM", "TYPE == float", "TYPE != half",
        "kernel == add", "arch == 80", "0 && 1 / 0", "TYPE == 3"}) {
    CAPTURE(text);
    CHECK(answer(text) == "no");
  }
}

TEST_CASE("Condition: reports an error with its column") {
  struct {
    const char *text, *message;
  } cases[] = {
      {"", "column 1: expected an axis, a value or `(`, found the end"},
      {"TM <", "column 5: expected an axis, a value or `(`, found the end"},
      {"TM TN", "column 4: expected an operator, found `TN`"},
      {"(TM < 3", "column 8: expected `)`, found the end"},
      {"TM = 3", "column 4: expected an operator, found `=`"},
      {"TM < $", "column 6: expected an axis, a value or `(`, found `$`"},
      {"12ab < 3", "column 1: expected an integer, found `12ab`"},
      {"99999999999999999999 > 1", "column 1: expected an integer"},
      {"TYPE < 3", "column 1: `<` takes integers, not `half`"},
      {"TYPE", "column 1: the condition takes integers, not `half`"},
      {"1 + TYPE", "column 5: `+` takes integers, not `half`"},
      {"TM / (TN - 64)", "column 4: cannot compute `128 / 0`"},
      {"TM % 0", "column 4: cannot compute `128 % 0`"},
      {"BIG + 1 > 0", "column 5: cannot compute `9223372036854775807 + 1` in 64 bits"},
      {"BIG * 2 > 0", "cannot compute"},
      {"-BIG - 2 < 0", "cannot compute"},
  };
  for (const auto &expected : cases) {
    CAPTURE(expected.text);
    std::string found = answer(expected.text);
    CAPTURE(found);
    CHECK(found.rfind("error: condition `" + std::string(expected.text) + "`, column ", 0) == 0);
    CHECK(found.find(expected.message) != std::string::npos);
  }
  std::string deep(5000, '(');
  CHECK(answer(deep).find("expected less nesting") != std::string::npos);
}
