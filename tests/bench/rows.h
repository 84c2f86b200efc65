// The rows of the benchmark: one row per matmul, with its peer and its goal.
#pragma once

#include <string>
#include <vector>

namespace bench {

enum class Form { plain, masked, prefetch, remat };
enum class Type { float16, bfloat16, tf32, float32, float64, e4m3, int8 };

struct Row {
  std::string group; // for example "big"
  Form form = Form::plain;
  Type type = Type::float16;
  bool a_transposed = false, b_transposed = false;
  int m = 0, n = 0, k = 0;
  double goal = 0;            // min speed relative to the peer
  bool beside_triton = false; // Triton is also measured

  // Leading dimensions in elements. The matrices have no gaps.
  int lda() const { return a_transposed ? m : k; }
  int ldb() const { return b_transposed ? k : n; }
  int ldc() const { return n; }
  double operations() const { return 2.0 * m * n * k; }
};

/// "half", "bfloat16", "tf32", "float", "double", "e4m3", "int8".
const char *name(Type type);
/// Bytes of an element of A and B, and of C.
int operand_bytes(Type type);
int result_bytes(Type type);

/// "NT": A not transposed, B transposed.
std::string layout(const Row &row);
/// "half NT 8192x8192x8192", followed by the form unless it is the baseline.
std::string name(const Row &row);
/// The peer: "cuBLAS", or "plain" for our baseline kernel.
const char *peer(const Row &row);

/// All rows.
std::vector<Row> all_rows();
/// The rows whose "group/name" matches the regular expression; all rows if it is empty. Throws
/// std::regex_error.
std::vector<Row> selected(const std::vector<Row> &rows, const std::string &expression);
/// Whether the expression matches `name`, the "group/name" of a measurement that is not a matmul.
bool is_selected(const std::string &name, const std::string &expression);

/// The row with M, N and K of at most `largest`, for slow machines. Odd sizes stay odd.
Row shrunk(const Row &row, int largest);

} // namespace bench
