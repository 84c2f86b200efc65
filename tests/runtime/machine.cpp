// A machine for one test. See machine.h.

#include "runtime/machine.h"

#include <doctest/doctest.h>

#include <cstdlib>
#include <dlfcn.h>
#include <filesystem>

namespace tritonc {

namespace {

void *open_copy(const std::string &library, const std::string &copy) {
  std::filesystem::copy_file(library, copy);
  void *handle = dlopen(copy.c_str(), RTLD_NOW | RTLD_LOCAL);
  INFO(dlerror());
  REQUIRE(handle);
  return handle;
}

template <typename Function> Function *symbol(void *handle, const char *name) {
  void *address = dlsym(handle, name);
  REQUIRE(address);
  return reinterpret_cast<Function *>(address);
}

} // namespace

Machine::Machine(Kind kind) {
  std::string pattern = std::filesystem::temp_directory_path() / "tritonc-machine-XXXXXX";
  REQUIRE(mkdtemp(pattern.data()));
  folder_ = pattern;
  std::string driver = folder_ + "/libcuda.so.1";
  setenv("TRITONC_DRIVER", driver.c_str(), 1);
  if (kind != without_driver) {
    const char *library = kind == with_driver ? TRITONC_FAKE_DRIVER : TRITONC_OLD_FAKE_DRIVER;
    void *handle = open_copy(library, driver);
    driver_ = symbol<fake::Driver *()>(handle, "fake_driver")();
    make_current_ = symbol<void(fake::Context *)>(handle, "fake_make_current");
    current_ = symbol<fake::Context *()>(handle, "fake_current");
    primary_ = symbol<fake::Context *()>(handle, "fake_primary");
  }
  void *runtime = open_copy(TRITONC_RUNTIME_UNDER_TEST, folder_ + "/runtime.so");
  runtime_ = symbol<const RuntimeFunctions *()>(runtime, "runtime_functions")();
}

// The libraries stay open, as they do in programs; only their files go.
Machine::~Machine() { std::filesystem::remove_all(folder_); }

} // namespace tritonc
