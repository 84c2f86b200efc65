// Tests backend/fatbinary.cpp.

#include "backend/fatbinary.h"

#include "backend/ptxas.h"
#include "fake_tool.h"

#include <doctest/doctest.h>

using namespace tritonc;

namespace {

const Toolchain &tools() {
  static Result<Toolchain> found = find_toolchain({});
  REQUIRE_MESSAGE(found, text(found.error()));
  return *found;
}

const char *empty_kernel = ".version 7.0\n.target sm_75\n.address_size 64\n"
                           ".visible .entry k() { ret; }\n";

Result<std::string> compressed(const Toolchain &with, const std::string &code, const Gpu &gpu) {
  Result<std::vector<std::string>> images = compress(with, {&code}, gpu);
  if (!images)
    return images.error();
  REQUIRE(images->size() == 1);
  return images->front();
}

const std::string &cubin() {
  static Result<Cubin> made = assemble(tools(), empty_kernel, "k", *find_gpu("80"));
  REQUIRE_MESSAGE(made, text(made.error()));
  return made->bytes;
}

} // namespace

TEST_CASE("compress: image is smaller and reproducible, for every GPU") {
  for (const Gpu &gpu : all_gpus()) {
    CAPTURE(gpu.name);
    Result<Cubin> code = assemble(tools(), empty_kernel, "k", gpu);
    REQUIRE_MESSAGE(code, text(code.error()));
    Result<std::string> image = compressed(tools(), code->bytes, gpu);
    REQUIRE_MESSAGE(image, text(image.error()));
    CHECK(image->size() < code->bytes.size());
    CHECK(check_image(*image, code->bytes.size()) == "");
    Result<std::string> again = compressed(tools(), code->bytes, gpu);
    REQUIRE(again);
    CHECK(*again == *image);
  }
}

TEST_CASE("compress: every mode keeps the code, `none` byte for byte") {
  for (const char *mode : {"none", "speed", "balance", "size"}) {
    CAPTURE(mode);
    Toolchain packing = tools();
    packing.compression = mode;
    Result<std::string> image = compressed(packing, cubin(), *find_gpu("80"));
    REQUIRE_MESSAGE(image, text(image.error()));
    CHECK(check_image(*image, cubin().size()) == "");
    CHECK(check_image(*image, cubin().size() + 1) != "");
    std::string unpacked, problem;
    CHECK(unpack(*image, unpacked, problem));
    CHECK(unpacked == cubin());
    bool is_plain = image->find(cubin()) != std::string::npos;
    CHECK(is_plain == (std::string(mode) == "none"));
  }
}

TEST_CASE("compress: packs PTX in every mode, without comments") {
  const std::string ptx = std::string("// not this\n") + empty_kernel;
  for (const char *mode : {"none", "speed", "balance", "size"}) {
    CAPTURE(mode);
    Toolchain packing = tools();
    packing.compression = mode;
    Result<std::string> image = compressed(packing, ptx, *find_ptx("80"));
    REQUIRE_MESSAGE(image, text(image.error()));
    CHECK(holds_ptx(*image));
    std::string unpacked, problem;
    CHECK(unpack(*image, unpacked, problem));
    CHECK(problem == "");
    CHECK(unpacked.find(".visible .entry k() { ret; }") != unpacked.npos);
    CHECK(unpacked.find("not this") == unpacked.npos);
    CHECK(unpacked.back() == '\n');
    CHECK(check_image(*image, unpacked.size()) == "");
    CHECK(check_image(*image, unpacked.size() - 8) != "");
    CHECK(check_image(*image, unpacked.size() + 8) != "");
    for (size_t size = 0; size < image->size(); size++)
      CHECK_FALSE(unpack(image->substr(0, size), unpacked, problem));
    Result<std::string> again = compressed(packing, ptx, *find_ptx("80"));
    REQUIRE(again);
    CHECK(*again == *image);
  }
  Result<std::string> code = compressed(tools(), cubin(), *find_gpu("80"));
  REQUIRE(code);
  CHECK_FALSE(holds_ptx(*code));
  CHECK_FALSE(holds_ptx(""));
}

TEST_CASE("compress: batch of PTX equals single calls") {
  std::string other = std::string(empty_kernel) + ".visible .entry other() { ret; }\n";
  std::string one = empty_kernel;
  Result<std::vector<std::string>> images =
      compress(tools(), {&one, &other, &one}, *find_ptx("80"));
  REQUIRE_MESSAGE(images, text(images.error()));
  REQUIRE(images->size() == 3);
  CHECK((*images)[0] == *compressed(tools(), one, *find_ptx("80")));
  CHECK((*images)[1] == *compressed(tools(), other, *find_ptx("80")));
  CHECK((*images)[2] == (*images)[0]);
}

