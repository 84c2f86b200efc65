// Tests generator/tool/doctor_command.cpp: what `tritonc doctor` finds, and the fixes that it
// suggests. Each test calls the tool in a changed environment.

#include "support/child_process.h"
#include "support/contains.h"
#include "support/temporary_folder.h"
#include "support/tool_run.h"
#include "unit/backend/fake_tool.h"

#include <doctest/doctest.h>

#include <cstdlib>
#include <dlfcn.h>
#include <filesystem>
#include <system_error>

using namespace tritonc;

namespace {

// Runs in a shell, which sets the environment for `tritonc doctor`.
ToolRun doctor(const std::string &environment, const std::string &options = "") {
  std::string tool = TRITONC_TOOL;
  return run_shell("exec env " + environment + " '" + tool + "' doctor " + options);
}

// The line that begins with `what`, and the next line.
std::string about(const std::string &text, const std::string &what) {
  size_t begin = ("\n" + text).find("\n" + what);
  if (begin == std::string::npos)
    return "";
  size_t end = text.find('\n', begin);
  return text.substr(begin, text.find('\n', end + 1) - begin);
}

const std::string no_cache = "TRITONC_CACHE_DIR=off";

} // namespace

TEST_CASE("tritonc doctor: code 0 on a complete machine") {
  TemporaryFolder files;
  ToolRun run = doctor("TRITONC_CACHE_DIR=" + files.path("cache"));
  CAPTURE(run.output);
  CHECK(run.code == 0);
  for (const char *what : {"tool  ", "LLVM  ", "ptxas  ", "fatbinary  ", "temporary directories ",
                           "architectures  ", "cache  ", "driver  "})
    CHECK(about(run.output, what) != "");
  CHECK(contains(about(run.output, "architectures"), "75 80 86"));
  CHECK(contains(about(run.output, "cache"), files.path("cache")));
  CHECK_FALSE(contains(run.output, "launcher"));
  CHECK_FALSE(contains(about(run.output, "ptxas"), "fix:"));
}

TEST_CASE("tritonc doctor: missing or old ptxas, with the fix") {
  ToolRun run = doctor(no_cache + " TRITONC_PTXAS=/nowhere/ptxas");
  CHECK(run.code == 3);
  CHECK(contains(about(run.output, "ptxas, fatbinary"), "no such program"));
  CHECK(contains(run.output, "fix: unset TRITONC_PTXAS\n"));
  CHECK(contains(about(run.output, "architectures"), "75 80")); // also without ptxas

  run = doctor(no_cache, "--ptxas /nowhere/ptxas");
  CHECK(run.code == 3);
  CHECK(contains(run.output, "fix: remove --ptxas"));

  TemporaryFolder files;
  std::string old =
      files.write("ptxas", "#!/bin/sh\necho 'Cuda compilation tools, release 11.8, V11.8.89'\n");
  std::filesystem::permissions(old, std::filesystem::perms::owner_all);
  run = doctor(no_cache + " TRITONC_PTXAS=" + old);
  CHECK(run.code == 3);
  CHECK(contains(run.output, "version 11.8.89 is too old"));
  CHECK(contains(run.output, "fix: unset TRITONC_PTXAS"));
}

TEST_CASE("tritonc doctor: missing fatbinary, with the fix") {
  ToolRun run = doctor(no_cache + " TRITONC_FATBINARY=/nowhere/fatbinary");
  CHECK(run.code == 3);
  CHECK(contains(about(run.output, "ptxas, fatbinary"),
                 "cannot use `/nowhere/fatbinary` as `fatbinary`: no such program"));
  CHECK(contains(about(run.output, "ptxas, fatbinary"), "fix: unset TRITONC_FATBINARY"));
  FakeTool ptxas("ptxas", "echo 'Cuda compilation tools, release 13.0, V13.0.88'"); // is fine
  run =
      doctor(no_cache + " TRITONC_PTXAS=" + ptxas.path() + " TRITONC_FATBINARY=/nowhere/fatbinary");
  CHECK(run.code == 3);
  CHECK(contains(about(run.output, "ptxas, fatbinary"), "fix: unset TRITONC_FATBINARY"));
  run = doctor(no_cache, "--fatbinary /nowhere/fatbinary");
  CHECK(run.code == 3);
  CHECK(contains(about(run.output, "ptxas, fatbinary"), "fix: remove --fatbinary"));
}

