// Checks the rules of channels. See channels.h.
//
// Cycles: a marked graph has a node for each operation on a channel, and an edge where one must wait
// for another. An edge has as many tokens as iterations lie between the two: an operation of this
// iteration waits for one that many iterations ago.
//
//     for_loop {                  for_loop {               put -> put_done -> get         0 tokens
//       put %c, %s                  get %c, %t             get -> get_done                0
//       put_done %c, %s             get_done %c, %t        get_done -> put           stages
//     }                           }                        last -> first of a loop        1
//
// The partitions run forever exactly if the edges of each cycle have more than 0 tokens together:
// rates are one to one, since each iteration puts and gets the same numbers.
//
// A loop is two nodes of the loop around it, its start and its end. It may have more iterations than
// a channel has stages. So the loops of two partitions end together, after both have started.
//
// Tested by tests/unit/ir/channels_test.cpp.

#include "ir/channels.h"
#include "ir/printer.h"

#include <algorithm>

namespace tritonc::ir {
namespace {

bool is_loop(const Op &op) { return op.is(Opcode::for_loop_) || op.is(Opcode::while_loop_); }

// The operations on one channel.
struct Uses {
  std::vector<const Op *> puts, puts_done, gets, gets_done;
};

// The body of the innermost loop or partition around `op`.
const Block *region_of(const Op &op) {
  const Block *block = op.parent;
  while (!is_loop(*block->parent) && !block->parent->is(Opcode::warp_specialize_))
    block = block->parent->parent;
  return block;
}

// Operations of one region with numbers from the same value on. A channel may be used before a loop,
// in it, and after it: these are different sections.
struct Section {
  const Block *region;
  const Value *first; // number
  std::vector<const Op *> ops;

  bool contains(const Op &op) const { return region_of(op) == region && op.operand(1) == first; }
};

// In the order of the program.
std::vector<Section> sections_of(const std::vector<const Op *> &ops) {
  std::vector<Section> sections;
  for (const Op *op : ops) {
    auto found = std::find_if(sections.begin(), sections.end(),
                              [&](const Section &section) { return section.contains(*op); });
    if (found == sections.end())
      found = sections.insert(found, {region_of(*op), op->operand(1), {}});
    found->ops.push_back(op);
  }
  return sections;
}

class Checker {
public:
  explicit Checker(const Function &fn) : fn_(fn) {}

  std::string run() {
    collect(*fn_.body);
    for (const Op *channel : channels_)
      pairs(*channel, uses_[channel]);
    if (errors_.empty() && !channels_.empty())
      cycles();
    return errors_;
  }

private:
  void check(bool holds, const Op &op, std::string_view rule) {
    if (!holds)
      errors_ += print(op) + ": " + std::string(rule) + "\n";
  }

  void collect(const Block &block) {
    for (const Op *op : block.ops) {
      if (op->is(Opcode::channel_))
        channels_.push_back(op);
      if (std::vector<const Op *> *same = same_uses(*op))
        same->push_back(op);
      for (const Block *inner : op->blocks)
        collect(*inner);
    }
  }

  std::vector<const Op *> *same_uses(const Op &op) {
    switch (op.code) {
    case Opcode::put_:
      return &uses_[op.operand(0)->op].puts;
    case Opcode::put_done_:
      return &uses_[op.operand(0)->op].puts_done;
    case Opcode::get_:
      return &uses_[op.operand(0)->op].gets;
    case Opcode::get_done_:
      return &uses_[op.operand(0)->op].gets_done;
    default:
      return nullptr;
    }
  }

  // The loops around `op` in its partition, outer loops first.
  static std::vector<const Op *> loops_around(const Op &op) {
    std::vector<const Op *> loops;
    for (const Op *around = op.parent->parent; !around->is(Opcode::warp_specialize_);
         around = around->parent->parent)
      if (is_loop(*around))
        loops.insert(loops.begin(), around);
    return loops;
  }

  static bool same_number(const Op &a, const Op &b) {
    return a.operand(1) == b.operand(1) && a.get(attr::offset_) == b.get(attr::offset_);
  }

  // --- Pairs. ---

  void in_one_partition(const std::vector<const Op *> &ops, const Op &first) {
    for (const Op *op : ops)
      check(partition_of(*op) == partition_of(first), *op,
            "a channel has one producer and one consumer partition");
  }