TEST_CASE("compress: detects a fatbinary that packs other PTX") {
  std::string real = tools().fatbinary;
  FakeTool fake("fatbinary", "for a; do case $a in *file=*) echo '.version 7.0' "
                             ">\"${a##*file=}\";; esac; done; exec " +
                                 real + " \"$@\"");
  Toolchain fakes = {"", fake.path(), "", std::chrono::seconds(10)};
  Result<std::string> image = compressed(fakes, empty_kernel, *find_ptx("80"));
  REQUIRE_FALSE(image);
  CHECK(image.error().id == Message::tool_bad_output);
}

TEST_CASE("compress: batch of cubins equals single calls") {
  const char *other_kernel = ".version 7.0\n.target sm_75\n.address_size 64\n"
                             ".visible .entry k(.param .u64 p) { .reg .u64 %p; .reg .u32 %t;\n"
                             "ld.param.u64 %p, [p]; mov.u32 %t, %tid.x;\n"
                             "st.global.u32 [%p], %t; ret; }\n";
  for (const char *name : {"80", "100a"}) { // their image headers differ in length
    CAPTURE(name);
    const Gpu &gpu = *find_gpu(name);
    Result<Cubin> first = assemble(tools(), empty_kernel, "k", gpu),
                  second = assemble(tools(), other_kernel, "k", gpu);
    REQUIRE(first);
    REQUIRE(second);
    Result<std::vector<std::string>> images =
        compress(tools(), {&first->bytes, &second->bytes, &first->bytes}, gpu);
    REQUIRE_MESSAGE(images, text(images.error()));
    REQUIRE(images->size() == 3);
    CHECK((*images)[0] == *compressed(tools(), first->bytes, gpu));
    CHECK((*images)[1] == *compressed(tools(), second->bytes, gpu));
    CHECK((*images)[2] == (*images)[0]);
    CHECK((*images)[1] != (*images)[0]);
  }
}

TEST_CASE("check_image: detects every truncation") {
  Result<std::string> image = compressed(tools(), cubin(), *find_gpu("80"));
  REQUIRE(image);
  for (size_t size = 0; size < image->size(); size++) {
    CAPTURE(size);
    CHECK(check_image(image->substr(0, size), cubin().size()) != "");
  }
  CHECK(check_image(*image + "x", cubin().size()) != "");
  CHECK(check_image(*image, cubin().size() + 1) != "");
}

TEST_CASE("compress: reports a fatbinary that fails or hangs") {
  struct {
    const char *script;
    Message message;
  } cases[] = {
      {"exit 0", Message::tool_bad_output},
      {"for a; do case $a in --create=*) printf '\\120\\355\\125\\272\\001\\000\\020\\000' "
       ">\"${a#--create=}\""
       "; head -c 4096 /dev/zero >>\"${a#--create=}\";; esac; done",
       Message::tool_bad_output},
      {"for a; do case $a in --create=*) : >\"${a#--create=}\";; esac; done",
       Message::tool_bad_output},
      {"echo 'fatbinary fatal: no'; exit 1", Message::tool_failed},
      {"sleep 60", Message::tool_timed_out},
      {"kill -SEGV $$", Message::tool_crashed},
  };
  for (const auto &expected : cases) {
    CAPTURE(expected.script);
    FakeTool fake("fatbinary", expected.script);
    Toolchain fakes = {"", fake.path(), "", std::chrono::seconds(1)};
    Result<std::string> image = compressed(fakes, cubin(), *find_gpu("80"));
    REQUIRE_FALSE(image);
    CHECK(image.error().id == expected.message);
  }
}

TEST_CASE("unpack: returns the code, for every GPU") {
  for (const Gpu &gpu : all_gpus()) {
    CAPTURE(gpu.name);
    Result<Cubin> code = assemble(tools(), empty_kernel, "k", gpu);
    REQUIRE(code);
    Result<std::string> image = compressed(tools(), code->bytes, gpu);
    REQUIRE(image);
    std::string unpacked, problem;
    CHECK(unpack(*image, unpacked, problem));
    CHECK(problem == "");
    CHECK((unpacked == code->bytes));
  }
}

TEST_CASE("unpack: damaged image fails or returns data") {
  Toolchain packing = tools();
  SUBCASE("as usual") {}
  SUBCASE("in haste") { packing.compression = "speed"; }
  Result<std::string> image = compressed(packing, cubin(), *find_gpu("80"));
  REQUIRE(image);
  std::string unpacked, problem;
  for (size_t size = 0; size < image->size(); size++) {
    CHECK_FALSE(unpack(image->substr(0, size), unpacked, problem));
    CHECK(problem != "");
  }
  int failed = 0;
  for (size_t byte = 0; byte < image->size(); byte++) {
    std::string damaged = *image;
    damaged[byte] = char(~damaged[byte]);
    failed += !unpack(damaged, unpacked, problem);
  }
  CHECK(failed > 50);
}
