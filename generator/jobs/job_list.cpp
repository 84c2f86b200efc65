// Implements the job list: looks up the cache, chooses schedules, runs and packs. See job_list.h.
//
// Tested by tests/end_to_end/compile/compile_test.cpp, schedules_test.cpp and
// tests/unit/jobs/kernel_cache_test.cpp.

#include "jobs/job_list.h"

#include "ir/checks.h"
#include "passes/pipeline.h"
#include "schedule/candidates.h"
#include "support/parallel_for.h"

#include "llvm/ADT/STLExtras.h"

#include <atomic>
#include <deque>
#include <optional>

namespace tritonc {
namespace {

// --- Making jobs ---------------------------------------------------------------------------------

// A library gets all schedules of a kernel; another stage gets only the best schedule.
std::vector<Candidate> wanted_candidates(const ir::Function &function, const Gpu *gpu,
                                         Stage stage) {
  if (!gpu)
    return {{}};
  std::vector<Candidate> candidates = candidates_for_code(function, *gpu);
  if (stage != Stage::library)
    candidates.resize(1);
  return candidates;
}

// The cache key of all jobs of a kernel for one variant and GPU.
std::string key_of(const KernelCache &cache, const CompileOptions &options,
                   const TranslatedVariant &variant, size_t kernel, const Gpu &gpu) {
  const ir::Function &function = variant.front_end.kernels[kernel];
  bool has_host_code = llvm::is_contained(options.emulate, &gpu);
  // The message of an assertion contains its source line, so the key must contain the lines.
  bool has_places = options.line_info || ir::has_checks(function);
  std::string places = has_places ? "in the code too\n" : "";
  if (has_host_code || has_places)
    places +=
        KernelCache::places(has_host_code ? options.name + "\n" + name_of(variant, function) : "",
                            shown_path(function.file), variant.front_end.checked[kernel]);
  return cache.key_of(function, gpu, places);
}

// Makes a finished job from a cached kernel.
KernelJob done_job(CachedKernel kernel, const KernelJob &like) {
  KernelJob job = like;
  job.candidate.schedule = std::move(kernel.schedule);
  job.is_done = true;
  job.skip_reason = kernel.skip_reason;
  job.skip_bytes = kernel.skip_bytes;
  job.failure = std::move(kernel.too_large);
  job.warnings = std::move(kernel.warnings);
  job.image = std::move(kernel.image);
  return job;
}

// Makes the jobs of a kernel for one variant and GPU; a null GPU means any GPU.
std::vector<KernelJob> jobs_of_kernel(const CompileSession &session, TranslatedVariant &variant,
                                      size_t index, size_t kernel, const Gpu *gpu) {
  KernelJob job = {.variant = index,
                   .function = &variant.front_end.kernels[kernel],
                   .checked = &variant.front_end.checked[kernel],
                   .gpu = gpu};
  std::vector<KernelJob> jobs;
  if (session.cache) {
    auto kept = variant.times.measure(Step::cache, [&] {
      job.kept_as = key_of(*session.cache, session.options, variant, kernel, *gpu);
      return session.cache->find(job.kept_as);
    });
    for (CachedKernel &kernel : kept.value_or(std::vector<CachedKernel>()))
      jobs.push_back(done_job(std::move(kernel), job));
    if (kept)
      return jobs;
  }
  std::vector<Candidate> candidates = variant.times.measure(Step::schedules, [&] {
    return wanted_candidates(*job.function, gpu, session.options.stage);
  });
  for (Candidate &candidate : candidates) {
    jobs.push_back(job);
    jobs.back().candidate = std::move(candidate);
  }
  return jobs;
}

// --- Running jobs --------------------------------------------------------------------------------

// The end of the jobs from `begin` on that have the same kernel, variant and GPU, and differ only
// in their schedules.
size_t end_of_schedules(const std::vector<KernelJob> &jobs, size_t begin) {
  size_t end = begin;
  while (end < jobs.size() && jobs[end].variant == jobs[begin].variant &&
         jobs[end].function == jobs[begin].function && jobs[end].gpu == jobs[begin].gpu)
    end++;
  return end;
}

// Reports the progress of the jobs.
class JobProgress {
public:
  JobProgress(Progress *progress, const std::vector<KernelJob> &jobs)
      : progress_(progress), kernel_of_(jobs.size()) {
    size_t done = 0, left = 0;
    for (size_t begin = 0, end; begin < jobs.size(); begin = end) {
      end = end_of_schedules(jobs, begin);
      for (size_t i = begin; i < end; i++)
        kernel_of_[i] = left_of_.size();
      left_of_.emplace_back(end - begin);
      if (jobs[begin].is_done)
        done++;
      else
        left += end - begin;
    }
    if (progress_)
      progress_->start(left_of_.size(), done, left);
  }
  JobProgress(const JobProgress &) = delete;
  ~JobProgress() {
    if (progress_)
      progress_->finish();
  }

