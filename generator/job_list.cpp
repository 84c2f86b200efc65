// See job_list.h.
//
// Tested by tests/compile/compile_test.cpp, structures_test.cpp and kernel_cache_test.cpp.

#include "job_list.h"

#include "ir/checks.h"
#include "passes/pipeline.h"
#include "side_by_side.h"

#include "llvm/ADT/STLExtras.h"

#include <atomic>
#include <deque>
#include <optional>

namespace tritonc {
namespace {

// --- What there is to do -------------------------------------------------------------------------

// A library has every kernel in all structures; to look at, there is the best one.
std::vector<Structure> structures_wanted(const ir::Function &function, const Gpu *gpu,
                                         Stage stage) {
  if (!gpu)
    return {{}};
  std::vector<Structure> structures = structures_for_code(function, *gpu);
  if (stage != Stage::library)
    structures.resize(1);
  return structures;
}

// What the jobs of a kernel of a variant for a GPU are kept as in the cache.
std::string key_of(const KernelCache &cache, const CompileOptions &options,
                   const TranslatedVariant &variant, size_t kernel, const Gpu &gpu) {
  const ir::Function &function = variant.front_end.kernels[kernel];
  bool has_host_code = llvm::is_contained(options.emulate, &gpu);
  // What an assertion says has the line where it stands.
  bool has_places = options.line_info || ir::has_checks(function);
  std::string places = has_places ? "in the code too\n" : "";
  if (has_host_code || has_places)
    places +=
        KernelCache::places(has_host_code ? options.name + "\n" + name_of(variant, function) : "",
                            shown_path(function.file), variant.front_end.checked[kernel]);
  return cache.key_of(function, gpu, places);
}

// The job that a form in the cache came from.
KernelJob done_job(CompiledForm form, const KernelJob &like) {
  KernelJob job = like;
  job.structure = {.share = form.share, .name = std::move(form.structure)};
  job.is_done = true;
  job.is_left_out = form.is_left_out;
  job.warnings = std::move(form.warnings);
  job.image = std::move(form.image);
  return job;
}

// Those of a kernel of a variant for a GPU, or for none.
std::vector<KernelJob> jobs_of_kernel(const Workshop &workshop, TranslatedVariant &variant,
                                      size_t index, size_t kernel, const Gpu *gpu) {
  KernelJob job = {.variant = index,
                   .function = &variant.front_end.kernels[kernel],
                   .checked = &variant.front_end.checked[kernel],
                   .gpu = gpu};
  std::vector<KernelJob> jobs;
  if (workshop.cache) {
    auto forms = variant.times.measure(Step::cache, [&] {
      job.kept_as = key_of(*workshop.cache, workshop.options, variant, kernel, *gpu);
      return workshop.cache->find(job.kept_as);
    });
    for (CompiledForm &form : forms.value_or(std::vector<CompiledForm>()))
      jobs.push_back(done_job(std::move(form), job));
    if (forms)
      return jobs;
  }
  std::vector<Structure> structures = variant.times.measure(Step::structures, [&] {
    return structures_wanted(*job.function, gpu, workshop.options.stage);
  });
  for (Structure &structure : structures) {
    jobs.push_back(job);
    jobs.back().structure = std::move(structure);
  }
  return jobs;
}

// --- Doing it ------------------------------------------------------------------------------------

// The end of the jobs, from `begin` on, of the same kernel of a variant for the same GPU: they
// differ in their structures.
size_t end_of_structures(const std::vector<KernelJob> &jobs, size_t begin) {
  size_t end = begin;
  while (end < jobs.size() && jobs[end].variant == jobs[begin].variant &&
         jobs[end].function == jobs[begin].function && jobs[end].gpu == jobs[begin].gpu)
    end++;
  return end;
}

// Tells who waits how far the jobs are.
class JobProgress {
public:
  JobProgress(Progress *progress, const std::vector<KernelJob> &jobs)
      : progress_(progress), kernel_of_(jobs.size()) {
    size_t done = 0, left = 0;
    for (size_t begin = 0, end; begin < jobs.size(); begin = end) {
      end = end_of_structures(jobs, begin);
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

  /// Whether it was the last of its kernel.
  bool job_done(size_t job) {
    bool is_last = --left_of_[kernel_of_[job]] == 0;
    if (progress_)
      progress_->job_done(is_last);
    return is_last;
  }

private:
  Progress *progress_;
  std::vector<size_t> kernel_of_;           // of each job
  std::deque<std::atomic<size_t>> left_of_; // jobs of each kernel
};

// Packs the code of a kernel for a GPU, of all its structures in one go. `any` is one of its jobs,
// which are all done.
void pack_kernel(Workshop &workshop, std::vector<KernelJob> &jobs, size_t any) {
  size_t begin = any;
  while (begin > 0 && end_of_structures(jobs, begin - 1) > any)
    begin--;
  std::vector<MachineCode *> codes;
  for (size_t i = begin; i < end_of_structures(jobs, begin); i++)
    if (jobs[i].code)
      codes.push_back(jobs[i].code);
  KernelJob &job = jobs[any];
  if (std::optional<Failure> failure = pack(codes, *job.gpu, workshop, job.times))
    job.failure = failure;
}

// Keeps what has been compiled now: each kernel for each GPU that is complete.
void keep_in_cache(const KernelCache &cache, const std::vector<KernelJob> &jobs) {
  bool is_changed = false;
  for (size_t begin = 0, end; begin < jobs.size(); begin = end) {
    end = end_of_structures(jobs, begin);
    std::vector<CompiledForm> forms;
    bool is_new = !jobs[begin].is_done, has_failed = false;
    for (size_t i = begin; i < end; i++) {
      const KernelJob &job = jobs[i];
      has_failed |= job.failure.has_value();
      forms.push_back({.structure = job.structure.name,
                       .share = job.structure.share,
                       .is_left_out = job.is_left_out,
                       .warnings = job.warnings,
                       .image = job.image,
                       .code = job.code ? job.code->key : ""});
    }
    is_changed |= is_new;
    if (is_new && !has_failed)
      cache.keep(jobs[begin].kept_as, std::move(forms));
  }
  if (is_changed)
    cache.trim();
}

} // namespace

std::vector<KernelJob> make_jobs(const Workshop &workshop, std::vector<TranslatedVariant> &variants,
                                 const std::vector<const Gpu *> &gpus) {
  std::vector<std::vector<KernelJob>> of_variants(variants.size());
  run_side_by_side(variants.size(), workshop.options.jobs, [&](size_t i) {
    for (size_t k = 0; k < variants[i].front_end.kernels.size(); k++)
      for (const Gpu *gpu : gpus)
        if (variants[i].source->wants(*variants[i].choice, variants[i].front_end.kernels[k].name,
                                      gpu))
          for (KernelJob &job : jobs_of_kernel(workshop, variants[i], i, k, gpu))
            of_variants[i].push_back(std::move(job));
  });
  std::vector<KernelJob> jobs;
  for (std::vector<KernelJob> &found : of_variants)
    std::move(found.begin(), found.end(), std::back_inserter(jobs));
  return jobs;
}

void run_jobs(Workshop &workshop, const std::vector<TranslatedVariant> &variants,
              std::vector<KernelJob> &jobs, StepTimes &times) {
  const CompileOptions &options = workshop.options;
  std::atomic<bool> is_hopeless = false; // what the machine lacks, every job lacks
  std::optional<JobProgress> progress;
  progress.emplace(options.stage == Stage::library ? options.progress : nullptr, jobs);
  run_side_by_side(jobs.size(), options.jobs, [&](size_t i) {
    if (is_hopeless || jobs[i].is_done)
      return;
    std::string variant = name_of(variants[jobs[i].variant], *jobs[i].function);
    std::string heading = " for " + std::string(jobs[i].gpu->name);
    if (!variant.empty())
      heading += ", " + variant;
    if (!jobs[i].structure.name.empty())
      heading += ", " + jobs[i].structure.name;
    Watchdog::Task task(options.watchdog, "`" + jobs[i].function->name + "`" + heading);
    run_kernel_job(workshop, heading, jobs[i]);
    if (progress->job_done(i) && options.stage == Stage::library)
      pack_kernel(workshop, jobs, i);
    if (jobs[i].failure && exit_code_of(jobs[i].failure->failure.id) == ExitCode::environment)
      is_hopeless = true;
  });
  progress.reset();
  for (KernelJob &job : jobs)
    if (job.code) {
      job.image.bytes = job.code->image;
      job.image.cubin_bytes = job.code->cubin_bytes;
    }
  if (workshop.cache && !is_hopeless)
    times.measure(Step::cache, [&] { keep_in_cache(*workshop.cache, jobs); });
}

} // namespace tritonc
