// The sum by NCCL, which uses NVLink if there is one. No GPU waits for the host.

#include "sum.h"

#include <nccl.h>

#include <cstdio>
#include <cstdlib>

namespace {

void require(ncclResult_t result) {
  if (result == ncclSuccess)
    return;
  std::fprintf(stderr, "tensor_parallel: NCCL: %s\n", ncclGetErrorString(result));
  std::exit(1);
}

class SumByNccl : public Sum {
public:
  explicit SumByNccl(const Gpus &gpus) : gpus_(gpus), members_(gpus.size()) {
    std::vector<int> numbers;
    for (const auto &gpu : gpus)
      numbers.push_back(gpu->number());
    require(ncclCommInitAll(members_.data(), int(members_.size()), numbers.data()));
  }
  ~SumByNccl() override {
    for (ncclComm_t member : members_)
      ncclCommDestroy(member);
  }

  void enqueue(const std::vector<tritonc::half *> &parts, std::size_t count) override {
    // One thread calls NCCL for all GPUs. Outside of a group, a call could wait for the others.
    require(ncclGroupStart());
    for (std::size_t gpu = 0; gpu < members_.size(); gpu++)
      require(ncclAllReduce(parts[gpu], parts[gpu], count, ncclFloat16, ncclSum, members_[gpu],
                            gpus_[gpu]->stream()));
    require(ncclGroupEnd());
  }

private:
  const Gpus &gpus_;
  std::vector<ncclComm_t> members_;
};

} // namespace

std::unique_ptr<Sum> sum_by_nccl(const Gpus &gpus) { return std::make_unique<SumByNccl>(gpus); }
