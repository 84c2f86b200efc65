// Skips synchronizing calls, one source location at a time. A test can so check that a kernel needs
// every barrier, fence, and wait, and that the emulator notices a missing one.
//
// Works on the host code of any kernel, hand-written or generated.
//
//     SkippedSites sites(code);
//     launch(sites.code(code), ...);              // records the sites
//     for (const SkippedSites::Site &site : sites.found()) {
//       sites.skip(&site);
//       launch(sites.code(code), ...);            // without the call at the site
//     }
//
// Only one object at a time per process, because host code cannot carry a pointer.

#pragma once

#include <tritonc/descriptor.hpp>

#include <string>
#include <vector>

namespace tritonc::emulator::test {

class SkippedSites {
public:
  struct Site {
    std::string operation; // "barrier_sync"
    abi::host_site place;
    const abi::host_site *identity; // the pointer that the code passes
  };

  explicit SkippedSites(const abi::host_code &code);
  ~SkippedSites();
  SkippedSites(const SkippedSites &) = delete;
  SkippedSites &operator=(const SkippedSites &) = delete;

  /// Host code that behaves like `code` without the skipped calls. Valid as long as `code` and this
  /// object.
  abi::host_code code(const abi::host_code &code);

  /// The sites at which launches reached a synchronizing operation, ordered by file, line, and
  /// column.
  std::vector<Site> found() const;

  /// Skips the call at this site, which must be in `found`, from now on. Null = skip nothing. A
  /// skipped wait for registers returns its operand.
  void skip(const Site *site);
};

} // namespace tritonc::emulator::test
