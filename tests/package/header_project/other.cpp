#include <my/vectors.hpp>

int variants_seen_elsewhere() {
  return int(my::vectors::vector_add<tritonc::half>::variants().size());
}
