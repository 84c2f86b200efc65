// The state that all clusters of one launch share: the launch's inputs and the reports so far.

#pragma once

#include "clocks.h"
#include "emulator.h"

#include <atomic>
#include <map>
#include <mutex>
#include <set>
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
  uint32_t number = 0;                         // of the launch in this process; from 1
  uint64_t clusters = 0;

  /// The first cluster with a report that ends the launch. Clusters after it need not run. Clusters
  /// before it still run, so that reports don't depend on timing.
  std::atomic<uint64_t> last = UINT64_MAX;

  void add(uint64_t cluster, const abi::host_site *site, const abi::host_site *other, bool ends,
           Report report);
  /// `add_lines` and `add_switches` record the printed lines and the switches of an ended cluster.
  void add_lines(uint64_t cluster, std::string text);
  void add_switches(uint64_t switches);

  // Signals between clusters, by address.
  struct Signal {
    uint64_t cluster = 0;           // that gave it
    std::vector<Epoch> epochs = {}; // the clock of the thread that gave it; empty: no race checks
  };
  /// Returns false if the last signal there is not taken yet.
  bool give_signal(const void *address, Signal signal);
  /// Takes the signal there; returns false if there is none.
  bool take_signal(const void *address, Signal &signal);

  /// Clusters begin in order. Sets `cluster` to the next one; returns false if no more need to run.
  bool begin_next(uint64_t &cluster);
  void end(uint64_t cluster);
  /// Whether all clusters before this one, which runs, have ended.
  bool is_first_running(uint64_t cluster);

  /// Call both after all clusters have ended.
  Result result();
  void print();

private:
  // Equal reports of several clusters become one report, of the first cluster.
  using Key = std::tuple<Report::Kind, const abi::host_site *, const abi::host_site *>;
  struct Found {
    uint64_t cluster;
    uint64_t order; // within the cluster
    bool ends;
    Report report;
  };
  std::mutex mutex_;
  std::map<Key, Found> found_;
  std::map<uint64_t, std::string> lines_; // by cluster
  std::map<const void *, Signal> signals_;
  uint64_t next_ = 0;          // the next cluster to run
  std::set<uint64_t> running_; // clusters
  uint64_t order_ = 0;
  uint64_t switches_ = 0;
};

} // namespace tritonc::emulator