TEST_CASE("tritonc doctor: broken ptxas, with the fix") {
  struct {
    const char *script, *text;
  } cases[] = {
      {"echo 'fatal: no license'; exit 1", "failed for the question for its version: fatal: no l"},
      {"kill -SEGV $$", "a signal killed `ptxas` on the question for its version: Segmentation"},
      {"sleep 100", "`ptxas` timed out after 1 seconds on the question for its version"},
      {"echo hello", "its version is unknown: hello"},
      {"exit 0", "its version is unknown: it printed nothing"},
  };
  for (const auto &expected : cases) {
    CAPTURE(expected.script);
    FakeTool ptxas("ptxas", expected.script);
    ToolRun run = doctor(no_cache + " TRITONC_PTXAS=" + ptxas.path(), "--timeout 1");
    CAPTURE(run.output);
    CHECK(run.code == 3);
    CHECK(contains(about(run.output, "ptxas, fatbinary"), expected.text));
    CHECK(contains(about(run.output, "ptxas, fatbinary"), "fix: unset TRITONC_PTXAS"));
    run = doctor(no_cache, "--timeout 1 --ptxas " + ptxas.path());
    CHECK(run.code == 3);
    CHECK(contains(about(run.output, "ptxas, fatbinary"), "fix: remove --ptxas"));
  }
}

TEST_CASE("tritonc doctor: ptxas fails or lacks the newest GPUs") {
  TemporaryFolder files;
  std::string real = about(doctor(no_cache).output, "ptxas");
  real = real.substr(22, real.find(" (") - 22);
  std::string fake =
      files.write("ptxas", "#!/bin/sh\ncase $* in\n*--version*) exec " + real +
                               " --version;;\n*sm_1[0-9][0-9]*) echo \"ptxas fatal : Value "
                               "'sm_100' is not defined\"; exit 1;;\nesac\nexec " +
                               real + " \"$@\"\n");
  std::filesystem::permissions(fake, std::filesystem::perms::owner_all);
  ToolRun run = doctor(no_cache + " TRITONC_PTXAS=" + fake);
  CHECK(run.code == 0);
  CHECK(contains(about(run.output, "architectures"), "75 80"));
  CHECK_FALSE(contains(about(run.output, "architectures").substr(0, 60), "100"));
  CHECK(contains(about(run.output, "not compiled for"), "is not defined"));
  CHECK(contains(about(run.output, "not compiled for"), "fix: install a newer CUDA Toolkit"));

  files.write("ptxas", "#!/bin/sh\ncase $* in\n*--version*) exec " + real +
                           " --version;;\nesac\necho broken; exit 1\n");
  run = doctor(no_cache + " TRITONC_PTXAS=" + fake);
  CHECK(run.code == 3);
  CHECK(contains(about(run.output, "architectures"), "none"));
  CHECK(contains(run.output, "fix: use ptxas and fatbinary of one CUDA Toolkit"));
}

TEST_CASE("tritonc doctor: code 0 with an unusable cache") {
  ToolRun run = doctor("TRITONC_CACHE_DIR=/proc/none");
  CHECK(run.code == 0);
  CHECK(contains(about(run.output, "cache"), "cannot use the cache `/proc/none`"));
  CHECK(contains(about(run.output, "cache"), "fix: export TRITONC_CACHE_DIR=off"));
  CHECK(contains(about(doctor(no_cache).output, "cache"), "off"));
  run = doctor(no_cache, "--cache-limit lots");
  CHECK(contains(about(run.output, "cache"), "is not a size in bytes"));
}

