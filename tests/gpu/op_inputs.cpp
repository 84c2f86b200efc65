// Makes random inputs. See op_inputs.h.

#include "op_inputs.h"

#include "models/accumulation.h"
#include "models/matrix_descriptor.h"
#include "models/numbers.h"

#include <algorithm>
#include <bit>
#include <cassert>
#include <cmath>
#include <cstring>
#include <numeric>

namespace tritonc::test {

using std::string_view;

void Random::fill(void *bytes, size_t n) {
  auto *to = static_cast<std::byte *>(bytes);
  for (; n >= 8; n -= 8, to += 8) {
    uint64_t word = next();
    std::memcpy(to, &word, 8);
  }
  uint64_t word = next();
  std::memcpy(to, &word, n);
}

const char *name_of(Mode mode) {
  constexpr const char *names[] = {"bits", "spread", "whole", "layouts"};
  return names[unsigned(mode)];
}

models::TensorMapArguments Tensor::arguments(const void *memory) const {
  models::TensorMapArguments result;
  result.type = type;
  result.rank = rank;
  result.address = uint64_t(reinterpret_cast<uintptr_t>(memory)) + offset;
  result.sizes = sizes;
  result.strides = strides;
  result.box = box;
  result.element_strides = element_strides;
  result.swizzle = swizzle;
  result.l2_promotion = l2_promotion;
  result.fill = fill;
  return result;
}

namespace {

using models::DataType;
using models::Major;
using models::Swizzle;

// ---- values ----

// The element types of operands.
enum class Type : uint8_t { f16, bf16, tf32, e4m3, e5m2, f32, f64, integer };

struct Format {
  unsigned bytes;
  int mantissa_bits, exponent_bits;
};
constexpr Format format_of(Type type) {
  switch (type) {
  case Type::f16:
    return {2, 10, 5};
  case Type::bf16:
    return {2, 7, 8};
  case Type::tf32: // the operation reads only ten of the mantissa bits
  case Type::f32:
    return {4, 23, 8};
  case Type::e4m3:
    return {1, 3, 4};
  case Type::e5m2:
    return {1, 2, 5};
  case Type::f64:
    return {8, 52, 11};
  case Type::integer:
    return {4, 0, 0};
  }
  return {};
}

constexpr uint64_t ones(int bits) { return (uint64_t(1) << bits) - 1; }

// A random distribution of the values in one matrix.
struct Values {
  Type type = Type::integer;
  Mode mode = Mode::bits;
  int exponent = 0, width = 0; // spread: exponents in exponent - width ... exponent + width
  int64_t limit = 0;           // whole: values in -limit ... limit
  unsigned special_in = 64;    // bits: one of `special_in` values is a special value

  uint64_t next(Random &random) const {
    uint64_t bits = random.next();
    auto [bytes, mantissa_bits, exponent_bits] = format_of(type);
    if (type == Type::integer)
      return bits;
    if (mode == Mode::bits) // random bits rarely are special values
      return random.one_in(special_in) ? special(random) : bits;
    if (mode != Mode::spread)
      return of_integer(random.between(-limit, limit));
    if (random.one_in(16))
      return 0;
    int bias = int(ones(exponent_bits - 1));
    int highest = int(ones(exponent_bits)) - 1; // infinities and NaN have highest + 1
    int field = exponent + int(random.between(-width, width)) + bias;
    field = std::clamp(field, 0, highest);
    uint64_t magnitude = uint64_t(field) << mantissa_bits | (bits & ones(mantissa_bits));
    return magnitude | (bits >> 63) << (exponent_bits + mantissa_bits);
  }

