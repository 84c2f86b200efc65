// The object file: a library's code for the GPUs and its descriptors, for the host's linker.
//
// Written directly, without an assembler or a compiler of the target: only the triple depends on
// it.
//
//   .rodata.tritonc       images (each once), strings, expressions
//   .data.rel.ro.tritonc  descriptors: constant once the loader has placed their pointers
//   .bss.tritonc          what the runtime remembers of each image
//
// Its only visible symbols are the descriptors of the combinations, and those are hidden: every
// program and shared library that links the object has it to itself.

#pragma once

#include "backend/result.h"
#include "emit/bundle.h"
#include "emit/tables.h"

#include <string>

namespace tritonc {

/// The ELF object for an LLVM triple, "x86_64-linux-gnu" or "aarch64-linux-gnu"; empty: this
/// host's. Without images if they are in a `bundle`.
Result<std::string> object_file(const Tables &tables, const std::string &triple,
                                const Bundle *bundle = nullptr);

} // namespace tritonc