TEST_CASE("tritonc doctor: full disk under the cache") {
  TemporaryFolder files;
  // Without ptxas, the cache is all that doctor writes to.
  const std::string command =
      "exec env TRITONC_PTXAS=/nowhere TRITONC_CACHE_DIR=" + files.path("cache") +
      " " TRITONC_TOOL " doctor";
  ToolRun run = run_shell("ulimit -f 0; " + command);
  CAPTURE(run.output);
  CHECK(contains(about(run.output, "cache"),
                 files.path("cache") + ": cannot read back a written entry"));
  CHECK(contains(about(run.output, "cache"), "fix: free some space, or export TRITONC_CACHE_DIR="));
  run = run_shell(command);
  CHECK_FALSE(contains(about(run.output, "cache"), "cannot read back"));
  CHECK_FALSE(contains(about(run.output, "cache"), "fix: "));
}

TEST_CASE("tritonc doctor: --launcher must run tritonc") {
  CHECK(contains(about(doctor(no_cache, "--launcher env").output, "launcher"), "/env"));
  ToolRun run = doctor(no_cache, "--launcher 'env;A=1'");
  CHECK(run.code == 0);
  run = doctor(no_cache, "--launcher no_such_program");
  CHECK(run.code == 3);
  CHECK(contains(about(run.output, "launcher"), "no program `no_such_program`"));
  CHECK(contains(about(run.output, "launcher"), "fix: cmake -U TritonC_LAUNCHER"));
  run = doctor(no_cache, "--launcher echo");
  CHECK(run.code == 3);
  CHECK(contains(about(run.output, "launcher"), "does not run tritonc"));

  TemporaryFolder files;
  std::string launcher = files.write("launcher", "#!/bin/sh\necho busy; echo later; exit 1\n");
  run = doctor(no_cache, "--launcher " + launcher); // not executable
  CHECK(run.code == 3);
  CHECK(contains(about(run.output, "launcher"), "no program `" + launcher + "`"));
  std::filesystem::permissions(launcher, std::filesystem::perms::owner_all);
  run = doctor(no_cache, "--launcher " + launcher);
  CHECK(run.code == 3);
  CHECK(contains(about(run.output, "launcher"),
                 launcher + " does not run tritonc: busy\n")); // its first line
  CHECK(contains(about(run.output, "launcher"), "fix: cmake -U TritonC_LAUNCHER, or set it to a"));
  files.write("launcher", "#!/bin/sh\nexec \"$@\"\n");
  run = doctor(no_cache, "--launcher " + launcher);
  CHECK(run.code == 0);
  CHECK(about(run.output, "launcher").rfind("launcher              " + launcher + "\n", 0) == 0);
}

TEST_CASE("tritonc doctor: missing, wrong or old driver is code 0") {
  ToolRun run = doctor(no_cache + " TRITONC_DRIVER=/nowhere/libcuda.so");
  CHECK(run.code == 0);
  CHECK(contains(about(run.output, "driver"), "cannot open `/nowhere/libcuda.so`"));
  CHECK(contains(about(run.output, "driver"), "fix: "));
  run = doctor(no_cache + " TRITONC_DRIVER=libc.so.6");
  CHECK(contains(about(run.output, "driver"), "libc.so.6 is not a CUDA driver"));
  CHECK(contains(about(run.output, "driver"), "fix: unset TRITONC_DRIVER"));
  const std::string emulator = "TRITONC_DRIVER=" TRITONC_EMULATOR_LIBRARY " TRITONC_EMULATOR=";
  run = doctor(no_cache + " " + emulator + "gpu=90a/80");
  CHECK(contains(about(run.output, "driver"), ", CUDA 12.4, devices: sm_90, sm_80"));
  run = doctor(no_cache + " " + emulator + "version=11080");
  CHECK(contains(about(run.output, "driver"), "CUDA 11.8, which is too old to run kernels"));
}

