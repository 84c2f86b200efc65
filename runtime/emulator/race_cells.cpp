// Updates race cells and finds the races. See race_cells.h.
//
// Tested by tests/unit/emulator/race_cells_test.cpp.

#include "race_cells.h"

namespace tritonc::emulator {
namespace {

constexpr size_t max_few = 24; // accesses in a list before it becomes an array

bool conflicts(bool is_atomic, const PastAccess &past) { return is_atomic != past.is_atomic(); }

/// Whether a later, ordered access makes `past` redundant: each access that races with `past` must
/// also race with the later access. This holds for accesses of the same kind only. A read cannot
/// replace an atomic operation, because a later read races only with the atomic operation. An
/// atomic operation cannot replace a read, because a later atomic operation races only with the
/// read.
bool replaces(bool is_atomic, const PastAccess &past) { return is_atomic == past.is_atomic(); }

void put(std::vector<PastAccess> &by_actor, const PastAccess &access) {
  if (by_actor.size() <= access.actor)
    by_actor.resize(access.actor + 1u);
  by_actor[access.actor] = access;
}

const PastAccess *find_unordered(const std::vector<PastAccess> &accesses, const View &view) {
  for (const PastAccess &past : accesses)
    if (past.epoch && !view.after(past.actor, past.epoch))
      return &past;
  return nullptr;
}

} // namespace

const char *noun(AccessKind kind) {
  switch (kind) {
  case AccessKind::read:
    return "read";
  case AccessKind::write:
    return "write";
  case AccessKind::atomic:
    return "atomic operation";
  }
  return "";
}

void RaceSets::clear() {
  lists_.clear();
  free_lists_.clear();
  parts_.clear();
  free_parts_.clear();
}

uint32_t RaceSets::new_list() {
  if (free_lists_.empty()) {
    lists_.emplace_back();
    return uint32_t(lists_.size());
  }
  uint32_t number = free_lists_.back();
  free_lists_.pop_back();
  return number;
}

void RaceSets::drop_list(RaceCell &cell) {
  if (cell.has_list()) {
    List &list = lists_[cell.others.epoch - 1];
    list.few.clear();
    list.is_wide = false;
    list.reads.clear();
    list.atomics.clear();
    free_lists_.push_back(cell.others.epoch);
  }
  cell.others = {};
}

Conflict RaceSets::first_unordered(const RaceCell &cell, const View &view) const {
  if (!cell.has_list()) {
    if (cell.others.epoch && !view.after(cell.others.actor, cell.others.epoch))
      return {cell.others, cell.others.is_atomic() ? AccessKind::atomic : AccessKind::read};
    return {};
  }
  const List &list = lists_[cell.others.epoch - 1];
  for (const auto *accesses : {&list.few, &list.reads, &list.atomics})
    if (const PastAccess *past = find_unordered(*accesses, view))
      return {*past, past->is_atomic() ? AccessKind::atomic : AccessKind::read};
  return {};
}

Conflict RaceSets::access(RaceCell &cell, const View &view, AccessKind kind, unsigned site) {
  Conflict conflict;
  if (cell.writer.epoch && !view.after(cell.writer.actor, cell.writer.epoch))
    conflict = {cell.writer, AccessKind::write};
  bool is_atomic = kind == AccessKind::atomic;
  PastAccess now = {view.epoch, view.actor, uint16_t(site << 1 | is_atomic)};
  if (kind == AccessKind::write) {
    if (cell.others.epoch) {
      if (!conflict)
        conflict = first_unordered(cell, view);
      drop_list(cell);
    }
    cell.writer = now;
    return conflict;
  }
  if (cell.others.epoch == 0) {
    cell.others = now;
    return conflict;
  }
  Conflict other = join_others(cell, view, now);
  return conflict ? conflict : other;
}

Conflict RaceSets::join_others(RaceCell &cell, const View &view, const PastAccess &now) {
  if (cell.has_list())
    return join_list(cell, view, now);
  PastAccess past = cell.others;
  bool is_after = view.after(past.actor, past.epoch);
  if (is_after && replaces(now.is_atomic(), past)) {
    cell.others = now;
    return {};
  }
  uint32_t number = new_list();
  lists_[number - 1].few = {past, now};
  cell.others = {number, many_others, 0};
  if (!is_after && conflicts(now.is_atomic(), past))
    return {past, past.is_atomic() ? AccessKind::atomic : AccessKind::read};
  return {};
}

Conflict RaceSets::join_list(RaceCell &cell, const View &view, const PastAccess &now) {
  List &list = lists_[cell.others.epoch - 1];
  Conflict conflict;
  if (list.is_wide) {
    const auto &opposite = now.is_atomic() ? list.reads : list.atomics;
    if (const PastAccess *past = find_unordered(opposite, view))
      conflict = {*past, past->is_atomic() ? AccessKind::atomic : AccessKind::read};
    put(now.is_atomic() ? list.atomics : list.reads, now);
    return conflict;
  }
  size_t kept = 0;
  for (const PastAccess &past : list.few) {
    bool is_after = view.after(past.actor, past.epoch);
    if (!is_after && !conflict && conflicts(now.is_atomic(), past))
      conflict = {past, past.is_atomic() ? AccessKind::atomic : AccessKind::read};
    if (!is_after || !replaces(now.is_atomic(), past))
      list.few[kept++] = past;
  }
  list.few.resize(kept);
  if (kept == 0) {
    drop_list(cell);
    cell.others = now;
    return conflict;
  }
  list.few.push_back(now);
  if (list.few.size() > max_few)
    widen(list);
  return conflict;
}

void RaceSets::widen(List &list) {
  list.is_wide = true;
  for (const PastAccess &past : list.few)
    put(past.is_atomic() ? list.atomics : list.reads, past);
  list.few.clear();
}

RaceCell RaceSets::copy(const RaceCell &cell) {
  RaceCell result = cell;
  if (cell.has_list()) {
    uint32_t number = new_list();
    lists_[number - 1] = lists_[cell.others.epoch - 1];
    result.others.epoch = number;
  }
  return result;
}

RaceCell *RaceSets::split(RaceCell &cell) {
  if (!cell.is_split()) {
    uint32_t number;
    if (free_parts_.empty()) {
      parts_.emplace_back();
      number = uint32_t(parts_.size());
    } else {
      number = free_parts_.back();
      free_parts_.pop_back();
    }
    auto &parts = parts_[number - 1];
    for (size_t i = 0; i < 3; i++)
      parts[i] = copy(cell);
    parts[3] = cell;
    cell.writer = {};
    cell.others = {number, split_cell, 0};
  }
  return parts_[cell.others.epoch - 1].data();
}

void RaceSets::forget(RaceCell &cell) {
  if (cell.is_split()) {
    uint32_t number = cell.others.epoch;
    for (RaceCell &part : parts_[number - 1])
      forget(part);
    free_parts_.push_back(number);
  } else {
    drop_list(cell);
  }
  cell = {};
}

} // namespace tritonc::emulator
