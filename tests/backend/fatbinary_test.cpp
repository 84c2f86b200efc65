// Tests backend/fatbinary.cpp.

#include "backend/fatbinary.h"

#include "backend/ptxas.h"
#include "fake_tool.h"

#include <doctest/doctest.h>

using namespace tritonc;

namespace {

const Toolchain &tools() {
  static Result<Toolchain> found = find_toolchain({});
  REQUIRE_MESSAGE(found, text(found.failure()));
  return *found;
}

const std::string &cubin() {
  static Result<Cubin> made = assemble(tools(),
                                       ".version 7.0\n.target sm_80\n.address_size 64\n"
                                       ".visible .entry k() { ret; }\n",
                                       "k", *find_gpu("80"));
  REQUIRE_MESSAGE(made, text(made.failure()));
  return made->bytes;
}

} // namespace

TEST_CASE("an image is smaller than the code and the same each time") {
  Result<std::string> image = compress(tools(), cubin(), *find_gpu("80"));
  REQUIRE_MESSAGE(image, text(image.failure()));
  CHECK(image->size() < cubin().size());
  CHECK(check_image(*image, cubin().size()) == "");
  Result<std::string> again = compress(tools(), cubin(), *find_gpu("80"));
  REQUIRE(again);
  CHECK(*again == *image);
}

TEST_CASE("every truncation of an image is noticed") {
  Result<std::string> image = compress(tools(), cubin(), *find_gpu("80"));
  REQUIRE(image);
  for (size_t size = 0; size < image->size(); size++) {
    CAPTURE(size);
    CHECK(check_image(image->substr(0, size), cubin().size()) != "");
  }
  CHECK(check_image(*image + "x", cubin().size()) != "");
  CHECK(check_image(*image, cubin().size() + 1) != "");
}

TEST_CASE("a fatbinary that lies or hangs") {
  struct {
    const char *script;
    Message message;
  } cases[] = {
      {"exit 0", Message::tool_bad_output},
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
    Result<std::string> image = compress(fakes, cubin(), *find_gpu("80"));
    REQUIRE_FALSE(image);
    CHECK(image.failure().id == expected.message);
  }
}
