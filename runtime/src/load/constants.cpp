// set_constant: fills constant memory.
//
// Each image has its own constant memory, one per context. It exists once the image is loaded into
// the context. So set_constant loads and fills all images that a launch in the context may use.
// Launches then do no extra work. The contents belong to the context, as CUDA's own constants do.
// The copies are in stream order.

#include "load/capture.h"
#include "load/hooks.h"
#include "load/image.h"

#include <tritonc/runtime.hpp>

#include <algorithm>
#include <cstring>

namespace tritonc {
inline namespace v1 {
namespace abi {

namespace {

const constant *find(const variant &in, const char *name) {
  for (std::uint32_t i = 0; i < in.constant_count; i++)
    if (std::strcmp(in.constants[i].name, name) == 0)
      return &in.constants[i];
  return nullptr;
}

/// Calls `visit` for each variant and for its specialized code, until `visit` returns an error.
template <typename Visit> status for_each_variant(const kernel &code, Visit visit) {
  for (std::uint32_t i = 0; i < code.variant_count; i++) {
    const variant &general = code.variants[i];
    for (std::uint32_t j = 0; j < general.specialized_count; j++) {
      status visited = visit(general.specialized[j]);
      if (!visited.ok())
        return visited;
    }
    status visited = visit(general);
    if (!visited.ok())
      return visited;
  }
  return {};
}

/// Returns the size in bytes of the largest array of this name; 0: there is none.
std::size_t room_for(const kernel &code, const char *name) {
  std::size_t room = 0;
  status all = for_each_variant(code, [&](const variant &in) {
    if (const constant *found = find(in, name))
      room = std::max(room, std::size_t(found->bytes));
    return status();
  });
  return all.ok() ? room : 0;
}

class Filling {
public:
  Filling(const kernel &code, CUstream_st *where, const char *name, const void *values,
          std::size_t bytes)
      : code_(code), where_(where), name_(name), values_(values), bytes_(bytes) {}

  status run() {
    status why;
    driver_ = cuda::open_driver(why);
    if (!driver_)
      return why.about(code_);
    for (const char *missing : {driver_->cuLibraryGetGlobal ? nullptr : "cuLibraryGetGlobal",
                                driver_->cuMemcpyHtoDAsync ? nullptr : "cuMemcpyHtoDAsync"})
      if (missing)
        return {status_code::driver_too_old, &code_, missing, driver_->version};
    status entered = context_.enter(*driver_, where_, &code_);
    if (!entered.ok())
      return entered;
    // A graph would read the values at its launch; the caller may have freed them by then.
    if (cuda::is_capturing(*driver_, where_))
      return {status_code::capturing, &code_, name_};
    status filled = for_each_variant(code_, [&](const variant &in) { return fill(in); });
    if (filled.ok() && !has_image_)
      return {status_code::no_image_for_device, &code_, nullptr, context_.facts().sm};
    return filled;
  }

private:
  /// Fills all schedules that may run on the device.
  status fill(const variant &in) {
    const constant *wanted = find(in, name_);
    if (!wanted)
      return {};
    const image *fitting =
        cuda::choose_image(in, context_.facts().sm, driver_->takes_any_gpu).image;
    for (std::uint32_t i = 0; fitting && i < in.image_count; i++) {
      if (!cuda::is_same_gpu(in.images[i], *fitting) ||
          !cuda::has_room(in, in.images[i], context_.facts().shared_bytes))
        continue;
      has_image_ = true;
      status filled = fill(in, in.images[i], *wanted);
      if (!filled.ok())
        return filled;
    }
    return {};
  }

  status fill(const variant &in, const image &one, const constant &wanted) {
    cuda::Kernel handle;
    status ready =
        cuda::make_ready(*driver_, code_, in, one, context_.facts().device, where_, handle);
    if (!ready.ok())
      return ready;
    auto library = static_cast<cuda::Library>(one.state->library.load(std::memory_order_acquire));
    // Another stream may be being captured, and the driver may load the code only now.
    cuda::CaptureAllowed allowed(*driver_);
    cuda::Pointer block = 0;
    std::size_t size = 0;
    if (cuda::Result result = driver_->cuLibraryGetGlobal(&block, &size, library, constant_block))
      return cuda::failure(*driver_, result, &code_, "cuLibraryGetGlobal");
    std::size_t bytes = std::min(bytes_, std::size_t(wanted.bytes));
    if (wanted.offset > size || bytes > size - wanted.offset)
      return {status_code::corrupt_image, &code_, in.infos[&one - in.images].gpu};
    if (cuda::Result result =
            driver_->cuMemcpyHtoDAsync(block + wanted.offset, values_, bytes, where_))
      return cuda::failure(*driver_, result, &code_, "cuMemcpyHtoDAsync");
    return {};
  }

  const kernel &code_;
  CUstream_st *const where_;
  const char *const name_;
  const void *const values_;
  const std::size_t bytes_;
  const cuda::Driver *driver_ = nullptr;
  cuda::CurrentContext context_;
  bool has_image_ = false;
};

} // namespace

status set_constant(const kernel &code, stream where, const char *name, const void *values,
                    std::size_t count, std::size_t element_bytes) noexcept {
  std::size_t room = room_for(code, name);
  if (room == 0 || count > room / element_bytes)
    return reported({status_code::invalid_constant, &code, name, std::int32_t(room)});
  if (count == 0)
    return {};
  if (!values)
    return reported({status_code::null_pointer, &code, name});
  return reported(Filling(code, where.handle(), name, values, count * element_bytes).run());
}

} // namespace abi
} // namespace v1
} // namespace tritonc