  // Zeros, infinities, NaN, and the limits of the subnormal and finite ranges.
  uint64_t special(Random &random) const {
    auto [bytes, mantissa_bits, exponent_bits] = format_of(type);
    uint64_t infinity = ones(exponent_bits) << mantissa_bits, normal = uint64_t(1) << mantissa_bits;
    uint64_t quiet = normal >> 1, nan = random.next() & ones(mantissa_bits);
    const uint64_t magnitudes[] = {0,
                                   1,
                                   normal - 1,
                                   normal,
                                   infinity,
                                   infinity - 1,
                                   infinity | 1,
                                   infinity | 1 << random.below(13),
                                   infinity | quiet,
                                   infinity | nan | 1};
    return magnitudes[random.below(10)] | uint64_t(random.below(2))
                                              << (exponent_bits + mantissa_bits);
  }

  uint64_t of_integer(int64_t integer) const {
    float value = float(integer);
    switch (type) {
    case Type::f16:
      return models::to_half(value);
    case Type::bf16:
      return models::to_bfloat16(value);
    case Type::e4m3:
      return models::to_e4m3(value);
    case Type::e5m2:
      return models::to_e5m2(value);
    case Type::f64:
      return std::bit_cast<uint64_t>(double(integer));
    default:
      return std::bit_cast<uint32_t>(value);
    }
  }

