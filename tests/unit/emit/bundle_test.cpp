// Tests emit/object/bundle.cpp, and objects whose images are in a bundle.

#include "emit/object/bundle.h"

#include "emit/object/object.h"
#include "emit/object/read_library.h"
#include "emit/report/manifest.h"
#include "emit/report/report.h"
#include "emit/tables.h"
#include "support/contains.h"
#include "unit/emit/host_compiler.h"
#include "unit/emit/sample_library.h"

#include <tritonc/descriptor.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <cstring>
#include <fstream>
#include <set>

using namespace tritonc;

namespace {

struct Bundled {
  explicit Bundled(Library what, const std::string &triple = "")
      : library(std::move(what)), interface(*make_interface(library)),
        tables(*make_tables(interface)), bundle(make_bundle(tables, "gemm.tcb")) {
    Result<std::string> bytes = object_file(tables, triple, &bundle);
    REQUIRE(bytes);
    object = *bytes;
  }

  /// The object's images, read from the bundle `bytes`. An image that is not there has a `problem`.
  std::vector<ImageContents> images(const std::string &bytes) const {
    Result<std::vector<KernelContents>> kernels = read_object("gemm.o", object);
    REQUIRE(kernels);
    std::vector<ImageContents> images;
    for (KernelContents &kernel : *kernels)
      for (VariantContents &variant : kernel.variants)
        for (ImageContents &image : variant.images) {
          CHECK(image.bundle == "gemm.tcb");
          CHECK(image.sealed == "");
          take_from_bundle(image, bytes);
          images.push_back(image);
        }
    return images;
  }

  Library library;
  Interface interface;
  Tables tables;
  Bundle bundle;
  std::string object;
};

} // namespace

TEST_CASE("make_bundle: holds each image once, aligned to 64 bytes") {
  Bundled made(sample_library());
  CHECK(is_bundle(made.bundle.bytes));
  CHECK(check_bundle(made.bundle.bytes) == "");
  CHECK(images_of_bundle(made.bundle.bytes) == made.tables.images);
  CHECK(find_images(made.bundle.bytes) == made.tables.images);
  CHECK(find_images(made.object).empty());
  for (uint64_t offset : made.bundle.offsets)
    CHECK(offset % 64 == 0);
  CHECK(Bundled(sample_library()).bundle.bytes == made.bundle.bytes);
  CHECK(Bundled(sample_library()).object == made.object);
  // Without a bundle, the object has all images.
  CHECK(find_images(*object_file(made.tables, "")).size() == made.tables.images.size());
}

TEST_CASE("take_from_bundle: finds the images of objects for every host") {
  for (const char *triple : {"", "x86_64-linux-gnu", "aarch64-linux-gnu"}) {
    CAPTURE(triple);
    Bundled made(schedules_library(), triple);
    std::set<std::string> found;
    for (const ImageContents &image : made.images(made.bundle.bytes)) {
      CHECK(image.problem == "");
      found.insert(image.sealed);
    }
    CHECK(found == std::set<std::string>(made.tables.images.begin(), made.tables.images.end()));
  }
}

TEST_CASE("take_from_bundle: finds the images of a linked program") {
  test::GeneratedFiles files(sample_library());
  Bundled made(sample_library());
  std::ofstream(files.path("bundled.o"), std::ios::binary) << made.object;
  const char *program = "#include <gemm.hpp>\n"
                        "int main() { return int(gemm::scale::info().size()); }";
  test::Outcome outcome =
      files.compile("object", program,
                    "-std=c++17 " + files.path("bundled.o") +
                        " " TRITONC_RUNTIME_LIBRARY " -ldl -o " + files.path("program"));
  REQUIRE_MESSAGE(outcome.status == 0, outcome.output);
  std::ifstream file(files.path("program"), std::ios::binary);
  made.object = std::string((std::istreambuf_iterator<char>(file)), {});
  std::vector<ImageContents> images = made.images(made.bundle.bytes);
  CHECK(images.size() > 0);
  for (const ImageContents &image : images)
    CHECK(image.problem == "");
}

TEST_CASE("take_from_bundle: rejects short bundles and other builds") {
  Bundled made(sample_library());
  Library other = sample_library();
  other.kernels[0].variants[0].images[0].bytes += "x";
  for (const ImageContents &image : made.images(Bundled(other).bundle.bytes)) {
    CHECK(image.problem == "it is in gemm.tcb, which is from another build");
    CHECK(image.sealed == "");
  }
  for (const ImageContents &image : made.images(made.bundle.bytes.substr(0, 64)))
    CHECK(image.problem == "it is after the end of gemm.tcb");
  for (const ImageContents &image : made.images(""))
    CHECK(image.problem != "");
}

TEST_CASE("check_bundle: detects every truncation and every flipped bit") {
  std::string whole = Bundled(sample_library()).bundle.bytes;
  for (size_t length = 0; length < whole.size(); length++) {
    CAPTURE(length);
    CHECK(check_bundle(whole.substr(0, length)) != "");
  }
  CHECK(check_bundle(whole + "x") != "");
  for (size_t bit = 0; bit < whole.size() * 8; bit++) {
    CAPTURE(bit);
    std::string flipped = whole;
    flipped[bit / 8] = char(flipped[bit / 8] ^ (1 << bit % 8));
    CHECK(check_bundle(flipped) != "");
  }
}

TEST_CASE("manifest, report: name the bundle") {
  Bundled made(sample_library());
  std::string json = manifest(sample_library(), &made.bundle);
  CHECK(contains(json, "\"bundle\": {"));
  CHECK(contains(json, "\"file\": \"gemm.tcb\""));
  CHECK(contains(json, "\"sha256\": \"" + sha256(made.bundle.bytes) + "\""));
  CHECK_FALSE(contains(manifest(sample_library()), "bundle"));
  CHECK(contains(report(sample_library(), &made.bundle),
                 "gemm.tcb has " + std::to_string(made.tables.images.size()) + " images, "));
  CHECK_FALSE(contains(report(sample_library()), "gemm.tcb"));
}
