// Devices and their attributes.

#include "driver.h"

#include <algorithm>
#include <cstdio>
#include <cstring>

namespace tritonc::emulator::driver {

namespace {

/// Calls `ask` with the device, if it exists.
template <typename Ask>
Result about(std::string_view function, const void *result, Device device, Ask ask) {
  return call(function, Needs::driver, [&]() -> Result {
    DeviceState *state = driver().find_device(device);
    if (!result)
      return invalid_value;
    if (!state)
      return invalid_device;
    return ask(*state);
  });
}

/// The value of a CUdevice_attribute. Limits of textures and features that the fake does not
/// support are 0.
int attribute_of(const Gpu &gpu, Device device, int attribute) {
  switch (attribute) {
  case 115: // memory pools
    return driver().settings.pools;
  case 1: // threads per block
  case 2: // along x
  case 3: // along y
    return 1024;
  case 4:
    return 64;
  case 5: // grid along x, y, z
    return 0x7fffffff;
  case 6:
  case 7:
    return 65535;
  case 8: // shared memory per block, without opt-in
    return 48 * 1024;
  case 9: // constant memory
    return 64 * 1024;
  case 10: // warp size
    return 32;
  case 11: // max pitch
    return 0x7fffffff;
  case 12: // registers per block
  case 82: // per SM
    return 65536;
  case 13: // clock, kHz
    return 1000000;
  case 14: // alignment of textures
    return 512;
  case 16:
    return gpu.num_sms;
  case 30: // alignment of surfaces
    return 512;
  case 33: // PCI bus: PCI domain and device number are 0
    return device + 1;
  case 36: // memory clock, kHz
    return 1000000;
  case 37: // memory bus, bits
    return 4096;
  case 38: // L2
    return 32 << 20;
  case 39:
    return gpu.threads;
  case 51: // alignment of pitches
    return 32;
  case 75:
    return gpu.sm / 10;
  case 76:
    return gpu.sm % 10;
  case 81:
    return gpu.shared_bytes;
  case 87: // ratio of single to double precision
    return 2;
  case 97:
    return gpu.shared_bytes_of_block;
  case 106:
    return gpu.blocks;
  case 111: // shared memory that the driver reserves per block
    return 1024;
  case 120: // clusters
    return gpu.has_clusters();
  case 127:
    return gpu.has_tensor_maps();
  case 19: // host memory can be mapped
  case 31: // concurrent kernels
  case 40: // async copy engines
  case 41: // unified addresses
  case 78: // priorities of streams
  case 79: // L1 caches global accesses
  case 80: // and local ones
  case 83: // managed memory
  case 89: // concurrent host access to managed memory
  case 91: // host pointers of pinned memory
  case 95: // cooperative launches
    return 1;
  default:
    return 0;
  }
}
constexpr int last_attribute = 147;

void fill_uuid(Uuid &uuid, Device device) {
  std::memcpy(uuid.bytes, "TritonC emulator", sizeof uuid.bytes);
  uuid.bytes[7] = char(device);
}

} // namespace

extern "C" {

Result cuDeviceGet(Device *device, int ordinal) {
  return about("cuDeviceGet", device, ordinal, [&](DeviceState &) -> Result {
    *device = ordinal;
    return success;
  });
}

Result cuDeviceGetCount(int *count) {
  return call("cuDeviceGetCount", Needs::driver, [&]() -> Result {
    if (!count)
      return invalid_value;
    *count = driver().settings.devices;
    return success;
  });
}

Result cuDeviceGetName(char *name, int length, Device device) {
  return about("cuDeviceGetName", name, device, [&](DeviceState &state) -> Result {
    if (length <= 0)
      return invalid_value;
    std::snprintf(name, std::size_t(length), "TritonC emulator (%s)",
                  state.gpu.architecture().c_str());
    return success;
  });
}

Result cuDeviceGetUuid(Uuid *uuid, Device device) {
  return about("cuDeviceGetUuid", uuid, device, [&](DeviceState &) -> Result {
    fill_uuid(*uuid, device);
    return success;
  });
}

Result cuDeviceGetUuid_v2(Uuid *uuid, Device device) { return cuDeviceGetUuid(uuid, device); }

Result cuDeviceTotalMem_v2(std::size_t *bytes, Device device) {
  return about("cuDeviceTotalMem", bytes, device, [&](DeviceState &) -> Result {
    *bytes = driver().settings.memory;
    return success;
  });
}

Result cuDeviceGetAttribute(int *value, int attribute, Device device) {
  return about("cuDeviceGetAttribute", value, device, [&](DeviceState &state) -> Result {
    if (attribute < 1 || attribute > last_attribute)
      return invalid_value;
    *value = attribute_of(state.gpu, device, attribute);
    return success;
  });
}

Result cuDeviceComputeCapability(int *major, int *minor, Device device) {
  return about("cuDeviceComputeCapability", major, device, [&](DeviceState &state) -> Result {
    if (!minor)
      return invalid_value;
    *major = state.gpu.sm / 10;
    *minor = state.gpu.sm % 10;
    return success;
  });
}

Result cuDeviceGetPCIBusId(char *text, int length, Device device) {
  return about("cuDeviceGetPCIBusId", text, device, [&](DeviceState &) -> Result {
    int needed =
        std::snprintf(text, std::size_t(std::max(length, 0)), "0000:%02X:00.0", device + 1);
    return needed < length ? success : invalid_value;
  });
}

Result cuDeviceGetByPCIBusId(Device *device, const char *text) {
  return call("cuDeviceGetByPCIBusId", Needs::driver, [&]() -> Result {
    if (!device || !text)
      return invalid_value;
    unsigned domain = 0, bus = 0;
    if (std::sscanf(text, "%x:%x", &domain, &bus) != 2 || domain != 0 ||
        !driver().find_device(Device(bus) - 1))
      return invalid_device;
    *device = Device(bus) - 1;
    return success;
  });
}

Result cuDeviceCanAccessPeer(int *can, Device device, Device peer) {
  return about("cuDeviceCanAccessPeer", can, device, [&](DeviceState &) -> Result {
    if (!driver().find_device(peer))
      return invalid_device;
    *can = 0;
    return success;
  });
}

Result cuDeviceGetP2PAttribute(int *value, int, Device source, Device target) {
  return about("cuDeviceGetP2PAttribute", value, source, [&](DeviceState &) -> Result {
    if (!driver().find_device(target) || source == target)
      return invalid_device;
    *value = 0;
    return success;
  });
}

Result cuDeviceGetDefaultMemPool(Pool **pool, Device device) {
  return about("cuDeviceGetDefaultMemPool", pool, device, [&](DeviceState &state) -> Result {
    *pool = &state.pool;
    return success;
  });
}

Result cuDeviceGetMemPool(Pool **pool, Device device) {
  return about("cuDeviceGetMemPool", pool, device, [&](DeviceState &state) -> Result {
    *pool = &state.pool;
    return success;
  });
}

} // extern "C"

} // namespace tritonc::emulator::driver
