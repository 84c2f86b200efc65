// Error reports of operations.
//
// A message says what was found, in lower case and without a full stop, like the compiler's
// diagnostics. The functions here add the kernel, the program, and the thread. Each note (the fix,
// the other location) follows on its own line. A line that begins with "note: " gets the location
// of the report.
//
//     fatal(thread, site, Report::Kind::misuse, "mbarrier at %s was not initialized",
//           shared_place(thread, address).c_str());
//
// `fatal` never returns and abandons the fiber, so the caller must not own memory: no std::string
// in its frame or among the arguments. Use `Text` instead.

#pragma once

#include "emulator.h"

namespace tritonc::emulator {

class Cluster;
struct Thread;
using Site = abi::host_site;

/// Text in a fixed buffer, truncated to the buffer's size. It owns no memory, so it may be an
/// argument of `fatal`.
class Text {
public:
  __attribute__((format(printf, 2, 3))) Text &add(const char *format, ...);
  const char *c_str() const { return text_; }

private:
  char text_[400] = "";
  size_t length_ = 0;
};

/// Ends the launch with a report and abandons the running fiber.
[[noreturn]] __attribute__((format(printf, 4, 5))) void
fatal(Thread &thread, const Site &site, Report::Kind kind, const char *format, ...);

/// Like `fatal`, with a note at the other operation involved, at `other`.
[[noreturn]] __attribute__((format(printf, 5, 6))) void
fatal_beside(Thread &thread, const Site &site, const Site &other, Report::Kind kind,
             const char *format, ...);

/// Makes a report and continues the launch. Reports each kind and site once.
__attribute__((format(printf, 4, 5))) void report(Thread &thread, const Site &site,
                                                  Report::Kind kind, const char *format, ...);

/// Whether this kind and these sites were already reported. Then `report` and `report_race` do
/// nothing, and the caller can skip the work of making the texts.
bool is_reported(const Thread &thread, const Site &site, const Site &other, Report::Kind kind);

/// Reports a race between the access at `site` and the earlier access at `other`. `how` describes
/// the earlier access in the note: "read by thread 5".
__attribute__((format(printf, 5, 6))) void report_race(Thread &thread, const Site &site,
                                                       const Site &other, const char *how,
                                                       const char *format, ...);

/// "1 byte", "16 bytes".
Text bytes_text(size_t bytes);

/// "offset 1040 of shared memory (16 bytes into `a.stage`)"; for addresses of another block of the
/// cluster, "... of block 1 of the cluster".
Text shared_place(const Thread &thread, uint32_t address);

/// Describes an address relative to the parameter with the nearest value: "byte 4096 of `x`, which
/// has 4096 bytes", "16 bytes before `x`", "address 0x7f..., which is not GPU memory".
Text global_place(const Thread &thread, const void *address);

/// "thread 5", "TMA", "the tensor core of warp 2"; with the block's rank if the cluster has several
/// blocks.
Text actor_name(const Cluster &cluster, unsigned actor);

} // namespace tritonc::emulator
