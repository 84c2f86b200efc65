// The emulator as a leg. See emulate.h.

#include "random/emulate.h"

#include "backend/host_object.h"
#include "backend/ptx.h"
#include "emulated/host_side.h"
#include "lower/host_kernel.h"
#include "lower/lower.h"
#include "support/jit.h"

#include <emulator.h>
#include <global_memory.h>

#include "llvm/Transforms/Utils/Cloning.h"

#include <cstring>

namespace tritonc::random {
namespace {

using Role = Parameter::Role;

struct Schedule {
  const char *name;
  emulator::Order order;
  emulator::Async async;
};

constexpr Schedule schedules[] = {
    {"forward and early", emulator::Order::forward, emulator::Async::early},
    {"reversed and late", emulator::Order::reversed, emulator::Async::late},
    {"at random", emulator::Order::random, emulator::Async::random},
};

Result<std::string> object_of(const ir::Function &fn, const Gpu &gpu) {
  llvm::LLVMContext context;
  std::unique_ptr<llvm::Module> module = lower(fn, gpu, context);
  if (auto optimized = optimize(*module, gpu); !optimized)
    return optimized.failure();
  // What NVPTX makes of it is for a GPU to execute, but it must make something.
  std::unique_ptr<llvm::Module> copy = llvm::CloneModule(*module);
  if (auto ptx = generate_ptx(*copy, gpu); !ptx)
    return ptx.failure();
  return host_object(*module, describe(fn, gpu), "host_code");
}

// What the host computes with: a number of as many bits as its type has.
int64_t sign_extended(const Argument &argument) {
  int unused = 64 - 8 * bytes_of(argument.scalar);
  return int64_t(uint64_t(argument.integer) << unused) >> unused;
}

// The buffers of a case in the emulator's memory, which ends where they end.
class Launched {
public:
  Launched(const Case &tried, const ir::Function &fn, const abi::host_code &code)
      : tried_(tried), pointers_(tried.arguments.size()), numbers_(tried.arguments.size()) {
    std::vector<int64_t> for_host;
    for (size_t i = 0; i < tried.arguments.size(); i++) {
      const Argument &argument = tried.arguments[i];
      if (argument.role == Role::number) {
        append_bytes(argument.scalar, {argument.integer, argument.real}, numbers_[i]);
        arguments_.push_back(numbers_[i].data());
        for_host.push_back(is_float(argument.scalar) ? 0 : sign_extended(argument));
        continue;
      }
      std::vector<uint8_t> bytes = initial_bytes(tried, int(i));
      pointers_[i] = memory_.allocate(bytes.size());
      std::memcpy(pointers_[i], bytes.data(), bytes.size());
      if (argument.role != Role::output)
        memory_.mark_initialized(pointers_[i], bytes.size());
      arguments_.push_back(&pointers_[i]);
      for_host.push_back(int64_t(uintptr_t(pointers_[i])));
    }
    host_.emplace(fn, for_host, tried.grid, tried.multiprocessors());
    arguments_.insert(arguments_.end(), host_->hidden().begin(), host_->hidden().end());
    auto [x, y, z] = host_->blocks();
    launch_.grid = {x, y, z};
    launch_.cluster = {host_->cluster(), 1, 1};
    launch_.threads = code.threads;
    launch_.shared_bytes = code.shared_bytes;
    launch_.arguments = arguments_.data();
  }

  // Whether this form can be launched.
  bool fits() const { return host_->fits(); }

  emulator::Result run(const abi::host_code &code, const emulator::Options &options) {
    return emulator::launch(code, launch_, options, memory_);
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
  std::optional<test::HostSide> host_;
  std::vector<void *> arguments_;
  emulator::Launch launch_;
};

} // namespace

std::optional<Failure> emulate(const ir::Function &fn, const Case &tried, const Gpu &gpu,
                               const std::string &where, bool all_schedules, Effort &effort) {
  Result<std::string> object = object_of(fn, gpu);
  if (!object)
    return Failure{Failure::Kind::refused, "by the back end" + where, text(object.failure())};
  test::LinkedHostCode code(*object, "host_code");
  for (const Schedule &schedule : schedules) {
    emulator::Options options;
    options.order = schedule.order;
    options.async = schedule.async;
    options.seed = tried.data_seed;
    options.max_steps = 1'000'000;
    options.workers = 1; // other kernels are at work beside this one
    std::string stage = "emulated" + where + ", " + schedule.name;
    Launched launched(tried, fn, *code);
    if (!launched.fits())
      return std::nullopt;
    emulator::Result result = launched.run(*code, options);
    effort.emulated++;
    if (!result.findings.empty())
      return Failure{Failure::Kind::finding, stage, result.findings[0].text};
    if (std::string different = difference(tried, launched.buffers()); !different.empty())
      return Failure{Failure::Kind::difference, stage, different};
    if (!all_schedules)
      break;
  }
  return std::nullopt;
}

} // namespace tritonc::random
