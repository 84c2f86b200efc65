// The C API of tritonc/runtime.h. Each function converts its arguments and calls the C++ function.

#include <tritonc/device.hpp>
#include <tritonc/hooks.hpp>
#include <tritonc/runtime.h>
#include <tritonc/runtime.hpp>

#include <cstring>
#include <type_traits>

namespace {

using tritonc::abi::kernel;

// ---- the C and C++ structs have the same layout ----

static_assert(sizeof(tritonc_status) == sizeof(tritonc::status) &&
              std::is_trivially_copyable_v<tritonc::status>);
static_assert(TRITONC_CUDA == int(tritonc::status_code::cuda) &&
              TRITONC_NOT_PREPARED == int(tritonc::status_code::not_prepared) &&
              TRITONC_CORRUPT_BUNDLE == int(tritonc::status_code::corrupt_bundle) &&
              TRITONC_NO_VARIANT == int(tritonc::status_code::no_variant));
static_assert(sizeof(tritonc_grid) == sizeof(tritonc::grid));
static_assert(sizeof(tritonc_image_info) == sizeof(tritonc::image_info));
static_assert(sizeof(tritonc_prepared_launch) == sizeof(tritonc::abi::prepared_launch) &&
              alignof(tritonc_prepared_launch) == alignof(tritonc::abi::prepared_launch) &&
              offsetof(tritonc_prepared_launch, rest) ==
                  offsetof(tritonc::abi::prepared_launch, rest));
static_assert(sizeof(tritonc_load_event) == sizeof(tritonc::load_event) &&
              offsetof(tritonc_load_event, nanoseconds) ==
                  offsetof(tritonc::load_event, nanoseconds));
static_assert(sizeof(tritonc_choice_event) == sizeof(tritonc::choice_event) &&
              offsetof(tritonc_choice_event, gpu) == offsetof(tritonc::choice_event, gpu) &&
              offsetof(tritonc_choice_event, programs) ==
                  offsetof(tritonc::choice_event, programs));
static_assert(sizeof(tritonc_hooks) == sizeof(tritonc::hooks) &&
              offsetof(tritonc_hooks, on_jit) == offsetof(tritonc::hooks, on_jit) &&
              offsetof(tritonc_hooks, data) == offsetof(tritonc::hooks, data));
static_assert(sizeof(tritonc_device_info) == sizeof(tritonc::device_info));
static_assert(TRITONC_CURRENT_DEVICE == tritonc::abi::current);

template <typename To, typename From> To bits_of(const From &from) {
  static_assert(sizeof(To) == sizeof(From));
  To to;
  std::memcpy(static_cast<void *>(&to), &from, sizeof to);
  return to;
}

tritonc_status in_c(const tritonc::status &status) { return bits_of<tritonc_status>(status); }
tritonc::status in_cpp(const tritonc_status &status) { return bits_of<tritonc::status>(status); }

const kernel &in_cpp(const tritonc_kernel *code) { return *reinterpret_cast<const kernel *>(code); }
const tritonc::grid *in_cpp(const tritonc_grid *extent) {
  return reinterpret_cast<const tritonc::grid *>(extent);
}
tritonc::abi::prepared_launch *in_cpp(tritonc_prepared_launch *ready) {
  return reinterpret_cast<tritonc::abi::prepared_launch *>(ready);
}
const tritonc::abi::prepared_launch *in_cpp(const tritonc_prepared_launch *ready) {
  return reinterpret_cast<const tritonc::abi::prepared_launch *>(ready);
}

} // namespace

// ---- numbers ----

#define TRITONC_NUMBER(name)                                                                       \
  tritonc_##name tritonc_to_##name(float number) { return {tritonc::name(number).bits}; }          \
  float tritonc_from_##name(tritonc_##name number) { return float(bits_of<tritonc::name>(number)); }
TRITONC_NUMBER(half)
TRITONC_NUMBER(bfloat16)
TRITONC_NUMBER(float8_e4m3)
TRITONC_NUMBER(float8_e5m2)

