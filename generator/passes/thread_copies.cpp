// Producer warps that copy the operands of a loop element by element. See thread_copies.h.
//
// Tested by tests/unit/passes/specialize_warps/ and specialize_warps_test.cpp.

#include "passes/thread_copies.h"

#include "analysis/layouts.h"
#include "analysis/matmul_loop.h"
#include "analysis/memory_access.h"
#include "passes/tile_slices.h"

#include <algorithm>
#include <optional>

namespace tritonc {

using namespace ir;

namespace {

// Bytes of a part per producer thread. A thread holds two parts: it stores one while the next one
// loads. Each element takes a register until two elements are packed into one.
constexpr int64_t bytes_in_registers = 64, bytes_of_gather = 32;

// A part of an operand that the producer threads hold in registers at a time.
struct OperandPart {
  const CopiedOperand *operand;
  Part part;
};

bool has_gather(const std::vector<CopiedOperand> &operands) {
  return std::any_of(operands.begin(), operands.end(), [](const CopiedOperand &operand) {
    return !operand.load->load->operand(0)->type.is_view();
  });
}

class ThreadCopies {
public:
  ThreadCopies(Function &fn, const Op &loop, const std::vector<CopiedOperand> &operands,
               Value *channel, int64_t producer_warps)
      : fn_(fn), counter_(loop.blocks[0]->arguments[0]), channel_(channel),
        carries_(has_gather(operands)), parts_(parts_of(operands, producer_warps)) {}

  Value *copy(Builder &outside, const Op &loop, Value *start, Copies copies) {
    Value *iterations = clone_computation(outside, loop.operand(0), fn_.body, copies);
    std::vector<Value *> carried = {start};
    if (carries_)
      carried.push_back(load_first(outside, outside.i32(0), iterations, copies));
    Op *mine = outside.for_loop(iterations, carried);
    Block &body = *mine->blocks[0];
    body.arguments[0]->name = counter_->name;
    body.arguments[1]->name = "step";
    Builder builder(fn_, &body);
    builder.set_location(loop.location);
    copy_iteration(builder, iterations, copies);
    return mine->results[0];
  }

private:
  Function &fn_;
  const Value *counter_; // of the loop of the source
  Value *channel_;
  bool carries_; // the first part of the next iteration: the addresses of a gather take long
  std::vector<OperandPart> parts_;

  // As many whole rows as fit in registers; parts of a row if one row does not fit. Of an operand
  // that is gathered element by element, a thread holds fewer elements, because each has an
  // address. The index along a row of the panel is computed once for several rows. So such a part
  // is first cut along the row, as far as each warp has a chunk.
  std::vector<OperandPart> parts_of(const std::vector<CopiedOperand> &operands,
                                    int64_t producer_warps) const {
    std::vector<OperandPart> result;
    for (const CopiedOperand &operand : operands) {
      const Value *from = operand.load->load->operand(0);
      const Type &tile = operand.load->load->result()->type;
      const size_t along = size_t(panel_axis(fn_, *operand.load->load, operand.load->uses[0])),
                   across = 1 - along;
      const bool is_gather = !from->type.is_view() && !contiguous_axis(from, fn_);
      const int64_t bytes = is_gather ? bytes_of_gather : bytes_in_registers;
      const int64_t max_value = bytes / bytes_of(tile.elem) * 32 * producer_warps;
      const int64_t row = widest_access_bytes / bytes_of(tile.elem) * producer_warps;
      Shape shape = tile.shape;
      while (element_count(shape) > max_value)
        shape[(is_gather && shape[along] > row) || shape[across] == 1 ? along : across] /= 2;
      for (int64_t m = 0; m < tile.shape[0]; m += shape[0])
        for (int64_t n = 0; n < tile.shape[1]; n += shape[1])
          result.push_back({&operand, {shape, {m, n}}});
    }
    return result;
  }

  // `poly` with the values of the producer's loops.
  Poly copied(Builder &builder, const Poly &poly, Copies &copies) {
    Poly mine;
    for (const auto &[monomial, coefficient] : poly.terms) {
      Poly term = Poly::constant(coefficient);
      for (const Value *symbol : monomial)
        term = term * Poly::symbol(clone_computation(builder, const_cast<Value *>(symbol), fn_.body,
                                                     copies));
      mine = mine + term;
    }
    return mine;
  }

