// Tests generator/jobs/shard_file.cpp, and a library whose shards are compiled by separate calls.

#include "jobs/shard_file.h"

#include "compile.h"
#include "emit/report/manifest.h"
#include "support/scale_source.h"
#include "support/temporary_folder.h"
#include "unit/backend/fake_tool.h"

#include <doctest/doctest.h>

using namespace tritonc;

namespace {

StoredCode stored(const std::string &key) {
  StoredCode code;
  code.key = key;
  code.cubin.bytes = "cubin of " + key + std::string(1, '\0');
  code.cubin.resources = {.registers = 32, .spill_stores = 1, .spill_loads = 2, .stack_bytes = 3};
  code.cubin.resources.static_shared = 4;
  code.cubin.resources.advice = {"slow", "", "slower"};
  code.image = "image";
  return code;
}

// Compiles with a wrapper of ptxas that counts the assembled kernels.
struct CountedTools {
  TemporaryFolder files;
  FakeTool ptxas;

  CountedTools()
      : ptxas("ptxas", "case $* in *--version*) ;; *) echo x >>" + files.path("calls") +
                           ";; esac\nexec " + find_toolchain({})->ptxas + " \"$@\"") {}
  int calls() { return files.exists("calls") ? int(files.read("calls").size()) / 2 : 0; }
};

} // namespace

TEST_CASE("shard_file: reads back, same bytes in any order") {
  std::string bytes = shard_file({stored("b"), stored("a")});
  CHECK(bytes == shard_file({stored("a"), stored("b")}));
  TemporaryFolder files;
  Result<std::vector<StoredCode>> codes = read_shard_file(files.write("codes", bytes));
  REQUIRE(codes);
  REQUIRE(codes->size() == 2);
  const StoredCode &first = (*codes)[0];
  CHECK(first.key == "a");
  CHECK(first.cubin.bytes == stored("a").cubin.bytes);
  CHECK(first.cubin.resources.registers == 32);
  CHECK(first.cubin.resources.spill_stores == 1);
  CHECK(first.cubin.resources.spill_loads == 2);
  CHECK(first.cubin.resources.stack_bytes == 3);
  CHECK(first.cubin.resources.static_shared == 4);
  CHECK(first.cubin.resources.advice == std::vector<std::string>{"slow", "", "slower"});
  CHECK(first.image == "image");
  CHECK(first.ptx == "");
  CHECK(read_shard_file(files.write("empty", shard_file({})))->empty());
}

TEST_CASE("read_shard_file: rejects a damaged or missing file") {
  TemporaryFolder files;
  std::string bytes = shard_file({stored("a")});
  for (size_t size = 0; size < bytes.size(); size++)
    CHECK_FALSE(read_shard_file(files.write("codes", bytes.substr(0, size))));
  for (size_t i = 0; i < bytes.size(); i++) {
    std::string damaged = bytes;
    damaged[i] ^= 1;
    CHECK_FALSE(read_shard_file(files.write("codes", damaged)));
  }
  CHECK_FALSE(read_shard_file(files.write("codes", bytes + "x")));
  CHECK_FALSE(read_shard_file(files.path("none")));
}

TEST_CASE("compile: shards give the same library, compile code once") {
  CountedTools counted;
  CompileOptions options = {.sources = {counted.files.write("scale.tc", scale_source)},
                            .gpus = {find_gpu("80"), find_ptx("80")},
                            .name = "library"};
  options.tools.ptxas = counted.ptxas.path();
  CompileResult whole = compile(options);
  REQUIRE_MESSAGE(whole.code == ExitCode::ok, whole.diagnostics_text);
  int calls = counted.calls();
  CHECK(calls == 8);

  std::vector<std::string> files;
  size_t codes = 0;
  for (int shard = 0; shard < 3; shard++) {
    CompileOptions part = options;
    part.shard = shard;
    part.shards = 3;
    CompileResult result = compile(part);
    REQUIRE_MESSAGE(result.code == ExitCode::ok, result.diagnostics_text);
    codes += result.codes.size();
    files.push_back(
        counted.files.write("codes" + std::to_string(shard), shard_file(std::move(result.codes))));
  }
  CHECK(codes == 8);
  CHECK(counted.calls() == 2 * calls);

  CompileOptions last = options;
  last.code_files = files;
  CompileResult result = compile(last);
  REQUIRE_MESSAGE(result.code == ExitCode::ok, result.diagnostics_text);
  CHECK(counted.calls() == 2 * calls);
  CHECK(manifest(result.library) == manifest(whole.library));

  // The call does not use code from other options.
  last.tools.ptxas_options = {"-O2"};
  CHECK(compile(last).code == ExitCode::ok);
  CHECK(counted.calls() == 3 * calls);
  // The call compiles the code that the file lacks.
  last = options;
  last.code_files = {files[0]};
  result = compile(last);
  CHECK(manifest(result.library) == manifest(whole.library));
  CHECK(counted.calls() > 3 * calls);
  CHECK(counted.calls() <= 4 * calls);
}
