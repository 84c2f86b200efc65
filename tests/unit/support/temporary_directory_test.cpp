// Tests generator/support/temporary_directory.cpp.

#include "support/temporary_directory.h"

#include <doctest/doctest.h>

#include <atomic>
#include <filesystem>
#include <fstream>
#include <sys/stat.h>
#include <thread>

using namespace tritonc;

TEST_CASE("TemporaryDirectory: is private and removes its contents") {
  std::string path;
  {
    Result<TemporaryDirectory> directory = TemporaryDirectory::make();
    REQUIRE(directory);
    path = directory->path();
    struct stat status;
    REQUIRE(stat(path.c_str(), &status) == 0);
    CHECK((status.st_mode & 0777) == 0700);
    std::ofstream(directory->file("something")) << "text";
    CHECK(std::filesystem::exists(path + "/something"));
  }
  CHECK_FALSE(std::filesystem::exists(path));
}

TEST_CASE("TemporaryDirectory: last owner removes a moved directory") {
  Result<TemporaryDirectory> directory = TemporaryDirectory::make();
  REQUIRE(directory);
  std::string path = directory->path();
  {
    TemporaryDirectory owner = std::move(*directory);
    CHECK(std::filesystem::exists(path));
  }
  CHECK_FALSE(std::filesystem::exists(path));
}

TEST_CASE("remove_temporary_directories: removes all, blocks new ones") {
  Result<TemporaryDirectory> directory = TemporaryDirectory::make();
  REQUIRE(directory);
  std::atomic<bool> made = false;
  std::thread other;
  {
    auto no_more_directories = remove_temporary_directories();
    CHECK_FALSE(std::filesystem::exists(directory->path()));
    other = std::thread([&] {
      Result<TemporaryDirectory> another = TemporaryDirectory::make();
      made = bool(another);
    });
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    CHECK_FALSE(made);
  }
  other.join();
  CHECK(made);
}