  // Fills `bytes` bytes with values.
  void fill(Random &random, std::byte *to, size_t bytes) const {
    unsigned size = format_of(type).bytes;
    if (type == Type::integer || (mode == Mode::bits && size < 4))
      return random.fill(to, bytes);
    for (size_t i = 0; i < bytes; i += size) {
      uint64_t value = next(random);
      std::memcpy(to + i, &value, size);
    }
  }
};

// The operands and the accumulators of a matmul.
struct MatmulValues {
  Values a, b, c;
};

int64_t largest_whole(Type type) {
  switch (type) {
  case Type::f16: // 16 products of 2^18
    return 512;
  case Type::bf16:
    return 256;
  case Type::tf32:
    return 1023;
  case Type::e4m3: // 32 products and C below 2^13
    return 12;
  case Type::e5m2:
    return 8;
  default:
    return 1 << 20;
  }
}

MatmulValues matmul_values(Random &random, Type a, Type b, Mode mode) {
  MatmulValues result;
  result.a.type = a;
  result.b.type = b;
  result.c.type = a == Type::f64 || a == Type::integer ? a : Type::f32;
  result.a.mode = result.b.mode = result.c.mode = mode == Mode::layouts ? Mode::whole : mode;
  result.a.limit = largest_whole(a);
  result.b.limit = largest_whole(b);
  result.a.special_in = result.b.special_in = result.c.special_in = random.one_in(2) ? 16 : 400;
  result.c.limit = format_of(a).bytes == 1 ? 3000 : int64_t(1) << 22;
  // A wide range of exponents loses bits in the alignment; a narrow range cancels. Some products
  // are outside of the range of normal floats.
  constexpr int widths[] = {0, 1, 2, 3, 5, 8, 12, 20};
  auto choose = [&](Values &values) {
    values.width = widths[random.below(8)];
    int reach = (1 << (format_of(values.type).exponent_bits - 1)) / 3;
    reach = std::min(reach, 40);
    values.exponent = int(random.between(-reach, reach));
    if (random.one_in(8))
      values.exponent = int(random.between(-75, -50));
  };
  choose(result.a);
  choose(result.b);
  choose(result.c);
  result.c.exponent = result.a.exponent + result.b.exponent + int(random.between(-4, 8));
  if (random.one_in(3))
    result.c.exponent += int(random.between(-30, 30));
  return result;
}

// "mma_m16n8k32_e4m3_e5m2" -> e4m3, e5m2; "wgmma_f16_ra" -> f16, f16.
std::pair<Type, Type> types_of(string_view op) {
  if (op.ends_with("_ra"))
    op.remove_suffix(3);
  auto type = [](string_view name) {
    constexpr std::pair<string_view, Type> types[] = {
        {"f16", Type::f16},   {"bf16", Type::bf16}, {"tf32", Type::tf32},  {"e4m3", Type::e4m3},
        {"e5m2", Type::e5m2}, {"f64", Type::f64},   {"s8", Type::integer}, {"u8", Type::integer}};
    for (auto [spelling, type] : types)
      if (name == spelling)
        return std::pair(true, type);
    return std::pair(false, Type::integer);
  };
  size_t last = op.rfind('_');
  auto [found_b, b] = type(op.substr(last + 1));
  assert(found_b && "the name of a matmul operation ends with its types");
  op = op.substr(0, last);
  auto [found_a, a] = type(op.substr(op.rfind('_') + 1));
  return {found_a ? a : b, b};
}

// ---- matrices of wgmma ----

struct Matrix {
  unsigned rows;
  Major major;
};

// A random layout of a matrix in an image of `image` bytes. Canonical: start and strides are
// multiples of the swizzle pattern's size, and the start may be some K steps further. Otherwise
// they are arbitrary multiples of 16.
uint64_t random_descriptor(Random &random, Matrix matrix, unsigned image, bool canonical) {
  models::MatrixDescriptor result;
  for (;;) {
    result.swizzle = Swizzle(random.below(4));
    result.base_offset = canonical ? 0 : random.below(8);
    bool swizzled = result.swizzle != Swizzle::none;
    unsigned span = swizzled ? models::span_of(result.swizzle) : 16;
    unsigned unit = canonical ? 8 * span : 16;
    auto multiple = [&](unsigned most) {
      most /= unit;
      unsigned reduced = most >> random.below(std::bit_width(most));
      return unit * (1 + random.below(std::max(reduced, 1u)));
    };
    result.start = unit * random.below(image / unit) >> random.below(6) & ~(unit - 1);
    if (canonical && swizzled && matrix.major == Major::k)
      result.start += 32 * random.below(span / 32);
    result.leading = multiple(8192);
    result.stride = multiple(8192);
    unsigned last = result.start + 7 * span, groups = matrix.rows / 8;
    if (matrix.major == Major::k) {
      last += (groups - 1) * result.stride + (swizzled ? 16 : result.leading);
      if (swizzled && !canonical) // unused by the operation
        result.leading = 16 * random.below(1 << 14);
    } else if (swizzled) {
      last += span - 16 + (groups - 1) / (span / 16) * result.leading + result.stride;
    } else {
      last += (groups - 1) * result.stride + result.leading;
    }
    // A swizzle permutes chunks within 128 bytes.
    if (last / 128 * 128 + 128 <= image)
      return models::encode_descriptor(result);
  }
}

// ---- tensors ----

constexpr unsigned max_box_bytes = 16 * 1024;

bool is_float(DataType type) { return type >= DataType::f16 && type <= DataType::tf32_ftz; }

Type element_type(DataType type) {
  switch (type) {
  case DataType::f16:
    return Type::f16;
  case DataType::bf16:
    return Type::bf16;
  case DataType::f64:
    return Type::f64;
  case DataType::f32:
  case DataType::f32_ftz:
  case DataType::tf32:
  case DataType::tf32_ftz:
    return Type::f32;
  default:
    return Type::integer;
  }
}

DataType random_type(Random &random, string_view op, Mode mode) {
  for (;;) {
    DataType type = DataType(random.below(13));
    if (mode == Mode::spread && !is_float(type))
      continue;
    if (!op.starts_with("tma_reduce"))
      return type;
    models::Reduction reduction = op.starts_with("tma_reduce_add")   ? models::Reduction::add
                                  : op.starts_with("tma_reduce_min") ? models::Reduction::min
                                                                     : models::Reduction::max;
    if (!models::check_reduction(reduction, type))
      return type;
  }
}

// A random size in 1 ... most, often a small one.
uint32_t size_up_to(Random &random, uint64_t most) {
  uint32_t limit = uint32_t(std::min<uint64_t>(most, 256));
  if (random.one_in(2))
    limit = std::min(limit, 6u);
  return 1 + random.below(limit);
}

Tensor random_tensor(Random &random, string_view op, unsigned rank, Mode mode) {
  bool strided = mode == Mode::layouts, is_load = op.starts_with("tma_load");
  Tensor tensor;
  DataType type = random_type(random, op, mode);
  unsigned size = models::bytes_of(type);
  tensor.type = int(type);
  tensor.rank = rank;
  tensor.swizzle = int(random.below(4));
  tensor.l2_promotion = int(random.below(4));
  tensor.fill = is_float(type) ? int(random.below(2)) : 0;

  // The box. The row of a swizzled box has the size of the swizzle's span.
  unsigned span = models::span_of(Swizzle(tensor.swizzle));
  unsigned row = span ? span : std::min(16 * size_up_to(random, 128), 256 * size);
  tensor.box[0] = row / size;
  unsigned room = max_box_bytes / row;
  for (unsigned i = 0; i < rank; i++)
    tensor.element_strides[i] = strided ? 1 + random.below(random.one_in(2) ? 8 : 3) : 1;
  for (unsigned i = 1; i < rank; i++) {
    uint32_t count = size_up_to(random, room);
    room /= count;
    uint32_t stride = tensor.element_strides[i];
    tensor.box[i] = std::min(256u, count * stride - random.below(stride));
  }

  // The tensor in the block's memory, with a margin at both ends.
  constexpr unsigned edge = 512;
  tensor.offset = edge + 16 * random.below(32);
  uint64_t left = tensor_bytes - edge - tensor.offset;
  tensor.sizes[0] = 1 + random.below(uint32_t(std::min<uint64_t>(2 * tensor.box[0], left / size)));
  uint64_t extent = tensor.sizes[0] * size;
  for (unsigned i = 1; i < rank; i++) {
    uint64_t stride = (extent + 15) / 16 * 16 + 16 * random.below(3);
    if (is_load && random.one_in(8)) // overlapping elements
      stride = 16 * (1 + random.below(8));
    uint64_t most = extent < left ? (left - extent) / stride + 1 : 1;
    tensor.strides[i - 1] = stride;
    tensor.sizes[i] = 1 + random.below(uint32_t(std::min<uint64_t>(2 * tensor.box[i], most)));
    extent += (tensor.sizes[i] - 1) * stride;
  }
  return tensor;
}

uint32_t box_bytes(const Tensor &tensor) {
  uint32_t bytes = tensor.box[0] * models::bytes_of(DataType(tensor.type));
  for (unsigned i = 1; i < tensor.rank; i++)
    bytes *= (tensor.box[i] + tensor.element_strides[i] - 1) / tensor.element_strides[i];
  return bytes;
}

// Coordinate 0 is a multiple of 16 bytes. Coordinates of stores are not negative.
int32_t random_coordinate(Random &random, const Tensor &tensor, unsigned i, bool is_load) {
  int32_t unit = i == 0 ? int32_t(16 / models::bytes_of(DataType(tensor.type))) : 1;
  int64_t first = is_load ? -int64_t(tensor.box[i]) - 1 : 0;
  int64_t result = random.between(first, int64_t(tensor.sizes[i]) + 1);
  if (random.one_in(3))
    result = 0;
  if (random.one_in(60)) {
    constexpr int32_t extremes[] = {INT32_MAX, INT32_MAX - 1, 1 << 30,        65536,
                                    -65536,    -(1 << 30),    INT32_MIN + 16, INT32_MIN};
    result = extremes[random.below(is_load ? 8 : 4)];
  }
  return int32_t(result / unit * unit);
}

// ---- records ----

class BlockMaker {
public:
  BlockMaker(const OpEntry &entry, Mode mode, Inputs &inputs, unsigned block, Random &random)
      : entry_(entry), op_(entry.op), mode_(mode), inputs_(inputs), block_(block), random_(random),
        in_(inputs.in.data() + size_t(block) * entry.in_bytes()),
        out_(inputs.out.data() + size_t(block) * entry.out_bytes()) {}

