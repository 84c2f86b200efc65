// Tests source_copy.cpp.

#include "mutate/source_copy.h"
#include "support/temporary_folder.h"

#include <doctest/doctest.h>

namespace fs = std::filesystem;
using namespace tritonc::mutate;

TEST_CASE("update_copy: copies files and permissions, not the build") {
  tritonc::TemporaryFolder root, copy;
  root.write("a/x.cpp", "x");
  root.write("build/y.o", "y");
  root.write("a/build/z", "z");
  fs::permissions(root.path("a/x.cpp"), fs::perms::owner_all);
  CHECK(update_copy(root.path(), copy.path()) == 2);
  CHECK(copy.read("a/x.cpp") == "x");
  CHECK(copy.read("a/build/z") == "z");
  CHECK(fs::status(copy.path("a/x.cpp")).permissions() == fs::perms::owner_all);
  CHECK(!copy.exists("build"));
}

TEST_CASE("update_copy: keeps files with the same contents") {
  tritonc::TemporaryFolder root, copy;
  root.write("x.cpp", "x");
  update_copy(root.path(), copy.path());
  auto time = fs::last_write_time(copy.path("x.cpp"));
  CHECK(update_copy(root.path(), copy.path()) == 0);
  CHECK(fs::last_write_time(copy.path("x.cpp")) == time);
}

TEST_CASE("update_copy: restores a mutant and removes files") {
  tritonc::TemporaryFolder root, copy;
  root.write("x.cpp", "a < b");
  update_copy(root.path(), copy.path());
  copy.write("x.cpp", "a > b");
  copy.write("old.cpp", "");
  CHECK(update_copy(root.path(), copy.path()) == 2);
  CHECK(copy.read("x.cpp") == "a < b");
  CHECK(!copy.exists("old.cpp"));
}
