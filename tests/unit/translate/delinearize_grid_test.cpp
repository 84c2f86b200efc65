// Tests translate/delinearize_grid.cpp.

#include "translated.h"

using namespace tritonc;
using namespace tritonc::test;

namespace {

const std::string dot = "float c[16, 16] = *pa @ *pa;\n*pa = c;\n";

// A kernel with `grid`, whose body sets `row` and `column` from `p`. The result: the number of axes
// of the grid, and the program ids of row and column, or "p" if they still come from one id.
std::string axes_of(const std::string &grid, const std::string &body,
                    const std::string &first = dot) {
  ir::Function kernel =
      kernel_of("#define TM 64\n#define TN 32\n#define G 8\n#pragma tritonc grid(" + grid +
                ")\n__global__ void f(int *x, int *y, float *a, int M, int N, int Z) {\n"
                "float *pa[16, 16] = a + (0 ... 16)[:, newaxis] * 16 + (0 ... 16)[newaxis, :];\n" +
                first + "int p = get_program_id(0);\n" + body +
                "\n*(x + row) = row;\n*(y + column) = column;\n}");
  std::string text = std::to_string(kernel.plan.grid.size());
  ir::for_each_op(*kernel.body, [&](const ir::Op &op) {
    if (!op.is(ir::Opcode::store_))
      return;
    const ir::Op *value = op.operand(1)->op;
    if (value->result()->type.is_tile())
      return;
    text += value->is(ir::Opcode::program_id_) ? " " + std::to_string(value->get(ir::attr::axis_))
                                               : " p";
  });
  return text;
}

const std::string product = "cdiv(M, TM) * cdiv(N, TN)";
const std::string sizes = "int rows = (M + TM - 1) / TM, columns = (N + TN - 1) / TN;\n";
const std::string group = sizes + "int in_group = G * columns, first = p / in_group * G;\n"
                                  "int size = min(rows - first, G);\n";

} // namespace

TEST_CASE("delinearize_grid: row and column from one program id") {
  CHECK(axes_of(product, sizes + "int row = p / columns, column = p % columns;") == "2 0 1");
  CHECK(axes_of(product, sizes + "int row = p % rows, column = p / rows;") == "2 1 0");
  CHECK(axes_of("M * N", "int row = p / N, column = p % N;") == "2 0 1");
  CHECK(axes_of(product, "long wide = p; int columns = (N - 1 + TN) / TN;\n"
                         "int row = wide / columns, column = wide % columns;") == "1 p p");
}

TEST_CASE("delinearize_grid: the axis of a batch moves up") {
  CHECK(axes_of(product + ", Z", sizes + "int row = p / columns, column = get_program_id(1);"
                                         "*y = p % columns;") == "3 1 0 2");
  CHECK(axes_of(product + ", Z", sizes + "int row = p / columns, column = p % columns;") ==
        "3 0 1");
  CHECK(axes_of(product + ", Z, 2", sizes + "int row = p / columns, column = p % columns;") ==
        "3 p p");
}

TEST_CASE("delinearize_grid: groups of rows, column by column") {
  CHECK(axes_of(product,
                group + "int q = p % in_group;\nint row = first + q % size, column = q / size;") ==
        "2 0 1");
  CHECK(axes_of(product, group + "int row = first + p % size, column = p % in_group / size;") ==
        "2 0 1");
  // Groups of columns.
  CHECK(axes_of(product, sizes + "int in_group = rows * G, first = p / in_group * G;\n"
                                 "int size = min(G, columns - first), q = p % in_group;\n"
                                 "int column = first + q % size, row = q / size;") == "2 1 0");
}

TEST_CASE("delinearize_grid: nothing happens if the pairs may not be those of the grid") {
  const std::string divide = "int row = p / columns, column = p % columns;";
  CHECK(axes_of("M * N", sizes + divide) == "1 p p");
  CHECK(axes_of("cdiv(M, TM)", sizes + divide) == "1 p p");
  CHECK(axes_of(product, sizes + divide, "") == "1 p p"); // no dot
  CHECK(axes_of(product, sizes + "int row = p / columns, column = p % rows;") == "1 p p");
  CHECK(axes_of(product, sizes + "int row = p / columns, column = (p + 1) % columns;") == "1 p p");
  CHECK(axes_of(product, sizes + divide + "*x = p + 1;") == "1 p p p");
  CHECK(axes_of(product, sizes + divide + "*x = get_num_programs(0);") == "1 p p p");
  CHECK(axes_of(product,
                group + "int row = first + p % in_group % size, column = p % in_group / G;") ==
        "1 p p");
  CHECK(axes_of(product, sizes + "int in_group = G * columns, first = p / in_group * 4;\n"
                                 "int size = min(rows - first, G), q = p % in_group;\n"
                                 "int row = first + q % size, column = q / size;") == "1 p p");
}
