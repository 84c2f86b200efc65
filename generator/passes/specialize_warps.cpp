// specialize_warps: give copying and multiplying to different warps.
//
//     for_loop %n, %zero {                     specialize {
//       (%t, %acc)                               for_loop %n, %step, %zero {
//       %a = map_load %m, ...                      (%t, %s, %acc)
//       %b = map_load %w, ...                      mbarrier_wait %full, slot of %s, phase of %s
//       %d = dot %a, %b, %acc             =>       %p = shared_product %as, slot, %bs, slot, %acc
//       yield %d                                   %d = product_wait %p {pending = 1}
//     }                                            if there was one before: mbarrier_arrive %empty,
//     its slot store %v, %d                                 yield %s + 1, %d
//                                                }
//                                                %e = product_wait %d {pending = 0}
//                                                store %v, %e
//                                              } {
//                                                for_loop %n, %step {
//                                                  (%t, %s)
//                                                  mbarrier_wait %empty, slot of %s, other phase
//                                                  mbarrier_arrive %full, slot {bytes}
//                                                  map_copy %m, %as, slot, %full, slot, ...
//                                                  map_copy %w, %bs, slot, ...
//                                                  yield %s + 1
//                                                }
//                                              }
//
// Copies and products take turns on a ring of slots in shared memory. The copying thread runs ahead
// as far as there are empty slots; the tensor cores have the next product queued while one is under
// way, and never wait for an instruction of the copies. A slot is full once all bytes have come,
// and empty once every warp says that the product which read it is done: one product stays in
// flight, so that is the one before. That the last one of a loop is done is said behind the loop,
// if it is in another, so that there may be more.
//
// Before all that, what the copy engine has to know of the maps is fetched (map_prefetch).
//
// Where no tensor map can be made, structure.copying_warps warps copy, each thread some elements:
//
//                                              } {
//                                                for_loop %n, %step {
//     %a = load %v, %mask                          (%t, %s)
//     %b = load %w, %other_mask                    %a0 = load part of %v, inside %limits
//     %d = dot %a, %b, %acc             =>         %a1 = load next part of %v, ...
//                                                  mbarrier_wait %empty, slot of %s, other phase
//                                                  shared_store %a0, %as, slot {origin = [0,0]}
//                                                  %b0 = load part of %w, ...
//                                                  shared_store %a1, %as, slot {origin = [64,0]}
//                                                  ...
//                                                  proxy_fence
//                                                  mbarrier_arrive %full, slot
//                                                  yield %s + 1
//                                                }
//                                              }
//
// A part is as much as the threads have registers for; while one is stored the next is on its way.
// A slot is full once every copying warp has arrived, behind the fence by which the tensor cores
// see what threads have written. Warps wait for nobody but the ring, so each is somewhere else.
//
// Steps are counted from the start of the block, over all loops around the product. Step s uses
// slot s mod n in phase (s / n) mod 2. The copying thread waits for the phase before: of a ring
// that was never used, that one counts as over.
//
// A sum that starts from zero is not made zero: the first product of the loop does not add to it.
// There is a first one where widen_steps has been: of a loop without trips the host could make no
// tensor map then. Where threads copy, who need none, there are zeros.
//
// Who copies runs loops of its own, with what addresses and coordinates are computed from;
// everything else is done by the other warps.
//
// wgmma reads factors from shared memory whose neighbours are neighbours along K, or whose elements
// have 16 bits. A left factor that lies otherwise is brought into registers by the warps that
// multiply, a slice of K at a time:
//
//     %f = shared_load %as, slot {origin = [0,8], perm = [1,0]}
//     %p = fragment_product %f, %bs, slot, %acc {origin = [8,0], rows = [2,16,4,1,8,32]}
//     %d = product_wait %p {pending = 3}
//
// A few slices are under way while the next is fetched, to other registers: those of the slice that
// the wait says is done. Which rows of the sum are those of an instruction is free to choose, and
// is chosen such that the fetching threads meet in no bank ({rows}). These reads are those of all
// threads of a warp, not of the tensor cores, so a warp says only {together} that a slot is empty.
//
// Where the GPU has no wgmma, warps fetch fragments of both factors and multiply them by mma. What
// they have fetched is in their registers, so each gives up the slot of this step:
//
//     mbarrier_wait %full, slot of %s, phase of %s
//     %a = shared_load %as, slot {one_address}
//     %b = shared_load %bs, slot {one_address}
//     %d = dot %a, %b, %acc                              (slice_dots makes it slices)
//     mbarrier_arrive %empty, slot {together}
//     yield %d, %s + 1
//
// Registers are scarce then: most such GPUs can't move them between warps, and beside one more warp
// the threads of eight have 168 each. So a thread keeps one address of each factor, not one for
// each swizzled chunk. Where registers can be moved, 232 for each are little better: with four
// warps beside them, 0.99 to 1.03 times as fast on an H200 (half, 4096 cubed, 2026-11-22).
//
// Two teams of warps may multiply, each for a program of its own. While one stores its results the
// tensor cores are the other's (CUTLASS calls that ping-pong):
//
//     for_loop %rounds {                           %team = team_id
//       (%r)                                       for_loop (%rounds + 1 - %team) / 2 {
//       for_loop %n, %zero {                         (%u)
//         ...                                        %r = 2 * %u + %team
//       }                                            mbarrier_wait %turns, slot of %r + 1, other
//       phase store %v, %d                        =>       for_loop %n, %r * %n, %zero {
//     }                                                (%t, %s, %acc)
//                                                      ...
//                                                    }
//                                                    mbarrier_arrive %turns, slot of %r
//                                                    %e = product_wait %d {pending = 0}
//                                                    store %v, %e
//                                                  }
//
// Who copies does so for both, round by round. A team must not wait for its first slot before the
// other one has come to its last: of a slot's phase it knows the parity only, and would take one
// long ago for its own. So they take turns: that of round r is over at slot r mod 2 of %turns.
//
// Needs:   use_tensor_maps or structure.copying_warps; choose_dots. Teams: persist_programs, and as
//          many trips of the product's loop in each program.
// Ensures: the product is a shared_product, or fragment_products, or a dot of shared_loads. Nothing
//          uses its map_loads, or loads, any more.
//
// Tested by tests/passes/specialize_warps_test.cpp.

