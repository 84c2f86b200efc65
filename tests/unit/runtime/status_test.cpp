// Tests runtime/src/api/status.cpp: every code has a name and a message.

#include <tritonc/runtime.hpp>

#include <doctest/doctest.h>

#include <cstring>
#include <set>
#include <string>

using namespace tritonc;

namespace {

abi::kernel named_kernel() {
  abi::kernel kernel = {};
  kernel.name = "gemm::dot<half, N, T>";
  kernel.gpus = "sm_80, sm_90a";
  return kernel;
}

} // namespace

TEST_CASE("status: each code has a unique name and message") {
  abi::kernel kernel = named_kernel();
  std::set<std::string> names, sentences;
  for (int code = 0; code <= int(status_code::cuda); code++) {
    status s(status_code(code), &kernel, "subject", 0);
    names.insert(s.name());
    sentences.insert(s.message().text);
    CHECK(std::string(s.message().text).find("gemm::dot<half, N, T>: ") == 0);
    CHECK(s.ok() == (code == 0));
  }
  CHECK(names.size() == size_t(status_code::cuda) + 1);
  CHECK(sentences.size() == size_t(status_code::cuda) + 1);
}

TEST_CASE("status: message names kernel, cause and fix") {
  abi::kernel kernel = named_kernel();
  auto sentence = [](const status &s) { return std::string(s.message().text); };
  CHECK(sentence({status_code::requirement_failed, &kernel, "M % 32 == 0"}) ==
        "gemm::dot<half, N, T>: the arguments do not satisfy `M % 32 == 0`");
  CHECK(sentence({status_code::requirement_failed, &kernel, "N <= 256", 3}) ==
        "gemm::dot<half, N, T>: none of 3 variants accepts these arguments: the last one requires "
        "`N <= 256`");
  CHECK(sentence({status_code::misaligned_pointer, &kernel, "A", 16}) ==
        "gemm::dot<half, N, T>: argument `A` is not aligned to 16 bytes");
  CHECK(sentence({status_code::unsuitable_tensor, &kernel, "A"}) ==
        "gemm::dot<half, N, T>: TMA cannot address the tensor at `A`: its address and strides must "
        "be multiples of 16 bytes, its strides from 0 to below 2^40 bytes, and its sizes from 1 "
        "to 2^32");
  CHECK(sentence({status_code::no_image_for_device, &kernel, nullptr, 75}) ==
        "gemm::dot<half, N, T>: no code for this GPU: the kernel is compiled for sm_80, sm_90a, "
        "but the GPU is sm_75");
  CHECK(sentence({status_code::driver_too_old, nullptr, nullptr, 11080}) ==
        "the CUDA driver supports CUDA 11.8, but CUDA 12.0 is required: install driver 525 or "
        "newer");
  CHECK(sentence({status_code::no_driver, nullptr, nullptr, 0}) ==
        "cannot open the CUDA driver (libcuda.so.1): install the NVIDIA driver, or set "
        "TRITONC_DRIVER to the path of its library");
  CHECK(sentence({status_code::no_driver, nullptr, nullptr, 1}) ==
        "libcuda.so.1 is not a CUDA driver: reinstall the NVIDIA driver");
  CHECK(sentence(status()) == "ok");
}

TEST_CASE("status: message is cut to the buffer, with NUL") {
  status s(status_code::null_pointer, nullptr, "A");
  std::string whole = s.message().text;
  char buffer[8];
  std::memset(buffer, 'x', sizeof buffer);
  CHECK(s.message(buffer, sizeof buffer) == whole.size());
  CHECK(std::string(buffer) == whole.substr(0, 7));
  CHECK(s.message(nullptr, 0) == whole.size());
}

TEST_CASE("status: is small and trivially copyable") {
  CHECK(sizeof(status) <= 24);
  CHECK(std::is_trivially_copyable_v<status>);
  CHECK(std::is_trivially_destructible_v<status>);
}

TEST_CASE("status: only driver errors have a cuda_result") {
  CHECK(status(status_code::cuda, nullptr, "cuInit", 999).cuda_result() == 999);
  CHECK(status(status_code::misaligned_pointer, nullptr, "A", 16).cuda_result() == 0);
}
