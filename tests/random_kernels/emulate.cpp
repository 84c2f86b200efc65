// Runs the host code of a case on the emulator. See emulate.h.

#include "random_kernels/emulate.h"

#include "backend/host_object.h"
#include "backend/ptx.h"
#include "lower/host_kernel.h"
#include "lower/lower.h"
#include "support/host_side.h"
#include "support/jit.h"

#include <emulator.h>
#include <global_memory.h>

#include "llvm/Transforms/Utils/Cloning.h"

#include <cstring>
#include <deque>

namespace tritonc::random {
namespace {

using Role = Parameter::Role;

struct Interleaving {
  const char *name;
  emulator::Order order;
  emulator::Async async;
};

constexpr Interleaving interleavings[] = {
    {"forward and early", emulator::Order::forward, emulator::Async::early},
    {"reversed and late", emulator::Order::reversed, emulator::Async::late},
    {"at random", emulator::Order::random, emulator::Async::random},
};

Result<std::string> object_of(const ir::Function &fn, const Gpu &gpu) {
  llvm::LLVMContext context;
  std::unique_ptr<llvm::Module> module = lower(fn, gpu, context);
  if (auto optimized = optimize(*module, gpu); !optimized)
    return optimized.error();
  // Only a GPU can run the PTX, but NVPTX must compile the module.
  std::unique_ptr<llvm::Module> copy = llvm::CloneModule(*module);
  if (auto ptx = generate_ptx(*copy, gpu); !ptx)
    return ptx.error();
  return host_object(*module, describe(fn, gpu), "host_code");
}

// The value of an argument for host formulas, sign-extended from its type.
int64_t sign_extended(const Argument &argument) {
  int unused = 64 - 8 * bytes_of(argument.scalar);
  return int64_t(uint64_t(argument.integer) << unused) >> unused;
}

// The buffers of a case in the emulator's memory, with exact bounds.
class Launched {
public:
  explicit Launched(const Case &tried)
      : tried_(tried), pointers_(tried.arguments.size()), numbers_(tried.arguments.size()) {
    for (size_t i = 0; i < tried.arguments.size(); i++) {
      const Argument &argument = tried.arguments[i];
      if (argument.role == Role::number) {
        append_bytes(argument.scalar, {argument.integer, argument.real}, numbers_[i]);
        arguments_.push_back(numbers_[i].data());
        for_host_.push_back(is_float(argument.scalar) ? 0 : sign_extended(argument));
        continue;
      }
      std::vector<uint8_t> bytes = initial_bytes(tried, int(i));
      pointers_[i] = memory_.allocate(bytes.size());
      std::memcpy(pointers_[i], bytes.data(), bytes.size());
      if (argument.role != Role::output)
        memory_.mark_initialized(pointers_[i], bytes.size());
      arguments_.push_back(&pointers_[i]);
      for_host_.push_back(int64_t(uintptr_t(pointers_[i])));
    }
  }

  // Returns nullopt if this schedule cannot be launched.
  std::optional<emulator::Result> run(const ir::Function &fn, const abi::host_code &code,
                                      const emulator::Options &options) {
    test::HostSide host(fn, for_host_, tried_.grid, tried_.num_sms());
    if (!host.fits())
      return std::nullopt;
    if (host.workspace_bytes() && !workspace_)
      workspace_ = memory_.allocate(host.workspace_bytes());
    host.put_workspace_at(workspace_);
    std::vector<void *> arguments = arguments_;
    arguments.insert(arguments.end(), host.hidden().begin(), host.hidden().end());
    emulator::Launch launch;
    auto [x, y, z] = host.blocks();
    launch.grid = {x, y, z};
    launch.cluster = {host.cluster(), 1, 1};
    launch.threads = code.threads;
    launch.shared_bytes = host.shared_bytes().value_or(code.shared_bytes);
    launch.starts_early = host.starts_early();
    launch.arguments = arguments.data();
    return emulator::launch(code, launch, options, memory_);
  }

  std::vector<std::vector<uint8_t>> buffers() const {
    std::vector<std::vector<uint8_t>> result(pointers_.size());
    for (size_t i = 0; i < pointers_.size(); i++)
      if (const Argument &argument = tried_.arguments[i]; argument.is_written()) {
        const uint8_t *at = static_cast<const uint8_t *>(pointers_[i]);
        result[i].assign(at, at + argument.count * bytes_of(argument.scalar));
      }
    return result;
  }

private:
  const Case &tried_;
  emulator::GlobalMemory memory_;
  std::vector<void *> pointers_;
  std::vector<std::vector<uint8_t>> numbers_;
  std::vector<int64_t> for_host_; // scalar values and addresses
  std::vector<void *> arguments_;
  void *workspace_ = nullptr; // shared by two launches
};

} // namespace

std::optional<Failure> emulate(const std::vector<const ir::Function *> &fns, const Case &tried,
                               const Gpu &gpu, const std::string &where, bool all_interleavings,
                               Effort &effort) {
  std::deque<test::LinkedHostCode> codes;
  for (const ir::Function *fn : fns) {
    Result<std::string> object = object_of(*fn, gpu);
    if (!object)
      return Failure{Failure::Kind::refused, "by the back end" + where, text(object.error())};
    codes.emplace_back(*object, "host_code");
  }
  for (const Interleaving &interleaving : interleavings) {
    emulator::Options options;
    options.order = interleaving.order;
    options.async = interleaving.async;
    options.seed = tried.data_seed;
    options.max_steps = 1'000'000;
    options.workers = 1; // other processes run other kernels
    std::string stage = "emulated" + where + ", " + interleaving.name;
    Launched launched(tried);
    for (size_t i = 0; i < fns.size(); i++) {
      std::optional<emulator::Result> result = launched.run(*fns[i], *codes[i], options);
      if (!result)
        return std::nullopt;
      effort.emulated++;
      if (!result->reports.empty())
        return Failure{Failure::Kind::report, stage, result->reports[0].text};
    }
    if (std::string different = difference(tried, launched.buffers()); !different.empty())
      return Failure{Failure::Kind::difference, stage, different};
    if (!all_interleavings)
      break;
  }
  return std::nullopt;
}

} // namespace tritonc::random