#include "passes/specialize_warps.h"

#include "analysis/launch_form.h"
#include "analysis/layouts.h"
#include "analysis/memory_access.h"
#include "analysis/product_loop.h"
#include "ir/builder.h"

#include <algorithm>
#include <cassert>

namespace tritonc {

using namespace ir;

namespace {

constexpr int64_t most_slots = 8;

// wgmma multiplies so many bytes of K at a time. Four are enough to hide how long a fetch takes.
constexpr int64_t bytes_of_slice = 32, most_slices_under_way = 4;

// Warps that multiply need many registers, a thread that only tells the copy engine what to do few.
// What is given up and what is taken must be the same, or nobody gets any: three warpgroups start
// with 168 registers a thread, four with 128. Nothing where all have enough.
struct Registers {
  int multiplying_warps, copying_warps; // the latter 0: by tensor maps
  int64_t to_multiply, to_copy;
};
constexpr Registers divisions[] = {{8, 0, 232, 40}, {8, 4, 176, 152}, {8, 8, 104, 152}};

// What a copying thread loads before it stores, twice: one piece is stored while the next comes.
// Each element takes a register until two are put together.
constexpr int64_t bytes_in_registers = 64;

int64_t bytes_of_slot(const ProductLoop &product) {
  int64_t bytes = 0;
  for (const LoadedFactor &factor : product.factors)
    bytes += factor.load->result()->type.elements() * bytes_of(factor.load->result()->type.elem);
  return bytes;
}

struct State {
  Function &fn;
  const Gpu &gpu;
  const Structure &structure;
  ProductLoop product;
  Value *buffers[2] = {}, *full = nullptr, *empty = nullptr;
  Value *turns = nullptr; // of teams
  int64_t slots = 0, slot_bytes = 0;
  std::vector<int64_t> warpgroups = {};
  std::vector<int64_t> rows = {}; // of an instruction, if the left factor comes from registers
  Location location = {};

  bool copies_by_threads() const { return structure.copying_warps > 0; }

  // Not by wgmma.
  bool is_by_warps() const { return !product.dot->has("warpgroups"); }

  // --- The ring ---