  void pairs(const Op &channel, const Uses &uses) {
    const bool has_buffers = !channel.operands.empty();
    if (uses.puts_done.empty() || uses.gets.empty())
      return check(false, channel, "a channel is put and got");
    in_one_partition(uses.puts_done, *uses.puts_done[0]);
    in_one_partition(uses.puts, *uses.puts_done[0]);
    in_one_partition(uses.gets, *uses.gets[0]);
    in_one_partition(uses.gets_done, *uses.gets[0]);
    check(uses.gets.size() == uses.puts_done.size(), channel,
          "an iteration puts and gets the same numbers");
    check(uses.puts.size() == (has_buffers ? uses.puts_done.size() : 0), channel,
          "each put of a buffer has a put_done, and nothing else is put");
    check(has_buffers || uses.gets_done.empty(), channel,
          "a channel without buffers has no get_done");
    for (const Op *put : uses.puts)
      put_is_done(*put, uses);
    const std::vector<Section> putting = sections_of(uses.puts_done),
                               getting = sections_of(uses.gets);
    size_t depth = 0;
    for (const Section &section : getting)
      depth = std::max(depth, loops_around(*section.ops[0]).size());
    for (size_t i = 0; i < std::min(putting.size(), getting.size()); i++)
      check(putting[i].ops.size() == getting[i].ops.size() &&
                loops_around(*putting[i].ops[0]).size() == loops_around(*getting[i].ops[0]).size(),
            *getting[i].ops[0], "puts and gets are in equally many loops");
    check(putting.size() == getting.size(), channel, "puts and gets are in equally many loops");
    for (const Op *op : uses.gets_done)
      check(loops_around(*op).size() <= depth, *op, "a get_done is in no more loops than the get");
  }

  void put_is_done(const Op &put, const Uses &uses) {
    Block &block = *put.parent;
    const auto done = std::find_if(uses.puts_done.begin(), uses.puts_done.end(),
                                   [&](const Op *op) { return same_number(*op, put); });
    const bool follows = done != uses.puts_done.end() && (*done)->parent == &block &&
                         block.position_of(*done) > block.position_of(&put);
    check(follows, put, "its put_done follows, in the same block");
    if (!follows)
      return;
    for (const Op *copy : users_of(block, put.result()))
      check(!copy->is(Opcode::tma_load_async_) ||
                (copy->parent == &block && block.position_of(copy) < block.position_of(*done)),
            *copy, "a copy to a channel is between the put and its put_done");
  }

  // --- Cycles. ---

  struct Edge {
    int from, to;
    int64_t tokens;
  };

  // The loop that stands for the end of `loop`.
  const Op *leader(const Op *loop) const {
    for (auto found = leaders_.find(loop); found != leaders_.end(); found = leaders_.find(loop))
      loop = found->second;
    return loop;
  }

  void end_together(const Uses &uses) {
    if (partition_of(*uses.puts_done[0]) == partition_of(*uses.gets[0]))
      return;
    const std::vector<Section> puts = sections_of(uses.puts_done), gets = sections_of(uses.gets);
    for (size_t section = 0; section < puts.size(); section++) {
      const std::vector<const Op *> putting = loops_around(*puts[section].ops[0]),
                                    getting = loops_around(*gets[section].ops[0]);
      for (size_t i = 0; i < putting.size(); i++)
        if (const Op *a = leader(putting[i]), *b = leader(getting[i]); a != b)
          leaders_[a] = b;
    }
  }

  int node(const Op *op, bool is_end = false) {
    if (is_end)
      op = leader(op);
    auto [found, is_new] = nodes_.try_emplace({op, is_end}, int(ops_.size()));
    if (is_new)
      ops_.push_back(op);
    return found->second;
  }

  void edge(int from, int to, int64_t tokens) { edges_.push_back({from, to, tokens}); }

  // The nodes of a block, in the order in which it runs them, without those inside its loops.
  void sequence(const Block &block, std::vector<int> &nodes) {
    for (const Op *op : block.ops) {
      if (same_uses(*op)) {
        nodes.push_back(node(op));
      } else if (is_loop(*op)) {
        std::vector<int> inside;
        for (const Block *inner : op->blocks)
          sequence(*inner, inside);
        in_order(inside);
        if (inside.empty())
          continue;
        // The groups of a partition take turns in its outermost loop.
        const std::optional<Partition> around = partition_of(*op);
        const bool is_shared = around && around->block == op->parent;
        edge(inside.back(), inside.front(), is_shared ? around->groups : 1);
        nodes.push_back(node(op));
        nodes.push_back(node(op, true));
      } else if (op->is(Opcode::warp_specialize_)) {
        for (const Block *partition : op->blocks) {
          std::vector<int> inside;
          sequence(*partition, inside);
          in_order(inside);
        }
      } else {
        for (const Block *inner : op->blocks)
          sequence(*inner, nodes);
      }
    }
  }

