// Tests runtime/emulator/operations.cpp: each row of target_ops.def has a function with the row's
// record layout.

#include "operations.h"

#include <doctest/doctest.h>

#include <set>
#include <string>

using namespace tritonc::emulator;

namespace {

struct Part {
  size_t size, align;
};

// A type of the table; fragments have one element, as in Operation::stride.
Part part_of(const std::string &type) {
  auto starts = [&](const char *with) { return type.starts_with(with); };
  if (type == "none")
    return {0, 1};
  if (type == "i32" || type == "imm" || type == "f32" || type == "acc" || type == "iacc" ||
      starts("below("))
    return {4, 4};
  if (type == "i64" || type == "f64" || type == "ptr" || type == "gptr")
    return {8, 8};
  REQUIRE_MESSAGE(type[0] == 'v', type);
  size_t digits = 0, count = std::stoul(type.substr(1), &digits);
  Part element = part_of(type.substr(1 + digits));
  return {count * element.size, element.align};
}

std::vector<std::string> split(const std::string &list) {
  std::vector<std::string> parts;
  for (size_t begin = 0; begin < list.size();) {
    size_t end = std::min(list.find(',', begin), list.size());
    parts.push_back(list.substr(begin, end - begin));
    begin = end + 1;
  }
  return parts;
}

} // namespace

TEST_CASE("operations: every row has a function with its types") {
  size_t rows = 0;
  for (const NamedOperation &named : all_operations()) {
    std::string signature(named.signature);
    CAPTURE(signature);
    CHECK(bool(named.operation.function));
    size_t blank = signature.find(' ');
    if (blank == std::string::npos)
      continue; // a hook
    rows++;
    std::string types = signature.substr(blank + 1);
    size_t open = types.starts_with("below(") ? types.find('(', 6) : types.find('(');
    std::string result = types.substr(0, open);
    std::vector<std::string> operands = split(types.substr(open + 1, types.size() - open - 2));
    size_t end = 0, alignment = 4;
    auto put = [&](const std::string &type) {
      Part part = part_of(type);
      end = record::round_up(end, part.align) + part.size;
      alignment = std::max(alignment, part.align);
    };
    for (const std::string &operand : operands)
      put(operand);
    put(result);
    CHECK(named.operation.operands == operands.size());
    CHECK(named.operation.stride == record::round_up(end, alignment));
  }
  CHECK(rows > 100);
}

TEST_CASE("find_operation: finds by name and types") {
  for (const char *there :
       {"tid_x below(1024)()", "ldmatrix_x4 v4i32(i32)", "load_shared", "out_of_steps"})
    CHECK_MESSAGE(bool(find_operation(there)), there);
  for (const char *missing : {"ldmatrix_x4 v2i32(i32)", "ldmatrix_x4", ""})
    CHECK_MESSAGE(!bool(find_operation(missing)), missing);
}

TEST_CASE("operations: signatures are unique") {
  std::set<std::string_view> seen;
  for (const NamedOperation &named : all_operations())
    CHECK_MESSAGE(seen.insert(named.signature).second, named.signature);
}
