// Implements names, sizes and text of the types of tile IR values. See types.h.
//
// Tested by tests/unit/ir/text_test.cpp and tests/unit/ir/builder_test.cpp.

#include "ir/types.h"

#include <array>

namespace tritonc::ir {
namespace {

struct ElemInfo {
  const char *name;
  int bits;
  bool is_float;
};

// In the order of Elem.
constexpr std::array<ElemInfo, 11> elem_infos = {{
    {"i1", 1, false},
    {"i8", 8, false},
    {"i16", 16, false},
    {"i32", 32, false},
    {"i64", 64, false},
    {"f16", 16, true},
    {"bf16", 16, true},
    {"f32", 32, true},
    {"f64", 64, true},
    {"e4m3", 8, true},
    {"e5m2", 8, true},
}};

const ElemInfo &info(Elem elem) { return elem_infos[size_t(elem)]; }

} // namespace

int bits_of(Elem elem) { return info(elem).bits; }
int bytes_of(Elem elem) { return (info(elem).bits + 7) / 8; }
bool is_float(Elem elem) { return info(elem).is_float; }
Elem integer_like(Elem elem) {
  switch (bytes_of(elem)) {
  case 1:
    return Elem::i8;
  case 2:
    return Elem::i16;
  case 4:
    return Elem::i32;
  default:
    return Elem::i64;
  }
}

const char *name_of(Elem elem) { return info(elem).name; }

std::optional<Elem> elem_named(std::string_view name) {
  for (size_t i = 0; i < elem_infos.size(); i++)
    if (name == elem_infos[i].name)
      return Elem(i);
  return std::nullopt;
}

bool Type::operator==(const Type &other) const {
  if (!same_but_layout(other))
    return false;
  if (!layout || !other.layout)
    return !layout && !other.layout;
  return layout == other.layout || *layout == *other.layout;
}

std::string text_of(const Type &type) {
  std::string out = name_of(type.elem);
  switch (type.kind) {
  case Type::Kind::value:
    break;
  case Type::Kind::pointer:
    out = "ptr<" + out + ">";
    break;
  case Type::Kind::view:
    out = "view<" + out + ">";
    break;
  case Type::Kind::shared:
    out = "shared<" + out + ">";
    break;
  case Type::Kind::map:
    out = "map<" + out + ">";
    break;
  case Type::Kind::channel:
    out = "channel";
    break;
  }
  if (type.is_scalar())
    return out;
  out += "[";
  for (size_t d = 0; d < type.shape.size(); d++)
    out += (d ? "," : "") + std::to_string(type.shape[d]);
  return out + "]";
}

} // namespace tritonc::ir