  Value *allocate(Builder &builder, const Op &load) {
    const Type &tile = load.result()->type;
    const Value *from = load.operand(0);
    int contiguous = copies_by_threads() ? *contiguous_axis(from) : copy_order(*from->op)[0];
    Shape shape = tile.shape;
    shape.insert(shape.begin(), slots);
    Type type = Type::shared(tile.elem, shape)
                    .with_layout(panel_layout(tile.shape, contiguous, bytes_of(tile.elem)));
    Value *buffer = builder.create(Opcode::shared_alloc_, {}, {type})->result();
    buffer->name = copies_by_threads() ? root_of(from)->name : from->name;
    return buffer;
  }

  Value *make_mbarriers(Builder &builder, const char *name, int64_t many, int64_t arrivals) {
    Op *op = builder.create(Opcode::mbarriers_, {}, {Type::shared(Elem::i64, {many, 1})});
    op->set("arrivals", arrivals);
    op->result()->name = name;
    return op->result();
  }

  // Not empty if the left factor has to come from registers. What threads copy has 16 bits, which
  // may lie as they like.
  std::vector<int64_t> rows_of_instruction() {
    if (copies_by_threads())
      return {};
    const LoadedFactor &left = product.factors[0];
    int contiguous = copy_order(*left.load->operand(0)->op)[0];
    int bytes = bytes_of(left.load->result()->type.elem);
    if (bytes == 2 || contiguous == left.perm[1])
      return {};
    return rows_without_conflicts(*buffers[0]->type.layout, contiguous, bytes);
  }

  void make_ring(Builder &builder) {
    for (int i : {0, 1})
      buffers[i] = allocate(builder, *product.factors[i].load);
    rows = rows_of_instruction();
    full = make_mbarriers(builder, "full", slots, copies_by_threads() ? fn.helper_warps : 1);
    empty = make_mbarriers(builder, "empty", slots, fn.warps);
    if (fn.teams > 1)
      turns = make_mbarriers(builder, "turns", fn.teams, fn.warps);
  }

  Value *ring(Builder &builder, Opcode code, Value *step, int64_t ahead, int64_t many) {
    Op *op = builder.create(code, {step}, {Type::scalar(Elem::i32)});
    op->set("ahead", ahead);
    op->set("slots", many);
    return op->result();
  }
  Value *slot_of(Builder &builder, Value *step, int64_t ahead = 0) {
    return ring(builder, Opcode::ring_slot_, step, ahead, slots);
  }
  Value *phase_of(Builder &builder, Value *step) {
    return ring(builder, Opcode::ring_phase_, step, 0, slots);
  }

  // Of mbarriers that were never used, that one counts as over.
  void wait_for_phase_before(Builder &builder, Value *mbarriers, Value *slot, Value *phase) {
    Value *before = builder.binary(Opcode::xor_, phase, builder.i32(1));
    builder.create(Opcode::mbarrier_wait_, {mbarriers, slot, before});
  }

  // --- The warps that multiply ---

  void release_previous(Builder &builder, Value *exists, Value *step) {
    Op *branch = builder.if_else(exists, {});
    Builder inside(fn, branch->blocks[0]);
    inside.set_location(location);
    Op *arrive = inside.create(Opcode::mbarrier_arrive_, {empty, slot_of(inside, step, -1)});
    if (is_left_from_registers())
      arrive->set("together", int64_t(1));
    inside.yield({});
    Builder(fn, branch->blocks[1]).yield({});
  }

  // Lets `loop` carry the step too, from `start` on. Returns its form inside; what it is for the
  // next trip has to be yielded.
  Value *carry_step(Op *loop, Value *start) {
    Type type = Type::scalar(Elem::i32);
    Block &body = *loop->blocks[0];
    Value *inside = fn.new_value(type, "step"), *behind = fn.new_value(type, "step");
    inside->block = &body;
    inside->index = int(body.arguments.size());
    behind->op = loop;
    behind->index = int(loop->results.size());
    loop->operands.push_back(start);
    body.arguments.push_back(inside);
    loop->results.push_back(behind);
    return inside;
  }

  // The product in `loop` or in a loop inside of it. Returns the step behind the loop.
  Value *multiply_in(Op *loop, Value *start) {
    Value *step = carry_step(loop, start);
    Value *next = loop == product.loop ? multiply(step) : multiply_in(inner_loop(*loop), step);
    loop->blocks[0]->terminator()->operands.push_back(next);
    if (loop == product.loop && !is_by_warps())
      finish(loop);
    return loop->results.back();
  }

