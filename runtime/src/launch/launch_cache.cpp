// Launch cache: stores recent launches. launch_cache.h has the lookup and the launch.

#include "launch/launch_cache.h"

namespace tritonc::v1::launch_cache {

static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "a word begins with the argument in it");

// ---- the key ----

namespace {

/// Reads an argument of 1, 2, 4 or 8 bytes. Returns false for other sizes.
bool read_bits(const char *place, unsigned bytes, std::uint64_t &bits) {
  bits = 0;
  switch (bytes) {
  case 1:
    __builtin_memcpy(&bits, place, 1);
    return true;
  case 2:
    __builtin_memcpy(&bits, place, 2);
    return true;
  case 4:
    __builtin_memcpy(&bits, place, 4);
    return true;
  case 8:
    __builtin_memcpy(&bits, place, 8);
    return true;
  default:
    return false;
  }
}

} // namespace

void Key::add_one_by_one(const abi::kernel &kernel, const void *arguments) {
  is_usable_ = kernel.parameter_count <= max_argument_words && kernel.variant_count != 0;
  if (!is_usable_)
    return;
  const abi::parameter *parameters = kernel.variants[0].parameters; // the same in all variants
  for (std::uint32_t i = 0; i < kernel.parameter_count && is_usable_; i++) {
    std::uint64_t bits;
    is_usable_ = read_bits(static_cast<const char *>(arguments) + parameters[i].offset,
                           parameters[i].bytes, bits);
    add(bits);
  }
}

void Key::add_rest(const abi::kernel &kernel, const std::int32_t *choice, const grid *extent) {
  std::uint32_t axes = choice ? kernel.axis_count : 0;
  is_usable_ &= axes + 3 <= max_words - first_argument - max_argument_words;
  if (!is_usable_)
    return;
  for (std::uint32_t i = 0; i < axes; i++)
    add(std::uint64_t(choice[i]));
  if (!extent)
    return;
  add(std::uint64_t(extent->x));
  add(std::uint64_t(extent->y));
  add(std::uint64_t(extent->z));
}

std::uint32_t Key::byte_of(const abi::kernel &kernel, std::uint32_t argument) {
  std::uint32_t bytes = kernel.argument_bytes;
  if (bytes < 8)
    return 8 * (first_argument + argument);
  std::uint32_t offset = kernel.variants[0].parameters[argument].offset;
  bool is_left_over = offset >= bytes / 8 * 8;
  return 8 * first_argument + offset + (is_left_over ? 8 - bytes % 8 : 0);
}

// ---- places ----

bool Place::write(const Key &key, cuda::Device device, const abi::kernel &kernel,
                  const Prepared &prepared) {
  if (kernel.parameter_count > max_arguments || !take())
    return false;
  keep(key);
  device_ = device;
  keep(prepared);
  void **next = values_;
  for (std::uint32_t i = 0; i < kernel.parameter_count; i++)
    *next++ = reinterpret_cast<char *>(words_) + Key::byte_of(kernel, i);
  find_hidden(prepared.launch, maps_, numbers_, &workspace_, next);
  hash_.store(key.hash_, std::memory_order_relaxed);
  give_back();
  return true;
}

void Place::keep(const Key &key) {
  count_ = key.count_;
  for (std::uint32_t i = 0; i < key.count_; i++)
    words_[i] = key.words_[i];
}

void Place::keep(const Prepared &prepared) {
  function_ = prepared.function;
  workspace_bytes_ = prepared.workspace_bytes;
  is_first_ = prepared.is_first();
  takes_one_call_ = !is_first_ && !workspace_bytes_;
  config_ = prepared.config;
  config_.attributes = attributes_;
  for (unsigned i = 0; i < config_.attribute_count; i++)
    attributes_[i] = prepared.attributes[i];
  const cuda::Hidden &hidden = prepared.hidden;
  for (std::uint32_t i = 0; i < hidden.map_count; i++)
    maps_[i] = hidden.maps[i];
  for (std::uint32_t i = 0; i < hidden.number_count; i++)
    numbers_[i] = hidden.numbers[i];
}

Set sets[64];

void remember(const Key &key, cuda::Device device, const abi::kernel &kernel,
              const Prepared &prepared) noexcept {
  if (Again(key, device))
    return; // another thread has just stored the same launch
  Set &set = Set::of(key.hash_);
  for (std::size_t i = 0; i < Set::ways; i++) {
    std::size_t place = set.writes.fetch_add(1, std::memory_order_relaxed) % Set::ways;
    if (set.places[place].write(key, device, kernel, prepared))
      return;
  }
}

// ---- hidden values ----

void find_hidden(const abi::launch_config *launch, const cuda::TensorMapBytes *maps,
                 const std::int64_t *numbers, cuda::Pointer *workspace, void **values) noexcept {
  for (std::uint32_t i = 0; launch && i < launch->hidden_count; i++)
    switch (launch->hidden[i].kind) {
    case abi::hidden_kind::tensor_map:
      *values++ = const_cast<cuda::TensorMapBytes *>(maps++);
      break;
    case abi::hidden_kind::workspace:
      *values++ = workspace;
      break;
    default:
      *values++ = const_cast<std::int64_t *>(numbers++);
    }
}

} // namespace tritonc::v1::launch_cache
