// Launch cache: recent launches, ready to be repeated.
//
// Two launches are the same if kernel, named variant, caller's grid, stream and all arguments are
// equal. On the same device, they then pass the same values to the driver. These values depend
// neither on the memory behind the pointers nor on the context:
//
// - Descriptors are constant and stay at their addresses.
// - The driver's kernel handle is valid in every context until the process ends.
// - The driver itself finds the context from the stream.
//
// So an entry never becomes stale, even if a context is destroyed or reset, or if another context
// or stream gets the same address.
//
// A driver call takes microseconds and evicts most of the runtime's data from the CPU caches. So
// the repeated launch is inline in this header: few instructions, few cache lines, and almost no
// unpredictable branch.

#pragma once

#include "select/schedule.h"

#include <atomic>

namespace tritonc::v1::launch_cache {

/// Identifies a launch, except for its device.
class Key {
public:
  Key(const abi::kernel &kernel, cuda::Stream stream, const void *arguments,
      const std::int32_t *choice, const grid *extent) noexcept {
    // The lowest bits of an aligned address are free.
    add(word_of(&kernel) | (choice ? 1 : 0) | (extent ? 2 : 0));
    add(word_of(stream));
    std::uint32_t bytes = kernel.argument_bytes;
    if (bytes >= 8 && bytes <= 8 * max_argument_words) [[likely]]
      add_whole(static_cast<const char *>(arguments), bytes);
    else
      add_one_by_one(kernel, arguments);
    if (choice || extent) [[unlikely]]
      add_rest(kernel, choice, extent);
    hash_ = (hash_ ^ hash_ >> 32) * odd;
    hash_ ^= hash_ >> 29;
  }

  /// Returns the key of the second launch of a pair.
  Key of_rest() const {
    Key rest = *this;
    rest.words_[0] |= 4;
    rest.hash_ ^= odd;
    return rest;
  }

  /// False if there are too many arguments, or if the descriptor has no sizes for them.
  bool is_usable() const { return is_usable_; }

private:
  friend class Place;
  friend class Again;
  friend void remember(const Key &key, cuda::Device device, const abi::kernel &kernel,
                       const struct Prepared &prepared) noexcept;

  static constexpr std::uint64_t odd = 0x9e3779b97f4a7c15u; // 2^64 divided by the golden ratio
  static constexpr std::uint32_t first_argument = 2;
  static constexpr std::uint32_t max_argument_words = 48;
  static constexpr std::uint32_t max_words = 64;

  template <typename T> static std::uint64_t word_of(T *pointer) {
    return reinterpret_cast<std::uintptr_t>(pointer);
  }

  // Each word has its own factor, so the multiplications are independent of each other.
  void add(std::uint64_t word) {
    factor_ += 2 * odd;
    hash_ += word * factor_;
    words_[count_++] = word;
  }

  /// Adds arguments without gaps as whole 8-byte words. If the last word is not full, it overlaps
  /// the word before it.
  void add_whole(const char *arguments, std::uint32_t bytes) {
    for (std::uint32_t i = 0; i < bytes; i += 8) {
      std::uint64_t word;
      __builtin_memcpy(&word, arguments + (i < bytes - 8 ? i : bytes - 8), 8);
      add(word);
    }
  }
  void add_one_by_one(const abi::kernel &kernel, const void *arguments);
  void add_rest(const abi::kernel &kernel, const std::int32_t *choice, const grid *extent);

  /// Returns the byte offset of an argument in the words.
  static std::uint32_t byte_of(const abi::kernel &kernel, std::uint32_t argument);

  std::uint64_t factor_ = odd;
  std::uint64_t hash_ = 0;
  std::uint32_t count_ = 0;
  bool is_usable_ = true;
  std::uint64_t words_[max_words];
};

inline constexpr unsigned max_attributes = 2;

/// The values that a launch passes to the driver, except for the arguments.
struct Prepared {
  cuda::Function function = nullptr;
  cuda::LaunchConfig config = {}; // attribute_count of the attributes are used
  cuda::LaunchAttribute attributes[max_attributes];
  const abi::launch_config *launch = nullptr; // the order of the hidden values
  cuda::Hidden hidden;
  std::int64_t workspace_bytes = 0; // 0 = none; of a pair: that of the first launch

  bool is_first() const { return launch && launch->part == abi::launch_part::first; }

