// What recent launches came to, so that the same launch again has nothing to find out.
//
// A launch is the same if its kernel, the variant it names, the grid it says and all its arguments
// are: then requirements, variant, form, blocks and tensor maps are, too, on the same device. None
// of them depends on the memory behind the pointers, and descriptors are constant, so nothing here
// is ever wrong for being old.

#pragma once

#include "form.h"

namespace tritonc::v1::recent {

/// What identifies a launch, apart from its device.
class Key {
public:
  Key(const abi::kernel &kernel, const void *arguments, const std::int32_t *choice,
      const grid *extent) noexcept;

  /// Not if there are too many arguments, or the descriptor does not say their sizes.
  bool is_usable() const { return count_ != 0; }

private:
  friend class Entry;
  friend bool recall(const Key &key, struct Decision &decision) noexcept;
  friend void remember(const Key &key, const struct Decision &decision) noexcept;

  void add(std::uint64_t word);

  static constexpr std::uint32_t most_words = 48;
  std::uint64_t words_[most_words];
  std::uint32_t count_ = 0;
  std::uint64_t hash_ = 0;
};

/// All that follows from a launch's arguments and device.
struct Decision {
  int device = 0;
  const abi::variant *variant = nullptr;
  const abi::image *image = nullptr;
  grid blocks;
  cuda::Hidden hidden;
};

/// The decision on such a launch, if there was one recently; the device may be another.
bool recall(const Key &key, Decision &decision) noexcept;

/// Keeps it for a while, unless another thread is just doing so in its place.
void remember(const Key &key, const Decision &decision) noexcept;

} // namespace tritonc::v1::recent
