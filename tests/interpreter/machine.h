// The state of one running program: its values, its shared memory, and its pending operations.
// Private to the interpreter. One member function per operation, one file per family of operations.
// After a launch_blocks, it is a block instead of a program.

#pragma once

#include "interpreter/interpreter.h"

#include <boost/context/fiber.hpp>

#include <algorithm>
#include <deque>
#include <optional>
#include <set>
#include <unordered_map>

namespace tritonc::interpreter {

/// The row-major stride of each axis, in elements.
std::vector<int64_t> row_major_strides(const ir::Shape &shape);

/// The sum of coordinates times strides, for each element in row-major order.
std::vector<int64_t> places(const ir::Shape &shape, const std::vector<int64_t> &strides);

/// The elements of a tile of shape `from` at the indices `positions` along {axis}. `from` may be
/// null.
Element gathered(const ir::Op &op, const ir::Shape &shape, const Element *from,
                 const Tile &positions, size_t i);

/// The contiguous axis of a tensor_map.
size_t contiguous_axis(const ir::Op &map);

/// How a dot converts its operands.
struct OperandKind {
  ir::Elem elem;
  bool is_tf32, is_unsigned;
};
OperandKind operand_kind(const ir::Op &product); // a dot or a wgmma_ss

/// The result of a dot: `a` [M,depth] times `b` [depth,N] plus `c`, of type `sum` [M,N].
Tile matmul_of(const ir::Type &sum, size_t depth, const OperandKind &kind, const Tile &a,
               const Tile &b, const Tile &c);

/// The parts of a cluster's reductions so far, by block index.
using PartsOfCluster = std::map<std::array<int, 3>, std::vector<Tile>>;

class Machine;

// clusters.cpp
/// The number of blocks in a cluster.
int cluster_of(const ir::Function &fn);
/// Runs the blocks of a cluster, in turns from one wait to the next.
void run_cluster(std::deque<Machine> &blocks);

class Machine {
public:
  Machine(const ir::Function &fn, const Launch &launch, Memory &memory, Result &result,
          std::array<int, 3> blocks, std::array<int, 3> block, PartsOfCluster &parts)
      : fn_(fn), launch_(launch), memory_(memory), result_(result), blocks_(blocks), block_(block),
        parts_of_cluster_(parts) {}

  /// The number of blocks that the host launches. 0 blocks, after a report, if it is invalid.
  std::array<int, 3> blocks_to_launch();
  void check_requirement(const ir::Op &op);

  void run();

  // clusters.cpp
  /// Starts or continues the block, up to the next wait for its cluster, or to its end. Returns
  /// false if it has ended.
  bool run_to_wait();

private:
  // interpreter.cpp
  void execute(const ir::Op &op);
  void check_the_end();
  void find(Report::Kind kind, const ir::Op &op, int64_t element, std::string text);
  const Tile &tile(const ir::Value *value) const { return values_.at(value).elements; }
  const Tile *tile_or_null(const ir::Value *value) const { return value ? &tile(value) : nullptr; }
  const Element &scalar(const ir::Value *value) const { return tile(value)[0]; }

  /// Sets the one result of `op`, element by element.
  template <typename Make> void define(const ir::Op &op, Make make) {
    Tile elements(size_t(op.result()->type.elements()));
    for (size_t i = 0; i < elements.size(); i++)
      elements[i] = make(i);
    values_[op.result()] = {std::move(elements)};
  }
  /// The same for a scalar, or an existing tile.
  void define(const ir::Op &op, Element scalar) { values_[op.result()] = {Tile{scalar}}; }
  void define(const ir::Op &op, Tile elements) { values_[op.result()] = {std::move(elements)}; }

  // A value: its elements, or a pending wgmma whose elements are all poison.
  struct Held {
    Tile elements;
    int product = -1; // number of the wgmma; -1 = none
  };

