// Recent launches, ready to be made again.
//
// A launch is the same if its kernel, the variant it names, the grid it says, its stream and all
// its arguments are: then what it hands to the driver is, too, on the same device. None of that
// depends on the memory behind the pointers, and descriptors stay as they are, where they are. The
// driver's handle of a kernel is good in each context and for as long as the process lives; which
// context is meant the driver finds out itself, from the stream. So nothing here is ever wrong for
// being old: not when a context is destroyed or reset, nor when another context or stream has its
// address.
//
// The driver's part of a launch takes microseconds and leaves little of ours in the caches. So what
// happens at a launch again is here in the header, for the compiler to make one piece of it: few
// instructions in a row, few lines of memory, hardly a branch that could go either way.

#pragma once

#include "form.h"

#include <atomic>

namespace tritonc::v1::recent {

/// What identifies a launch, apart from its device.
class Key {
public:
  Key(const abi::kernel &kernel, cuda::Stream stream, const void *arguments,
      const std::int32_t *choice, const grid *extent) noexcept {
    // The lowest bits of the address are free.
    add(word_of(&kernel) | (choice ? 1 : 0) | (extent ? 2 : 0));
    add(word_of(stream));
    std::uint32_t bytes = kernel.argument_bytes;
    if (bytes >= 8 && bytes <= 8 * most_argument_words) [[likely]]
      add_whole(static_cast<const char *>(arguments), bytes);
    else
      add_one_by_one(kernel, arguments);
    if (choice || extent) [[unlikely]]
      add_rest(kernel, choice, extent);
    hash_ = (hash_ ^ hash_ >> 32) * odd;
    hash_ ^= hash_ >> 29;
  }

  /// That of the second of two launches that share the work.
  Key of_rest() const {
    Key rest = *this;
    rest.words_[0] |= 4;
    rest.hash_ ^= odd;
    return rest;
  }

  /// Not if there are too many arguments, or the descriptor does not say their sizes.
  bool is_usable() const { return is_usable_; }

private:
  friend class Place;
  friend class Again;
  friend void remember(const Key &key, cuda::Device device, const abi::kernel &kernel,
                       const struct Prepared &prepared) noexcept;

  static constexpr std::uint64_t odd = 0x9e3779b97f4a7c15u; // 2^64 divided by the golden ratio
  static constexpr std::uint32_t first_argument = 2;
  static constexpr std::uint32_t most_argument_words = 48;
  static constexpr std::uint32_t most_words = 64;

  template <typename T> static std::uint64_t word_of(T *pointer) {
    return reinterpret_cast<std::uintptr_t>(pointer);
  }

  // The products don't wait for each other.
  void add(std::uint64_t word) {
    factor_ += 2 * odd;
    hash_ += word * factor_;
    words_[count_++] = word;
  }

  /// Without a gap, they are compared as they lie; a last word that is not full begins earlier.
  void add_whole(const char *arguments, std::uint32_t bytes) {
    for (std::uint32_t i = 0; i < bytes; i += 8) {
      std::uint64_t word;
      __builtin_memcpy(&word, arguments + (i < bytes - 8 ? i : bytes - 8), 8);
      add(word);
    }
  }
  void add_one_by_one(const abi::kernel &kernel, const void *arguments);
  void add_rest(const abi::kernel &kernel, const std::int32_t *choice, const grid *extent);

  /// Where in the words the argument is.
  static std::uint32_t byte_of(const abi::kernel &kernel, std::uint32_t argument);

  std::uint64_t factor_ = odd;
  std::uint64_t hash_ = 0;
  std::uint32_t count_ = 0;
  bool is_usable_ = true;
  std::uint64_t words_[most_words];
};

inline constexpr unsigned most_attributes = 2;

/// What a launch hands to the driver beside the arguments.
struct Prepared {
  cuda::Function function = nullptr;
  cuda::LaunchConfig config = {}; // with so many of these attributes
  cuda::LaunchAttribute attributes[most_attributes];
  const abi::form *form = nullptr; // in which order the hidden values come
  cuda::Hidden hidden;
  std::int64_t scratch_bytes = 0; // of the first of two launches that share it

