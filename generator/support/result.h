// Result<T>: the value of a compilation step, or an Error that says why the step failed.
#pragma once

#include "diagnostics/diagnostics.h"

#include <string>
#include <utility>
#include <variant>
#include <vector>

namespace tritonc {

/// Why a step failed: a message of diagnostics/diagnostics.def and its arguments.
struct Error {
  Message id;
  std::vector<std::string> args;
};

/// The failure as one line, "error: ...".
inline std::string text(const Error &failure) { return message(failure.id, failure.args); }
inline Diagnostic diagnostic(const Error &failure) { return diagnostic(failure.id, failure.args); }

template <typename T> class [[nodiscard]] Result {
public:
  Result(T value) : state_(std::move(value)) {}
  Result(Error error) : state_(std::move(error)) {}

  explicit operator bool() const { return std::holds_alternative<T>(state_); }
  T &operator*() { return std::get<T>(state_); }
  const T &operator*() const { return std::get<T>(state_); }
  T *operator->() { return &std::get<T>(state_); }
  const T *operator->() const { return &std::get<T>(state_); }
  const Error &error() const { return std::get<Error>(state_); }

private:
  std::variant<T, Error> state_;
};

} // namespace tritonc