  /// Adds an attribute and returns its value, which the caller sets.
  auto &add(cuda::LaunchAttributeId id) {
    cuda::LaunchAttribute &attribute = attributes[config.attribute_count++];
    attribute = {};
    attribute.id = id;
    return attribute.value;
  }
};

/// Writes the addresses of the schedule's hidden values to `values`, in the schedule's order.
/// `workspace` points to the device address of the workspace.
void find_hidden(const abi::launch_config *launch, const cuda::TensorMapBytes *maps,
                 const std::int64_t *numbers, cuda::Pointer *workspace, void **values) noexcept;

/// A cache entry: one stored launch. A thread launches it in place, without a copy.
///
/// Only one thread uses an entry at a time. The thread takes the entry, compares the key, calls the
/// driver, and gives the entry back. Taking it is the only locked instruction of a repeated launch.
/// A thread that finds an entry taken does not wait; it launches without the cache. So threads that
/// repeat the same launch eventually have one entry each. A thread that stops halfway (fork copies
/// only one thread) blocks only its entry.
class alignas(64) Place {
public:
  /// True if the entry has this hash. `holds` compares the whole key.
  bool may_hold(std::uint64_t hash) const { return hash_.load(std::memory_order_relaxed) == hash; }
  /// Returns false if another thread uses the entry.
  bool take() { return !is_taken_.exchange(true, std::memory_order_acquire); }
  void give_back() { is_taken_.store(false, std::memory_order_release); }

  bool holds(const Key &key, cuda::Device device) const {
    std::uint64_t differences =
        std::uint64_t(count_ ^ key.count_) | std::uint64_t(device_ ^ device);
    for (std::uint32_t i = 0; i < key.count_; i++)
      differences |= words_[i] ^ key.words_[i];
    return differences == 0;
  }

  bool takes_one_call() const { return takes_one_call_; }
  bool is_first() const { return is_first_; }
  std::int64_t workspace_bytes() const { return workspace_bytes_; }
  cuda::Result launch(const cuda::Driver &driver) {
    return driver.cuLaunchKernelEx(&config_, function_, values_, nullptr);
  }
  /// Launches with a workspace, which is new for each launch.
  cuda::Result launch_with(const cuda::Driver &driver, cuda::Pointer workspace) {
    workspace_ = workspace;
    return launch(driver);
  }

  /// Stores a launch. Returns false if another thread uses the entry, or if there are too many
  /// arguments.
  bool write(const Key &key, cuda::Device device, const abi::kernel &kernel,
             const Prepared &prepared);

private:
  static constexpr std::uint32_t max_arguments = 64;

  void keep(const Key &key);
  void keep(const Prepared &prepared);

  // No initializers: entries are static and so zero at first, which matches no key. Initializers
  // would run code at program start. The members are in the order in which a repeated launch reads
  // them.
  std::atomic<std::uint64_t> hash_;
  std::atomic<bool> is_taken_;
  bool takes_one_call_, is_first_;
  cuda::Device device_;
  std::uint32_t count_; // number of the key's words
  cuda::Function function_;
  cuda::LaunchConfig config_;
  std::uint64_t words_[Key::max_words];
  cuda::LaunchAttribute attributes_[max_attributes];
  void *values_[max_arguments + abi::max_hidden];
  std::int64_t numbers_[abi::max_hidden];
  std::int64_t workspace_bytes_;
  cuda::Pointer workspace_; // the address of the last launch's workspace
  cuda::TensorMapBytes maps_[abi::max_tensor_maps];
};

/// A set of the set-associative cache. The hash of a launch selects the set. A new launch replaces
/// the oldest entry.
struct alignas(64) Set {
  static constexpr std::size_t ways = 4;
  Place places[ways];
  std::atomic<std::uint32_t> writes; // modulo `ways`: the oldest entry, which is replaced next

  static Set &of(std::uint64_t hash);
};
extern Set sets[64];
inline Set &Set::of(std::uint64_t hash) { return sets[hash % (sizeof sets / sizeof *sets)]; }

/// The lookup of a recent launch. The object holds the entry exclusively until its destructor.
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
  /// False for a pair, or with a workspace: those take several calls of the driver.
  bool takes_one_call() const { return place_->takes_one_call(); }
  /// True for the first launch of a pair. The second launch has the key `of_rest`.
  bool is_first() const { return place_->is_first(); }
  std::int64_t workspace_bytes() const { return place_->workspace_bytes(); }
  cuda::Result launch(const cuda::Driver &driver) const { return place_->launch(driver); }
  cuda::Result launch_with(const cuda::Driver &driver, cuda::Pointer workspace) const {
    return place_->launch_with(driver, workspace);
  }

private:
  Place *place_ = nullptr;
};

/// Stores a launch in the cache, unless other threads use all entries of its set.
void remember(const Key &key, cuda::Device device, const abi::kernel &kernel,
              const Prepared &prepared) noexcept;

} // namespace tritonc::v1::launch_cache
