// What the cache keeps of a compilation: the code of kernels, and which code a variant is for a
// GPU. Both are looked up by what they follow from, so that an entry is right whenever it is found.
#pragma once

#include "backend/ptxas.h"
#include "cache.h"
#include "emit/library.h"
#include "ir/ir.h"
#include "passes/structure.h"
#include "remark.h"

#include <optional>
#include <string>
#include <vector>

namespace tritonc {

/// What ptxas made of a kernel, and fatbinary of that.
struct MachineCode {
  Resources resources;
  std::string cubin; // empty if it comes from the cache
  int cubin_bytes = 0;
  std::string image;
  std::string key; // in the cache
  std::string ptx; // that it was made of; empty if it comes from the cache
};

/// A kernel of a variant for a GPU in one structure.
struct CompiledForm {
  std::string structure;
  Structure::Share share = Structure::Share::all;
  bool is_left_out = false; // then there is no image
  std::vector<Remark> warnings;
  Image image;
  std::string code; // the key of the image's bytes
};

class KernelCache {
public:
  /// Nothing if the tools cannot be read.
  static std::optional<KernelCache> open(Cache cache, const Toolchain &tools);

  /// The key of what `function` becomes for `gpu`, before any pass has seen it. `places` is empty
  /// unless there is host code, or line info, which say where in the source they come from.
  std::string key_of(const ir::Function &function, const Gpu &gpu, const std::string &places) const;

  /// What those follow from besides: the symbols of host code, which `names` makes, and where each
  /// operation is in the source.
  static std::string places(const std::string &names, const std::string &file,
                            const ir::Function &checked);

  /// All forms with their images, in their order.
  std::optional<std::vector<CompiledForm>> find(const std::string &key) const;
  void keep(const std::string &key, std::vector<CompiledForm> forms) const;

  /// The code of a module in LLVM's IR, given as bitcode.
  std::string key_of_code(const Gpu &gpu, const std::string &bitcode) const;
  std::optional<MachineCode> find_code(const std::string &key) const;
  void keep_code(const MachineCode &code) const;

  /// To be called when all is kept.
  void trim() const { cache_.trim(cache_.options().limit); }

private:
  KernelCache(Cache cache, std::string tools)
      : cache_(std::move(cache)), tools_(std::move(tools)) {}
  Cache cache_;
  std::string tools_; // which tools made the code
};

} // namespace tritonc