  // The same by teams, who share the rounds of the loop around the product's.
  void multiply_in_turns(Op *rounds) {
    Block &body = *rounds->blocks[0];
    Builder outside = Builder::before(fn, rounds);
    outside.set_location(location);
    Value *team = outside.create(Opcode::team_id_, {}, {Type::scalar(Elem::i32)})->result();
    team->name = "team";
    Value *teams = outside.i32(fn.teams);
    Value *behind_first = outside.sub(outside.i32(fn.teams - 1), team);
    rounds->operands[0] =
        outside.binary(Opcode::udiv_, outside.add(rounds->operand(0), behind_first), teams);

    Builder inside = Builder::before(fn, body.ops.front());
    inside.set_location(location);
    Value *round = fn.new_value(body.arguments[0]->type); // what others use
    replace_uses(body, body.arguments[0], round);
    Value *mine = inside.add(inside.mul(body.arguments[0], teams), team);
    mine->name = "round";
    replace_uses(body, round, mine);

    Builder before = Builder::before(fn, product.loop);
    before.set_location(location);
    auto of_round_before = [&](Opcode code) {
      return ring(before, code, mine, fn.teams - 1, fn.teams);
    };
    Value *slot = of_round_before(Opcode::ring_slot_);
    wait_for_phase_before(before, turns, slot, of_round_before(Opcode::ring_phase_));
    multiply_in(product.loop, before.mul(mine, product.loop->operand(0)));
    Builder behind = Builder::after(fn, product.loop);
    behind.set_location(location);
    behind.create(Opcode::mbarrier_arrive_,
                  {turns, ring(behind, Opcode::ring_slot_, mine, 0, fn.teams)});
  }

  bool is_left_from_registers() const { return !rows.empty(); }

  void divide(Op *op) {
    op->set("warpgroups", warpgroups);
    if (!rows.empty())
      op->set("rows", rows);
  }

  Value *wait(Builder &builder, Value *sum, int64_t pending) {
    Op *op = builder.create(Opcode::product_wait_, {sum}, {sum->type});
    op->set("pending", pending);
    divide(op);
    return op->result();
  }

  // An operation that multiplies: to a sum that need not be there in the first trip, if `first`.
  Value *start(Builder &builder, Opcode code, std::vector<Value *> operands, Value *is_later,
               bool first) {
    if (first && starts_from_zero())
      operands.push_back(is_later);
    Op *op = builder.create(code, std::move(operands), {product.dot->result()->type});
    divide(op);
    if (product.dot->has("precision"))
      op->set("precision", std::string(product.dot->text("precision")));
    if (product.dot->has("unsigned"))
      op->set("unsigned", int64_t(1));
    return op->result();
  }

  Value *multiply_slots(Builder &builder, Value *slot, Value *is_later, Value *step) {
    Value *started =
        start(builder, Opcode::shared_product_,
              {buffers[0], slot, buffers[1], slot, product.dot->operand(2)}, is_later, true);
    std::vector<int64_t> perms = product.factors[0].perm;
    perms.insert(perms.end(), product.factors[1].perm.begin(), product.factors[1].perm.end());
    started->op->set("perms", perms);
    Value *sum = wait(builder, started, 1);
    release_previous(builder, is_later, step);
    return sum;
  }

  Value *multiply_fragments(Builder &builder, Value *slot, Value *is_later, Value *step) {
    Type slice = product.dot->operand(0)->type;
    int64_t depth = slice.shape[1];
    slice.shape[1] = bytes_of_slice / bytes_of(slice.elem);
    int64_t under_way = std::min(depth / slice.shape[1], most_slices_under_way);
    Value *sum = product.dot->operand(2);
    for (int64_t k = 0; k < depth; k += slice.shape[1]) {
      Op *fragment = builder.create(Opcode::shared_load_, {buffers[0], slot}, {slice});
      fragment->set("perm", product.factors[0].perm);
      fragment->set("origin", std::vector<int64_t>{0, k});
      sum = start(builder, Opcode::fragment_product_, {fragment->result(), buffers[1], slot, sum},
                  is_later, k == 0);
      sum->op->set("perm", product.factors[1].perm);
      sum->op->set("origin", std::vector<int64_t>{k, 0});
      sum = wait(builder, sum, under_way - 1);
    }
    // Not as soon as it is true, but ptxas wants no branches while slices are under way that it has
    // to tell apart (C7513).
    release_previous(builder, is_later, step);
    return sum;
  }