  // control.cpp
  void block(const ir::Block &block);
  void for_loop(const ir::Op &op);
  void while_loop(const ir::Op &op);
  void if_else(const ir::Op &op);
  std::vector<Held> values_of(const std::vector<ir::Value *> &values, size_t first) const;
  void assign(const std::vector<ir::Value *> &to, size_t first, std::vector<Held> &&values);
  /// The value of a branch condition. Poison makes a report and ends the program.
  int64_t decision(const ir::Op &op, const ir::Value *condition);

  // host.cpp
  void program_id(const ir::Op &op);
  void num_programs(const ir::Op &op);
  void host_value(const ir::Op &op);
  void workspace(const ir::Op &op);
  std::optional<Element> formula(const ir::Value *value);
  std::optional<Element> computed(const ir::Value *value);
  Element on_host(const ir::Op &op, const ir::Value *value);

  // maps.cpp
  void tensor_map(const ir::Op &op);
  void tma_load(const ir::Op &op);
  void tma_store(const ir::Op &op);
  /// Pointers to the elements of a tile at the coordinates from operand `first` on; nullopt for
  /// elements outside of the tensor.
  std::vector<std::optional<Element>> mapped(const ir::Op &op, ir::Shape tile, size_t first);
  /// Reports coordinates at which TMA cannot copy a box. Operand 1 is the buffer.
  /// Whether element `i` of the tile of a predicated copy is at the limit or after it.
  bool is_predicated_off(const ir::Op &op, ir::Shape tile, size_t first, size_t i);
  void check_box(const ir::Op &op, size_t first, bool is_written);

  // checks.cpp
  void show(const ir::Op &op);
  void assertion(const ir::Op &op);

  // arithmetic.cpp
  void elementwise(const ir::Op &op);

  // shape.cpp
  void constant(const ir::Op &op);
  void range(const ir::Op &op);
  void inside(const ir::Op &op);
  void splat(const ir::Op &op);
  void broadcast(const ir::Op &op);
  void funnel_shift(const ir::Op &op);
  void trans(const ir::Op &op);
  void extract(const ir::Op &op);
  void gather(const ir::Op &op);

  // contraction.cpp
  void dot(const ir::Op &op);
  void reduce(const ir::Op &op);
  void scan(const ir::Op &op);

  // global_memory.cpp
  void view(const ir::Op &op);
  void load(const ir::Op &op);
  void constant_load(const ir::Op &op); // constant_memory.cpp
  void store(const ir::Op &op);
  void atomic(const ir::Op &op);
  void store_partial(const ir::Op &op); // partials.cpp
  void add_partial(const ir::Op &op);
  void give_signal(const ir::Op &op);
  void wait_signal(const ir::Op &op);
  bool is_on(const ir::Op &op, const Tile *mask, size_t i);
  Element *accessed(const ir::Op &op, size_t i, const Element &pointer, const char *verb);
  bool is_recast(const ir::Op &op, const Element &pointer) const;
  void report(const ir::Op &op, size_t i, std::string verb, const Element &pointer);

  // shared_memory.cpp
  struct SharedBuffer {
    Tile elements;
    int64_t stages = 0;
  };
  // An asynchronous copy of one element from global memory (or of zero) to a buffer.
  struct Copy {
    int into;
    size_t at;
    Element value; // at the start of the copy
    Element from;  // a pointer; poison = reads nothing
    bool to_tf32 = false;
  };
  // A stage: the buffer, and the index of the stage's first element.
  using Place = std::pair<int, size_t>;
  void shared_alloc(const ir::Op &op);
  void stage_index(const ir::Op &op);
  void shared_store(const ir::Op &op);
  void shared_load(const ir::Op &op);
  void shared_gather(const ir::Op &op);
  template <typename Visit>
  void for_each_row_element(const ir::Op &op, size_t buffer, const ir::Shape &shape, Visit visit);
  void shared_load_rows(const ir::Op &op);
  void shared_store_rows(const ir::Op &op);
  void async_copy(const ir::Op &op);
  void async_commit();
  void async_wait(const ir::Op &op);
  void land(const Copy &copy);
  Element *stage(const ir::Op &op, const ir::Value *buffer, const ir::Value *stage);
  Place place_of(const ir::Value *buffer, const Element *first) const;
  bool is_stage(const ir::Op &op, const Element &index, int64_t stages);

