// All modes of the emulator: a correct kernel gives the same results in each, and no report.

#pragma once

#include "emulator.h"

#include <string>
#include <vector>

namespace tritonc::emulator::test {

inline std::string name_of(Order order) {
  return order == Order::forward ? "forward" : order == Order::reversed ? "reversed" : "random";
}
inline std::string name_of(Async async) {
  return async == Async::early ? "early" : async == Async::late ? "late" : "random";
}

/// "reversed, late, races".
inline std::string name_of(const Options &options) {
  return name_of(options.order) + ", " + name_of(options.async) + (options.races ? ", races" : "");
}

/// All combinations of Order, Async, and race checks on or off; with one OS thread, so that
/// failures are reproducible.
inline std::vector<Options> all_modes() {
  std::vector<Options> modes;
  for (bool races : {false, true})
    for (Order order : {Order::forward, Order::reversed, Order::random})
      for (Async async : {Async::early, Async::late, Async::random}) {
        Options options;
        options.order = order;
        options.async = async;
        options.races = races;
        options.seed = 1;
        options.workers = 1;
        options.max_steps = 10'000'000;
        modes.push_back(options);
      }
  return modes;
}

} // namespace tritonc::emulator::test