  // Then the first product need not add, and nobody has to make zeros.
  bool starts_from_zero() {
    return structure.step && !copies_by_threads() &&
           is_zero(product.loop->operand(1 + product.carried));
  }

  // By the instructions of warps, as soon as slices of the slot have come to their registers.
  void multiply_by_warps(Builder &builder, Value *slot) {
    Op *dot = product.dot;
    // Of a remainder LLVM makes products of counters, and keeps one for each address.
    if ((slots & (slots - 1)) != 0)
      slot = builder.pinned(slot);
    for (size_t i : {0, 1}) {
      const LoadedFactor &factor = product.factors[i];
      builder.set_location(factor.load->location);
      Op *load = builder.create(Opcode::shared_load_, {buffers[i], slot}, {dot->operand(i)->type});
      load->set("perm", factor.perm);
      load->set("origin", std::vector<int64_t>{0, 0});
      load->set("one_address", int64_t(1));
      dot->operands[i] = load->result();
    }
    Builder behind = Builder::after(fn, dot);
    behind.set_location(location);
    behind.create(Opcode::mbarrier_arrive_, {empty, slot})->set("together", int64_t(1));
    builder.set_location(location);
  }

  Value *multiply(Value *step) {
    Op *dot = product.dot;
    Builder builder = Builder::before(fn, dot);
    builder.set_location(location);
    Value *slot = slot_of(builder, step);
    builder.create(Opcode::mbarrier_wait_, {full, slot, phase_of(builder, step)});
    if (is_by_warps()) {
      multiply_by_warps(builder, slot);
      return builder.add(step, builder.i32(1));
    }
    Value *trip = product.loop->blocks[0]->arguments[0];
    Value *is_later = builder.cmp("gt", trip, builder.i32(0));
    Value *sum = is_left_from_registers() ? multiply_fragments(builder, slot, is_later, step)
                                          : multiply_slots(builder, slot, is_later, step);
    sum->name = dot->result()->name;
    Value *next = builder.add(step, builder.i32(1));
    replace_uses(*fn.body, dot->result(), sum);
    replace_uses(*dot->parent, dot->result(), sum);
    erase(dot);
    return next;
  }

  // Behind the loop of the product: the last one is done.
  void finish(Op *loop) {
    if (starts_from_zero()) {
      Builder before = Builder::before(fn, loop);
      Value *&start = loop->operands[1 + product.carried];
      start = before.create(Opcode::undefined_, {}, {start->type})->result();
    }
    Builder builder = Builder::after(fn, loop);
    builder.set_location(location);
    Value *unfinished = loop->results[product.carried];
    Value *sum = fn.new_value(unfinished->type); // what others use
    replace_uses(*loop->parent, unfinished, sum);
    Value *finished = wait(builder, unfinished, 0);
    finished->name = unfinished->name;
    replace_uses(*loop->parent, sum, finished);
    if (loop->parent->parent->is(Opcode::for_loop_))
      release_previous(builder, builder.cmp("gt", loop->operand(0), builder.i32(0)),
                       loop->results.back());
  }

  // --- The thread or the warps that copy ---

  // `loop` again, with nothing in it but what the copies need. Returns the step after it.
  Value *copy_loop(Builder &outside, const Op &loop, Value *start, Copies copies) {
    const Block &old = *loop.blocks[0];
    Value *trips = clone_computation(outside, loop.operand(0), fn.body, copies);
    Op *mine = outside.for_loop(trips, {start});
    Block &body = *mine->blocks[0];
    body.arguments[0]->name = old.arguments[0]->name;
    body.arguments[1]->name = "step";
    copies[old.arguments[0]] = body.arguments[0];
    Builder builder(fn, &body);
    builder.set_location(location);
    Value *step = body.arguments[1];
    if (&loop == product.loop) {
      copy_factors(builder, step, copies);
      step = builder.add(step, builder.i32(1));
    } else {
      step = copy_loop(builder, *inner_loop(loop), step, copies);
    }
    builder.yield({step});
    return mine->results[0];
  }

