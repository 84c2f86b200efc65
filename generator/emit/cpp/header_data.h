// Writes the data of a self-contained header: images as string literals, descriptors as
// initializers.

#pragma once

#include "emit/tables.h"

#include <string>

namespace tritonc {

/// Definitions for namespace `detail`: each table before the tables that refer to it, then for
/// every instantiation the function that returns its descriptor.
std::string header_data(const Tables &tables);

} // namespace tritonc
