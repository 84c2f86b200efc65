// Tests generator/jobs/limits.cpp: limits on compiled kernels (--require).

#include "jobs/limits.h"

#include "compile.h"
#include "support/scale_source.h"
#include "support/temporary_folder.h"

#include <doctest/doctest.h>

using namespace tritonc;

namespace {

// A library with one kernel in one variant for one GPU.
Library library_of(const Image &image) {
  Library library;
  KernelEntry kernel = {"scale", {{"SIZE", true, {{"128", {}}}}}, {}};
  Variant variant;
  variant.values = {0};
  variant.images = {image};
  kernel.variants = {variant};
  library.kernels = {kernel};
  return library;
}

Image image() {
  Image image;
  image.gpu = "sm_80";
  image.bytes = std::string(900, 'x');
  image.threads = 128;
  image.shared_bytes = 100000;
  image.static_shared = 2400;
  image.registers = 168;
  image.spill_stores = 8;
  image.spill_loads = 16;
  image.stack_bytes = 32;
  image.cubin_bytes = 5000;
  return image;
}

// Empty if the image meets the limit, else the message.
std::string said(const std::string &text) {
  Result<Limit> limit = parse_limit(text);
  REQUIRE(limit);
  std::vector<Error> failures = unmet(library_of(image()), {*limit});
  return failures.empty() ? "" : tritonc::text(failures[0]);
}

} // namespace

TEST_CASE("unmet: returns nothing for a limit that is met") {
  for (const char *text :
       {"spills == 24", "spills<=24", "spills < 25", "spills >= 24", "spills > 23", "spills != 0",
        "regs <= 168", " regs<=1k ", "shared <= 100k", "shared == 102400", "stack == 32",
        "threads == 128", "cubin <= 5k", "embedded < 1k"}) {
    CAPTURE(text);
    CHECK(said(text) == "");
  }
}

TEST_CASE("unmet: names kernel, measured value and fix") {
  CHECK(said("spills == 0") ==
        "error: `scale` for sm_80, SIZE=128: spills is 24 (bytes), but `spills == 0` is required; "
        "use smaller tiles, or exclude variants with --where");
  for (const char *text :
       {"spills != 24", "spills < 24", "spills > 24", "spills <= 23", "spills >= 25", "regs <= 167",
        "shared <= 99k", "stack < 32", "threads != 128", "cubin < 5000", "embedded <= 899"}) {
    CAPTURE(text);
    CHECK(said(text) != "");
  }
  Image schedule = image();
  schedule.launch.schedule = {.kind = Schedule::Kind::multistage, .tile = {128, 128, 64}};
  std::vector<Error> failures = unmet(library_of(schedule), {*parse_limit("regs < 5")});
  REQUIRE(failures.size() == 1);
  CHECK(text(failures[0])
            .find("`scale` for sm_80, schedule 128x128x64 multistage, SIZE=128: regs is 168") !=
        std::string::npos);
}

TEST_CASE("unmet: total counts each distinct image once") {
  Library library = library_of(image());
  library.name = "scales";
  library.kernels[0].variants[0].images.push_back(image()); // the same code
  CHECK(unmet(library, {*parse_limit("total <= 900")}).empty());
  library.kernels[0].variants[0].images[0].bytes += "y";
  std::vector<Error> failures = unmet(library, {*parse_limit("total <= 1k")});
  REQUIRE(failures.size() == 1);
  CHECK(text(failures[0])
            .find("library `scales`: total is 1801 (bytes of all images), but "
                  "`total <= 1k` is required") != std::string::npos);
  CHECK(unmet(library, {*parse_limit("total <= 2k")}).empty());
}

TEST_CASE("unmet: one message per violated limit and image") {
  Library library = library_of(image());
  library.kernels[0].variants[0].images.push_back(image());
  CHECK(unmet(library, {*parse_limit("spills == 0"), *parse_limit("regs < 100"),
                        *parse_limit("threads == 128")})
            .size() == 4);
  CHECK(unmet(library, {}).empty());
}

TEST_CASE("parse_limit: rejects a malformed limit") {
  for (const char *text :
       {"", "spills", "spills ==", "spills = 0", "spill == 0", "== 0", "regs <= x", "regs <= 1m",
        "regs <= -1", "regs <= 1 2", "regs => 1", "regs <= k"}) {
    CAPTURE(text);
    Result<Limit> limit = parse_limit(text);
    REQUIRE_FALSE(limit);
    CHECK(tritonc::text(limit.error()).find("quantities: spills, regs, shared") !=
          std::string::npos);
  }
}

TEST_CASE("compile: returns ExitCode::gate if a limit is violated") {
  TemporaryFolder files;
  std::string path = files.write("scale.tc", scale_source);
  CompileOptions options = {.sources = {path},
                            .variants = "TYPE=half",
                            .require = {"spills == 0", "regs >= 1"},
                            .gpus = {find_gpu("80")}};
  CHECK(compile(options).code == ExitCode::ok);
  options.require = {"spills == 0", "threads < 1"};
  CompileResult result = compile(options);
  CHECK(result.code == ExitCode::gate);
  CHECK(result.diagnostics_text.find("`scale` for sm_80, TYPE=half SIZE=256: threads is ") !=
        std::string::npos);
  options.require = {"threads"};
  CHECK(compile(options).code == ExitCode::usage);
}
