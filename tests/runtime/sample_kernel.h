// Descriptors and host code as the generator would write them, made by hand, for the tests of the
// runtime.

#pragma once

#include <tritonc/runtime.hpp>

#include <deque>
#include <memory>
#include <string>
#include <vector>

namespace tritonc {

/// `bytes` behind the header that the runtime checks.
std::string sealed_image(const std::string &bytes);

struct SampleArgs {
  const void *source;
  void *target;
  std::int32_t n;
};

/// What the samples' programs do.
enum class SampleBody {
  touch_nothing, // and note their arguments
  copy,          // `tile` 32-bit integers each
  never_end,
  race,          // all write one word
  fail_assertion // "n > 0"
};

/// copy<>(source, target, n): programs of `tile` elements each, n a multiple of the tile. Variants
/// tile = 64 and tile = 16, each for sm_80 and sm_90a, with the entries copy_64 and copy_16.
///
/// An image is the bytes of its host code, as that of a GPU is a cubin, so it runs as well where
/// the runtime does not know that the driver is an emulator.
class SampleKernel {
public:
  explicit SampleKernel(SampleBody body = SampleBody::touch_nothing);
  SampleKernel(const SampleKernel &) = delete;

  abi::kernel kernel;
  std::vector<abi::variant> variants;
  std::vector<abi::image> images[2]; // per variant
  std::vector<image_info> infos[2];
  std::vector<abi::parameter> parameters;
  std::vector<std::int32_t> choices = {64, 16};
  std::deque<abi::host_code> codes; // in the order of `images`
  std::deque<std::string> bytes;    // of the images, in the same order

  /// Puts PTX for sm_80 and later in the place of the images for sm_90a.
  void make_ptx();

  /// Makes one variant of both: its general code is that of tile 16, and that of tile 64 is
  /// compiled under the hint "n % 64".
  void specialize();

  /// Makes the blocks of every image larger, or gives them more shared memory.
  void set_threads(int threads);

private:
  void add_image(int variant, const char *gpu, int sm, char suffix, SampleBody body);

  std::vector<std::int64_t> grid_[2], divides_[2];
  std::vector<abi::requirement> requirements_[2];
  std::unique_ptr<abi::image_state[]> states_{new abi::image_state[4]()};
  int state_count_ = 0;
};

/// Arguments that every variant takes: 16-byte aligned pointers, n = 64 * 16. The memory is the
/// host's.
SampleArgs good_args();

/// The arguments that the last thread which ran a `touch_nothing` was given.
SampleArgs noted_args();

} // namespace tritonc