  void in_order(const std::vector<int> &nodes) {
    for (size_t i = 1; i < nodes.size(); i++)
      edge(nodes[i - 1], nodes[i], 0);
  }

  // An edge if `to` waits for `from` some iterations ago: `numbers` is the distance in numbers.
  void wait(const Op *from, const Op *to, int64_t numbers, int64_t per_iteration) {
    if (numbers % per_iteration == 0)
      edge(node(from), node(to), numbers / per_iteration);
  }

  void waits(const Op &channel, const Uses &uses) {
    const std::vector<Section> putting = sections_of(uses.puts_done),
                               getting = sections_of(uses.gets);
    for (size_t i = 0; i < putting.size(); i++) {
      waits_of_section(channel, uses, putting[i], getting[i]);
      for (size_t later = i + 1; later < putting.size(); later++)
        waits_between(uses, getting[i], putting[later], getting[later]);
    }
  }

  void waits_of_section(const Op &channel, const Uses &uses, const Section &putting,
                        const Section &getting) {
    const int64_t stages = channel.result()->type.shape[0], each = int64_t(putting.ops.size());
    auto number = [](const Op *op) { return op->get(attr::offset_); };
    for (const Op *done : putting.ops)
      for (const Op *get : getting.ops)
        wait(done, get, number(done) - number(get), each);
    const std::vector<const Op *> put_loops = loops_around(*putting.ops[0]),
                                  get_loops = loops_around(*getting.ops[0]);
    for (const Op *done : uses.gets_done) {
      const size_t depth = loops_around(*done).size();
      for (const Op *put : uses.puts)
        if (putting.contains(*put) && getting.contains(*done))
          wait(done, put, stages + number(done) - number(put), each);
      if (depth < put_loops.size()) // after the loop of the gets: for a put in its next run
        edge(node(done), node(put_loops[depth]), 1);
    }
    for (size_t i = 0; i < put_loops.size(); i++) {
      const Op *put_loop = put_loops[i], *get_loop = get_loops[i];
      if (put_loop == get_loop)
        continue;
      edge(node(put_loop), node(get_loop, true), 0);
      if (node(put_loop, true) != node(get_loop, true)) // both in one partition
        edge(node(put_loop, true), node(get_loop, true), 0);
      else
        edge(node(get_loop), node(put_loop, true), 0);
    }
  }

  // A put of a later section may wait for a release of an earlier one.
  void waits_between(const Uses &uses, const Section &earlier, const Section &putting,
                     const Section &getting) {
    const std::vector<const Op *> before = loops_around(*earlier.ops[0]),
                                  after = loops_around(*getting.ops[0]),
                                  put_loops = loops_around(*putting.ops[0]);
    size_t common = 0;
    while (common < std::min(before.size(), after.size()) && before[common] == after[common])
      common++;
    for (const Op *done : uses.gets_done)
      for (const Op *put : uses.puts)
        if (earlier.contains(*done) && putting.contains(*put))
          edge(before.size() > common ? node(before[common], true) : node(done),
               put_loops.size() > common ? node(put_loops[common]) : node(put), 0);
  }

  // Bellman and Ford: a cycle without tokens is one of negative length if each edge without tokens
  // has length -1, and one token is longer than any cycle.
  void cycles() {
    for (const Op *channel : channels_)
      end_together(uses_[channel]);
    std::vector<int> top;
    sequence(*fn_.body, top);
    for (const Op *channel : channels_)
      waits(*channel, uses_[channel]);
    const auto count = int64_t(ops_.size());
    std::vector<int64_t> length(ops_.size(), 0);
    const Op *waiting = ops_[0];
    for (int64_t i = 0; i <= count && waiting; i++) {
      waiting = nullptr;
      for (const Edge &edge : edges_) {
        int64_t next = length[size_t(edge.from)] + edge.tokens * (count + 1) - 1;
        if (next >= length[size_t(edge.to)])
          continue;
        length[size_t(edge.to)] = next;
        waiting = ops_[size_t(edge.to)];
      }
    }
    if (waiting)
      errors_ += (is_loop(*waiting) ? "@" + fn_.name : print(*waiting)) +
                 ": partitions wait for each other in a cycle\n";
  }

  const Function &fn_;
  std::string errors_;
  std::vector<const Op *> channels_;
  std::map<const Op *, Uses> uses_;
  std::map<const Op *, const Op *> leaders_;         // of loops that end with another
  std::map<std::pair<const Op *, bool>, int> nodes_; // with true: the end of a loop
  std::vector<const Op *> ops_;                      // of the nodes
  std::vector<Edge> edges_;
};

} // namespace

std::string check_channels(const Function &fn) { return Checker(fn).run(); }

} // namespace tritonc::ir
