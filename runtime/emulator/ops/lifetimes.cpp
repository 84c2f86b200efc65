// Reports accesses to the shared memory of a block that may have ended. See lifetimes.h.

#include "lifetimes.h"

#include "../machine.h"

namespace tritonc::emulator::ops {

void use_from_outside(const Access &access, Block &block) {
  Cluster &cluster = *block.cluster;
  if (block.live == 0)
    fatal(access.thread, access.site, Report::Kind::race,
          "%s accesses the shared memory of block %u of the cluster after all threads of the block "
          "have exited\nnote: make its threads wait, for example at a cluster barrier, until the "
          "other blocks no longer access it",
          access.what, block.rank);
  if (!cluster.races)
    return;
  OutsideUses &uses = block.ops.outside;
  if (uses.last.empty())
    uses.last.resize(cluster.clocks.actors());
  uses.last[access.view.actor] = {access.view.epoch, &access.site, access.what};
}

void check_lifetime(Block &block) {
  Cluster &cluster = *block.cluster;
  OutsideUses &uses = block.ops.outside;
  unsigned threads = cluster.threads_per_block();
  for (Actor actor = 0; actor < uses.last.size(); actor++) {
    const OutsideUses::Use &use = uses.last[actor];
    bool seen = use.epoch == 0;
    for (unsigned i = 0; i < threads && !seen; i++)
      seen = cluster.clocks.view(block.threads[i].actor).after(actor, use.epoch);
    if (!seen)
      report(block.threads[0], *use.site, Report::Kind::race,
             "%s accesses the block's shared memory, possibly after the block has ended: no thread "
             "of the block waits for it (%s)\nnote: before the threads exit, execute mbarrier_wait "
             "for copies to shared memory, bulk_wait_read for copies from it, wgmma_wait for "
             "wgmma, or a cluster barrier for other blocks",
             use.what, actor_name(cluster, actor).c_str());
  }
}

} // namespace tritonc::emulator::ops