  // mbarriers.cpp
  struct Mbarrier {
    int64_t to_arrive;     // missing arrivals of this phase
    int64_t phases = 0;    // ended phases
    int64_t announced = 0; // expected bytes of this phase
    int64_t started = 0;   // bytes of started copies
    int64_t landed = 0;    // bytes of landed copies
  };
  struct Mbarriers {
    std::vector<Mbarrier> stages;
    int64_t arrivals = 0;
  };
  // The location of an mbarrier, or of a stage of a channel.
  struct At {
    int buffer = 0; // or channel
    size_t stage = 0;
    bool is_channel = false;

    bool operator==(const At &) const = default;
  };
  struct MapCopy {
    const ir::Op *op;
    At at;
    int64_t bytes;
    std::vector<Copy> elements;
  };
  struct Wait {
    const ir::Op *op = nullptr; // null = no wait
    At at = {};
    int64_t parity = 0; // of a put or get: the number
  };
  void mbarriers(const ir::Op &op);
  void stage_phase(const ir::Op &op);
  void mbarrier_wait(const ir::Op &op);
  void mbarrier_arrive(const ir::Op &op);
  void tma_load_async(const ir::Op &op);
  std::optional<At> mbarrier_of(const ir::Op &op, size_t first);
  Mbarrier &mbarrier(At at) { return mbarriers_[size_t(at.buffer)].stages[at.stage]; }
  void settle(const ir::Op &op, At at);
  void misuse(const ir::Op &op, std::string text, Report::Kind kind = Report::Kind::bad_mbarrier);
  bool is_over(const Wait &wait);
  void wait_for(const Wait &wait);
  bool land_for(const Wait &wait);
  void stuck(const std::vector<Wait> &waits);

  // channels.cpp
  struct Slot { // a stage of a channel
    enum class State : uint8_t { empty, put, full, got } state = State::empty;
    int64_t number = -1;    // that it holds, or held last
    int64_t copies = 0;     // to it, pending
    bool is_copied = false; // by TMA
  };
  struct Channel {
    const ir::Op *op;
    std::vector<Slot> slots;
    std::vector<int> buffers;
    bool is_released = false; // by get_done
  };
  // The stage of the number of a put, get, put_done or get_done; nullopt after a report.
  std::optional<Wait> turn_of(const ir::Op &op);
  Slot &slot(At at) { return channels_[size_t(at.buffer)].slots[at.stage]; }
  void channel(const ir::Op &op);
  void put(const ir::Op &op);
  void put_done(const ir::Op &op);
  void get(const ir::Op &op);
  void get_done(const ir::Op &op);
  bool is_put_over(const Wait &wait);
  bool is_get_over(const Wait &wait);
  bool in_order(const Wait &turn);
  void clear(At at);
  void check_channels(const ir::Op &last);

  // copies_out.cpp
  struct OneOut {  // one element
    size_t at;     // in the buffer
    Element value; // at the start of the copy
    Element to;
  };
  struct CopyOut {
    const ir::Op *op;
    int buffer;
    std::vector<OneOut> elements;
  };
  void tma_store_async(const ir::Op &op);
  void tma_store_wait(const ir::Op &op);
  void proxy_fence(const ir::Op &op);
  void read_oldest();
  void land_copies_out();

  // matmul.cpp
  struct Product {
    const ir::Op *op;
    Held sum;
    std::array<Tile, 2> factors = {};  // operands at the start
    std::array<size_t, 2> stages = {}; // first elements of operands in shared memory
    Tile result = {};
    bool is_taken = false; // another wgmma accumulates to it
  };
  void wgmma_ss(const ir::Op &op);
  void wgmma_rs(const ir::Op &op);
  Product new_product(const ir::Op &op, size_t sum);
  bool fetch(Product &product, size_t number, const ir::Value *buffer, const ir::Value *stage);
  void start(Product &&product, size_t sum);
  void wgmma_wait(const ir::Op &op);
  Tile matmul_operand_of(const Product &product, size_t number) const;
  Held taken(const Held &sum);
  void finish(Product &product);

