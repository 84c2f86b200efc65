// What is remembered of a piece of memory to find the accesses that race with later ones.
//
// A cell keeps the last plain write and every access since it that later ones could still race
// with: reads, and atomic operations, which like reads don't conflict among themselves. One of
// those is in the cell; when a second comes that nothing orders with it, they move to a list
// (`RaceSets`), which becomes an array by actor where it gets long. An access that comes after one
// of its kind takes its place: whoever races with the one then races with the other too. So nothing
// is lost, and after a barrier lists are gone.
//
// A cell describes 16 bytes, as kernels access most of their memory. Where they access less it is
// split into a cell for each word, and words into bytes.

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

/// An access as cells remember it. Epoch 0: none.
struct PastAccess {
  Epoch epoch = 0;
  Actor actor = 0;
  uint16_t site_and_kind = 0; // index of the site * 2 + 1 if atomic

  static constexpr unsigned unknown_site = 0x7fff;
  unsigned site() const { return site_and_kind >> 1; }
  bool is_atomic() const { return site_and_kind & 1; }
};

/// `RaceCell::others.actor` may be one of these instead of an actor.
inline constexpr Actor many_others = 0xffff; // others.epoch is the number of a list
inline constexpr Actor split_cell = 0xfffe;  // others.epoch is the number of its four parts

struct RaceCell {
  PastAccess writer;
  PastAccess others; // the only one, or where they are

  bool is_split() const { return others.actor == split_cell && others.epoch; }
  bool has_list() const { return others.actor == many_others && others.epoch; }
};
static_assert(sizeof(RaceCell) == 16);

/// What a new access races with.
struct Conflict {
  PastAccess with;
  AccessKind kind = AccessKind::read;
  explicit operator bool() const { return with.epoch != 0; }
};

/// The lists and parts of a memory's cells.
class RaceSets {
public:
  /// Forgets all, so no cell may refer to one any more.
  void clear();

  /// Remembers an access to all of what `cell` describes and says what it races with. The cell is
  /// not split.
  Conflict access(RaceCell &cell, const View &view, AccessKind kind, unsigned site);

  /// The four parts of a cell; splits it if it isn't. They stay where they are until `forget`.
  RaceCell *split(RaceCell &cell);
  /// Makes the cell empty and whole.
  void forget(RaceCell &cell);
  /// `cell` for someone else: lists are copied, so that both may change them.
  RaceCell copy(const RaceCell &cell);

private:
  struct List {
    std::vector<PastAccess> few;
    // Once there are many: by actor, as long as the highest that was there.
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