  // The loop directly inside of `outer` that the product is in.
  Op *inner_loop(const Op &outer) {
    Op *loop = product.loop;
    while (loop->parent->parent != &outer)
      loop = loop->parent->parent;
    return loop;
  }

  void wait_until_empty(Builder &builder, Value *slot, Value *step) {
    wait_for_phase_before(builder, empty, slot, phase_of(builder, step));
  }

  void copy_factors(Builder &builder, Value *step, Copies &copies) {
    if (copies_by_threads())
      return copy_by_threads(builder, step, copies);
    Value *slot = slot_of(builder, step);
    wait_until_empty(builder, slot, step);
    builder.create(Opcode::mbarrier_arrive_, {full, slot})->set("bytes", slot_bytes);
    for (int i : {0, 1}) {
      const Op &load = *product.factors[i].load;
      builder.set_location(load.location);
      std::vector<Value *> operands = {load.operand(0), buffers[i], slot, full, slot};
      for (size_t d = 1; d < load.operands.size(); d++)
        operands.push_back(clone_computation(builder, load.operand(d), fn.body, copies));
      builder.create(Opcode::map_copy_, operands);
    }
  }

  // A part of a factor that is in the registers of the copying threads at a time.
  struct Piece {
    int factor;
    Shape shape;
    std::vector<int64_t> origin;
  };

  // Whole rows, and as many as fit; of rows that don't, parts.
  std::vector<Piece> pieces() const {
    std::vector<Piece> result;
    for (int i : {0, 1}) {
      const Type &tile = product.factors[i].load->result()->type;
      size_t along = size_t(*contiguous_axis(product.factors[i].load->operand(0)));
      Shape shape = tile.shape;
      int64_t most = bytes_in_registers / bytes_of(tile.elem) * 32 * fn.helper_warps;
      while (element_count(shape) > most)
        shape[shape[1 - along] > 1 ? 1 - along : along] /= 2;
      for (int64_t row = 0; row < tile.shape[0]; row += shape[0])
        for (int64_t column = 0; column < tile.shape[1]; column += shape[1])
          result.push_back({i, shape, {row, column}});
    }
    return result;
  }

  // A formula of what the copying loops have too.
  Poly copied(Builder &builder, const Poly &poly, Copies &copies) {
    Poly mine;
    for (const auto &[monomial, coefficient] : poly.terms) {
      Poly term = Poly::constant(coefficient);
      for (const Value *symbol : monomial)
        term = term * Poly::symbol(
                          clone_computation(builder, const_cast<Value *>(symbol), fn.body, copies));
      mine = mine + term;
    }
    return mine;
  }

  Value *load_piece(Builder &builder, const Piece &piece, Copies &copies) {
    const Op &load = *product.factors[piece.factor].load;
    builder.set_location(load.location);
    const Type &tile = load.result()->type;
    Value *view = clone_computation(builder, load.operand(0), fn.body, copies);
    std::vector<Value *> operands = view->op->operands;
    for (size_t d = 0; d < 2; d++)
      operands[1] =
          builder.add(operands[1], builder.mul(builder.i64(piece.origin[d]), operands[2 + d]));
    Value *part =
        builder.create(Opcode::view_, operands, {view->type.with_shape(piece.shape)})->result();
    auto hinted = [&](Value *loaded) {
      keep_hint(*loaded->op, load);
      return loaded;
    };
    if (!load.operand_or_null(1))
      return hinted(builder.load(part));
    std::vector<Bound> bounds = *bounds_of(load.operand(1), 2);
    for (Bound &bound : bounds)
      bound.before =
          copied(builder, bound.before, copies) + Poly::constant(piece.origin[size_t(bound.axis)]);
    Value *on = builder.inside(emit_limits(builder, piece.shape, bounds), piece.shape);
    return hinted(builder.load(part, on, builder.filled(tile.with_shape(piece.shape), 0)));
  }

