// Tests emit/tables.cpp: tables without duplicates, and the requirements that the runtime checks.

#include "emit/tables.h"
#include "unit/emit/sample_library.h"

#include <doctest/doctest.h>

#include <cstring>
#include <map>
#include <set>

using namespace tritonc;

namespace {

struct Made {
  explicit Made(Library from) : library(std::move(from)), interface(*make_interface(library)) {}
  Library library;
  Interface interface;
};

} // namespace

TEST_CASE("make_tables: stores equal images, expressions and lists once") {
  Made made(sample_library());
  Result<Tables> tables = make_tables(made.interface);
  REQUIRE(tables);
  // 17 images, of which A = N and A = T share 4. The runtime loads a shared image once.
  CHECK(tables->state_count == 13);
  CHECK(tables->images.size() == 13);
  CHECK(std::set<std::string>(tables->images.begin(), tables->images.end()).size() == 13);
  // For each of 2 tiles: 2 grid expressions and 2 requirements. Plus lda % 8 == 0.
  CHECK(tables->code.size() == 9);
  CHECK(tables->parameters.size() == 2);
  CHECK(tables->requirements.size() == 3); // tile 64, tile 32, empty
  std::map<size_t, size_t> states;
  for (const KernelTable &kernel : tables->kernels)
    for (const VariantRow &variant : kernel.variants)
      for (const ImageRow &image : variant.images)
        CHECK(states.try_emplace(image.state, image.bytes).first->second == image.bytes);
  CHECK(states.size() == 13);
}

TEST_CASE("make_tables: instantiations with constants share no state") {
  Library library = sample_library();
  for (Variant &variant : library.kernels[0].variants)
    variant.constants = {{.name = "table", .element = "f32", .count = 4, .bytes = 16}};
  Made made(std::move(library));
  Result<Tables> tables = make_tables(made.interface);
  REQUIRE(tables);
  CHECK(tables->state_count == 17);
  CHECK(tables->images.size() == 13);
  CHECK(tables->constants.size() == 2); // one list for dot, one for scale
}

TEST_CASE("make_tables: separate state if equal code loads differently") {
  auto states = [](auto change) {
    Library library = sample_library();
    std::vector<Variant> &variants = library.kernels[0].variants;
    variants.resize(2);
    variants[1].images = variants[0].images;
    change(variants[1]);
    Made made(std::move(library));
    size_t others = 0; // images of the other kernel
    for (const Variant &variant : made.library.kernels[1].variants)
      others += variant.images.size();
    return make_tables(made.interface)->state_count - others;
  };
  size_t all = sample_library().kernels[0].variants[0].images.size();
  CHECK(states([](Variant &) {}) == all);
  CHECK(states([](Variant &other) { other.entry = "other"; }) == 2 * all);
  CHECK(states([](Variant &other) { other.constants = {Constant()}; }) == 2 * all);
  CHECK(states([](Variant &other) { other.images[0].shared_bytes++; }) == all + 1);
  CHECK(states([](Variant &other) { other.images[0].host_symbol = "host"; }) == all + 1);
}

