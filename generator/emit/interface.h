// What a C++ caller sees of a library: names, types, and who belongs together.
//
// The header spells it and the object answers to it, so both are written from this. A hash of
// everything that the two must agree on is part of every link symbol.

#pragma once

#include "backend/result.h"
#include "emit/library.h"

#include <cstdint>
#include <string>
#include <vector>

namespace tritonc {

/// An axis of the API: a template parameter.
struct ApiAxis {
  enum class Kind : uint8_t { type, integer, enumeration };
  Kind kind = Kind::enumeration;
  size_t index = 0;                // in KernelEntry::axes
  std::string type;                // "typename", "std::int32_t", or the enumeration
  std::string parameter;           // its name in the template
  std::vector<std::string> values; // "tritonc::half", "3", "A::N"
};

/// An axis that the library chooses along: a member of `params`.
struct TunedAxis {
  size_t index = 0; // in KernelEntry::axes
  std::string type; // "std::int32_t" or the enumeration
  std::string member;
  std::string parameter;       // its name in the template `variant`
  std::vector<int32_t> values; // as `params` and the runtime hold them
};

/// A member of `args`.
struct Member {
  std::string name;
  std::string element; // "tritonc::half"
  int offset = 0;
};

/// A function that fills constant memory.
struct Setter {
  std::string name;     // "set_weights"
  std::string constant; // "weights", as the runtime knows it
  /// "float", or the parameter of the template that says it; empty: the host hands over bytes.
  std::string element;
  int64_t count = 0; // of elements, or bytes; of several variants the most
};

/// The variants behind one C++ type.
struct Combination {
  std::vector<int> api;                  // index of the value, for each of KernelInterface::api
  std::vector<const Variant *> variants; // in order of preference; all have the same parameters
  /// What is compiled under hints, for each of these, in the order in which it is tried.
  std::vector<std::vector<const Variant *>> specialized;
  std::vector<Member> members;
  std::vector<Setter> setters; // of any of them
  int args_size = 0;
  std::string symbol;  // of its descriptor
  std::string display; // "gemm::dot<half, N, T>"

  const std::vector<Parameter> &parameters() const { return variants.front()->parameters; }
};

struct KernelInterface {
  const KernelEntry *entry = nullptr;
  std::string name;
  bool declares_grid = false;
  std::vector<ApiAxis> api;
  std::vector<TunedAxis> tuned;
  std::vector<Setter> setters; // of any combination
  std::vector<Combination> combinations;
};

/// Values of an axis that are neither types nor integers. Kernels share it by name.
struct Enumeration {
  std::string name;
  std::vector<std::string> enumerators;
};

struct Interface {
  std::string name_space; // "my::gemm"
  std::string hash;       // twelve hexadecimal digits
  std::vector<Enumeration> enumerations;
  std::vector<KernelInterface> kernels;
};

/// Refers to the library, which must outlive it. Fails where C++ cannot have these names, or where
/// what callers see would depend on what they do not choose. Needs no images, so call it early.
Result<Interface> make_interface(const Library &library);

/// How C++ spells a parameter's type without pointer and const, and its size.
struct ElementType {
  std::string_view name; // of C++
  int bytes;
};
ElementType element_type(const Parameter &parameter);

/// The first twelve hexadecimal digits of the SHA-256.
std::string short_hash(std::string_view text);

} // namespace tritonc
