// Writes the object file: a library's GPU code and its descriptors, for the host's linker.
//
// LLVM's MC layer writes it directly, without an assembler or compiler for the target. Only the
// triple depends on the target.
//
//   .rodata.tritonc       images (without duplicates), strings, expressions
//   .data.rel.ro.tritonc  descriptors: constant after the loader has relocated their pointers
//   .bss.tritonc          the runtime's state of each image
//   .tritonc.seal         checksum of the object (object_seal.h); linkers drop it
//
// Its only global symbols are the descriptors of the instantiations. They have hidden visibility,
// so that every program and shared library has its own copy.

#pragma once

#include "emit/object/bundle.h"
#include "emit/tables.h"
#include "support/result.h"

#include <string>

namespace tritonc {

/// The ELF object for an LLVM triple, "x86_64-linux-gnu" or "aarch64-linux-gnu"; empty = this host.
/// With a `bundle`, the object has no images.
Result<std::string> object_file(const Tables &tables, const std::string &triple,
                                const Bundle *bundle = nullptr);

} // namespace tritonc
