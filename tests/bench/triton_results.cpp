// Tested by triton_results_test.cpp.

#include "triton_results.h"

#include <algorithm>
#include <sstream>

namespace bench {

namespace {

// Sets `rest` to the text after `mark`, if the line begins with it.
void read_after(const std::string &mark, const std::string &line, std::string &rest) {
  if (line.compare(0, mark.size(), mark) == 0)
    rest = line.substr(mark.size());
}

bool parse_line(const std::string &line, TritonRow &row) {
  std::istringstream words(line);
  words >> row.type >> row.layout >> row.m >> row.n >> row.k >> row.triton >> row.cublas;
  bool complete = bool(words) && row.triton > 0 && row.cublas > 0;
  std::getline(words >> std::ws, row.configuration);
  return complete;
}

} // namespace

const TritonRow *TritonResults::find(const Row &row) const {
  auto found = std::find_if(rows.begin(), rows.end(), [&](const TritonRow &candidate) {
    return candidate.type == name(row.type) && candidate.layout == layout(row) &&
           candidate.m == row.m && candidate.n == row.n && candidate.k == row.k;
  });
  return row.beside_triton && found != rows.end() ? &*found : nullptr;
}

std::string triton_request(const std::vector<Row> &rows) {
  std::ostringstream out;
  for (const Row &row : rows)
    if (row.beside_triton)
      out << name(row.type) << " " << layout(row) << " " << row.m << " " << row.n << " " << row.k
          << "\n";
  return out.str();
}

std::optional<TritonResults> parse_triton(const std::string &text, std::string &error) {
  TritonResults result;
  std::istringstream lines(text);
  std::string line;
  for (int number = 1; std::getline(lines, line); number++) {
    read_after("# versions ", line, result.versions);
    read_after("# cublas ", line, result.cublas);
    if (line.empty() || line[0] == '#')
      continue;
    TritonRow row;
    if (!parse_line(line, row)) {
      error = "line " + std::to_string(number) + ": \"" + line + "\"";
      return std::nullopt;
    }
    result.rows.push_back(row);
  }
  return result;
}

} // namespace bench
