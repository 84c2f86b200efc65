// Compares the emulator's model of each operation with a GPU, bit by bit: the same kernels
// (op_kernels.h) run on both, with the same random inputs (op_inputs.h).
//
//     op_models_test              on a Hopper: 10,000 executions of each operation on each kind of
//                                 data. Prints a table; exits with 1 after a difference.
//     op_models_test --emulated   without a GPU: a few executions of each operation in several
//                                 orders of threads and copies. The results must agree, and the
//                                 emulator must report nothing.
//
// Options:
//
//     --cases N       executions of each operation on each kind of data; default 10,000
//     --seed N        other inputs; default 1
//     --filter TEXT   only the lines whose "operation data" contains TEXT
//     --record FILE   writes hashes of the fixed inputs and their results
//     --expect FILE   compares with the hashes that --record has written
//     --dump FILE     appends inputs and results of cases that differ
//     --seconds N     starts no operation after N seconds
//
// Exits with 77 without a Hopper.
//
// A child process runs the operations. If an operation hangs or destroys the driver's context, its
// line in the table fails, and another child goes on after it.

#include "op_compare.h"
#include "op_machines.h"

#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cinttypes>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iomanip>
#include <map>
#include <memory>
#include <mutex>
#include <sstream>
#include <string>
#include <thread>

namespace {

using namespace tritonc;
using namespace tritonc::test;
using Clock = std::chrono::steady_clock;

struct Settings {
  bool emulated = false;
  unsigned cases = 10'000;
  uint64_t seed = 1;
  std::string filter, record, expect, dump;
  int seconds = 0;
} settings;

// The fixed inputs, whose results --record writes: the blocks per kernel, and the seed.
constexpr unsigned fixed_blocks = 4;
constexpr uint64_t fixed_seed = 20261121;

// ---- tasks and their results ----

constexpr const char *tensor_maps = "cuTensorMapEncodeTiled";

struct Task {
  std::string op;
  Mode mode = Mode::bits;
  std::vector<const OpEntry *> entries; // empty: tensor maps

