// The settings of the fake driver, from the environment variable TRITONC_EMULATOR.
//
//     TRITONC_EMULATOR=order=random,seed=7,gpu=80,fail=cuMemAlloc:3:2
//
//   order=forward|reversed|random  which thread runs next
//   async=early|late|random        when asynchronous copies land
//   seed=N                         seed of the random order and async
//   races=on|off                   report data races
//   uninitialized=on|off           report reads of uninitialized memory
//   max_steps=N                    max loop iterations per thread; beyond it the launch fails
//   workers=N                      OS threads that run kernels; 0 = one per core
//   gpu=90a                        the architecture of the devices
//   gpu=90a/80                     the architecture of device 0 / of all other devices
//   gpu=any                        90a, but accepts code for any architecture
//   devices=N                      number of devices
//   sms=N                          SMs per device
//   pools=on|off                   whether devices support memory pools
//   memory=BYTES                   per device; K, M, G may follow the number
//   version=12040                  CUDA version that the driver returns
//   fail=FUNCTION:N:CODE           its N-th call (* = each) does nothing and returns this CUresult
//   missing=FUNCTION               cuGetProcAddress does not find the function
//   report=FILE                    file that reports are appended to; default: stderr
//
// `fail` and `missing` may be repeated; the value `none` clears them. Call counting starts when the
// setting is read.

#pragma once

#include "../emulator.h"
#include "gpu.h"
#include "interface.h"

#include <string>
#include <string_view>
#include <vector>

namespace tritonc::emulator::driver {

struct Failure {
  std::string function;
  std::uint64_t call = 0; // from 1; 0 = each
  Result result = success;
  std::uint64_t seen = 0; // calls so far
};

struct Settings {
  Options options;
  std::vector<Gpu> gpus = {*find_gpu("90a")}; // the last one applies to all further devices
  bool fixes_gpu = false;                     // set by `gpu=`; false = accepts code for any GPU
  int devices = 1;
  int num_sms = 0; // 0 = the GPU's number
  std::size_t memory = std::size_t(16) << 30;
  bool pools = true;
  int version = 12040;
  std::vector<Failure> failures;
  std::vector<std::string> missing;
  std::string report; // "" = stderr

  Gpu gpu(Device device) const;
};

/// Changes the settings that `text` names. On an error, changes nothing and returns the error and
/// the valid values. Otherwise returns "".
std::string apply(std::string_view text, Settings &settings);

} // namespace tritonc::emulator::driver
