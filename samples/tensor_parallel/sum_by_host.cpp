// The sum by the host: copies all parts to the host. For builds without NCCL, and for the emulator.

#include "sum.h"

#include <tritonc/device.hpp>

#include <cstdio>
#include <cstdlib>

namespace {

void require(tritonc::status status) {
  if (status.ok())
    return;
  std::fprintf(stderr, "tensor_parallel: %s\n", status.message().c_str());
  std::exit(1);
}

class SumByHost : public Sum {
public:
  explicit SumByHost(const Gpus &gpus) : gpus_(gpus) {}

  void enqueue(const std::vector<tritonc::half *> &parts, std::size_t count) override {
    std::vector<float> sums(count);
    std::vector<tritonc::half> part(count);
    for (std::size_t gpu = 0; gpu < gpus_.size(); gpu++) {
      gpus_[gpu]->enter();
      require(tritonc::synchronize(gpus_[gpu]->stream()));
      require(tritonc::copy_to_host(part.data(), parts[gpu], count * sizeof part[0]));
      for (std::size_t i = 0; i < count; i++)
        sums[i] += float(part[i]);
    }
    for (std::size_t i = 0; i < count; i++)
      part[i] = tritonc::half(sums[i]);
    for (std::size_t gpu = 0; gpu < gpus_.size(); gpu++) {
      gpus_[gpu]->enter();
      require(tritonc::copy_to_device(parts[gpu], part.data(), count * sizeof part[0]));
    }
  }

private:
  const Gpus &gpus_;
};

} // namespace

std::unique_ptr<Sum> sum_by_host(const Gpus &gpus) { return std::make_unique<SumByHost>(gpus); }
