// A library as the tool writes it: an object, or a self-contained header.
#pragma once

#include "emit/cpp/header.h"
#include "emit/object/object.h"
#include "emit/tables.h"

#include <doctest/doctest.h>

#include <string>

namespace tritonc {

/// The bytes of the object for a target triple; "" = this machine.
inline std::string object(const Library &library, const std::string &triple = "") {
  Interface interface = *make_interface(library);
  Result<std::string> bytes = object_file(*make_tables(interface), triple);
  REQUIRE(bytes);
  return *bytes;
}

/// The text of the self-contained header.
inline std::string header(const Library &library) {
  Interface interface = *make_interface(library);
  return self_contained_header(library, interface, *make_tables(interface));
}

} // namespace tritonc
