// Implements `tritonc doctor`. See doctor_command.h.
//
// The output has one line per dependency of a build or a program. Below a problem, it has a line
// that starts with "fix:" and gives the fix, as a command if possible.
//
// Tested by tests/unit/tool/doctor_test.cpp and tests/robustness/faults_test.cpp.

#include "tool/doctor_command.h"

#include "tool/command_line.h"
#include "tool/diagnostic_printer.h"
#include "tool/output_files.h"

#include "support/version.h"

#include "support/child_process.h"
#include "support/temporary_directory.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Config/llvm-config.h"

#include <cstdlib>
#include <dlfcn.h>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <unistd.h>

namespace tritonc {
namespace {

namespace fs = std::filesystem;

constexpr size_t first_column = 22;

// The environment variables that the tool and the runtime read.
const std::vector<std::string> known_variables = {
    "TRITONC_BUNDLE_PATH", "TRITONC_CACHE_DIR", "TRITONC_CACHE_LIMIT",   "TRITONC_DRIVER",
    "TRITONC_EMULATOR",    "TRITONC_FATBINARY", "TRITONC_FORCE_VARIANT", "TRITONC_PTXAS"};

const char *trial_source = "__global__ void trial(float *x, int n) { if (n) *x = 1; }\n";

std::string variable(const char *name) {
  const char *value = std::getenv(name);
  return value ? value : "";
}

class Examination {
public:
  explicit Examination(const DoctorOptions &options) : options_(options) {}

  Diagnosis run() {
    say("tool", tool_name);
    say("LLVM", LLVM_VERSION_STRING);
    bool has_tools = examine_tools();
    bool has_directory = examine_temporary_directories();
    if (has_tools && has_directory)
      examine_architectures();
    else
      say("architectures", llvm::join(gpu_names(), " "));
    examine_cache();
    if (!options_.launcher.empty() && has_directory)
      examine_launcher();
    examine_driver();
    examine_variables();
    return std::move(diagnosis_);
  }

private:
  void say(const std::string &what, const std::string &found) {
    std::string padding(what.size() < first_column ? first_column - what.size() : 1, ' ');
    diagnosis_.text += what + padding + found + "\n";
  }
  void mend(const std::string &how) { say("", "fix: " + how); }
  void missing() { diagnosis_.code = ExitCode::environment; }

  bool examine_tools() {
    Result<Toolchain> tools = find_toolchain(options_.tools);
    if (tools) {
      say("ptxas", tools->ptxas + " (" + tools->version + ")");
      say("fatbinary", tools->fatbinary);
      return true;
    }
    missing();
    const Error &failure = tools.error();
    say("ptxas, fatbinary", text(failure));
    if (failure.id == Message::tool_missing)
      say("searched", llvm::join(tool_folders(), ":"));
    mend_tools(failure);
    return false;
  }

  void mend_tools(const Error &failure) {
    if (failure.id == Message::no_temporary_directory)
      return; // examine_temporary_directories says how
    for (const char *name : {"TRITONC_PTXAS", "TRITONC_FATBINARY"})
      if (std::string value = variable(name); !value.empty() && is_about(failure, value))
        return mend("unset " + std::string(name));
    for (const auto &[option, value] : {std::pair("--ptxas", options_.tools.ptxas),
                                        std::pair("--fatbinary", options_.tools.fatbinary)})
      if (!value.empty() && is_about(failure, value))
        return mend("remove " + std::string(option) + " (TritonC_PTXAS in CMake)");
    mend("apt-get install cuda-nvcc-13-0 from NVIDIA's packages, or install the CUDA Toolkit 12.4 "
         "or later; then export CUDA_HOME=/usr/local/cuda; in the TritonC sources: cmake/setup.sh");
  }

  // Messages about a tool that ran have only its file name.
  static bool is_about(const Error &failure, const std::string &path) {
    std::error_code error;
    for (const std::string &argument : failure.args)
      if (argument == path || argument == fs::absolute(path, error).string() ||
          argument == fs::path(path).filename().string())
        return true;
    return false;
  }

