// The variants that a JSON file lists, for `--variant-file`.
//
//   [ {"TM": 128, "TN": [128, 256], "TYPE": "half"},
//     {"kernel": "matmul", "arch": ["sm_90a"], "TM": 64} ]
//
// Each entry stands for all combinations of its values; the variants are those of all entries.
// `kernel` and `arch` say for what an entry is meant. Other members are axes.
#pragma once

#include "backend/result.h"

#include <string>
#include <utility>
#include <vector>

namespace tritonc {

struct VariantFileEntry {
  std::vector<std::string> kernels, gpus;                             // as written; empty: all
  std::vector<std::pair<std::string, std::vector<std::string>>> axes; // by name
};

Result<std::vector<VariantFileEntry>> read_variant_file(const std::string &path);

} // namespace tritonc