  void make() {
    if (op_.starts_with("shfl"))
      each([&](unsigned t) {
        if (random_.one_in(2))
          put<uint32_t>(t, 1, random_.below(32));
      });
    else if (op_ == "ballot" || op_.starts_with("vote"))
      votes();
    else if (op_.starts_with("ldmatrix"))
      each([&](unsigned t) { put<uint32_t>(t, 0, 16 * random_.below(entry_.image_bytes / 16)); });
    else if (op_.starts_with("stmatrix"))
      each_with_own(entry_.image_bytes / 16,
                    [&](unsigned t, uint32_t i) { put<uint32_t>(t, 0, 16 * i); });
    else if (op_ == "cp_async_4" || op_ == "cp_async_8" || op_ == "cp_async_16")
      copies(unsigned(std::atoi(entry_.op + 9)));
    else if (op_ == "mbarrier_test")
      phases();
    else if (op_ == "mbarrier_expect_tx")
      put<uint32_t>(0, 1, 16 * (1 + random_.below(entry_.image_bytes / 16)));
    else if (op_ == "load_cluster")
      each([&](unsigned t) { put<uint32_t>(t, 0, place_in_cluster(random_.below(256))); });
    else if (op_ == "store_async_cluster") // to the other block
      each_with_own(entry_.image_bytes / 4, [&](unsigned t, uint32_t i) {
        put<uint32_t>(t, 0, 4 * i | (1 - block_ % 2) << 24);
      });
    else if (op_ == "load_cluster_x4")
      each([&](unsigned t) { put<uint32_t>(t, 0, place_in_cluster(4 * random_.below(64))); });
    else if (op_ == "bulk_load" || op_ == "bulk_store")
      bulk_copy();
    else if (op_.starts_with("tma_"))
      tensor_copy();
    else if (op_.starts_with("mma_"))
      mma();
    else if (op_.starts_with("wgmma_"))
      wgmma();
    else if (op_.starts_with("red_add"))
      reductions();
    else if (op_ == "cvt_rna_tf32" || op_ == "copy_f32")
      each([&](unsigned t) { Values{.type = Type::f32}.fill(random_, field(t, 0), 4); });
    else if (op_ == "cvt_e4m3x2" || op_ == "cvt_e5m2x2")
      each([&](unsigned t) {
        for (unsigned operand : {0, 1})
          small_value(field(t, operand));
      });
  }

