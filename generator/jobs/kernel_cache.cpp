// Implements the keys and the serialization of cache entries. See kernel_cache.h.
//
// Two kinds of entries avoid the two slow parts of a compilation:
//   - Machine code: the key is the LLVM IR, so variants and schedules with the same IR share code.
//   - A variant for a GPU: the key is the tile IR before any pass. The entry names the machine code
//     of each schedule and has the other results of the passes.
// A build without changes only reads sources and writes outputs. If only a comment in a source
// changes, the tile IR and the keys stay the same, so the build still finds the entries.
//
// Every key contains digests of the tritonc program, ptxas and fatbinary. A version number is not
// enough for developers who change one of these programs. Every key also contains the compression
// of images and the options for ptxas.
//
// The cache does not store failures.
//
// Tested by tests/unit/jobs/kernel_cache_test.cpp.

#include "jobs/kernel_cache.h"

#include "ir/printer.h"

#include "llvm/Support/Endian.h"

#include <type_traits>

namespace tritonc {
namespace {

// --- Serialization -------------------------------------------------------------------------------
//
// For each struct, one function `fields` lists the members, for both writing and reading.

template <typename T> constexpr bool is_number = std::is_arithmetic_v<T> || std::is_enum_v<T>;

class Writer {
public:
  std::string bytes;

  template <typename... Values> void operator()(Values &...values) { (one(values), ...); }

private:
  void number(int64_t value) {
    char buffer[8];
    llvm::support::endian::write64le(buffer, uint64_t(value));
    bytes.append(buffer, sizeof buffer);
  }
  void one(std::string &text) {
    number(int64_t(text.size()));
    bytes += text;
  }
  template <typename T> void one(std::vector<T> &list) {
    number(int64_t(list.size()));
    for (T &element : list)
      one(element);
  }
  template <typename T> void one(std::optional<T> &value) {
    number(value.has_value());
    if (value)
      one(*value);
  }
  template <typename T> void one(T &value) {
    if constexpr (is_number<T>)
      number(int64_t(value));
    else
      fields(*this, value);
  }
};

// Accepts any bytes: after their end it reads zeros, and is_done() returns false.
class Reader {
public:
  explicit Reader(std::string_view bytes) : rest_(bytes) {}

  template <typename... Values> void operator()(Values &...values) { (one(values), ...); }

  /// Whether the reader consumed exactly all bytes.
  bool is_done() const { return !failed_ && rest_.empty(); }

private:
  int64_t number() {
    std::string_view bytes = take(8);
    return failed_ ? 0 : int64_t(llvm::support::endian::read64le(bytes.data()));
  }
  std::string_view take(size_t count) {
    if (count > rest_.size()) {
      failed_ = true;
      return {};
    }
    std::string_view taken = rest_.substr(0, count);
    rest_.remove_prefix(count);
    return taken;
  }
  void one(std::string &text) { text = take(size_t(number())); }
  template <typename T> void one(std::vector<T> &list) {
    list.clear(); // its default may have elements
    for (int64_t left = number(); left > 0 && !failed_; left--)
      one(list.emplace_back());
  }
  template <typename T> void one(std::optional<T> &value) {
    if (number())
      one(value.emplace());
  }
  template <typename T> void one(T &value) {
    if constexpr (is_number<T>)
      value = T(number());
    else
      fields(*this, value);
  }

