// Finds what a library lacks on purpose. See left_out.h.
//
// Tested by tests/end_to_end/compile/left_out_test.cpp.

#include "jobs/left_out.h"

#include "diagnose/explain.h"

#include "llvm/ADT/STLExtras.h"

#include <algorithm>

namespace tritonc {
namespace {

bool is_general(const KernelJob &job) { return job.function->plan.specialization.empty(); }

// Whether the variants differ only in values that a launch chooses.
bool is_same_for_users(const TranslatedVariant &a, const TranslatedVariant &b) {
  if (a.source != b.source)
    return false;
  const std::vector<Axis> &axes = a.source->axes;
  for (size_t i = 0; i < axes.size(); i++)
    if (!axes[i].tuned && a.choice->values[i] != b.choice->values[i])
      return false;
  return true;
}

// Whether both have the same requirements on arguments.
bool same_requirements(const KernelJob &a, const KernelJob &b) {
  auto is_same = [](const Requirement &one, const Requirement &other) {
    return one.condition == other.condition;
  };
  const std::vector<Requirement> &of_a = a.function->plan.requirements;
  const std::vector<Requirement> &of_b = b.function->plan.requirements;
  return std::equal(of_a.begin(), of_a.end(), of_b.begin(), of_b.end(), is_same);
}

// Whether a launch for which `job` has no code can have the code of `other`, with any arguments.
bool replaces(const KernelJob &other, const KernelJob &job,
              const std::vector<TranslatedVariant> &variants) {
  const bool is_dropped =
      other.skip_reason == SkipReason::shared_memory || other.skip_reason == SkipReason::spills;
  if (other.function->name != job.function->name || other.gpu != job.gpu || other.failure ||
      is_dropped || !other.candidate.schedule.is_baseline() || !is_general(other) ||
      !same_requirements(other, job))
    return false;
  return other.variant == job.variant ||
         is_same_for_users(variants[other.variant], variants[job.variant]);
}

// Whether the code of a baseline spills, so that the time of a launch is unknown and long.
bool spills(const KernelJob &job) {
  return job.candidate.schedule.is_baseline() && !job.is_skipped() && job.image.spill_stores &&
         !job.image.launch.cost && !job.image.has_checks;
}

// Leaves out the variant of a job that is too large. A specialization goes with its general variant,
// to which a launch falls back.
void leave_out(const KernelJob &job, std::vector<KernelJob> &jobs) {
  const Remark &found = *job.failure;
  const Remark warning = {
      {Message::variant_left_out, found.failure.args}, found.origin, found.notes};
  const ir::Function *function = job.function;
  const bool all = is_general(job);
  for (KernelJob &one : jobs) {
    if (one.variant != job.variant || one.gpu != job.gpu || one.function->name != function->name ||
        (!all && one.function != function))
      continue;
    one.failure = std::nullopt;
    one.warnings = {};
    if (!one.is_skipped())
      one.skip_reason = SkipReason::shared_memory;
    if (one.candidate.schedule.is_baseline() && one.function == function)
      one.warnings = {warning};
  }
}

// The first dot in a loop, as a source operation.
std::optional<int> origin_of_dot_in_loop(const ir::Function &kernel) {
  ir::Function function = ir::clone(kernel);
  ir::number_origins(function);
  std::optional<int> origin;
  ir::for_each_op(*function.body, [&](const ir::Op &op) {
    if (op.is(ir::Opcode::dot_) && op.parent->parent && !origin)
      origin = op.location.origin;
  });
  return origin;
}

// "`attention` for sm_75, TM=128"
std::string heading_of(const KernelJob &job, const std::vector<TranslatedVariant> &variants) {
  const std::string variant = name_of(variants[job.variant], *job.function);
  return "`" + job.function->name + "` for " + std::string(job.gpu->name) +
         (variant.empty() ? "" : ", " + variant);
}

} // namespace

void leave_out_variants(std::vector<KernelJob> &jobs,
                        const std::vector<TranslatedVariant> &variants) {
  for (KernelJob &job : jobs) {
    auto has_choice = [&](auto is_better) {
      return llvm::any_of(jobs, [&](const KernelJob &other) {
        return replaces(other, job, variants) && is_better(other);
      });
    };
    if (job.is_too_large() && has_choice([](const KernelJob &) { return true; }))
      leave_out(job, jobs);
    if (spills(job) && has_choice([](const KernelJob &other) { return !spills(other); })) {
      job.skip_reason = SkipReason::spills;
      job.skip_bytes = job.image.spill_stores + job.image.spill_loads;
      job.warnings = {};
    }
  }
}

void add_fallback_warnings(std::vector<KernelJob> &jobs) {
  const ir::Function *last = nullptr;
  const Gpu *last_gpu = nullptr;
  for (KernelJob &job : jobs) {
    const bool is_first = job.function != last || job.gpu != last_gpu;
    last = job.function;
    last_gpu = job.gpu;
    auto is_specialized = [&](const KernelJob &other) {
      return other.function == last && other.gpu == last_gpu && !other.is_skipped() &&
             other.candidate.schedule.is_warp_specialized();
    };
    if (!is_first || !job.gpu->has_wgmma || llvm::any_of(jobs, is_specialized))
      continue;
    const std::optional<int> origin = origin_of_dot_in_loop(*job.function);
    if (!origin)
      continue;
    Remark warning = {
        {Message::fallback_schedule, {job.function->name, std::string(job.gpu->name)}},
        *origin,
        {}};
    if (std::optional<Error> reason = reason_of_fallback(*job.function, *job.gpu))
      warning.notes.push_back({*reason});
    job.warnings.push_back(std::move(warning));
  }
}

std::string explain_left_out(const std::vector<KernelJob> &jobs,
                             const std::vector<TranslatedVariant> &variants) {
  std::string text;
  for (const KernelJob &job : jobs) {
    const std::string heading = heading_of(job, variants);
    const std::string schedule = text_of(job.candidate.schedule);
    auto say = [&](Message id, const std::vector<std::string> &arguments) {
      text += message(id, arguments) + "\n";
    };
    const std::string bytes = std::to_string(job.skip_bytes);
    switch (job.skip_reason) {
    case SkipReason::none:
    case SkipReason::shard:
      break;
    case SkipReason::spills:
      say(Message::explain_spills, {heading, schedule, bytes});
      break;
    case SkipReason::ptxas_advisory:
      say(Message::explain_serialized, {heading, schedule});
      break;
    case SkipReason::shared_memory:
      if (job.skip_bytes) // else another schedule of the variant needs too much
        say(Message::explain_too_large,
            {heading, schedule, bytes, std::to_string(job.gpu->max_shared_bytes)});
      break;
    }
  }
  return text;
}

} // namespace tritonc