TEST_CASE("tritonc doctor: driver without a device is code 0, with the fix") {
  const std::string emulator =
      no_cache + " TRITONC_DRIVER=" TRITONC_EMULATOR_LIBRARY " TRITONC_EMULATOR=";
  ToolRun run = doctor(emulator + "fail=cuInit:*:100");
  CHECK(run.code == 0);
  CHECK(contains(about(run.output, "driver"), ", CUDA 12.4, no device (100)\n"));
  CHECK(contains(about(run.output, "driver"), "fix: run nvidia-smi for the reason; "));
  run = doctor(emulator + "fail=cuDeviceGetCount:*:3");
  CHECK(contains(about(run.output, "driver"), ", CUDA 12.4, no device (0)\n"));
  run = doctor(emulator + "fail=cuDriverGetVersion:*:999");
  CHECK(contains(about(run.output, "driver"), " is not a CUDA driver\n"));
  run = doctor(emulator + "gpu=80");
  CHECK(contains(about(run.output, "driver"), ", CUDA 12.4, devices: sm_80\n"));
  CHECK_FALSE(contains(about(run.output, "driver"), "fix: "));
}

TEST_CASE("tritonc doctor: libcuda.so.1 of the system, with the fix") {
  TemporaryFolder files;
  const std::string library = files.write("libcuda.so.1", "no library");
  auto driver = [&] {
    ToolRun run = doctor(no_cache + " LD_LIBRARY_PATH=" + files.path());
    CHECK(run.code == 0);
    return about(run.output, "driver").substr(22);
  };
  std::string found = driver();
  CHECK(contains(found, "not found (required to run kernels, not to compile)\n"));
  CHECK(contains(found, "fix: export TRITONC_DRIVER=" TRITONC_EMULATOR_LIBRARY
                        " to run kernels that you compile with EMULATE ON"));
  auto replace_by = [&](const char *other) {
    std::filesystem::remove(library);
    std::filesystem::create_symlink(other, library);
  };
  Dl_info libc;
  REQUIRE(dladdr(reinterpret_cast<void *>(&std::getenv), &libc) != 0);
  replace_by(libc.dli_fname);
  found = driver();
  CHECK(contains(found, "libcuda.so.1 is not a CUDA driver\n"));
  CHECK(contains(found, "fix: reinstall the NVIDIA driver"));
  replace_by(TRITONC_EMULATOR_LIBRARY);
  found = driver();
  CHECK(contains(found, "libcuda.so.1, CUDA 12.4, devices: sm_90\n"));
  CHECK_FALSE(contains(found, "fix: "));
}

TEST_CASE("tritonc doctor: a tool without emulator suggests none") {
  TemporaryFolder files;
  std::filesystem::create_directories(files.path("bin"));
  std::filesystem::create_directories(files.path("lib"));
  std::error_code error; // of a link to another file system
  std::filesystem::create_hard_link(TRITONC_TOOL, files.path("bin/tritonc"), error);
  if (error)
    std::filesystem::copy_file(TRITONC_TOOL, files.path("bin/tritonc"));
  auto driver = [&] {
    ToolRun run = run_shell("exec env " + no_cache + " TRITONC_DRIVER=/nowhere/libcuda.so " +
                            files.path("bin/tritonc") + " doctor");
    return about(run.output, "driver");
  };
  CHECK(contains(driver(), "fix: unset TRITONC_DRIVER"));
  std::string emulator = files.write("lib/libtritonc_emulator.so", "");
  CHECK(contains(driver(), "fix: export TRITONC_DRIVER=" + emulator + " to run"));
}

TEST_CASE("tritonc doctor: reports unknown TRITONC_ variables") {
  ToolRun run = doctor(no_cache + " TRITONC_CACHEDIR=/tmp");
  CHECK(run.code == 0);
  CHECK(contains(about(run.output, "TRITONC_CACHEDIR"), "unknown variable"));
  CHECK(contains(about(run.output, "TRITONC_CACHEDIR"),
                 "fix: unset TRITONC_CACHEDIR; known variables: "));
  CHECK(contains(about(run.output, "TRITONC_CACHE_DIR "), "off"));
  run = doctor(no_cache + " TRITONC_BUNDLE_PATH=/bundles"); // for programs with kernels
  CHECK(contains(about(run.output, "TRITONC_BUNDLE_PATH"), "/bundles"));
}