  std::string_view rest_;
  bool failed_ = false;
};

template <typename Archive> void fields(Archive &archive, Expr &expr) {
  archive(expr.kind, expr.value, expr.operands);
}
template <typename Archive> void fields(Archive &archive, Requirement &requirement) {
  archive(requirement.condition, requirement.text);
}
template <typename Archive> void fields(Archive &archive, LaunchPlan &plan) {
  archive(plan.grid, plan.requirements);
}
template <typename Archive> void fields(Archive &archive, TensorMap &map) {
  archive(map.parameter, map.offset, map.elem, map.to_tf32, map.sizes, map.strides, map.box,
          map.swizzle_bytes);
}
template <typename Archive> void fields(Archive &archive, HiddenParameter &hidden) {
  archive(hidden.elem, hidden.value, hidden.map, hidden.is_workspace);
}
template <typename Archive> void fields(Archive &archive, BlockTile &tile) {
  archive(tile.m, tile.n, tile.k);
}
template <typename Archive> void fields(Archive &archive, SplitKPartials &partials) {
  archive(partials.coarsening, partials.axes);
}
template <typename Archive> void fields(Archive &archive, Schedule &schedule) {
  archive(schedule.kind, schedule.tile, schedule.producer_warps, schedule.consumer_groups,
          schedule.coarsening, schedule.division, schedule.k_tile, schedule.swap_operands,
          schedule.split_k, schedule.stream_k, schedule.work, schedule.partials,
          schedule.blocks_per_sm, schedule.epilogue_stages, schedule.staged, schedule.iterations,
          schedule.joined_rows, schedule.cluster, schedule.multicast);
}
template <typename Archive> void fields(Archive &archive, LaunchConfig &launch) {
  archive(launch.schedule, launch.guards, launch.cost, launch.blocks, launch.cluster, launch.hidden,
          launch.workspace, launch.shared_bytes, launch.part, launch.starts_early);
}
template <typename Archive> void fields(Archive &archive, Error &failure) {
  archive(failure.id, failure.args);
}
template <typename Archive> void fields(Archive &archive, Remark &remark) {
  archive(remark.failure, remark.origin, remark.notes);
}
// Omits the image's bytes, which are a separate entry.
template <typename Archive> void fields(Archive &archive, Image &image) {
  archive(image.gpu, image.sm, image.suffix, image.threads, image.shared_bytes, image.static_shared,
          image.registers, image.spill_stores, image.spill_loads, image.stack_bytes,
          image.cubin_bytes, image.has_checks, image.launch, image.host_symbol, image.host_object);
}
template <typename Archive> void fields(Archive &archive, CachedKernel &kernel) {
  archive(kernel.schedule, kernel.skip_reason, kernel.skip_bytes, kernel.too_large, kernel.warnings,
          kernel.image, kernel.code);
}
template <typename Archive> void fields(Archive &archive, Resources &resources) {
  archive(resources.registers, resources.spill_stores, resources.spill_loads, resources.stack_bytes,
          resources.static_shared, resources.advice);
}
template <typename Archive> void fields(Archive &archive, MachineCode &code) {
  archive(code.resources, code.cubin_bytes, code.image);
}

template <typename... Values> std::string bytes_of(Values... values) {
  Writer writer;
  writer(values...);
  return std::move(writer.bytes);
}

template <typename T> std::optional<T> read(const std::optional<std::string> &bytes) {
  if (!bytes)
    return std::nullopt;
  T value;
  Reader reader(*bytes);
  reader(value);
  return reader.is_done() ? std::optional(std::move(value)) : std::nullopt;
}

} // namespace

std::optional<KernelCache> KernelCache::open(Cache cache, const Toolchain &tools) {
  std::string identity;
  for (const std::string &path : {std::string("/proc/self/exe"), tools.ptxas, tools.fatbinary}) {
    std::string digest = cache.digest_of_file(path);
    if (digest.empty())
      return std::nullopt;
    identity += digest;
  }
  identity += bytes_of(tools.compression, tools.ptxas_options);
  return KernelCache(std::move(cache), std::move(identity));
}

std::string KernelCache::key_of(const ir::Function &function, const Gpu &gpu,
                                const std::string &places) const {
  return cache_key(bytes_of(std::string("variant"), tools_, std::string(gpu.name),
                            ir::print(function), function.plan, places));
}

std::string KernelCache::places(const std::string &names, const std::string &file,
                                const ir::Function &checked) {
  Writer locations;
  ir::for_each_op(*checked.body, [&](const ir::Op &op) {
    ir::Location location = op.location;
    locations(location.line, location.column);
  });
  return bytes_of(names, file, checked.location.line, checked.location.column, ir::print(checked),
                  std::move(locations.bytes));
}

std::optional<std::vector<CachedKernel>> KernelCache::find(const std::string &key) const {
  auto kernels = read<std::vector<CachedKernel>>(cache_.get(key));
  if (!kernels)
    return std::nullopt;
  for (CachedKernel &kernel : *kernels) {
    if (kernel.skip_reason != SkipReason::none || kernel.too_large)
      continue;
    std::optional<MachineCode> code = find_code(kernel.code);
    if (!code)
      return std::nullopt;
    kernel.image.bytes = std::move(code->image);
  }
  return kernels;
}

void KernelCache::keep(const std::string &key, std::vector<CachedKernel> kernels) const {
  cache_.put(key, bytes_of(std::move(kernels)));
}

std::string KernelCache::key_of_code(const Gpu &gpu, const std::string &bitcode) const {
  return cache_key(bytes_of(std::string("code"), tools_, std::string(gpu.name), bitcode));
}

std::optional<MachineCode> KernelCache::find_code(const std::string &key) const {
  std::optional<MachineCode> code = read<MachineCode>(cache_.get(key));
  if (code)
    code->key = key;
  return code;
}

void KernelCache::keep_code(const MachineCode &code) const { cache_.put(code.key, bytes_of(code)); }

} // namespace tritonc
