// Leaving out calls that synchronise, one place in the source after the other: is every barrier,
// fence and wait of a kernel needed, and does the emulator notice when one is missing?
//
// Works on host code of any kernel, be it in C++ or what the generator made.
//
//     SkippedSites sites(code);
//     launch(sites.code(code), ...);              // notes the places
//     for (const SkippedSites::Site &site : sites.found()) {
//       sites.skip(&site);
//       launch(sites.code(code), ...);            // without what is called there
//     }
//
// One at a time in a process: host code can't carry a pointer along.

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
    const abi::host_site *identity; // what the code passes
  };

  explicit SkippedSites(const abi::host_code &code);
  ~SkippedSites();
  SkippedSites(const SkippedSites &) = delete;
  SkippedSites &operator=(const SkippedSites &) = delete;

  /// Host code that does as `code`, the same as before, but for what is skipped. Good as long as
  /// `code` and this live.
  abi::host_code code(const abi::host_code &code);

  /// The places at which launches came to an operation that synchronises, by file, line
  /// and column.
  std::vector<Site> found() const;

  /// What is called at this place, which must be one of `found`, is left out from now on; null:
  /// nothing is. A wait for registers hands on what it is given.
  void skip(const Site *site);
};

} // namespace tritonc::emulator::test
