// What a back-end step gives: a value, or the message that says why not.
#pragma once

#include "source/diagnostics.h"

#include <string>
#include <utility>
#include <variant>
#include <vector>

namespace tritonc {

/// Why a step failed: a message of source/diagnostics.def and what to fill in.
struct Failure {
  Message id;
  std::vector<std::string> args;
};

/// The failure as one line, "error: ...".
inline std::string text(const Failure &failure) { return message(failure.id, failure.args); }
inline Finding finding(const Failure &failure) { return finding(failure.id, failure.args); }

template <typename T> class [[nodiscard]] Result {
public:
  Result(T value) : state_(std::move(value)) {}
  Result(Failure failure) : state_(std::move(failure)) {}

  explicit operator bool() const { return std::holds_alternative<T>(state_); }
  T &operator*() { return std::get<T>(state_); }
  const T &operator*() const { return std::get<T>(state_); }
  T *operator->() { return &std::get<T>(state_); }
  const T *operator->() const { return &std::get<T>(state_); }
  const Failure &failure() const { return std::get<Failure>(state_); }

private:
  std::variant<T, Failure> state_;
};

} // namespace tritonc