  // A float that is often an 8-bit value, or a tie between two, or near the limits of the range.
  void small_value(std::byte *to) {
    Values{.type = Type::f32}.fill(random_, to, 4);
    if (random_.one_in(4))
      return;
    Values{.type = Type::f32, .mode = Mode::spread, .exponent = 0, .width = 18}.fill(random_, to,
                                                                                     4);
    uint32_t bits;
    std::memcpy(&bits, to, 4);
    if (random_.one_in(2)) // few bits: ties
      bits &= ~0x3ffffu;
    std::memcpy(to, &bits, 4);
  }

  // All threads of both blocks of a cluster write, each to a different word.
  static void store_cluster(const OpEntry &entry, Inputs &inputs, unsigned cluster,
                            Random &random) {
    std::vector<uint32_t> places(2 * entry.image_bytes / 4);
    std::iota(places.begin(), places.end(), 0);
    for (unsigned i = 0; i < 2 * entry.threads; i++) {
      std::swap(places[i], places[i + random.below(uint32_t(places.size() - i))]);
      BlockMaker block(entry, Mode::bits, inputs, 2 * cluster + i / entry.threads, random);
      block.put<uint32_t>(i % entry.threads, 0, block.place_in_cluster(places[i]));
    }
  }

private:
  template <typename T> void put(unsigned thread, unsigned operand, T value) {
    std::memcpy(field(thread, operand), &value, sizeof value);
  }
  std::byte *field(unsigned thread, unsigned operand) {
    return in_ + entry_.image_bytes + entry_.memory_bytes + thread * entry_.record_bytes +
           entry_.operand_offsets[operand];
  }