  // The part of a view, or of a tile of pointers.
  Value *pointers_of(Builder &builder, const Part &part, Value *whole, IndexParts &parts) {
    if (!whole->type.is_view())
      return parts.of(builder, whole, part);
    std::vector<Value *> operands = whole->op->operands;
    for (size_t d = 0; d < 2; d++)
      operands[1] =
          builder.add(operands[1], builder.mul(builder.i64(part.origin[d]), operands[2 + d]));
    return builder.create(Opcode::view_, operands, {whole->type.with_shape(part.shape)})->result();
  }

  // The mask of a part; null: there is none. `exists`: an additional condition; null: none.
  Value *mask_of(Builder &builder, const Part &part, Value *whole, Value *exists, Copies &copies,
                 IndexParts &parts) {
    if (!whole && !exists)
      return nullptr;
    std::optional<std::vector<Bound>> bounds = std::vector<Bound>();
    if (whole)
      bounds = bounds_of(whole, 2);
    if (!bounds) {
      Value *mask = parts.of(builder, clone_computation(builder, whole, fn_.body, copies), part);
      return exists ? builder.binary(Opcode::and_, mask, builder.splat(exists, part.shape)) : mask;
    }
    for (Bound &bound : *bounds)
      bound.before =
          copied(builder, bound.before, copies) + Poly::constant(part.origin[size_t(bound.axis)]);
    std::vector<Value *> limits = emit_limits(builder, part.shape, *bounds);
    if (exists) // costs no comparison per element
      limits[0] = builder.select(exists, limits[0], builder.i64(0));
    return builder.in_bounds(limits, part.shape);
  }

  // `exists`: an additional mask; null: none.
  Value *load(Builder &builder, const OperandPart &wanted, Value *exists, Copies &copies,
              IndexParts &parts) {
    const Op &load = *wanted.operand->load->load;
    builder.set_location(load.location);
    Value *whole = clone_computation(builder, load.operand(0), fn_.body, copies);
    Value *pointers = pointers_of(builder, wanted.part, whole, parts), *other = nullptr;
    Value *mask = mask_of(builder, wanted.part, load.operand_or_null(1), exists, copies, parts);
    if (mask)
      other = builder.filled(load.result()->type.with_shape(wanted.part.shape), 0);
    Value *loaded = builder.load(pointers, mask, other);
    keep_cache_hint(*loaded->op, load);
    return loaded;
  }

  // The first part of `iteration`, if that is less than `iterations`.
  Value *load_first(Builder &builder, Value *iteration, Value *iterations, Copies copies) {
    IndexParts parts;
    copies[counter_] = iteration;
    Value *exists = builder.cmp("lt", iteration, iterations);
    return load(builder, parts_[0], exists, copies, parts);
  }

  // Loads start long before the stores that need them.
  void copy_iteration(Builder &builder, Value *iterations, const Copies &copies) {
    const Block &body = *builder.block();
    Value *step = body.arguments[1], *stage = nullptr;
    IndexParts parts;
    Copies inside = copies;
    inside[counter_] = body.arguments[0];
    std::vector<Value *> loaded = {carries_ ? body.arguments[2]
                                            : load(builder, parts_[0], nullptr, inside, parts)};
    for (size_t i = 0; i < parts_.size(); i++) {
      if (i + 1 < parts_.size())
        loaded.push_back(load(builder, parts_[i + 1], nullptr, inside, parts));
      else if (carries_)
        loaded.push_back(load_first(builder, builder.add(body.arguments[0], builder.i32(1)),
                                    iterations, copies));
      if (i == 0)
        stage = builder.channel_op(Opcode::put_, channel_, step);
      Op *store =
          builder.create(Opcode::shared_store_, {loaded[i], parts_[i].operand->buffer, stage});
      store->set(attr::origin_, parts_[i].part.origin);
    }
    builder.channel_op(Opcode::put_done_, channel_, step);
    std::vector<Value *> next = {builder.add(step, builder.i32(1))};
    next.insert(next.end(), loaded.begin() + ptrdiff_t(parts_.size()), loaded.end());
    builder.yield(next);
  }
};

} // namespace

Value *copy_by_threads(Builder &builder, Function &fn, const Op &loop,
                       const std::vector<CopiedOperand> &operands, Value *channel, Value *step,
                       int64_t producer_warps, Copies copies) {
  return ThreadCopies(fn, loop, operands, channel, producer_warps)
      .copy(builder, loop, step, std::move(copies));
}

} // namespace tritonc
