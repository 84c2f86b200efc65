// What all clusters of one launch have in common: what is launched, and what has been found.

#pragma once

#include "emulator.h"

#include <atomic>
#include <map>
#include <mutex>
#include <string>
#include <tuple>
#include <vector>

namespace tritonc::emulator {

class Cluster;

struct LaunchState {
  LaunchState(const abi::host_code &what, const Launch &how, const Options &with, GlobalMemory &on)
      : code(what), launch(how), options(with), memory(on) {}

  const abi::host_code &code;
  const Launch &launch;
  const Options &options;
  GlobalMemory &memory;
  std::vector<abi::host_operation> operations; // in the order of the code
  uint32_t number = 0;                         // of launches in this process; not 0
  uint64_t clusters = 0;

  /// The next cluster that nobody has begun.
  std::atomic<uint64_t> next = 0;
  /// The first cluster with a finding that ends the launch: those behind it needn't run. Those in
  /// front of it do, so that findings don't depend on who was faster.
  std::atomic<uint64_t> last = UINT64_MAX;

  void add(uint64_t cluster, const abi::host_site *site, const abi::host_site *other, bool ends,
           Finding finding);
  /// What is to be known of a cluster that has ended.
  void add_lines(uint64_t cluster, std::string text);
  void add_switches(uint64_t switches);

  /// Once all clusters have ended.
  Result result();
  void print();

private:
  // The same finding of several clusters is one, of the first.
  using Key = std::tuple<Finding::Kind, const abi::host_site *, const abi::host_site *>;
  struct Found {
    uint64_t cluster;
    uint64_t order; // within the cluster
    bool ends;
    Finding finding;
  };
  std::mutex mutex_;
  std::map<Key, Found> found_;
  std::map<uint64_t, std::string> lines_; // by cluster
  uint64_t order_ = 0;
  uint64_t switches_ = 0;
};

} // namespace tritonc::emulator
