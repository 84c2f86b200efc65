// The table of matmuls. Goals are ratios of speed: 1.00 is as fast as the peer.
//
// Tested by rows_test.cpp.

#include "rows.h"

#include <algorithm>
#include <iterator>
#include <regex>

namespace bench {

namespace {

struct TypeFacts {
  const char *name;
  int operand_bytes, result_bytes;
};

const TypeFacts &facts(Type type) {
  static const TypeFacts all[] = {{"half", 2, 2},  {"bfloat16", 2, 2}, {"tf32", 4, 4},
                                  {"float", 4, 4}, {"double", 8, 8},   {"e4m3", 1, 2},
                                  {"int8", 1, 4}};
  return all[int(type)];
}

class Table {
public:
  // Adds one row per layout: "NN NT".
  void add(const char *group, Type type, const std::string &layouts, int m, int n, int k,
           double goal, bool beside_triton, Form form = Form::plain) {
    for (size_t i = 0; i + 1 < layouts.size(); i += 3)
      rows.push_back({group, form, type, layouts[i] == 'T', layouts[i + 1] == 'T', m, n, k, goal,
                      beside_triton});
  }
  void add_square(const char *group, Type type, const std::string &layouts, int size, double goal,
                  bool beside_triton, Form form = Form::plain) {
    add(group, type, layouts, size, size, size, goal, beside_triton, form);
  }

  std::vector<Row> rows;
};

// The rows of half and bfloat16: all layouts for square sizes, and thin shapes.
void add_main_rows(Table &table, Type type) {
  const char *all = "NN NT TN TT";
  for (int size : {16384, 8192})
    table.add_square("big", type, all, size, 1.00, true);
  for (int size : {6144, 5120, 4096})
    table.add_square("middle", type, all, size, 0.98, true);
  for (int size : {2048, 1024, 512})
    table.add_square("small", type, all, size, 0.95, true);
  for (int m : {16, 64, 256})
    table.add("thin", type, "NN NT", m, 8192, 8192, 0.95, true);
  table.add("thin", type, "NN NT", 8192, 8192, 512, 0.95, true);
  table.add("thin", type, "NN NT", 512, 512, 16384, 0.95, true);
}

} // namespace

const char *name(Type type) { return facts(type).name; }
int operand_bytes(Type type) { return facts(type).operand_bytes; }
int result_bytes(Type type) { return facts(type).result_bytes; }

std::string layout(const Row &row) {
  return {row.a_transposed ? 'T' : 'N', row.b_transposed ? 'T' : 'N'};
}

std::string name(const Row &row) {
  static const char *const forms[] = {"", " masked", " prefetch", " remat"};
  return std::string(name(row.type)) + " " + layout(row) + " " + std::to_string(row.m) + "x" +
         std::to_string(row.n) + "x" + std::to_string(row.k) + forms[int(row.form)];
}

const char *peer(const Row &row) {
  return row.form == Form::prefetch || row.form == Form::remat ? "plain" : "cuBLAS";
}

// Rows of one type are contiguous, so that the matrices are filled once per type.
std::vector<Row> all_rows() {
  Table table;
  add_main_rows(table, Type::float16);
  for (int size : {4095, 4097})
    table.add_square("odd", Type::float16, "NN", size, 0.85, false, Form::masked);
  table.add("odd", Type::float16, "NN", 1000, 1500, 700, 0.85, false, Form::masked);
  for (Form form : {Form::prefetch, Form::remat})
    for (int size : {8192, 4096, 2048})
      table.add_square("forms", Type::float16, "NN", size, 0.98, false, form);
  add_main_rows(table, Type::bfloat16);
  table.add_square("types", Type::tf32, "NT", 8192, 0.95, false);
  table.add_square("types", Type::tf32, "NN", 8192, 0.85, false);
  table.add_square("types", Type::e4m3, "NT", 8192, 0.90, false);
  table.add_square("types", Type::int8, "NT", 8192, 0.90, false);
  table.add_square("types", Type::float32, "NN", 4096, 0.90, false);
  table.add_square("types", Type::float64, "NN", 4096, 0.85, false);
  return table.rows;
}

bool is_selected(const std::string &name, const std::string &expression) {
  return std::regex_search(name, std::regex(expression));
}

std::vector<Row> selected(const std::vector<Row> &rows, const std::string &expression) {
  std::vector<Row> result;
  std::copy_if(rows.begin(), rows.end(), std::back_inserter(result), [&](const Row &row) {
    return is_selected(row.group + "/" + name(row), expression);
  });
  return result;
}

Row shrunk(const Row &row, int largest) {
  Row result = row;
  for (int *extent : {&result.m, &result.n, &result.k})
    if (*extent > largest)
      *extent = largest - *extent % 2; // `largest` is even
  return result;
}

} // namespace bench
