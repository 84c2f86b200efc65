// What the benchmark measures: one row for each product, with what it is compared to and the goal.
#pragma once

#include <string>
#include <vector>

namespace bench {

enum class Form { plain, masked, prefetch, remat };
enum class Type { float16, bfloat16, tf32, float32, float64, e4m3, int8 };

struct Row {
  std::string group; // rows that belong together: "big"
  Form form = Form::plain;
  Type type = Type::float16;
  bool a_transposed = false, b_transposed = false;
  int m = 0, n = 0, k = 0;
  double goal = 0;            // at least this many times as fast as what it is compared to
  bool beside_triton = false; // Triton is measured at it, too

  // Distances between rows, in elements: the matrices have no gaps.
  int lda() const { return a_transposed ? m : k; }
  int ldb() const { return b_transposed ? k : n; }
  int ldc() const { return n; }
  double operations() const { return 2.0 * m * n * k; }
};

/// "half", "bfloat16", "tf32", "float", "double", "e4m3", "int8".
const char *name(Type type);
/// Of an element of A and B, and of one of C.
int operand_bytes(Type type);
int result_bytes(Type type);

/// "NT": A as it is, B transposed.
std::string layout(const Row &row);
/// "half NT 8192x8192x8192", and the form after it unless that is the plain one.
std::string name(const Row &row);
/// What it is compared to: "cuBLAS" or "plain", our own plain form.
const char *peer(const Row &row);

/// The whole table.
std::vector<Row> all_rows();
/// Those whose "group/name" has a match of the regular expression; all of them if it is empty.
/// Throws std::regex_error.
std::vector<Row> selected(const std::vector<Row> &rows, const std::string &expression);
/// Whether something called "group/name" that is not a product is selected, too.
bool is_selected(const std::string &name, const std::string &expression);

/// The same row small enough for a machine that computes slowly: no extent above `largest`. Odd
/// ones stay odd.
Row shrunk(const Row &row, int largest);

} // namespace bench
