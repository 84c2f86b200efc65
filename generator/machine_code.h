// The machine code of kernels, made once for all variants, structures and builds that share it.
#pragma once

#include "code_file.h"
#include "compile.h"
#include "kernel_cache.h"

#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace tritonc {

/// Of what is embedded, before compression: the cubin, or the PTX.
int code_bytes(const MachineCode &code);

/// Machine code that was made. Variants that differ in the source's tile alone may be the same
/// kernel, since passes choose the tile: such code is made once.
class SharedCode {
public:
  /// All code, or only that which falls to a shard.
  explicit SharedCode(const CompileOptions &options)
      : shard_(options.shard), shards_(options.shards) {}

  /// Code that another call has made.
  void add(StoredCode stored) {
    Entry &entry = entry_of(stored.key);
    std::call_once(entry.once, [&] {
      MachineCode code = {.resources = std::move(stored.cubin.resources),
                          .cubin = std::move(stored.cubin.bytes)};
      code.image = std::move(stored.image);
      code.cubin_bytes = code_bytes(code);
      code.ptx = std::move(stored.ptx);
      entry.code = std::move(code);
    });
  }

  /// What `make` makes of `bitcode` for `gpu`, the first time; the same for all that ask again.
  /// Null if it falls to another shard.
  template <typename Make>
  Result<MachineCode> *get(const Gpu &gpu, const Toolchain &tools, const std::string &bitcode,
                           Make make) {
    std::string key = key_of(gpu, tools, bitcode);
    if (shards_ && std::stoul(key.substr(0, 8), nullptr, 16) % size_t(shards_) != size_t(shard_))
      return nullptr;
    Entry &entry = entry_of(key);
    std::call_once(entry.once, [&] { entry.code = make(); });
    return &*entry.code;
  }

  /// Whether the caller is the first to ask for `code`, and so is to pack it.
  bool claim(const MachineCode *code) {
    std::lock_guard lock(mutex_);
    return claimed_.insert(code).second;
  }

  /// All that succeeded.
  std::vector<StoredCode> codes() const {
    std::vector<StoredCode> codes;
    for (const auto &[key, entry] : entries_)
      if (entry->code && *entry->code) {
        const MachineCode &code = **entry->code;
        codes.push_back({key, {code.cubin, code.resources}, code.image, code.ptx});
      }
    return codes;
  }

private:
  struct Entry {
    std::once_flag once;
    std::optional<Result<MachineCode>> code;
  };

  static std::string key_of(const Gpu &gpu, const Toolchain &tools, const std::string &bitcode);

  Entry &entry_of(const std::string &key) {
    std::lock_guard lock(mutex_);
    std::shared_ptr<Entry> &found = entries_[key];
    if (!found)
      found = std::make_shared<Entry>();
    return *found;
  }

  int shard_, shards_;
  std::mutex mutex_;
  std::map<std::string, std::shared_ptr<Entry>> entries_;
  std::set<const MachineCode *> claimed_;
};

/// What all jobs of a compilation have together.
struct Workshop {
  const CompileOptions &options;
  const Toolchain *tools;   // null: the stage needs none
  const KernelCache *cache; // null: none
  SharedCode shared{options};
};

/// The code of a function that went through the pipeline, perhaps without an image. Null if it
/// falls to another shard. It stays where it is as long as `workshop`.
Result<MachineCode> *machine_code(ir::Function &function, const Gpu &gpu, Workshop &workshop,
                                  StepTimes &times);

/// Gives those of `codes` an image that no other call does, and keeps them in the cache. All have
/// their images when all calls for them have come back.
std::optional<Failure> pack(const std::vector<MachineCode *> &codes, const Gpu &gpu,
                            Workshop &workshop, StepTimes &times);

} // namespace tritonc