  bool examine_temporary_directories() {
    Result<TemporaryDirectory> directory = TemporaryDirectory::make();
    if (directory) {
      say("temporary directories", fs::path(directory->path()).parent_path().string());
      return true;
    }
    missing();
    say("temporary directories", text(directory.error()));
    mend("export TMPDIR=/tmp, or another writable directory with free space");
    return false;
  }

  /// Finds the GPUs that a kernel compiles for: an older ptxas does not support newer GPUs.
  void examine_architectures() {
    std::vector<std::string> works, fails;
    std::string reason;
    Result<TemporaryDirectory> directory = TemporaryDirectory::make();
    if (!directory)
      return;
    std::string source = directory->file("trial.tc");
    std::ofstream(source) << trial_source;
    for (std::string_view name : gpu_names()) {
      CompileOptions trial;
      trial.sources = {source};
      trial.gpus = {find_gpu(name)};
      trial.tools = options_.tools;
      CompileResult result = compile(trial);
      (result.code == ExitCode::ok ? works : fails).emplace_back(name);
      if (result.code != ExitCode::ok && reason.empty())
        reason = llvm::StringRef(result.diagnostics_text).split('\n').first.str();
    }
    say("architectures", works.empty() ? "none" : llvm::join(works, " "));
    if (fails.empty())
      return;
    say("not compiled for", llvm::join(fails, " ") + ": " + reason);
    if (works.empty()) {
      missing();
      mend("use ptxas and fatbinary of one CUDA Toolkit: set --ptxas or TRITONC_PTXAS");
    } else {
      mend("install a newer CUDA Toolkit: apt-get install cuda-nvcc-13-0 from NVIDIA's packages");
    }
  }

  void examine_cache() {
    Result<CacheOptions> found = cache_options(options_.cache_directory, options_.cache_limit);
    if (!found)
      return say("cache", text(found.error()));
    if (found->directory.empty())
      return say("cache", "off");
    Result<Cache> cache = Cache::open(*found);
    if (!cache) {
      say("cache", text(cache.error()));
      return mend(
          "export TRITONC_CACHE_DIR=off, or a directory that you can write to; without a cache, "
          "each build compiles all code again");
    }
    std::string key = cache_key("doctor");
    cache->put(key, "well");
    if (cache->get(key) == "well")
      return say("cache", found->directory);
    say("cache", found->directory + ": cannot read back a written entry");
    mend("free some space, or export TRITONC_CACHE_DIR=off or another directory");
  }

  /// Runs the launcher as CMake does: a program, its arguments, then the tool.
  void examine_launcher() {
    std::istringstream words(options_.launcher);
    std::vector<std::string> command;
    for (std::string word; std::getline(words, word, ';');)
      command.push_back(word);
    std::string program = command.empty() ? "" : path_of(command[0]);
    Result<TemporaryDirectory> directory = TemporaryDirectory::make();
    if (!directory)
      return;
    if (program.empty()) {
      missing();
      say("launcher", "no program `" + options_.launcher + "`");
      return mend("cmake -U TritonC_LAUNCHER, or install the launcher");
    }
    command[0] = program;
    command.insert(command.end(), {"/proc/self/exe", "--version"});
    std::error_code error;
    command[command.size() - 2] = fs::read_symlink("/proc/self/exe", error).string();
    ChildResult child = run_child(command, directory->path(), {.time = std::chrono::minutes(2)});
    bool is_good = child.end == ChildResult::End::exited && child.code == 0 &&
                   child.output.find(tool_name) != std::string::npos;
    say("launcher", is_good ? program
                            : program + " does not run tritonc: " +
                                  llvm::StringRef(child.output).split('\n').first.str());
    if (is_good)
      return;
    missing();
    mend("cmake -U TritonC_LAUNCHER, or set it to a program that runs its arguments");
  }

  static std::string path_of(const std::string &program) {
    std::vector<std::string> candidates = {program};
    if (program.find('/') == std::string::npos) {
      candidates.clear();
      std::istringstream path(variable("PATH"));
      for (std::string folder; std::getline(path, folder, ':');)
        candidates.push_back(folder + "/" + program);
    }
    std::error_code error;
    for (const std::string &candidate : candidates)
      if (fs::is_regular_file(candidate, error) && access(candidate.c_str(), X_OK) == 0)
        return fs::absolute(candidate, error).string();
    return "";
  }