  // clusters.cpp
  void cluster_reduce(const ir::Op &op);
  void cluster_load_reduce(const ir::Op &op);
  void cluster_send(const ir::Op &op);
  void cluster_receive(const ir::Op &op);
  void cluster_arrive(const ir::Op &op);
  void cluster_wait(const ir::Op &op);
  void cluster_barrier(const ir::Op &op);
  void wait_for_cluster();
  void combine(const ir::Op &op, Tile own);

  // warp_specialize.cpp
  // The state of a part that is not running; the running part's is in the members of these names.
  struct Own {
    std::unordered_map<const ir::Value *, Held> values;
    std::unordered_map<const ir::Op *, int> allocated;
    std::vector<Copy> started;
    std::deque<std::vector<Copy>> groups;
    std::deque<CopyOut> copies_out;
    std::deque<Product> products;
    size_t finished = 0;
  };
  struct Part {
    boost::context::fiber fiber, home; // of the part, and of the caller that resumes it
    Own own;                           // while another part runs
    ir::Partition partition = {};
    int group = 0; // of the partition
    Wait wait = {};
    bool is_done = false;
  };
  void specialize(const ir::Op &op);
  void exchange(Own &own);
  void go_on(size_t part);
  void join_parts();
  const Part *part() const { return parts_.empty() ? nullptr : &parts_[running_]; }
  bool is_one_thread() const { return part() && part()->partition.is_one_thread; }
  bool can_go_on(const Part &part);
  std::optional<size_t> whose_turn();
  void leave();
  void not_by_one_thread(const ir::Op &op);

  const ir::Function &fn_;
  const Launch &launch_;
  std::vector<uint8_t> constants_; // set on the first read
  Memory &memory_;
  Result &result_;
  std::array<int, 3> blocks_, block_; // number of blocks, and this block's index
  bool ended_ = false;                // a report ended the program
  PartsOfCluster &parts_of_cluster_;
  boost::context::fiber fiber_, home_; // of the block, and of the caller of run_to_wait
  bool is_done_ = false;
  size_t reductions_ = 0;                  // over the cluster so far
  bool has_arrived_ = false;               // at the cluster_wait of all blocks
  bool blocks_are_there_ = false;          // this block has waited for the others
  std::map<const ir::Value *, Tile> sent_; // of the buffers of cluster_send
  bool joined_ = false;                    // the last block of the cluster continues for this one
  const ir::Block *joined_in_ = nullptr;   // the partition that it continues; null: all
  int64_t found_at_ = -1;                  // step of the last report
  std::unordered_map<const ir::Value *, Held> values_;
  std::unordered_map<const ir::Value *, std::optional<Element>> formulas_; // host values
  std::vector<SharedBuffer> shared_;
  std::unordered_map<const ir::Op *, int> allocated_; // buffers of shared_alloc operations
  std::vector<Copy> started_;                         // uncommitted copies
  std::deque<std::vector<Copy>> groups_;              // committed, oldest first
  std::vector<Mbarriers> mbarriers_;
  std::deque<Channel> channels_;
  std::deque<MapCopy> tma_load_asyncs_; // pending
  std::deque<CopyOut> copies_out_;      // source not read yet, oldest first
  std::vector<CopyOut> read_out_;       // source read, destination not written yet
  // Stages that each part has written since its last proxy_fence.
  std::map<size_t, std::set<Place>> unfenced_;
  std::map<size_t, std::set<Place>> unfenced_reads_; // the same for stages that it has read
  bool is_unfenced(const Place &place) const {
    return std::any_of(unfenced_.begin(), unfenced_.end(),
                       [&](const auto &part) { return part.second.count(place) > 0; });
  }
  std::deque<Product> products_;
  size_t finished_ = 0; // number of finished products

  std::vector<Part> parts_; // the groups of all partitions
  size_t running_ = 0;
};

} // namespace tritonc::interpreter
