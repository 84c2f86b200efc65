// Builds the C++ interface of a library: names, types, and the variants of each type.
//
// The header and the object are both written from it. Every link symbol contains a hash of all
// facts on which header and object must agree.

#pragma once

#include "emit/library.h"
#include "support/result.h"

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
  std::string parameter;           // name of the template parameter
  std::vector<std::string> values; // "tritonc::half", "3", "A::N"
};

/// A tuned axis: a member of `params`. The library chooses its value.
struct TunedAxis {
  size_t index = 0; // in KernelEntry::axes
  std::string type; // "std::int32_t" or the enumeration
  std::string member;
  std::string parameter;       // name of the parameter of the template `variant`
  std::vector<int32_t> values; // as in `params` and in the runtime
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
  std::string constant; // "weights", its name in the runtime
  /// "float", or the template parameter with the type; empty = the host passes bytes.
  std::string element;
  int64_t count = 0; // elements, or bytes; the max of all variants
};

/// The variants of one C++ type.
struct Instantiation {
  std::vector<int> api;                  // index of the value, for each of KernelInterface::api
  std::vector<const Variant *> variants; // in order of preference; all have the same parameters
  /// For each of `variants`: its specializations, in the order in which the runtime tries them.
  std::vector<std::vector<const Variant *>> specialized;
  std::vector<Member> members;
  std::vector<Setter> setters; // for the constants of all its variants
  int args_size = 0;
  std::string symbol;  // symbol of its descriptor
  std::string display; // "gemm::dot<half, N, T>"

  const std::vector<Parameter> &parameters() const { return variants.front()->parameters; }
};

struct KernelInterface {
  const KernelEntry *entry = nullptr;
  std::string name;
  bool declares_grid = false;
  std::vector<ApiAxis> api;
  std::vector<TunedAxis> tuned;
  std::vector<Setter> setters; // for the constants of all instantiations
  std::vector<Instantiation> instantiations;
};

/// An enumeration, for an axis whose values are neither types nor integers. Kernels share it by
/// name.
struct Enumeration {
  std::string name;
  std::vector<std::string> enumerators;
};

struct Interface {
  std::string name_space; // "my::gemm"
  std::string hash;       // 12 hexadecimal digits
  std::vector<Enumeration> enumerations;
  std::vector<KernelInterface> kernels;
};

/// The result refers to the library, which must outlive it. Fails if C++ cannot have these names,
/// or if the parameters depend on a tuned axis. It does not use the images, so call it early.
Result<Interface> make_interface(const Library &library);

/// The C++ name of a parameter's type, without pointer and const, and its size.
struct ElementType {
  std::string_view name; // in C++
  int bytes;
};
ElementType element_type(const Parameter &parameter);

/// The first 12 hexadecimal digits of the SHA-256.
std::string short_hash(std::string_view text);

} // namespace tritonc