  template <typename F> void each(F f) {
    for (unsigned t = 0; t < entry_.threads; t++)
      f(t);
  }
  // Calls f(thread, i) with a different i < count for every thread.
  template <typename F> void each_with_own(unsigned count, F f) {
    std::vector<uint32_t> all(count);
    std::iota(all.begin(), all.end(), 0);
    each([&](unsigned t) {
      std::swap(all[t], all[t + random_.below(count - t)]);
      f(t, all[t]);
    });
  }

  void votes() {
    uint32_t kind = random_.below(4);
    each([&](unsigned t) {
      bool yes = kind == 0 || (kind != 1 && random_.one_in(2));
      if (kind == 3)
        yes = random_.one_in(32) != (block_ % 2);
      put<uint32_t>(t, 0, yes ? 1u << random_.below(32) : 0);
    });
  }

  void copies(unsigned width) {
    each_with_own(entry_.image_bytes / width, [&](unsigned t, uint32_t i) {
      put<uint32_t>(t, 0, width * i);
      put<uint64_t>(t, 1, width * random_.below(entry_.memory_bytes / width));
      put<uint32_t>(t, 2, random_.below(width + 1));
    });
  }

  void phases() {
    uint32_t expected = 1 + random_.below(6);
    std::memcpy(in_, &expected, 4);
    each([&](unsigned t) {
      put<uint32_t>(t, 0, random_.below(4));
      put<uint32_t>(t, 1, random_.below(2));
    });
  }

  uint32_t place_in_cluster(uint32_t word) const {
    uint32_t words = entry_.image_bytes / 4;
    return word % words * 4 | word / words << 24;
  }

  void bulk_copy() {
    uint32_t bytes = 16 * (1 + random_.below(entry_.image_bytes / 16));
    uint32_t shared = 16 * random_.below((entry_.image_bytes - bytes) / 16 + 1);
    uint64_t memory = 16 * random_.below((entry_.memory_bytes - bytes) / 16 + 1);
    if (op_ == "bulk_load") {
      put(0, 0, shared);
      put(0, 1, memory);
      put(0, 2, bytes);
      put(0, 3, bytes); // the bytes that the mbarrier counts
    } else {
      put(0, 0, memory);
      put(0, 1, shared);
      put(0, 2, bytes);
    }
  }

  void tensor_copy() {
    bool is_load = op_.starts_with("tma_load"), multicast = op_.starts_with("tma_load_multicast");
    unsigned rank = unsigned(op_[op_.size() - 2] - '0');
    // The first block of a cluster copies for all blocks.
    unsigned issuer = block_ / entry_.blocks * entry_.blocks;
    if (issuer == block_)
      inputs_.tensors[block_] = random_tensor(random_, op_, rank, mode_);
    const Tensor &tensor = inputs_.tensors[issuer];
    inputs_.tensors[block_] = tensor;
    Values values;
    values.type = element_type(DataType(tensor.type));
    values.mode = mode_ == Mode::spread ? Mode::spread : Mode::bits;
    values.width = int(random_.below(20));
    values.fill(random_, in_, entry_.image_bytes);
    values.exponent = int(random_.between(-4, 4));
    values.fill(random_, inputs_.tensor_memory.data() + block_ * tensor_bytes, tensor_bytes);

    uint32_t bytes = box_bytes(tensor);
    uint32_t shared = 128 * random_.below((entry_.image_bytes - bytes) / 128 + 1);
    unsigned first = is_load ? 2 : 1; // operand of the first coordinate
    for (unsigned i = 0; i < rank; i++)
      put(0, first + i, random_coordinate(random_, tensor, i, is_load));
    if (!is_load) {
      put(0, first + rank, shared);
      return;
    }
    put(0, 0, shared);
    if (op_.starts_with("tma_load_hinted"))
      put<uint64_t>(0, first + rank + 1, 0x12F0000000000000); // evict first
    if (!multicast) {
      put(0, first + rank, bytes);
      return;
    }
    // The multicast mask, the same in all blocks of the cluster.
    unsigned back = (block_ - issuer) * entry_.in_bytes(), rank_in_cluster = block_ - issuer;
    uint32_t mask = 1 + random_.below(3);
    if (rank_in_cluster > 0)
      std::memcpy(&mask, field(0, first + rank + 1) - back, 4);
    put(0, first + rank, mask >> rank_in_cluster & 1 ? bytes : 0);
    put(0, first + rank + 1, mask);
  }