  /// One attribute more; its value is for the caller to set.
  auto &add(cuda::LaunchAttributeId id) {
    cuda::LaunchAttribute &attribute = attributes[config.attribute_count++];
    attribute = {};
    attribute.id = id;
    return attribute.value;
  }
};

/// Where the form's hidden values are, in its order. `scratch`: where the address of the scratch
/// memory is.
void find_hidden(const abi::form *form, const cuda::TensorMapBytes *maps,
                 const std::int64_t *numbers, cuda::Pointer *scratch, void **values) noexcept;

/// Where a launch is kept. It is made where it lies, without a copy, by one thread at a time: that
/// takes the place before it looks whether it is the right one, and gives it back when the driver
/// has it. Taking it is the one locked instruction of a launch again. Who finds a place taken goes
/// on without: nobody ever waits, threads that make the same launch have places of their own in the
/// end, and a thread that is stopped half-way (a forked child has only one of them) costs its place
/// and no more.
class alignas(64) Place {
public:
  /// Whether the launch of this hash may be here; `holds` knows better.
  bool may_hold(std::uint64_t hash) const { return hash_.load(std::memory_order_relaxed) == hash; }
  /// False if somebody has it.
  bool take() { return !is_taken_.exchange(true, std::memory_order_acquire); }
  void give_back() { is_taken_.store(false, std::memory_order_release); }

  bool holds(const Key &key, cuda::Device device) const {
    std::uint64_t differences =
        std::uint64_t(count_ ^ key.count_) | std::uint64_t(device_ ^ device);
    for (std::uint32_t i = 0; i < key.count_; i++)
      differences |= words_[i] ^ key.words_[i];
    return differences == 0;
  }

  bool shares_work() const { return shares_work_; }
  std::int64_t scratch_bytes() const { return scratch_bytes_; }
  cuda::Result launch(const cuda::Driver &driver) {
    return driver.cuLaunchKernelEx(&config_, function_, values_, nullptr);
  }
  /// With scratch memory, which is another one each time.
  cuda::Result launch_with(const cuda::Driver &driver, cuda::Pointer scratch) {
    scratch_ = scratch;
    return launch(driver);
  }

  /// False if somebody has it, or if there are too many arguments.
  bool write(const Key &key, cuda::Device device, const abi::kernel &kernel,
             const Prepared &prepared);

private:
  static constexpr std::uint32_t most_arguments = 64;

  void keep(const Key &key);
  void keep(const Prepared &prepared);

  // Static, so zero at first, which is no key; an initialiser here would be code that runs at
  // start. In the order in which a launch again reads it.
  std::atomic<std::uint64_t> hash_;
  std::atomic<bool> is_taken_;
  bool shares_work_;
  cuda::Device device_;
  std::uint32_t count_; // of the key's words
  cuda::Function function_;
  cuda::LaunchConfig config_;
  std::uint64_t words_[Key::most_words];
  cuda::LaunchAttribute attributes_[most_attributes];
  void *values_[most_arguments + abi::max_hidden];
  std::int64_t numbers_[abi::max_hidden];
  std::int64_t scratch_bytes_;
  cuda::Pointer scratch_; // where it was at the last launch
  cuda::TensorMapBytes maps_[abi::max_tensor_maps];
};

/// A launch has its place in the set that its hash says; a new one takes the place of the oldest.
struct alignas(64) Set {
  static constexpr std::size_t ways = 4;
  Place places[ways];
  std::atomic<std::uint32_t> writes; // the next takes the place of the oldest

  static Set &of(std::uint64_t hash);
};
extern Set sets[64];
inline Set &Set::of(std::uint64_t hash) { return sets[hash % (sizeof sets / sizeof *sets)]; }

/// A recent launch, which is nobody else's while this lives.
class Again {
public:
  Again(const Key &key, cuda::Device device) noexcept {
    for (Place &place : Set::of(key.hash_).places)
      if (place.may_hold(key.hash_) && place.take()) [[likely]] {
        if (place.holds(key, device)) [[likely]] {
          place_ = &place;
          return;
        }
        place.give_back();
      }
  }
  ~Again() {
    if (place_)
      place_->give_back();
  }
  Again(const Again &) = delete;

  explicit operator bool() const { return place_; }
  /// Whether another one, with the key's `of_rest`, does the rest of the work.
  bool shares_work() const { return place_->shares_work(); }
  std::int64_t scratch_bytes() const { return place_->scratch_bytes(); }
  cuda::Result launch(const cuda::Driver &driver) const { return place_->launch(driver); }
  cuda::Result launch_with(const cuda::Driver &driver, cuda::Pointer scratch) const {
    return place_->launch_with(driver, scratch);
  }

private:
  Place *place_ = nullptr;
};

/// Keeps it for a while, unless other threads are just using all places where it could be.
void remember(const Key &key, cuda::Device device, const abi::kernel &kernel,
              const Prepared &prepared) noexcept;

} // namespace tritonc::v1::recent
