// A program with only the runtime, libc and libdl. It must link without libstdc++, start without a
// driver, and print nothing.

#include <tritonc/device.hpp>

int main() {
  tritonc::device_info info;
  tritonc::status status = tritonc::current_device(info);
  return status.ok() || status.code() == tritonc::status_code::no_driver ||
                 status.code() == tritonc::status_code::no_device
             ? 0
             : 1;
}
