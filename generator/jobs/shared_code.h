// Generates machine code once for all variants, schedules and builds that share it.
#pragma once

#include "jobs/compile_options.h"
#include "jobs/kernel_cache.h"
#include "jobs/shard_file.h"
#include "support/time_report.h"

#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace tritonc {

/// Bytes of the embedded cubin or PTX before compression.
int code_bytes(const MachineCode &code);

/// All machine code of a compilation. Variants that differ only in the source's tile may give the
/// same code, because passes choose the tile. SharedCode makes such code once.
class SharedCode {
public:
  /// Holds all code, or only the code of one shard.
  explicit SharedCode(const CompileOptions &options)
      : shard_(options.shard), shards_(options.shards) {}

  /// Adds code of a shard file.
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

  /// Returns the code of `bitcode` for `gpu`. The first call runs `make`; later calls return the
  /// same code. Returns null if the code belongs to another shard.
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

  /// Returns true only for the first call with `code`; that caller must pack the code.
  bool claim(const MachineCode *code) {
    std::lock_guard lock(mutex_);
    return claimed_.insert(code).second;
  }

  /// All code that compiled successfully.
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

/// The state that all jobs of a compilation share.
struct CompileSession {
  const CompileOptions &options;
  const Toolchain *tools;   // null = the stage needs no tools
  const KernelCache *cache; // null = no cache
  SharedCode shared{options};
};

/// Returns the machine code of a function after the pipeline; it may not have an image yet. Returns
/// null if the code belongs to another shard. The pointer is valid as long as `session`.
Result<MachineCode> *machine_code(ir::Function &function, const Gpu &gpu, CompileSession &session,
                                  StepTimes &times);

/// Packs the `codes` that no other call packs, and stores them in the cache. All codes have their
/// images when all calls for them have returned.
std::optional<Error> pack(const std::vector<MachineCode *> &codes, const Gpu &gpu,
                          CompileSession &session, StepTimes &times);

} // namespace tritonc