TEST_CASE("make_tables: __multipleof becomes a requirement") {
  Library library = sample_library();
  // The source has the same requirement, so the runtime checks it once.
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

TEST_CASE("make_tables: lists choices and GPUs of each kernel") {
  Made made(sample_library());
  Result<Tables> tables = make_tables(made.interface);
  REQUIRE(tables);
  CHECK(tables->kernels.size() == 5);
  CHECK(tables->kernels[0].choices == std::vector<int32_t>{64, 32});
  CHECK(tables->kernels[0].gpus == "sm_80, sm_90a");
  CHECK(tables->kernels[4].choices.empty());
  CHECK(tables->kernels[4].gpus == "sm_80");
}

TEST_CASE("make_tables: lists the GPUs of all variants") {
  Library library = sample_library();
  std::vector<Variant> &variants = library.kernels[0].variants;
  for (Variant &variant : variants) { // only sm_90a for TM = 64, only sm_80 for TM = 32
    bool is_large = variant.values[2] == 0;
    std::erase_if(variant.images,
                  [&](const Image &image) { return (image.gpu == "sm_80") == is_large; });
  }
  Made made(library);
  Result<Tables> tables = make_tables(made.interface);
  REQUIRE(tables);
  CHECK(tables->kernels[0].variants[0].images.size() == 1);
  CHECK(tables->kernels[0].gpus == "sm_90a, sm_80");
}

TEST_CASE("make_tables: argument_bytes is 0 if the struct has gaps") {
  auto filled = [](const std::vector<Parameter> &parameters) {
    Library library = sample_library();
    library.kernels.resize(1);
    for (Variant &variant : library.kernels[0].variants) {
      variant.parameters = parameters;
      variant.plan = {};
    }
    Made made(library);
    Result<Tables> tables = make_tables(made.interface);
    REQUIRE(tables);
    for (const KernelTable &kernel : tables->kernels)
      CHECK(kernel.argument_bytes == tables->kernels[0].argument_bytes);
    return tables->kernels[0].argument_bytes;
  };
  Parameter pointer = {.name = "p", .element = "f16", .is_pointer = true};
  Parameter n = {.name = "n", .element = "i32"}, flag = {.name = "flag", .element = "i8"};
  CHECK(filled({pointer, pointer, n}) == 20); // padding at the end is not a gap
  CHECK(filled({pointer, n, n}) == 16);
  CHECK(filled({n, flag}) == 5);
  CHECK(filled({n, pointer}) == 0);
  CHECK(filled({pointer, flag, n}) == 0);
}

TEST_CASE("make_tables: stores equal launches once, no baseline launch") {
  Library library = schedules_library();
  std::vector<Image> &images = library.kernels[0].variants[0].images;
  Image again = images[1]; // the same schedule with other code
  again.bytes = "again$";
  images.push_back(again);
  Made made(library);
  Result<Tables> tables = make_tables(made.interface);
  REQUIRE(tables);
  CHECK(tables->kernels[0].gpus == "sm_80, sm_90a");
  CHECK(tables->launches.size() == 2);
  CHECK(tables->maps.size() == 2);
  CHECK(tables->hidden.size() == 2); // one list is empty
  const std::vector<ImageRow> &rows = tables->kernels[0].variants[0].images;
  REQUIRE(rows.size() == 5);
  CHECK_FALSE(rows[0].launch);
  CHECK(rows[1].launch);
  CHECK(rows[2].launch);
  CHECK_FALSE(rows[3].launch);
  CHECK(rows[4].launch == rows[1].launch);
  CHECK(tables->launches[*rows[2].launch].cost);
  CHECK_FALSE(Made(sample_library()).interface.kernels.empty());
  CHECK(make_tables(Made(sample_library()).interface)->launches.empty());
}

TEST_CASE("make_tables: tensor maps have the driver's enum values") {
  Library library = schedules_library();
  TensorMap &map = *library.kernels[0].variants[0].images[1].launch.hidden[0].map;
  auto row = [&] {
    Made made(library);
    const Tables tables = *make_tables(made.interface);
    return tables.maps[0];
  };
  struct {
    ir::Elem elem;
    bool to_tf32;
    int data_type, bytes;
  } elements[] = {
      {ir::Elem::i1, false, 0, 1},   {ir::Elem::i8, false, 0, 1},   {ir::Elem::e4m3, false, 0, 1},
      {ir::Elem::e5m2, false, 0, 1}, {ir::Elem::i16, false, 1, 2},  {ir::Elem::i32, false, 3, 4},
      {ir::Elem::i64, false, 5, 8},  {ir::Elem::f16, false, 6, 2},  {ir::Elem::f32, false, 7, 4},
      {ir::Elem::f64, false, 8, 8},  {ir::Elem::bf16, false, 9, 2}, {ir::Elem::f32, true, 11, 4},
  };
  for (auto &element : elements) {
    CAPTURE(ir::name_of(element.elem));
    map.elem = element.elem;
    map.to_tf32 = element.to_tf32;
    CHECK(row().data_type == element.data_type);
    CHECK(row().element_bytes == element.bytes);
  }
  const int swizzles[] = {0, 32, 64, 128};
  for (int i = 0; i < 4; i++) {
    map.swizzle_bytes = swizzles[i];
    CHECK(row().swizzle == i);
  }
}

TEST_CASE("sealed: header has length and checksum") {
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

TEST_CASE("abi::checksum: depends on every bit, length and order") {
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

TEST_CASE("make_tables: rejects an expression that is too deep") {
  Library library = sample_library();
  Expr deep = Expr::parameter(2);
  for (int i = 0; i < 40; i++)
    deep = Expr::binary(Expr::Kind::add, Expr::constant(1), std::move(deep));
  library.kernels[0].variants[0].plan.grid[0] = deep;
  Made made(library);
  Result<Tables> tables = make_tables(made.interface);
  REQUIRE_FALSE(tables);
  CHECK(tables.error().id == Message::plan_too_deep);
  CHECK(tables.error().args[0] == "dot");
  Library schedules = schedules_library();
  schedules.kernels[0].variants[0].images[1].launch.hidden[0].map->sizes[0] = deep;
  Made of_schedule(schedules);
  REQUIRE_FALSE(make_tables(of_schedule.interface));
}