  // Loads are far ahead of the stores that wait for them: while one piece is stored the next is on
  // its way, and the first of a step before there is place for it.
  void copy_by_threads(Builder &builder, Value *step, Copies &copies) {
    std::vector<Piece> all = pieces();
    Value *slot = slot_of(builder, step);
    std::vector<Value *> loaded = {load_piece(builder, all[0], copies)};
    for (size_t i = 0; i < all.size(); i++) {
      if (i + 1 < all.size())
        loaded.push_back(load_piece(builder, all[i + 1], copies));
      if (i == 0)
        wait_until_empty(builder, slot, step);
      Op *store = builder.create(Opcode::shared_store_, {loaded[i], buffers[all[i].factor], slot});
      store->set("origin", all[i].origin);
    }
    builder.create(Opcode::proxy_fence_, {});
    builder.create(Opcode::mbarrier_arrive_, {full, slot});
  }

  // --- Parting ---

  // What stays at the top: the host's, and what it is made of.
  std::set<const Op *> host_side() {
    std::set<const Op *> top;
    for (const Op *op : fn.body->ops)
      if (is_hidden(*op) || op->is(Opcode::launch_blocks_))
        add_with_operands(op, top);
    return top;
  }

  // The first copy by a map would wait for it, half a microsecond; by then there is a ring to make.
  void prefetch_maps(Builder &builder) {
    std::vector<Op *> ops = fn.body->ops;
    for (const Op *op : ops)
      if (op->is(Opcode::tensor_map_))
        builder.create(Opcode::map_prefetch_, {op->results[0]});
  }

  void run() {
    location = product.dot->location;
    warpgroups = product.dot->list("warpgroups");
    slot_bytes = bytes_of_slot(product);
    slots = ring_slots(fn, product, gpu, structure);
    Op *outermost = product.loop;
    while (outermost->parent != fn.body)
      outermost = outermost->parent->parent;

    std::set<const Op *> top = host_side();
    std::vector<Op *> rest, ops = std::move(fn.body->ops);
    fn.body->ops.clear();
    for (Op *op : ops)
      (top.count(op) ? fn.body->ops : rest).push_back(op);
    Op *end = rest.back(); // return
    rest.pop_back();

    Builder builder(fn, fn.body);
    builder.set_location(location);
    prefetch_maps(builder);
    make_ring(builder);
    Op *parts = builder.create(Opcode::specialize_, {});
    Block *workers = fn.new_block(parts), *helper = fn.new_block(parts);
    parts->blocks = {workers, helper};
    if (copies_by_threads())
      parts->set("all_helpers", int64_t(1));
    for (const Registers &division : divisions)
      if (!is_by_warps() && division.multiplying_warps == fn.warps * fn.teams &&
          division.copying_warps == structure.copying_warps)
        parts->set("registers", std::vector<int64_t>{division.to_multiply, division.to_copy});
    fn.body->ops.push_back(end);

    Copies copies;
    for (const Op *op : top)
      for (Value *result : op->results)
        copies[result] = result;
    Builder copying(fn, helper);
    copying.set_location(location);
    copy_loop(copying, *outermost, copying.i32(0), copies);
    copying.yield({});

    Builder multiplying(fn, workers);
    Value *start = multiplying.i32(0);
    for (Op *op : rest) {
      op->parent = workers;
      workers->ops.push_back(op);
    }
    Builder(fn, workers).yield({});
    if (fn.teams > 1)
      multiply_in_turns(outermost);
    else
      multiply_in(outermost, start);
  }
};

} // namespace

// Each result has a place of some pieces (stage_results); then there are the mbarriers, and a KiB
// that belongs to the system.
int64_t ring_slots(Function &fn, const ProductLoop &product, const Gpu &gpu,
                   const Structure &structure) {
  constexpr int64_t row_bytes = 128, small_things = 2 << 10;
  const Shape &sum = product.dot->result()->type.shape;
  int64_t results = 0;
  for_each_op(*fn.body, [&](const Op &op) {
    bool stores = op.is(Opcode::store_) || op.is(Opcode::map_store_);
    results += stores && axis_of_columns(op.operand(1), sum).has_value();
  });
  int64_t others =
      structure.teams * structure.staged_pieces * row_bytes * sum[0] * results + small_things;
  int64_t share = gpu.max_shared_bytes / structure.residency;
  return std::min((share - others) / bytes_of_slot(product), most_slots);
}

void specialize_warps(Function &fn, const Gpu &gpu, const Structure &structure) {
  if (!structure.specialized)
    return;
  std::optional<ProductLoop> product = find_product_loop(fn).found;
  assert(product && "structures_for has looked");
  State{fn, gpu, structure, *product}.run();
}

} // namespace tritonc
