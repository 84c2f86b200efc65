// What the stand-in pretends to be and how it runs kernels: the variable TRITONC_EMULATOR.
//
//     TRITONC_EMULATOR=order=random,seed=7,gpu=80,fail=cuMemAlloc:3:2
//
//   order=forward|reversed|random  which thread runs next
//   async=early|late|random        when asynchronous copies land
//   seed=N                         of what is random
//   races=on|off                   whether accesses that nothing orders are looked for
//   uninitialized=on|off           the same for reads of what nobody wrote
//   max_steps=N                    loop iterations that a thread may make before its launch fails
//   workers=N                      OS threads that run kernels; 0: one per core
//   gpu=90a                        the device's architecture; 90a/80: of device 0, and of all
//   others;
//                                  any: 90a, and code for any other is taken too
//   devices=N
//   multiprocessors=N              of each device
//   pools=on|off                   whether devices have pools of memory
//   memory=BYTES                   of each device; K, M, G may follow the number
//   version=12040                  of CUDA, that the driver claims to have
//   fail=FUNCTION:N:CODE           its N-th call (*: each) does nothing and returns this CUresult
//   missing=FUNCTION               cuGetProcAddress doesn't know it
//   report=FILE                    where findings are appended; else they go to stderr
//
// `fail` and `missing` may be repeated, and `none` takes them all back. Calls are counted from when
// the setting is read.

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
  std::uint64_t call = 0; // from 1; 0: each
  Result result = success;
  std::uint64_t seen = 0; // calls
};

struct Settings {
  Options options;
  std::vector<Gpu> gpus = {*find_gpu("90a")}; // the last one stands for all further devices
  bool fixes_gpu = false;                     // by `gpu=`; otherwise code for any GPU is taken
  int devices = 1;
  int multiprocessors = 0; // 0: as the GPU has
  std::size_t memory = std::size_t(16) << 30;
  bool pools = true;
  int version = 12040;
  std::vector<Failure> failures;
  std::vector<std::string> missing;
  std::string report; // "": stderr

  Gpu gpu(Device device) const;
};

/// Changes what `text` names. On an error nothing changes, and the result says what is wrong and
/// what would be right; otherwise it is empty.
std::string apply(std::string_view text, Settings &settings);

} // namespace tritonc::emulator::driver