  std::string name() const { return entries.empty() ? op : op + " " + name_of(mode); }
};

std::vector<Task> all_tasks() {
  std::vector<Task> tasks;
  for (const OpEntry &entry : op_entries)
    for (Mode mode : modes_of(entry)) {
      auto task = std::find_if(tasks.begin(), tasks.end(), [&](const Task &task) {
        return task.op == entry.op && task.mode == mode;
      });
      if (task == tasks.end())
        task = tasks.insert(task, {entry.op, mode, {}});
      task->entries.push_back(&entry);
    }
  if (!settings.emulated)
    tasks.push_back({tensor_maps, Mode::bits, {}});
  std::erase_if(tasks, [](const Task &task) {
    return task.name().find(settings.filter) == std::string::npos;
  });
  return tasks;
}

// A line of the table, in memory that parent and children share.
struct Row {
  enum State { waiting, done, failed } state;
  uint64_t cases, bytes, different_cases, different_words;
  uint64_t inputs, results; // hashes of the fixed inputs and their results
  double seconds;
  char text[4000]; // the first differences, or an error
};

struct Shared {
  size_t current; // task
  char gpu[100], driver[20];
  Row rows[1000];
};
Shared *shared = nullptr;

std::mutex row_mutex;

void add_text(Row &row, const std::string &text) {
  size_t length = std::strlen(row.text);
  if (length + text.size() + 6 < sizeof row.text)
    std::snprintf(row.text + length, sizeof row.text - length, "    %s\n", text.c_str());
}

void dump(const OpEntry &entry, Mode mode, unsigned block, const Inputs &inputs,
          const Outputs &expected, const Outputs &found) {
  static std::ofstream file(settings.dump, std::ios::binary | std::ios::app);
  auto write = [&](const void *bytes, uint64_t n) {
    file.write(reinterpret_cast<const char *>(&n), 8);
    file.write(static_cast<const char *>(bytes), std::streamsize(n));
  };
  std::string name = std::string(entry.name) + " " + name_of(mode);
  write(name.data(), name.size());
  write(inputs.in.data() + size_t(block) * entry.in_bytes(), entry.in_bytes());
  for (const std::vector<std::byte> *out : {&inputs.out, &expected.out, &found.out})
    write(out->data() + size_t(block) * entry.out_bytes(), entry.out_bytes());
  write(entry.takes_map ? &inputs.tensors[block] : nullptr, entry.takes_map ? sizeof(Tensor) : 0);
  for (const std::vector<std::byte> *memory :
       {&inputs.tensor_memory, &expected.tensor_memory, &found.tensor_memory})
    write(memory->data() + (entry.takes_map ? block * tensor_bytes : 0),
          entry.takes_map ? tensor_bytes : 0);
  file.flush();
}

void add_differences(Row &row, const OpEntry &entry, Mode mode, const Inputs &inputs,
                     const Outputs &expected, const Outputs &found) {
  Differences differences = compare(entry, inputs, expected, found);
  std::lock_guard lock(row_mutex);
  row.cases += inputs.blocks / entry.blocks;
  row.bytes += differences.bytes;
  row.different_words += differences.words;
  for (unsigned block : differences.blocks)
    if (row.different_cases++ < 6 && !settings.dump.empty())
      dump(entry, mode, block, inputs, expected, found);
  for (const std::string &text : differences.texts)
    add_text(row, text);
}

bool has_failed(Row &row, const OpEntry &entry, const char *where, const Outputs &outputs) {
  if (outputs.problem.empty())
    return false;
  std::lock_guard lock(row_mutex);
  row.state = Row::failed;
  add_text(row, std::string(entry.name) + ", " + where + ": " + outputs.problem);
  return true;
}

// ---- on the GPU and the emulator ----

struct Job {
  const OpEntry *entry;
  unsigned blocks;
  uint64_t seed;
  bool fixed;
};

uint64_t seed_of(const Task &task, size_t entry, size_t batch) {
  uint64_t hash = settings.seed;
  for (char c : task.name())
    hash = (hash ^ uint64_t(c)) * 0x100000001b3;
  return Random(hash + entry * 1'000'003 + batch).next();
}

// Distributes an operation's cases over its kernels.
std::vector<Job> jobs_of(const Task &task) {
  std::vector<Job> jobs;
  size_t kernels = task.entries.size();
  for (size_t i = 0; i < kernels; i++) {
    const OpEntry &entry = *task.entries[i];
    jobs.push_back({&entry, fixed_blocks, fixed_seed + i, true});
    size_t bytes = entry.in_bytes() + entry.out_bytes() + (entry.takes_map ? 2 * tensor_bytes : 0);
    unsigned most = unsigned(std::clamp<size_t>((6 << 20) / std::max<size_t>(bytes, 1), 4, 256));
    if (entry.takes_map)
      most = std::min(most, max_maps);
    most = most / entry.blocks * entry.blocks;
    unsigned left = unsigned((settings.cases + kernels - 1) / kernels) * entry.blocks;
    for (size_t batch = 0; left > 0; batch++) {
      unsigned now = std::min(left, most);
      jobs.push_back({&entry, now, seed_of(task, i, batch), false});
      left -= now;
    }
  }
  return jobs;
}

// Reused for all tasks, because both have large buffers.
struct Machines {
  Machines(Gpu &gpu, emulator::GlobalMemory &memory) : gpu(gpu), emulated(memory) {}
  Gpu::Worker gpu;
  EmulatedGpu emulated;
};

void run_on_both(Gpu &gpu, emulator::GlobalMemory &memory, const Task &task, Row &row) {
  emulator::Options options; // without checks
  options.races = options.uninitialized = false;
  options.workers = 1;
  const std::vector<Job> jobs = jobs_of(task);
  std::atomic<size_t> next = 0;
  std::map<const OpEntry *, std::pair<uint64_t, uint64_t>> hashes;
  auto work = [&](Machines &machines) {
    machines.gpu.use();
    for (size_t i; row.state != Row::failed && (i = next++) < jobs.size();) {
      const Job &job = jobs[i];
      Inputs inputs = make_inputs(*job.entry, task.mode, job.blocks, job.seed);
      Outputs expected = machines.gpu.run(*job.entry, inputs);
      if (has_failed(row, *job.entry, "GPU", expected))
        _exit(3); // the context is unusable now
      Outputs found = machines.emulated.run(*job.entry, inputs, options);
      if (has_failed(row, *job.entry, "emulator", found))
        return;
      if (job.fixed) {
        std::lock_guard lock(row_mutex);
        hashes[job.entry] = {hash_of(inputs), hash_of(expected)};
      }
      add_differences(row, *job.entry, task.mode, inputs, expected, found);
    }
  };
  static std::vector<std::unique_ptr<Machines>> all(
      std::max(std::thread::hardware_concurrency(), 1u));
  std::vector<std::thread> threads;
  for (auto &machines : all)
    threads.emplace_back([&] {
      if (!machines)
        machines = std::make_unique<Machines>(gpu, memory);
      work(*machines);
    });
  for (std::thread &thread : threads)
    thread.join();
  for (const OpEntry *entry : task.entries) {
    row.inputs = row.inputs * 31 + hashes[entry].first;
    row.results = row.results * 31 + hashes[entry].second;
  }
}

// Checks that the driver and the emulator accept and reject the same tensor maps.
void encode_tensor_maps(Gpu &gpu, const Task &task, Row &row) {
  using Kind = models::Problem::Kind;
  Random random(seed_of(task, 0, 0));
  unsigned accepted = 0, rejected = 0, unmodeled = 0;
  alignas(64) static std::byte map[128];
  for (; row.cases < settings.cases; row.cases++) {
    Tensor tensor = random_arguments(random);
    models::TensorMapArguments arguments =
        tensor.arguments(reinterpret_cast<void *>(uintptr_t(0x7f0000000000)));
    bool gpu_accepts = gpu.encode_tensor_map(map, arguments) == 0;
    models::Problem problem = models::encode_tensor_map(map, arguments);
    models::TensorMap decoded;
    if (!problem)
      problem = models::decode_tensor_map(decoded, map);
    if (problem.kind == Kind::unmodeled) {
      unmodeled++;
    } else if (gpu_accepts != !problem) {
      row.different_cases++;
      add_text(row, std::string(gpu_accepts ? "driver accepts: " : "driver rejects: ") +
                        text_of(tensor) + (problem ? "; emulator: " + problem.text : ""));
    } else {
      (problem ? rejected : accepted)++;
    }
  }
  add_text(row, "both accept " + std::to_string(accepted) + ", both reject " +
                    std::to_string(rejected) + "; " + std::to_string(unmodeled) + " not modeled");
}

// ---- on the emulator only ----

// Checks that two orders of threads and copies give the same results, without reports.
void run_emulated(emulator::GlobalMemory &memory, const Task &task, Row &row) {
  static EmulatedGpu machine(memory);
  for (size_t i = 0; i < task.entries.size(); i++) {
    const OpEntry &entry = *task.entries[i];
    Inputs inputs = make_inputs(entry, task.mode, fixed_blocks, fixed_seed + i);
    emulator::Options options;
    options.workers = 1;
    Outputs first = machine.run(entry, inputs, options);
    if (has_failed(row, entry, "in order", first))
      return;
    row.inputs = row.inputs * 31 + hash_of(inputs);
    row.results = row.results * 31 + hash_of(first);
    options.order = emulator::Order::random;
    options.async = i % 2 ? emulator::Async::random : emulator::Async::late;
    options.seed = i;
    Outputs other = machine.run(entry, inputs, options);
    if (has_failed(row, entry, "in random order", other))
      return;
    add_differences(row, entry, task.mode, inputs, first, other);
  }
}

// Runs the tasks from shared->current on, in a child process.
int run_tasks(const std::vector<Task> &tasks, Clock::time_point end) {
  std::unique_ptr<Gpu> gpu;
  if (!settings.emulated) {
    std::string why;
    gpu = Gpu::open(why);
    if (!gpu) {
      std::printf("[SKIP] %s\n", why.c_str());
      return 77;
    }
    std::snprintf(shared->gpu, sizeof shared->gpu, "%s", gpu->name().c_str());
    std::snprintf(shared->driver, sizeof shared->driver, "%s", gpu->driver_version().c_str());
  }
  emulator::GlobalMemory memory;
  for (; shared->current < tasks.size(); shared->current++) {
    const Task &task = tasks[shared->current];
    Row &row = shared->rows[shared->current];
    Clock::time_point begin = Clock::now();
    if (settings.seconds && begin > end)
      return 0;
    if (settings.emulated)
      run_emulated(memory, task, row);
    else if (task.entries.empty())
      encode_tensor_maps(*gpu, task, row);
    else
      run_on_both(*gpu, memory, task, row);
    row.seconds = std::chrono::duration<double>(Clock::now() - begin).count();
    if (row.state == Row::waiting)
      row.state = row.different_cases ? Row::failed : Row::done;
  }
  return 0;
}

// ---- the table ----

struct Recorded {
  uint64_t inputs, results;
};

std::map<std::string, Recorded> read_recorded(const std::string &path) {
  std::map<std::string, Recorded> recorded;
  std::ifstream file(path);
  std::string op, mode;
  Recorded hashes;
  for (std::string line; std::getline(file, line);) {
    std::istringstream words(line);
    if (!line.starts_with("#") &&
        words >> op >> mode >> std::hex >> hashes.inputs >> hashes.results)
      recorded[op + " " + mode] = hashes;
  }
  return recorded;
}

void record(const std::vector<Task> &tasks) {
  std::ofstream file(settings.record);
  file << "# Results of op_models_test on an " << shared->gpu << ", driver for CUDA "
       << shared->driver
       << ", for a few fixed inputs of\n# each operation: hash of inputs, hash of results.\n"
       << std::hex << std::setfill('0');
  for (size_t i = 0; i < tasks.size(); i++)
    if (const Row &row = shared->rows[i]; row.state == Row::done && row.inputs != 0)
      file << tasks[i].name() << " " << std::setw(16) << row.inputs << " " << std::setw(16)
           << row.results << "\n";
}

// Compares a row with the recorded hashes. Returns false if the file has none for these inputs.
bool check_recorded(const std::map<std::string, Recorded> &recorded, const Task &task, Row &row) {
  auto known = recorded.find(task.name());
  if (known == recorded.end() || known->second.inputs != row.inputs) {
    add_text(row, "no recorded GPU results for these inputs");
    return false;
  }
  if (known->second.results != row.results) {
    row.state = Row::failed;
    add_text(row, "the results differ from the recorded GPU results");
  }
  return true;
}

int print_table(const std::vector<Task> &tasks) {
  std::map<std::string, Recorded> recorded;
  if (!settings.expect.empty())
    recorded = read_recorded(settings.expect);
  if (*shared->gpu)
    std::printf("%s, driver for CUDA %s\n", shared->gpu, shared->driver);
  std::printf("%-23s %-8s %7s %13s %10s %15s %8s\n", "operation", "data", "cases", "bits compared",
              "that differ", "32-bit words", "seconds");
  unsigned wrong = 0, known = 0;
  uint64_t cases = 0, bits = 0;
  for (size_t i = 0; i < tasks.size(); i++) {
    Row &row = shared->rows[i];
    const Task &task = tasks[i];
    if (!settings.expect.empty() && row.state == Row::done)
      known += check_recorded(recorded, task, row);
    const char *state = row.state == Row::done      ? "PASS"
                        : row.state == Row::waiting ? "NOT RUN"
                                                    : "FAIL";
    std::printf("%-23s %-8s %7" PRIu64 " %13" PRIu64 " %10" PRIu64 " %15" PRIu64 " %8.1f %s\n%s",
                task.op.c_str(), task.entries.empty() ? "" : name_of(task.mode), row.cases,
                row.bytes * 8, row.different_cases, row.different_words, row.seconds, state,
                row.text);
    wrong += row.state != Row::done;
    cases += row.cases;
    bits += row.bytes * 8;
  }
  std::printf("%zu lines, %" PRIu64 " cases, %" PRIu64 " bits; %u lines are FAIL or NOT RUN\n",
              tasks.size(), cases, bits, wrong);
  if (!settings.expect.empty())
    std::printf("%u lines compared with recorded GPU results\n", known);
  return wrong ? 1 : 0;
}

void read_settings(int count, char **arguments) {
  for (int i = 1; i < count; i++) {
    std::string_view option = arguments[i];
    const char *value = i + 1 < count ? arguments[i + 1] : "";
    if (option == "--emulated") {
      settings.emulated = true;
      continue;
    }
    i++;
    if (option == "--cases")
      settings.cases = unsigned(std::atoi(value));
    else if (option == "--seed")
      settings.seed = std::strtoull(value, nullptr, 10);
    else if (option == "--filter")
      settings.filter = value;
    else if (option == "--record")
      settings.record = value;
    else if (option == "--expect")
      settings.expect = value;
    else if (option == "--dump")
      settings.dump = value;
    else if (option == "--seconds")
      settings.seconds = std::atoi(value);
    else {
      std::fprintf(stderr, "op_models_test: unknown option %s\n", arguments[i - 1]);
      std::exit(2);
    }
  }
}

} // namespace

int main(int count, char **arguments) {
  read_settings(count, arguments);
  const std::vector<Task> tasks = all_tasks();
  shared = static_cast<Shared *>(
      mmap(nullptr, sizeof(Shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0));
  if (shared == MAP_FAILED || tasks.size() > std::size(shared->rows))
    return 2;
  Clock::time_point end = Clock::now() + std::chrono::seconds(settings.seconds);
  for (;;) {
    std::fflush(stdout);
    pid_t child = fork();
    if (child == 0) {
      int result = run_tasks(tasks, end);
      std::fflush(stdout);
      _exit(result);
    }
    int status = 0;
    if (child < 0 || waitpid(child, &status, 0) != child)
      return 2;
    if (WIFEXITED(status) && WEXITSTATUS(status) == 77)
      return 77;
    if (WIFEXITED(status) && WEXITSTATUS(status) == 0)
      break;
    Row &row = shared->rows[shared->current++];
    row.state = Row::failed;
    if (WIFSIGNALED(status))
      add_text(row, "the process crashed with signal " + std::to_string(WTERMSIG(status)));
  }
  int result = print_table(tasks);
  if (!settings.record.empty())
    record(tasks);
  return result;
}
