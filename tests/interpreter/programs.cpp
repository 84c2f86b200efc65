// Runs small programs for the tests of the interpreter. See programs.h.

#include "interpreter/programs.h"

#include "support/tile_ir.h"

#include <cmath>

namespace tritonc::test {

using namespace interpreter;

namespace {

std::string function(const std::string &operations, const std::string &from,
                     const std::string &to) {
  std::string x = "ptr<" + from + ">", y = "ptr<" + to + ">";
  return "func @f(%x: " + x + ", %y: " + y +
         ", %n: i32) warps 4 {\n"
         "%zero = constant {value = 0} : i32\n %i = range {start = 0} : i32[8]\n"
         "%xs = splat %x : " +
         x + "[8]\n %p = addptr %xs, %i : " + x + "[8]\n %ys = splat %y : " + y +
         "[8]\n %q = addptr %ys, %i : " + y + "[8]\n" + operations + "\n return\n}";
}

} // namespace

Ran::Ran(const std::string &operations, const std::string &from, const std::string &to,
         Launch launch) {
  const std::string &result_type = to.empty() ? from : to;
  ir::Function fn = parsed(function(operations, from, result_type));
  int x = memory.add("x", *ir::elem_named(from), {0, 1, 2, 3, 4, 5, 6, 7});
  int y = memory.add_unwritten("y", *ir::elem_named(result_type), 8);
  launch.arguments = {Element::pointer(x), Element::pointer(y), Element::of_integer(3)};
  result = run(fn, launch, memory);
}

std::vector<double> Ran::y() const {
  std::vector<double> values;
  for (const Element &element : memory[1].elements)
    values.push_back(element.poison                 ? std::nan("")
                     : ir::is_float(memory[1].elem) ? element.number
                                                    : double(element.integer));
  return values;
}

std::vector<Report::Kind> Ran::kinds() const {
  std::vector<Report::Kind> kinds;
  for (const Report &report : result.reports)
    kinds.push_back(report.kind);
  return kinds;
}

std::string Ran::text() const {
  std::string text;
  for (const Report &report : result.reports)
    text += text_of(report) + "\n";
  return text;
}

} // namespace tritonc::test