  /// Counts a finished job. Returns whether it was the last job of its kernel.
  bool job_done(size_t job) {
    bool is_last = --left_of_[kernel_of_[job]] == 0;
    if (progress_)
      progress_->job_done(is_last);
    return is_last;
  }

private:
  Progress *progress_;
  std::vector<size_t> kernel_of_;           // per job, the index of its kernel
  std::deque<std::atomic<size_t>> left_of_; // per kernel, the unfinished jobs
};

// Packs the code of all schedules of a kernel for a GPU in one call of fatbinary. `any` is the
// index of one of its jobs; all its jobs are done.
void pack_kernel(CompileSession &session, std::vector<KernelJob> &jobs, size_t any) {
  size_t begin = any;
  while (begin > 0 && end_of_schedules(jobs, begin - 1) > any)
    begin--;
  std::vector<MachineCode *> codes;
  for (size_t i = begin; i < end_of_schedules(jobs, begin); i++)
    if (jobs[i].code)
      codes.push_back(jobs[i].code);
  KernelJob &job = jobs[any];
  if (std::optional<Error> failure = pack(codes, *job.gpu, session, job.times))
    job.failure = failure;
}

// Stores the new results in the cache: each kernel and GPU whose jobs all succeeded, or need too much
// shared memory.
void keep_in_cache(const KernelCache &cache, const std::vector<KernelJob> &jobs) {
  bool is_changed = false;
  for (size_t begin = 0, end; begin < jobs.size(); begin = end) {
    end = end_of_schedules(jobs, begin);
    std::vector<CachedKernel> kernels;
    bool is_new = !jobs[begin].is_done, has_failed = false;
    for (size_t i = begin; i < end; i++) {
      const KernelJob &job = jobs[i];
      has_failed |= job.failure && !job.is_too_large();
      kernels.push_back({.schedule = job.candidate.schedule,
                         .skip_reason = job.skip_reason,
                         .skip_bytes = job.skip_bytes,
                         .too_large = job.failure,
                         .warnings = job.warnings,
                         .image = job.image,
                         .code = job.code ? job.code->key : ""});
    }
    is_changed |= is_new;
    if (is_new && !has_failed)
      cache.keep(jobs[begin].kept_as, std::move(kernels));
  }
  if (is_changed)
    cache.trim();
}

} // namespace

std::vector<KernelJob> make_jobs(const CompileSession &session,
                                 std::vector<TranslatedVariant> &variants,
                                 const std::vector<const Gpu *> &gpus) {
  std::vector<std::vector<KernelJob>> of_variants(variants.size());
  parallel_for(variants.size(), session.options.jobs, [&](size_t i) {
    for (size_t k = 0; k < variants[i].front_end.kernels.size(); k++)
      for (const Gpu *gpu : gpus)
        if (is_wanted(variants[i], variants[i].front_end.kernels[k], {gpu}))
          for (KernelJob &job : jobs_of_kernel(session, variants[i], i, k, gpu))
            of_variants[i].push_back(std::move(job));
  });
  std::vector<KernelJob> jobs;
  for (std::vector<KernelJob> &found : of_variants)
    std::move(found.begin(), found.end(), std::back_inserter(jobs));
  return jobs;
}

void run_jobs(CompileSession &session, const std::vector<TranslatedVariant> &variants,
              std::vector<KernelJob> &jobs, StepTimes &times) {
  const CompileOptions &options = session.options;
  std::atomic<bool> is_hopeless = false; // an environment failure affects every job
  std::optional<JobProgress> progress;
  progress.emplace(options.stage == Stage::library ? options.progress : nullptr, jobs);
  parallel_for(jobs.size(), options.jobs, [&](size_t i) {
    if (is_hopeless || jobs[i].is_done)
      return;
    std::string variant = name_of(variants[jobs[i].variant], *jobs[i].function);
    std::string heading = " for " + std::string(jobs[i].gpu->name);
    if (!variant.empty())
      heading += ", " + variant;
    if (!jobs[i].candidate.schedule.is_baseline())
      heading += ", " + text_of(jobs[i].candidate.schedule);
    Watchdog::Task task(options.watchdog, "`" + jobs[i].function->name + "`" + heading);
    run_kernel_job(session, heading, jobs[i]);
    if (progress->job_done(i) && options.stage == Stage::library)
      pack_kernel(session, jobs, i);
    if (jobs[i].failure && exit_code_of(jobs[i].failure->failure.id) == ExitCode::environment)
      is_hopeless = true;
  });
  progress.reset();
  for (KernelJob &job : jobs)
    if (job.code) {
      job.image.bytes = job.code->image;
      job.image.cubin_bytes = job.code->cubin_bytes;
    }
  if (session.cache && !is_hopeless)
    times.measure(Step::cache, [&] { keep_in_cache(*session.cache, jobs); });
}

} // namespace tritonc
