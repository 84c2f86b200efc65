// The text formats of triton_peer.py: requests and results, one line per row.
#pragma once

#include "rows.h"

#include <optional>
#include <string>
#include <vector>

namespace bench {

struct TritonRow {
  std::string type, layout;
  int m = 0, n = 0, k = 0;
  double triton = 0, cublas = 0; // medians in milliseconds, from alternating runs
  std::string configuration;     // the fastest configuration

  /// Speed of Triton relative to cuBLAS.
  double ratio() const { return cublas / triton; }
};

struct TritonResults {
  std::string versions; // "Triton 3.6.0, PyTorch 2.11.0"; empty if nothing was measured
  std::string cublas;   // file of the peer cuBLAS; empty if unknown
  std::vector<TritonRow> rows;

  /// Null if the row was not measured.
  const TritonRow *find(const Row &row) const;
};

/// "half NT 8192 8192 8192\n" for each row with Triton.
std::string triton_request(const std::vector<Row> &rows);

/// Reads the results of triton_peer.py:
///
///     half NT 8192 8192 8192 <Triton ms> <cuBLAS ms> <configuration>
///     # versions <versions of Triton and PyTorch>
///     # cublas <file>
///
/// Other lines with # are comments. For any other line, returns nullopt and sets `error`.
std::optional<TritonResults> parse_triton(const std::string &text, std::string &error);

} // namespace bench
