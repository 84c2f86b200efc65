// The two CUDA Toolkit programs that the compiler needs, ptxas and fatbinary: finds and runs them.
#pragma once

#include "support/result.h"

#include <chrono>
#include <string>
#include <vector>

namespace tritonc {

struct ToolchainOptions {
  std::string ptxas; // path from the command line; empty = search
  std::string fatbinary;
  std::chrono::seconds time_limit{120};   // for one run of a tool
  std::vector<std::string> ptxas_options; // after the compiler's own options
  std::string compression = "balance";    // fatbinary's mode: none, speed, balance or size
  int oldest_driver = 0; // oldest driver that must run the code: 12020 = CUDA 12.2; 0 = no limit
};

struct Toolchain {
  std::string ptxas;
  std::string fatbinary;
  std::string version; // ptxas version, "13.0.88"
  std::chrono::seconds time_limit;
  std::vector<std::string> ptxas_options = {}; // both: as in ToolchainOptions
  std::string compression = "balance";
};

/// The folders where find_toolchain searches for a tool that no option and no variable names, in
/// order.
std::vector<std::string> tool_folders();

/// Finds both tools and asks ptxas for its version. The search order for each tool: the path in
/// `options`, then $TRITONC_PTXAS or $TRITONC_FATBINARY, then tool_folders(). For fatbinary, the
/// folder of ptxas comes before tool_folders().
Result<Toolchain> find_toolchain(const ToolchainOptions &options);

/// Runs a tool until it exits and returns its output. Error messages name `subject` ("`dot` for
/// sm_80").
Result<std::string> run_tool(const std::vector<std::string> &command, const std::string &directory,
                             std::chrono::seconds time_limit, const std::string &subject);

/// The whole contents of the output file of `tool`.
Result<std::string> read_tool_output(const std::string &tool, const std::string &path,
                                     const std::string &subject);
Result<std::monostate> write_tool_input(const std::string &path, const std::string &text);

/// The error for a tool that exits with 0 but writes bad output. `problem` describes the output.
Error bad_output(const std::string &tool, const std::string &subject, const std::string &problem);

} // namespace tritonc