  void mma() {
    auto [a, b] = types_of(op_);
    MatmulValues values = matmul_values(random_, a, b, mode_);
    const unsigned *offsets = entry_.operand_offsets;
    each([&](unsigned t) {
      values.a.fill(random_, field(t, 0), offsets[1] - offsets[0]);
      values.b.fill(random_, field(t, 1), offsets[2] - offsets[1]);
      values.c.fill(random_, field(t, 2), entry_.result_bytes);
    });
  }

  void wgmma() {
    bool in_registers = op_.ends_with("_ra"), canonical = mode_ != Mode::layouts;
    auto [type_a, type_b] = types_of(op_);
    MatmulValues values = matmul_values(random_, type_a, type_b, mode_);
    bool transposable = type_a == Type::f16 || type_a == Type::bf16;
    Matrix a = {64, Major::k}, b = {2 * entry_.immediates[0], Major::k};
    if (transposable) {
      a.major = !in_registers && entry_.immediates[1] ? Major::mn : Major::k;
      b.major = entry_.immediates[in_registers ? 1 : 2] ? Major::mn : Major::k;
    }
    // A and B may overlap.
    uint64_t descriptor_a = random_descriptor(random_, a, entry_.image_bytes, canonical);
    uint64_t descriptor_b = random_descriptor(random_, b, entry_.image_bytes, canonical);
    // With different types of A and B, every byte is a valid value of both.
    values.b.fill(random_, in_, entry_.image_bytes);
    if (mode_ == Mode::spread && !in_registers)
      mix(values.a);
    bool add = !random_.one_in(4);
    unsigned last = entry_.operand_count - 1;
    each([&](unsigned t) {
      if (in_registers)
        values.a.fill(random_, field(t, 1), 16);
      else
        put(t, 1, descriptor_a);
      put(t, 2, descriptor_b);
      put<uint32_t>(t, 3, add);
      std::byte *accumulators = field(t, last);
      values.c.fill(random_, accumulators, entry_.result_bytes);
      if (type_a != Type::integer)
        for (unsigned i = 0; i < entry_.result_bytes; i += 4) {
          uint32_t bits;
          std::memcpy(&bits, accumulators + i, 4);
          if (bits >= 0xffc00000) { // the emulator marks registers in flight with these bits
            bits &= 0x7fffffff;
            std::memcpy(accumulators + i, &bits, 4);
          }
        }
    });
  }
  // Mixes values of A into the image, which has values of B.
  void mix(const Values &values) {
    for (unsigned i = 0; i < entry_.image_bytes; i += 256)
      if (random_.one_in(2))
        values.fill(random_, in_ + i, 256);
  }

  void reductions() {
    Values values;
    values.type = op_ == "red_add_f16x2" ? Type::f16 : Type::bf16;
    values.mode = mode_;
    values.width = int(random_.below(8));
    values.fill(random_, out_ + entry_.image_bytes, entry_.memory_bytes);
    each_with_own(entry_.memory_bytes / 4, [&](unsigned t, uint32_t i) {
      put<uint64_t>(t, 0, 4 * i);
      values.fill(random_, field(t, 1), 4);
    });
  }