// ---- status ----

const char *tritonc_status_name(tritonc_status status) { return in_cpp(status).name(); }
const char *tritonc_status_kernel(tritonc_status status) { return in_cpp(status).kernel(); }
const char *tritonc_status_argument(tritonc_status status) {
  return status.argument ? status.argument : "";
}
int tritonc_status_cuda_result(tritonc_status status) { return in_cpp(status).cuda_result(); }
size_t tritonc_status_message(tritonc_status status, char *buffer, size_t size) {
  return in_cpp(status).message(buffer, size);
}

// ---- kernels ----

tritonc_status tritonc_launch(const tritonc_kernel *code, tritonc_stream stream,
                              const void *arguments, const int32_t *choice,
                              const tritonc_grid *extent) {
  return in_c(tritonc::abi::launch(in_cpp(code), stream, arguments, choice, in_cpp(extent)));
}

tritonc_status tritonc_prepare(const tritonc_kernel *code, tritonc_stream stream,
                               const void *arguments, const int32_t *choice,
                               const tritonc_grid *extent, tritonc_prepared_launch *ready) {
  return in_c(tritonc::abi::prepare(in_cpp(code), stream, arguments, choice, in_cpp(extent),
                                    *in_cpp(ready)));
}

tritonc_status tritonc_launch_prepared(const tritonc_prepared_launch *ready, tritonc_stream stream,
                                       const void *arguments) {
  return in_c(tritonc::abi::launch_prepared(*in_cpp(ready), stream, arguments));
}

tritonc_status tritonc_preload(const tritonc_kernel *code, const int32_t *choice, int device) {
  return in_c(tritonc::abi::preload(in_cpp(code), choice, device));
}

tritonc_status tritonc_set_constant(const tritonc_kernel *code, tritonc_stream stream,
                                    const char *name, const void *values, size_t count,
                                    size_t element_bytes) {
  return in_c(tritonc::abi::set_constant(in_cpp(code), stream, name, values, count, element_bytes));
}

const int32_t *tritonc_variants(const tritonc_kernel *code, size_t *count) {
  *count = in_cpp(code).variant_count;
  return in_cpp(code).choices;
}

const tritonc_image_info *tritonc_info(const tritonc_kernel *code, const int32_t *choice,
                                       size_t *count) {
  tritonc::span<tritonc::image_info> infos = tritonc::abi::info(in_cpp(code), choice);
  *count = infos.size();
  return reinterpret_cast<const tritonc_image_info *>(infos.data());
}

// ---- hooks ----

// The callbacks of both structs are ABI-compatible: a reference is passed as a pointer, and a span
// is a pointer and a size.
void tritonc_set_hooks(const tritonc_hooks *hooks) {
  tritonc::set_hooks(reinterpret_cast<const tritonc::hooks *>(hooks));
}

// ---- memory ----

tritonc_status tritonc_current_device(tritonc_device_info *info) {
  return in_c(tritonc::current_device(*reinterpret_cast<tritonc::device_info *>(info)));
}
tritonc_status tritonc_allocate(void **memory, size_t bytes) {
  return in_c(tritonc::allocate(memory, bytes));
}
tritonc_status tritonc_release(void *memory) { return in_c(tritonc::release(memory)); }
tritonc_status tritonc_copy_to_device(void *to, const void *from, size_t bytes) {
  return in_c(tritonc::copy_to_device(to, from, bytes));
}
tritonc_status tritonc_copy_to_host(void *to, const void *from, size_t bytes) {
  return in_c(tritonc::copy_to_host(to, from, bytes));
}
tritonc_status tritonc_fill(void *memory, unsigned char value, size_t bytes) {
  return in_c(tritonc::fill(memory, value, bytes));
}
tritonc_status tritonc_synchronize(tritonc_stream stream) {
  return in_c(tritonc::synchronize(stream));
}
