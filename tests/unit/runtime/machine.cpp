// A machine for one test. See machine.h.

#include "unit/runtime/machine.h"

#include <doctest/doctest.h>

#include <cstdlib>
#include <dlfcn.h>
#include <filesystem>
#include <fstream>

namespace tritonc {

Machine::Machine(Kind kind, const std::string &settings) {
  std::string pattern = std::filesystem::temp_directory_path() / "tritonc-machine-XXXXXX";
  REQUIRE(mkdtemp(pattern.data()));
  folder_ = pattern;
  std::string driver = folder_ + "/libcuda.so.1";
  setenv("TRITONC_DRIVER", driver.c_str(), 1);
  unsetenv("TRITONC_EMULATOR");
  if (kind == as_driver || kind == emulator)
    std::filesystem::copy_file(TRITONC_EMULATOR_LIBRARY, driver);
  if (kind == old_driver)
    std::filesystem::copy_file(TRITONC_OLD_DRIVER, driver);
  if (kind == other_library)
    std::filesystem::copy_file(TRITONC_RUNTIME_UNDER_TEST, driver);
  if (kind == garbage)
    std::ofstream(driver) << "\177ELF and then something else";
  if (kind == as_driver || kind == emulator) {
    driver_ = std::make_unique<StandIn>(driver);
    if (kind == as_driver) // like a driver, accept only code for the device
      driver_->configure("missing=tritoncEmulatorVersion,gpu=90a,sms=16");
    driver_->configure("report=/dev/null," + settings);
  }
  std::string runtime = folder_ + "/runtime.so";
  std::filesystem::copy_file(TRITONC_RUNTIME_UNDER_TEST, runtime);
  void *handle = dlopen(runtime.c_str(), RTLD_NOW | RTLD_LOCAL);
  REQUIRE_MESSAGE(handle, dlerror());
  void *functions = dlsym(handle, "runtime_functions");
  REQUIRE(functions);
  runtime_ = reinterpret_cast<const RuntimeFunctions *(*)()>(functions)();
}

// The libraries stay open, as in programs; only their files are removed.
Machine::~Machine() { std::filesystem::remove_all(folder_); }

} // namespace tritonc
