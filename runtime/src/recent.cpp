// What recent launches came to, so that the same launch again has nothing to find out.
//
// A fixed number of entries, in sets of sixteen; a launch has its place in the set that its hash
// says, and a new one takes the place of the oldest there. Any number of threads read an entry at
// the same time, and write nothing: it carries a number that is odd while the entry is written and
// another one after that, so a reader that sees the same even number before and after has read what
// belongs together. One that does not, and a writer that finds another at work, go without. So
// nobody ever waits, and a thread that is stopped half-way (a forked child has only one of them)
// costs its entry and no more.

#include "recent.h"

#include <atomic>

namespace tritonc::v1::recent {

namespace {

constexpr std::uint64_t odd = 0x9e3779b97f4a7c15u; // 2^64 divided by the golden ratio

/// The argument's bits; false if its size is none that an argument has.
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

template <typename T> std::uint64_t word_of(T *pointer) {
  return reinterpret_cast<std::uintptr_t>(pointer);
}

} // namespace

// ---- the key ----

Key::Key(const abi::kernel &kernel, const void *arguments, const std::int32_t *choice,
         const grid *extent) noexcept {
  std::uint64_t count = 1 + std::uint64_t(kernel.parameter_count) +
                        (choice ? kernel.axis_count : 0) + (extent ? 3 : 0);
  if (count > most_words || kernel.variant_count == 0)
    return;
  // The lowest bits of the address are free.
  add(word_of(&kernel) | (choice ? 1 : 0) | (extent ? 2 : 0));
  const abi::parameter *parameters = kernel.variants[0].parameters; // of all: the same struct
  for (std::uint32_t i = 0; i < kernel.parameter_count; i++) {
    std::uint64_t bits;
    if (!read_bits(static_cast<const char *>(arguments) + parameters[i].offset, parameters[i].bytes,
                   bits)) {
      count_ = 0;
      return;
    }
    add(bits);
  }
  for (std::uint32_t i = 0; choice && i < kernel.axis_count; i++)
    add(std::uint64_t(choice[i]));
  if (extent) {
    add(std::uint64_t(extent->x));
    add(std::uint64_t(extent->y));
    add(std::uint64_t(extent->z));
  }
  hash_ ^= hash_ >> 32;
  hash_ *= odd;
  hash_ ^= hash_ >> 29;
}

// The products don't wait for each other.
void Key::add(std::uint64_t word) {
  hash_ += word * (odd * (2 * count_ + 1));
  words_[count_++] = word;
}

// ---- entries ----

/// A key and its decision, as words that may be read while they are written.
class Entry {
public:
  bool read(const Key &key, Decision &decision) const {
    std::uint64_t before = sequence_.load(std::memory_order_acquire);
    if (before % 2 != 0 || !has(key))
      return false;
    const Word *at = words_ + key.count_;
    decision.device = int(next(at));
    auto *variant = reinterpret_cast<const abi::variant *>(next(at));
    auto *image = reinterpret_cast<const abi::image *>(next(at));
    decision.blocks.x = std::int64_t(next(at));
    decision.blocks.y = std::int64_t(next(at));
    decision.blocks.z = std::int64_t(next(at));
    std::uint64_t counts = next(at);
    cuda::Hidden &hidden = decision.hidden;
    hidden.number_count = counts & 0xffffffff;
    hidden.map_count = counts >> 32;
    // While it is written, anything may be read.
    if (hidden.number_count > std::uint32_t(abi::max_hidden) ||
        hidden.map_count > std::uint32_t(abi::max_tensor_maps))
      return false;
    for (std::uint32_t i = 0; i < hidden.number_count; i++)
      hidden.numbers[i] = std::int64_t(next(at));
    for (std::uint32_t i = 0; i < hidden.map_count; i++)
      for (std::uint64_t &word : hidden.maps[i].words)
        word = next(at);
    std::atomic_thread_fence(std::memory_order_acquire);
    if (sequence_.load(std::memory_order_relaxed) != before)
      return false;
    decision.variant = variant;
    decision.image = image;
    return true;
  }

  bool write(const Key &key, const Decision &decision) {
    std::uint64_t before = sequence_.load(std::memory_order_relaxed);
    if (before % 2 != 0 ||
        !sequence_.compare_exchange_strong(before, before + 1, std::memory_order_acquire,
                                           std::memory_order_relaxed))
      return false;
    std::atomic_thread_fence(std::memory_order_release);
    Word *at = words_;
    count_.store(key.count_, std::memory_order_relaxed);
    for (std::uint32_t i = 0; i < key.count_; i++)
      put(at, key.words_[i]);
    put(at, std::uint64_t(decision.device));
    put(at, word_of(decision.variant));
    put(at, word_of(decision.image));
    put(at, std::uint64_t(decision.blocks.x));
    put(at, std::uint64_t(decision.blocks.y));
    put(at, std::uint64_t(decision.blocks.z));
    const cuda::Hidden &hidden = decision.hidden;
    put(at, hidden.number_count | std::uint64_t(hidden.map_count) << 32);
    for (std::uint32_t i = 0; i < hidden.number_count; i++)
      put(at, std::uint64_t(hidden.numbers[i]));
    for (std::uint32_t i = 0; i < hidden.map_count; i++)
      for (std::uint64_t word : hidden.maps[i].words)
        put(at, word);
    sequence_.store(before + 2, std::memory_order_release);
    return true;
  }

private:
  using Word = std::atomic<std::uint64_t>;

  static std::uint64_t next(const Word *&at) { return at++->load(std::memory_order_relaxed); }
  static void put(Word *&at, std::uint64_t word) { at++->store(word, std::memory_order_relaxed); }

  bool has(const Key &key) const {
    if (count_.load(std::memory_order_relaxed) != key.count_)
      return false;
    for (std::uint32_t i = 0; i < key.count_; i++)
      if (words_[i].load(std::memory_order_relaxed) != key.words_[i])
        return false;
    return true;
  }

  static constexpr std::size_t decision_words =
      7 + abi::max_hidden + abi::max_tensor_maps * sizeof(cuda::TensorMapBytes) / 8;

  // Static, so zero at first, which is no key; an initialiser here would be code that runs at
  // start.
  Word sequence_;
  Word count_; // of the key's words
  Word words_[Key::most_words + decision_words];
};

namespace {

constexpr std::size_t ways = 16;

struct Set {
  std::atomic<std::uint64_t> hashes[ways]; // where to look; the entries know better
  std::atomic<std::uint32_t> writes;       // the next takes the place of the oldest
  Entry entries[ways];
};

Set sets[16];

Set &set_of(std::uint64_t hash) { return sets[hash % (sizeof sets / sizeof *sets)]; }

} // namespace

bool recall(const Key &key, Decision &decision) noexcept {
  const Set &set = set_of(key.hash_);
  for (std::size_t i = 0; i < ways; i++)
    if (set.hashes[i].load(std::memory_order_relaxed) == key.hash_ &&
        set.entries[i].read(key, decision))
      return true;
  return false;
}

void remember(const Key &key, const Decision &decision) noexcept {
  Set &set = set_of(key.hash_);
  std::size_t place = ways;
  for (std::size_t i = 0; i < ways; i++)
    if (set.hashes[i].load(std::memory_order_relaxed) == key.hash_)
      place = i; // of another device, or written just now by another thread
  if (place == ways)
    place = set.writes.fetch_add(1, std::memory_order_relaxed) % ways;
  if (set.entries[place].write(key, decision))
    set.hashes[place].store(key.hash_, std::memory_order_relaxed);
}

} // namespace tritonc::v1::recent
