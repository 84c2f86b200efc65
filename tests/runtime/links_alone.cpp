// A program with nothing but the runtime, libc and libdl: it links without libstdc++, starts
// without a driver, and prints nothing that it doesn't print itself.

#include <tritonc/device.hpp>

int main() {
  tritonc::device_info info;
  tritonc::status status = tritonc::current_device(info);
  return status.ok() || status.code() == tritonc::status_code::no_driver ||
                 status.code() == tritonc::status_code::no_device
             ? 0
             : 1;
}
