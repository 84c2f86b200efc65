// Tests emit/report/manifest.cpp.

#include "emit/report/manifest.h"
#include "unit/emit/golden.h"
#include "unit/emit/sample_library.h"

#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/JSON.h"

#include <doctest/doctest.h>

#include <algorithm>

using namespace tritonc;

TEST_CASE("manifest: matches the golden file manifest.json") {
  test::check_expected("manifest.json", manifest(sample_library()));
}

TEST_CASE("manifest: has schedules and launches that are not default") {
  test::check_expected("schedules_manifest.json", manifest(schedules_library()));
  CHECK(manifest(sample_library()).find("\"launch\"") == std::string::npos);
}

TEST_CASE("manifest: has shared memory that depends on the arguments") {
  Library library = sample_library();
  library.kernels[0].variants[0].images[0].launch.shared_bytes = Expr::parameter(2);
  CHECK(manifest(library).find("\"shared_bytes\": \"M\"") != std::string::npos);
  CHECK(manifest(sample_library()).find("\"shared_bytes\": \"") == std::string::npos);
}

TEST_CASE("manifest: is independent of the compilation order") {
  Library library = sample_library();
  std::reverse(library.kernels[0].variants.begin(), library.kernels[0].variants.end());
  CHECK(manifest(library) == manifest(sample_library()));
}

TEST_CASE("manifest: has tuning data and their files") {
  CHECK(manifest(sample_library()).find("tuning") == std::string::npos);
  llvm::Expected<llvm::json::Value> value = llvm::json::parse(manifest(measured_library()));
  REQUIRE(bool(value));
  const llvm::json::Array &kernels = *value->getAsObject()->getArray("kernels");
  CHECK(llvm::formatv("{0}", *kernels[0].getAsObject()->get("tuning")).str() ==
        "[{\"arguments\":[\"M\",\"N\"],\"files\":[\"new.json\",\"old.json\"],"
        "\"gpu\":{\"arch\":90,\"name\":\"NVIDIA H200\",\"sms\":132},"
        "\"problems\":2,\"types\":\"TYPE=half A=N\",\"variants\":2},"
        "{\"arguments\":[\"M\",\"N\"],\"files\":[\"old.json\"],"
        "\"gpu\":{\"arch\":80,\"name\":\"another\",\"sms\":108},"
        "\"problems\":1,\"types\":\"TYPE=half A=N\",\"variants\":1}]");
  CHECK(kernels[1].getAsObject()->get("tuning") == nullptr);
}

TEST_CASE("manifest: escapes texts as valid JSON") {
  Library library = sample_library();
  library.source_file = "a \"quoted\"\n\\ name \xff.tc";
  library.kernels[0].variants[0].defines[0].value = "\"\\\x01</script>";
  llvm::Expected<llvm::json::Value> value = llvm::json::parse(manifest(library));
  REQUIRE(bool(value));
  CHECK(value->getAsObject()->getInteger("schema") == 2);
}

TEST_CASE("manifest: has size and hash of host code") {
  Library library = sample_library();
  CHECK(manifest(library).find("host_object") == std::string::npos);
  library.kernels[0].variants[0].images[0].host_symbol = "symbol";
  library.kernels[0].variants[0].images[0].host_object = "object";
  std::string text = manifest(library);
  CHECK(text.find("\"host_object_bytes\": 6") != std::string::npos);
  CHECK(text.find("\"host_object_sha256\": "
                  "\"2958d416d08aa5a472d7b509036cb7eafd542add84527e66a145ea64cb4cdc75\"") !=
        std::string::npos);
}

TEST_CASE("manifest: marks images with checks") {
  Library library = sample_library();
  CHECK(manifest(library).find("\"checks\"") == std::string::npos);
  library.kernels[0].variants[0].images[0].has_checks = true;
  CHECK(manifest(library).find("\"checks\": true") != std::string::npos);
}

TEST_CASE("manifest: images with equal bytes have equal hashes") {
  std::string text = manifest(sample_library());
  llvm::Expected<llvm::json::Value> value = llvm::json::parse(text);
  REQUIRE(bool(value));
  const llvm::json::Array &variants =
      *(*value->getAsObject()->getArray("kernels"))[0].getAsObject()->getArray("variants");
  auto hash = [&](size_t variant) {
    return (*variants[variant].getAsObject()->getArray("images"))[0].getAsObject()->getString(
        "image_sha256");
  };
  CHECK(hash(0) == hash(2)); // A = N and A = T on sm_80
  CHECK(hash(0) != hash(1));
  CHECK(hash(0)->size() == 64);
}
