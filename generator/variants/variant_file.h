// Reads the JSON file of `--variant-file`, which lists variants:
//
//   [ {"TM": 128, "TN": [128, 256], "TYPE": "half"},
//     {"kernel": "matmul", "arch": ["sm_90a"], "TM": 64} ]
//
// Each entry means all instantiations of its values, and the file means the union of its entries.
// `kernel` and `arch` restrict an entry to these kernels and GPUs. All other members are axes.
#pragma once

#include "support/result.h"

#include <string>
#include <utility>
#include <vector>

namespace tritonc {

struct VariantFileEntry {
  std::vector<std::string> kernels, gpus;                             // as written; empty = all
  std::vector<std::pair<std::string, std::vector<std::string>>> axes; // sorted by name
};

Result<std::vector<VariantFileEntry>> read_variant_file(const std::string &path);

} // namespace tritonc
