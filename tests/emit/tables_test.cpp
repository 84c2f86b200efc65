// Tests emit/tables.cpp: each distinct entry once, and what the runtime will check.

#include "emit/sample_library.h"
#include "emit/tables.h"

#include <doctest/doctest.h>

#include <cstring>
#include <set>

using namespace tritonc;

namespace {

struct Made {
  explicit Made(Library from) : library(std::move(from)), interface(*make_interface(library)) {}
  Library library;
  Interface interface;
};

} // namespace

TEST_CASE("equal images, expressions and lists are stored once") {
  Made made(sample_library());
  Result<Tables> tables = make_tables(made.interface);
  REQUIRE(tables);
  // Of 17 images four are shared between A = N and A = T.
  CHECK(tables->state_count == 17);
  CHECK(tables->images.size() == 13);
  CHECK(std::set<std::string>(tables->images.begin(), tables->images.end()).size() == 13);
  // Two grids, two requirements each for two tiles, and the multiple of 8.
  CHECK(tables->code.size() == 9);
  CHECK(tables->parameters.size() == 2);
  CHECK(tables->requirements.size() == 3); // two tiles, none
  // But each image has a state: the entry, and so the loaded kernel, may differ.
  std::set<size_t> states;
  for (const KernelTable &kernel : tables->kernels)
    for (const VariantRow &variant : kernel.variants)
      for (const ImageRow &image : variant.images)
        states.insert(image.state);
  CHECK(states.size() == 17);
}

TEST_CASE("__multipleof is a requirement, named like one that the source could state") {
  Library library = sample_library();
  // The source says it again: it is checked once.
  Variant &first = library.kernels[0].variants[0];
  Expr remainder = Expr::binary(Expr::Kind::rem, Expr::parameter(4), Expr::constant(8));
  first.plan.requirements.push_back(
      {Expr::binary(Expr::Kind::eq, remainder, Expr::constant(0)), "lda % 8 == 0"});
  Made made(library);
  Result<Tables> tables = make_tables(made.interface);
  REQUIRE(tables);
  const VariantRow &row = tables->kernels[0].variants[0];
  std::vector<std::string> texts;
  for (const RequirementRow &requirement : tables->requirements[row.requirements])
    texts.push_back(requirement.text);
  CHECK(texts == std::vector<std::string>{"lda % 8 == 0", "M % 64 == 0", "N % 64 == 0"});
}

TEST_CASE("choices and GPUs") {
  Made made(sample_library());
  Result<Tables> tables = make_tables(made.interface);
  REQUIRE(tables);
  CHECK(tables->kernels.size() == 5);
  CHECK(tables->kernels[0].choices == std::vector<int32_t>{64, 32});
  CHECK(tables->kernels[0].gpus == "sm_80, sm_90a");
  CHECK(tables->kernels[4].choices.empty());
  CHECK(tables->kernels[4].gpus == "sm_80");
}

TEST_CASE("a sealed image announces its length and checksum") {
  std::string image = sealed("some code");
  abi::image_header header;
  REQUIRE(image.size() == sizeof header + 9);
  std::memcpy(&header, image.data(), sizeof header);
  CHECK(std::memcmp(header.magic, abi::image_magic, 8) == 0);
  CHECK(header.version == abi::image_version);
  CHECK(header.length == 9);
  CHECK(header.checksum == abi::checksum("some code", 9));
  CHECK(image.substr(sizeof header) == "some code");
}

TEST_CASE("the checksum sees every bit, the length and the order") {
  std::string bytes(41, 'x');
  std::set<uint64_t> sums = {abi::checksum(bytes.data(), bytes.size())};
  for (size_t bit = 0; bit < bytes.size() * 8; bit++) {
    std::string flipped = bytes;
    flipped[bit / 8] = char(flipped[bit / 8] ^ (1 << bit % 8));
    sums.insert(abi::checksum(flipped.data(), flipped.size()));
  }
  for (size_t length = 0; length < bytes.size(); length++)
    sums.insert(abi::checksum(bytes.data(), length));
  CHECK(sums.size() == 1 + 41 * 8 + 41);
  CHECK(abi::checksum("aaaaaaaabbbbbbbb", 16) != abi::checksum("bbbbbbbbaaaaaaaa", 16));
}

TEST_CASE("an expression that is too deep is an error with its text") {
  Library library = sample_library();
  Expr deep = Expr::parameter(2);
  for (int i = 0; i < 40; i++)
    deep = Expr::binary(Expr::Kind::add, Expr::constant(1), std::move(deep));
  library.kernels[0].variants[0].plan.grid[0] = deep;
  Made made(library);
  Result<Tables> tables = make_tables(made.interface);
  REQUIRE_FALSE(tables);
  CHECK(tables.failure().id == Message::plan_too_deep);
  CHECK(tables.failure().args[0] == "dot");
}