  /// Checks the driver that programs with kernels will find; for the search order see
  /// docs/pages/reference/runtime.md.
  void examine_driver() {
    std::string named = variable("TRITONC_DRIVER");
    std::string name = named.empty() ? "libcuda.so.1" : named;
    void *driver = dlopen(name.c_str(), RTLD_LAZY | RTLD_LOCAL);
    if (!driver) {
      say("driver", named.empty() ? "not found (required to run kernels, not to compile)"
                                  : "cannot open `" + named + "`, which TRITONC_DRIVER names");
      if (std::string emulator = emulator_path(); !emulator.empty())
        mend("export TRITONC_DRIVER=" + emulator +
             " to run kernels that you compile with EMULATE ON");
      else if (!named.empty())
        mend("unset TRITONC_DRIVER");
      return;
    }
    using Int = int (*)(int *);
    auto function = [&](const char *symbol) { return dlsym(driver, symbol); };
    auto version = reinterpret_cast<Int>(function("cuDriverGetVersion"));
    auto init = reinterpret_cast<int (*)(unsigned)>(function("cuInit"));
    auto count = reinterpret_cast<Int>(function("cuDeviceGetCount"));
    auto attribute = reinterpret_cast<int (*)(int *, int, int)>(function("cuDeviceGetAttribute"));
    int number = 0, devices = 0;
    if (!version || !init || !count || !attribute || version(&number) != 0) {
      say("driver", name + " is not a CUDA driver");
      return mend(named.empty() ? "reinstall the NVIDIA driver" : "unset TRITONC_DRIVER");
    }
    std::string found =
        name + ", CUDA " + std::to_string(number / 1000) + "." + std::to_string(number % 1000 / 10);
    if (number < 12000) {
      say("driver", found + ", which is too old to run kernels");
      return mend("install a driver for CUDA 12.0 or later (525 or later)");
    }
    if (int result = init(0); result != 0 || count(&devices) != 0 || devices == 0) {
      say("driver", found + ", no device (" + std::to_string(result) + ")");
      return mend("run nvidia-smi for the reason; start a container with --gpus all");
    }
    for (int device = 0; device < devices; device++) {
      int major = 0, minor = 0; // attributes 75 and 76
      attribute(&major, 75, device);
      attribute(&minor, 76, device);
      found +=
          std::string(device ? "," : ", devices:") + " sm_" + std::to_string(major * 10 + minor);
    }
    say("driver", found);
  }

  /// The emulator of an installation or of a build, relative to the tool; empty if none.
  static std::string emulator_path() {
    std::error_code error;
    fs::path self = fs::read_symlink("/proc/self/exe", error);
    for (const char *folder : {"../lib", "../lib64", "../lib/x86_64-linux-gnu"}) {
      fs::path path = (self.parent_path() / folder / "libtritonc_emulator.so").lexically_normal();
      if (!error && fs::exists(path, error))
        return path.string();
    }
    return "";
  }

  void examine_variables() {
    for (char **entry = environ; *entry; entry++) {
      std::string name = llvm::StringRef(*entry).split('=').first.str();
      if (name.rfind("TRITONC_", 0) != 0)
        continue;
      bool is_known = llvm::is_contained(known_variables, name);
      say(name, is_known ? variable(name.c_str()) : "unknown variable");
      if (!is_known)
        mend("unset " + name + "; known variables: " + llvm::join(known_variables, ", "));
    }
  }

  const DoctorOptions &options_;
  Diagnosis diagnosis_;
};

} // namespace

Diagnosis examine_machine(const DoctorOptions &options) { return Examination(options).run(); }

ExitCode run_doctor(CommandLine &line) {
  line.compile.tools.time_limit = std::chrono::seconds(line.timeout_seconds);
  Diagnosis diagnosis =
      examine_machine({line.compile.tools, line.cache_directory, line.cache_limit, line.launcher});
  ExitCode printed = print(diagnosis.text);
  return printed == ExitCode::ok ? diagnosis.code : printed;
}

} // namespace tritonc
