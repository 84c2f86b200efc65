// Hand-written descriptors and host code in the generator's format, for the tests of the runtime.

#pragma once

#include <tritonc/runtime.hpp>

#include <deque>
#include <memory>
#include <string>
#include <vector>

namespace tritonc {

/// Returns an image: a valid header, then `bytes`.
std::string sealed_image(const std::string &bytes);

struct SampleArgs {
  const void *source;
  void *target;
  std::int32_t n;
};

/// The work of each program of a sample kernel.
enum class SampleBody {
  touch_nothing, // records its arguments
  copy,          // copies `tile` 32-bit integers
  never_end,     // loops forever
  race,          // all threads write the same word
  fail_assertion // fails the assertion "n > 0"
};

/// copy<>(source, target, n): each program handles `tile` elements; n is a multiple of `tile`. The
/// variants are tile = 64 (entry copy_64) and tile = 16 (entry copy_16), each for sm_80 and sm_90a.
///
/// The bytes of an image are its host code instead of a cubin. So the kernel also runs if the
/// runtime does not know that the driver is an emulator.
class SampleKernel {
public:
  explicit SampleKernel(SampleBody body = SampleBody::touch_nothing);
  SampleKernel(const SampleKernel &) = delete;

  abi::kernel kernel;
  std::vector<abi::variant> variants;
  std::vector<abi::image> images[2]; // one vector per variant
  std::vector<image_info> infos[2];
  std::vector<abi::parameter> parameters;
  std::vector<std::int32_t> choices = {64, 16};
  std::deque<abi::host_code> codes; // in the order of `images`
  std::deque<std::string> bytes;    // the images' bytes, in the same order

  /// Replaces the images for sm_90a by PTX for sm_80 and later.
  void make_ptx();

  /// Makes one variant of both: tile 16 becomes the general code, and tile 64 becomes code with the
  /// specialization "n % 64".
  void specialize();

  /// Sets the threads per block of every image, and rebuilds the images from `codes`.
  void set_threads(int threads);

private:
  void add_image(int variant, const char *gpu, int sm, char suffix, SampleBody body);

  std::vector<std::int64_t> grid_[2], divides_[2];
  std::vector<abi::requirement> requirements_[2];
  std::unique_ptr<abi::image_state[]> states_{new abi::image_state[4]()};
  int state_count_ = 0;
};

/// Returns arguments that every variant accepts: 16-byte aligned pointers to host memory,
/// n = 64 * 16.
SampleArgs good_args();

/// Returns the arguments of the last thread that ran `touch_nothing`.
SampleArgs noted_args();

} // namespace tritonc
