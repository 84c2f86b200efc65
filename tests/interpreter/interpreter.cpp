// Runs the grid, dispatches the operations, and makes the reports. See interpreter.h.
//
// Tested by tests/interpreter/reports_test.cpp; each family of operations has its own test.

#include "interpreter/interpreter.h"

#include "interpreter/machine.h"
#include "ir/printer.h"

namespace tritonc::interpreter {

using namespace ir;

std::string text_of(const Report &report) {
  auto [x, y, z] = report.program;
  std::string text =
      "program (" + std::to_string(x) + ", " + std::to_string(y) + ", " + std::to_string(z) + ")";
  if (report.element >= 0)
    text += ", element " + std::to_string(report.element);
  if (!report.operation.empty())
    text += (report.element >= 0 ? " of `" : ", `") + report.operation + "`";
  if (report.location.line)
    text += " (line " + std::to_string(report.location.line) + ")";
  return text + ": " + report.text;
}

void Machine::find(Report::Kind kind, const Op &op, int64_t element, std::string text) {
  bool again = found_at_ == result_.steps; // the same operation, another element
  found_at_ = result_.steps;
  if (!again && result_.reports.size() < launch_.max_reports)
    result_.reports.push_back({kind, print(op), op.location, block_, element, std::move(text)});
}

void Machine::execute(const Op &op) {
  switch (op.code) {
  case Opcode::constant_:
    return constant(op);
  case Opcode::program_id_:
    return program_id(op);
  case Opcode::num_programs_:
    return num_programs(op);
  case Opcode::block_id_:
    return define(op, Element::of_integer(block_[size_t(op.get(attr::axis_))]));
  case Opcode::num_blocks_:
    return define(op, Element::of_integer(blocks_[size_t(op.get(attr::axis_))]));
  case Opcode::num_sms_: // a host value, see formula()
    return define(op, Element::no_value());
  case Opcode::host_value_:
    return host_value(op);
  case Opcode::tensor_map_:
    return tensor_map(op);
  case Opcode::workspace_:
    return workspace(op);
  case Opcode::undef_:
    return define(op, [](size_t) { return Element::no_value(); });
  case Opcode::range_:
    return range(op);
  case Opcode::in_bounds_:
    return inside(op);
  case Opcode::no_hoist_:
    return define(op, scalar(op.operand(0)));
  case Opcode::splat_:
    return splat(op);
  case Opcode::expand_:
  case Opcode::reshape_:
  case Opcode::copy_:
  case Opcode::convert_layout_: // no effect on row-major tiles
    return define(op, Tile(tile(op.operand(0))));
  case Opcode::broadcast_:
    return broadcast(op);
  case Opcode::funnel_shift_:
    return funnel_shift(op);
  case Opcode::trans_:
    return trans(op);
  case Opcode::extract_:
    return extract(op);
  case Opcode::view_:
    return view(op);
  case Opcode::load_:
    return load(op);
  case Opcode::store_:
    return store(op);
  case Opcode::constant_load_:
    return constant_load(op);
  case Opcode::atomic_:
  case Opcode::atomic_cas_:
    return atomic(op);
  case Opcode::store_partial_:
    return store_partial(op);
  case Opcode::add_partial_:
    return add_partial(op);
  case Opcode::signal_:
    return give_signal(op);
  case Opcode::wait_signal_:
    return wait_signal(op);
  case Opcode::tma_load_:
    return tma_load(op);
  case Opcode::tma_store_:
    return tma_store(op);
  case Opcode::dot_:
    return dot(op);
  case Opcode::reduce_:
    return reduce(op);
  case Opcode::scan_:
    return scan(op);
  case Opcode::gather_:
    return gather(op);
  case Opcode::while_loop_:
    return while_loop(op);
  case Opcode::for_loop_:
    return for_loop(op);
  case Opcode::if_else_:
    return if_else(op);
  case Opcode::condition_:
  case Opcode::yield_:
  case Opcode::return_:
  case Opcode::launch_blocks_:
  case Opcode::launch_warps_:
  case Opcode::launch_requires_:
    return; // the enclosing operation reads terminators; the host reads launch_blocks
  case Opcode::barrier_:
    return not_by_one_thread(op); // a program is one thread here
  case Opcode::print_:
    return show(op);
  case Opcode::assert_:
    return assertion(op);
  case Opcode::shared_alloc_:
    return shared_alloc(op);
  case Opcode::stage_index_:
    return stage_index(op);
  case Opcode::shared_store_:
    return shared_store(op);
  case Opcode::shared_load_:
    return shared_load(op);
  case Opcode::shared_gather_:
    return shared_gather(op);
  case Opcode::shared_load_rows_:
    return shared_load_rows(op);
  case Opcode::shared_store_rows_:
    return shared_store_rows(op);
  case Opcode::async_copy_:
    return async_copy(op);
  case Opcode::async_commit_:
    return async_commit();
  case Opcode::async_wait_:
    return async_wait(op);
  case Opcode::warp_specialize_:
    return specialize(op);
  case Opcode::consumer_group_id_:
    return define(op, Element::of_integer(part()->group));
  case Opcode::channel_:
    return channel(op);
  case Opcode::put_:
    return put(op);
  case Opcode::put_done_:
    return put_done(op);
  case Opcode::get_:
    return get(op);
  case Opcode::get_done_:
    return get_done(op);
  case Opcode::mbarriers_:
    return mbarriers(op);
  case Opcode::stage_phase_:
    return stage_phase(op);
  case Opcode::mbarrier_wait_:
    return mbarrier_wait(op);
  case Opcode::mbarrier_arrive_:
    return mbarrier_arrive(op);
  case Opcode::sched_barrier_:
  case Opcode::launch_dependents_:
  case Opcode::dependency_wait_:
    return; // launches run one after another
  case Opcode::tma_prefetch_:
    return not_by_one_thread(op); // no visible effect
  case Opcode::tma_load_async_:
    return tma_load_async(op);
  case Opcode::tma_store_async_:
    return tma_store_async(op);
  case Opcode::tma_store_wait_:
    return tma_store_wait(op);
  case Opcode::proxy_fence_:
    return proxy_fence(op);
  case Opcode::wgmma_ss_:
    return wgmma_ss(op);
  case Opcode::wgmma_rs_:
    return wgmma_rs(op);
  case Opcode::wgmma_wait_:
    return wgmma_wait(op);
  case Opcode::cluster_reduce_:
    return cluster_reduce(op);
  case Opcode::cluster_load_reduce_:
    return cluster_load_reduce(op);
  case Opcode::cluster_send_:
    return cluster_send(op);
  case Opcode::cluster_receive_:
    return cluster_receive(op);
  case Opcode::cluster_arrive_:
    return cluster_arrive(op);
  case Opcode::cluster_wait_:
    return cluster_wait(op);
  case Opcode::cluster_barrier_:
    return cluster_barrier(op);
  default:
    return elementwise(op);
  }
}

void Machine::run() {
  for (const Parameter &parameter : fn_.parameters)
    values_[parameter.value] = {{launch_.arguments[size_t(parameter.value->index)]}};
  block(*fn_.body);
  if (!ended_)
    check_the_end();
}

// Reports copies and wgmma that are pending at the end of a program.
void Machine::check_the_end() {
  const Op &last = *fn_.body->terminator();
  if (!started_.empty() || !groups_.empty() || !tma_load_asyncs_.empty() || !copies_out_.empty())
    find(Report::Kind::copy_not_awaited, last, -1, "copies in the background are still under way");
  if (finished_ < products_.size())
    find(Report::Kind::wgmma_not_awaited, last, -1,
         "products in the background are still under way");
  for (const Mbarriers &buffer : mbarriers_)
    for (const Mbarrier &here : buffer.stages)
      if (tma_load_asyncs_.empty() && here.landed < here.announced)
        find(Report::Kind::bad_mbarrier, last, -1,
             "a phase announces " + std::to_string(here.announced) + " bytes, and " +
                 std::to_string(here.landed) + " have come");
  check_channels(last);
  land_copies_out();
}

Result run(const Function &fn, const Launch &launch, Memory &memory) {
  Result result;
  if (launch.arguments.size() != fn.parameters.size()) {
    std::string text = "@" + fn.name + " has " + std::to_string(fn.parameters.size()) +
                       " parameters, not " + std::to_string(launch.arguments.size());
    result.reports.push_back({Report::Kind::invalid_arguments, "", {}, {}, -1, text});
    return result;
  }
  if (!launch.constants.empty() && int64_t(launch.constants.size()) != fn.constant_bytes()) {
    std::string text = "@" + fn.name + " has " + std::to_string(fn.constant_bytes()) +
                       " bytes of constant memory, not " + std::to_string(launch.constants.size());
    result.reports.push_back({Report::Kind::invalid_arguments, "", {}, {}, -1, text});
    return result;
  }
  PartsOfCluster none;
  std::array<int, 3> blocks =
      Machine(fn, launch, memory, result, launch.grid, {}, none).blocks_to_launch();
  auto [x_end, y_end, z_end] = blocks;
  const int cluster = cluster_of(fn);
  for (int z = 0; z < z_end; z++)
    for (int y = 0; y < y_end; y++)
      for (int x = 0; x < x_end; x += cluster) {
        PartsOfCluster parts;
        std::deque<Machine> machines;
        for (int rank = 0; rank < std::min(cluster, x_end - x); rank++)
          machines.emplace_back(fn, launch, memory, result, blocks, std::array{x + rank, y, z},
                                parts);
        run_cluster(machines);
        if (result.steps >= launch.max_steps)
          return result;
      }
  return result;
}

} // namespace tritonc::interpreter
