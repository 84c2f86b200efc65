// assign_programs_to_warps: lets each warp of a block run a program of its own.
//
//                                               %c = num_programs {axis = 0}
//                                               %n = host_value %c
//                                               launch_warps %n {programs = 4}
//     %p = program_id {axis = 0}                %p = program_id {axis = 0}
//     %f = mul %p, %ld                          %f = mul %p, %ld
//     %v = view %A, %f, %one              =>    %v = view %A, %f, %one
//     %x = load %v : f32[1024]                  %x = load %v : f32[1024]
//     %s = reduce %x {axis = 0} : f32           %s = reduce %x {axis = 0} : f32
//     ...                                       ...
//
// A program of a row kernel computes one row. The GPU starts a limited number of blocks per time, so
// a block per short row is too slow. And the warps of a block wait for each other in each reduction.
// A warp that has a row of its own reduces it by shuffles, without shared memory and barriers.
//
// Method:  The program does not change. A launch_warps says how blocks run it: its threads are the
//          lanes of one warp, and a program_id is that of the warp. A warp without a program ends.
// Needs:   nothing; candidate_schedules has checked the schedule by try_assigning_programs.
// Ensures: there is a launch_warps; num_programs along the first axis is a value of the host.
// Limits:  no dot, and no launch_blocks: a block with several programs has one way to run them.
//          Without such a schedule nothing happens.
//
// Tested by tests/unit/passes/assign_programs_to_warps/.

#include "passes/assign_programs_to_warps.h"

#include "ir/builder.h"

#include <cassert>

namespace tritonc {

using namespace ir;

bool try_assigning_programs(Function &fn, int64_t warps) {
  std::vector<Op *> counts; // num_programs along the first axis
  bool can_assign = true;
  for_each_op(*fn.body, [&](Op &op) {
    can_assign &= !op.is(Opcode::dot_) && !op.is(Opcode::launch_blocks_);
    if (op.is(Opcode::num_programs_) && op.get(attr::axis_) == 0)
      counts.push_back(&op);
  });
  if (!can_assign)
    return false;
  Builder builder(fn, fn.body, size_t(0));
  builder.set_location(fn.location);
  Value *count = builder.num_programs(0);
  Value *programs = builder.create(Opcode::host_value_, {count}, {count->type})->result();
  builder.create(Opcode::launch_warps_, {programs})->set(attr::programs_, warps);
  for (Op *op : counts) {
    replace_uses(*fn.body, op->result(), programs);
    erase(op);
  }
  return true;
}

void assign_programs_to_warps(Function &fn, const Schedule &schedule) {
  if (schedule.kind != Schedule::Kind::program_per_warp)
    return;
  [[maybe_unused]] bool done = try_assigning_programs(fn, schedule.coarsening[0]);
  assert(done && "candidate_schedules has tried it");
}

} // namespace tritonc
