// What triton_peer.py measured, and what it is asked to measure: text, one line per row.
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
  std::string configuration;     // the fastest one

  /// How many times as fast as cuBLAS.
  double ratio() const { return cublas / triton; }
};

struct TritonResults {
  std::string versions; // "Triton 3.6.0, PyTorch 2.11.0"; empty if nothing was measured
  std::string cublas;   // the file that was compared with; empty if that is not known
  std::vector<TritonRow> rows;

  /// Null if it was not measured.
  const TritonRow *find(const Row &row) const;
};

/// "half NT 8192 8192 8192\n" for each row that Triton is measured at.
std::string triton_request(const std::vector<Row> &rows);

/// Reads lines "half NT 8192 8192 8192 <Triton's ms> <cuBLAS's ms> <configuration>". The line "#
/// versions ..." names what measured; other lines with # are comments. Nothing, and `error` says
/// where, if a line is none of these.
std::optional<TritonResults> parse_triton(const std::string &text, std::string &error);

} // namespace bench
