// How an operation says that something is wrong.
//
// The message says what was observed, in lower case and without a full stop, as those of the
// compiler do; kernel, program and thread are added here. Notes (the remedy, the other place)
// follow after a newline each; a line that begins with "note: " gets the place of the finding.
//
//     fatal(thread, site, Finding::Kind::misuse, "mbarrier at %s was not initialised",
//           shared_place(thread, address).c_str());
//
// `fatal` never returns and fibers are abandoned, so the caller must not own memory: no std::string
// in its frame or among the arguments. A `Text` is fine.

#pragma once

#include "emulator.h"

namespace tritonc::emulator {

class Cluster;
struct Thread;
using Site = abi::host_site;

/// A text in a fixed buffer, cut off where that ends: for descriptions among the arguments of
/// `fatal`. Owns nothing.
class Text {
public:
  __attribute__((format(printf, 2, 3))) Text &add(const char *format, ...);
  const char *c_str() const { return text_; }

private:
  char text_[400] = "";
  size_t length_ = 0;
};

/// Ends the launch with a finding. The running fiber is abandoned.
[[noreturn]] __attribute__((format(printf, 4, 5))) void
fatal(Thread &thread, const Site &site, Finding::Kind kind, const char *format, ...);

/// The same where another operation has a part in it: "note: the other one" at `other`.
[[noreturn]] __attribute__((format(printf, 5, 6))) void
fatal_beside(Thread &thread, const Site &site, const Site &other, Finding::Kind kind,
             const char *format, ...);

/// A finding after which the launch goes on. Once per kind and pair of sites.
__attribute__((format(printf, 4, 5))) void report(Thread &thread, const Site &site,
                                                  Finding::Kind kind, const char *format, ...);

/// Whether there is a finding of this kind and these sites already: then neither `report` nor
/// `report_race` would do anything, and the texts for it needn't be made.
bool is_reported(const Thread &thread, const Site &site, const Site &other, Finding::Kind kind);

/// A race between what happens at `site` and what happened at `other`; `how` says of that for the
/// second line: "read by thread 5".
__attribute__((format(printf, 5, 6))) void report_race(Thread &thread, const Site &site,
                                                       const Site &other, const char *how,
                                                       const char *format, ...);

/// "1 byte", "16 bytes".
Text bytes_text(size_t bytes);

/// "offset 1040 of shared memory (16 bytes into `a.stage`)"; for addresses of another block of the
/// cluster, "... of block 1 of the cluster".
Text shared_place(const Thread &thread, uint32_t address);

/// "byte 4096 of `x`, which has 4096", "16 bytes in front of `x`", "address 0x7f..., which is no
/// global memory": as seen from the parameter whose value is nearest.
Text global_place(const Thread &thread, const void *address);

/// "thread 5", "the copy engine", "the tensor core of warp 2"; with the block's rank if there are
/// several in the cluster.
Text actor_name(const Cluster &cluster, unsigned actor);

} // namespace tritonc::emulator