  const OpEntry &entry_;
  string_view op_;
  Mode mode_;
  Inputs &inputs_;
  unsigned block_;
  Random &random_;
  std::byte *in_, *out_;
};

} // namespace

std::vector<Mode> modes_of(const OpEntry &entry) {
  using enum Mode;
  string_view op = entry.op;
  if (op.starts_with("mma_") || op.starts_with("wgmma_")) {
    bool integer = types_of(op).first == Type::integer;
    std::vector<Mode> modes = {bits};
    if (!integer)
      modes = {bits, spread, whole};
    if (op.starts_with("wgmma_"))
      modes.push_back(layouts);
    return modes;
  }
  if (op.starts_with("red_add"))
    return {bits, spread};
  if (op.starts_with("tma_reduce"))
    return op.starts_with("tma_reduce_add") ? std::vector{bits, spread} : std::vector{bits};
  if (op.starts_with("tma_") && op.substr(op.size() - 2) != "1d")
    return {bits, layouts};
  return {bits};
}

Inputs make_inputs(const OpEntry &entry, Mode mode, unsigned blocks, uint64_t seed) {
  Random random(seed);
  Inputs inputs;
  inputs.blocks = blocks;
  inputs.in.resize(size_t(blocks) * entry.in_bytes());
  inputs.out.resize(size_t(blocks) * entry.out_bytes());
  if (entry.takes_map) {
    inputs.tensors.resize(blocks);
    inputs.tensor_memory.resize(blocks * tensor_bytes);
  }
  random.fill(inputs.in.data(), inputs.in.size());
  random.fill(inputs.out.data(), inputs.out.size());
  for (unsigned block = 0; block < blocks; block++)
    BlockMaker(entry, mode, inputs, block, random).make();
  if (string_view(entry.op) == "store_cluster")
    for (unsigned cluster = 0; cluster < blocks / 2; cluster++)
      BlockMaker::store_cluster(entry, inputs, cluster, random);
  return inputs;
}

Tensor random_arguments(Random &random) {
  unsigned rank = 1 + random.below(5);
  constexpr string_view ops[] = {"tma_load", "tma_store"};
  Tensor tensor = random_tensor(random, ops[random.below(2)], rank,
                                random.one_in(2) ? Mode::layouts : Mode::bits);
  auto dimension = [&] { return random.below(rank); };
  auto any_of = [&](std::initializer_list<uint64_t> values) {
    return values.begin()[random.below(uint32_t(values.size()))];
  };
  for (unsigned changes = random.below(3); changes > 0; changes--)
    switch (random.below(12)) {
    case 0:
      tensor.type = int(random.below(14)); // includes a type that does not exist, and packed types
      break;
    case 1:
      tensor.rank = uint32_t(any_of({0, 1, 2, 3, 4, 5, 6}));
      if (tensor.rank > rank)
        tensor.rank = rank;
      break;
    case 2:
      tensor.offset += any_of({1, 2, 4, 8, 16, 32, 64});
      break;
    case 3:
      tensor.sizes[dimension()] =
          any_of({0, 1, 2, 255, 256, 257, 65536, uint64_t(1) << 31, (uint64_t(1) << 32) - 1,
                  uint64_t(1) << 32, (uint64_t(1) << 32) + 1, uint64_t(1) << 40});
      break;
    case 4:
    case 5:
      tensor.strides[rank > 1 ? random.below(rank - 1) : 0] =
          any_of({0, 8, 16, 17, 32, 48, 64, 80, 4096, uint64_t(1) << 31, uint64_t(1) << 32,
                  uint64_t(1) << 36, (uint64_t(1) << 40) - 16, uint64_t(1) << 40,
                  (uint64_t(1) << 40) + 16});
      break;
    case 6:
      tensor.box[dimension()] = uint32_t(any_of({0, 1, 2, 3, 8, 100, 128, 255, 256, 257, 512}));
      break;
    case 7:
      tensor.box[0] = random.below(300);
      break;
    case 8:
      tensor.element_strides[dimension()] = uint32_t(any_of({0, 1, 2, 3, 7, 8, 9, 16}));
      break;
    case 9:
      tensor.swizzle = int(random.below(5));
      break;
    case 10:
      tensor.fill = int(random.below(3));
      break;
    case 11:
      tensor.l2_promotion = int(random.below(5));
      break;
    }
  return tensor;
}

} // namespace tritonc::test
