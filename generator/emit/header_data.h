// The data of a self-contained header: images as string literals, descriptors as initialisers.

#pragma once

#include "emit/tables.h"

#include <string>

namespace tritonc {

/// Definitions for namespace `detail`, each table before those that refer to it, and for every
/// combination the function that gives its descriptor.
std::string header_data(const Tables &tables);

} // namespace tritonc
