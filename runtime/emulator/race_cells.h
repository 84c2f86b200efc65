// Race cells: the earlier accesses to a range of memory that later accesses could race with.
//
// A cell keeps the last plain write and the accesses since then: reads, and atomic operations,
// which like reads don't conflict with each other. The cell itself holds one of these accesses.
// When a second, unordered access follows, both move to a list (`RaceSets`). A long list becomes an
// array indexed by actor. An access replaces an earlier access of its kind that is ordered before
// it: an access that races with the earlier one also races with the later one. So no race is lost,
// and lists vanish after a barrier.
//
// A cell describes 16 bytes, the usual access size of kernels. Smaller accesses split it into one
// cell per word, and a word into bytes.

#pragma once

#include "clocks.h"

#include <array>
#include <cstdint>
#include <deque>
#include <vector>

namespace tritonc::emulator {

enum class AccessKind : uint8_t { read, write, atomic };

/// "read", "write", "atomic operation".
const char *noun(AccessKind kind);

/// An access in a cell. Epoch 0 = none.
struct PastAccess {
  Epoch epoch = 0;
  Actor actor = 0;
  uint16_t site_and_kind = 0; // index of the site * 2 + 1 if atomic

  static constexpr unsigned unknown_site = 0x7fff;
  unsigned site() const { return site_and_kind >> 1; }
  bool is_atomic() const { return site_and_kind & 1; }
};

/// Special values of `RaceCell::others.actor`.
inline constexpr Actor many_others = 0xffff; // others.epoch is the index of a list
inline constexpr Actor split_cell = 0xfffe;  // others.epoch is the index of the four parts

struct RaceCell {
  PastAccess writer;
  PastAccess others; // the only access, or a special value above

  bool is_split() const { return others.actor == split_cell && others.epoch; }
  bool has_list() const { return others.actor == many_others && others.epoch; }
};
static_assert(sizeof(RaceCell) == 16);

/// The earlier access that a new access races with.
struct Conflict {
  PastAccess with;
  AccessKind kind = AccessKind::read;
  explicit operator bool() const { return with.epoch != 0; }
};

/// The lists and split parts of all cells of a memory.
class RaceSets {
public:
  /// Drops all lists and parts. No cell may refer to one afterwards.
  void clear();

  /// Records an access to all bytes of `cell` and returns the access that it races with. The cell
  /// must not be split.
  Conflict access(RaceCell &cell, const View &view, AccessKind kind, unsigned site);

  /// The four parts of a cell; splits it if needed. The pointer is valid until `forget`.
  RaceCell *split(RaceCell &cell);
  /// Makes the cell empty and whole.
  void forget(RaceCell &cell);
  /// A copy of `cell` with its own copy of the list.
  RaceCell copy(const RaceCell &cell);

private:
  struct List {
    std::vector<PastAccess> few;
    // If is_wide: indexed by actor, up to the highest actor so far.
    bool is_wide = false;
    std::vector<PastAccess> reads, atomics;
  };
  uint32_t new_list();
  void drop_list(RaceCell &cell);
  Conflict join_others(RaceCell &cell, const View &view, const PastAccess &now);
  Conflict join_list(RaceCell &cell, const View &view, const PastAccess &now);
  static void widen(List &list);
  Conflict first_unordered(const RaceCell &cell, const View &view) const;

  std::vector<List> lists_;
  std::vector<uint32_t> free_lists_;
  std::deque<std::array<RaceCell, 4>> parts_;
  std::vector<uint32_t> free_parts_;
};

} // namespace tritonc::emulator
