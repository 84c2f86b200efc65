// The programs of the CUDA Toolkit that we need: where they are, which they are, running one.
#pragma once

#include "backend/result.h"

#include <chrono>
#include <string>
#include <vector>

namespace tritonc {

struct ToolchainOptions {
  std::string ptxas; // paths given on the command line; empty: search
  std::string fatbinary;
  std::chrono::seconds time_limit{120};   // of one run of a tool
  std::vector<std::string> ptxas_options; // put behind our own
  std::string compression = "balance";    // of images: fatbinary's none, speed, balance or size
};

struct Toolchain {
  std::string ptxas;
  std::string fatbinary;
  std::string version; // of ptxas, as "13.0.88"
  std::chrono::seconds time_limit;
  std::vector<std::string> ptxas_options = {}; // these two as the options have them
  std::string compression = "balance";
};

/// The folders that are searched for a tool that no option and no variable names, in order.
std::vector<std::string> tool_folders();

/// Finds both tools and asks ptxas for its version. Each is looked for where the option says, where
/// $TRITONC_PTXAS or $TRITONC_FATBINARY says, and in tool_folders(); fatbinary first beside ptxas.
Result<Toolchain> find_toolchain(const ToolchainOptions &options);

/// Runs a tool to its end on `subject` ("`dot` for sm_80"), for the messages; what it printed.
Result<std::string> run_tool(const std::vector<std::string> &command, const std::string &directory,
                             std::chrono::seconds time_limit, const std::string &subject);

/// The whole contents of the file that `tool` should have written.
Result<std::string> read_tool_output(const std::string &tool, const std::string &path,
                                     const std::string &subject);
Result<std::monostate> write_tool_input(const std::string &path, const std::string &text);

/// The failure of a tool that ended well and left something of which `problem` is true.
Failure bad_output(const std::string &tool, const std::string &subject, const std::string &problem);

} // namespace tritonc
