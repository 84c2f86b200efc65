// Compares the fake driver's interface with cuda.h at compile time, if cuda.h is installed: every
// function has as many parameters, of the same sizes, and every struct has the same size.

#define __CUDA_API_VERSION_INTERNAL // also declares old versions of the interfaces
#include <cuda.h>
#include <cudaTypedefs.h>

#include "emulator/fake_driver/interface.h"

#include <type_traits>

namespace fake_driver = tritonc::emulator::driver;

namespace {

template <typename First, typename Second> struct same_shape : std::false_type {};
template <typename R, typename... A, typename S, typename... B>
struct same_shape<R(A...), S(B...)> {
  static constexpr bool value = [] {
    if constexpr (sizeof...(A) == sizeof...(B))
      return sizeof(R) == sizeof(S) && ((sizeof(A) == sizeof(B)) && ...) &&
             ((std::is_pointer_v<A> == std::is_pointer_v<B>) && ...);
    else
      return false;
  }();
};

} // namespace

namespace tritonc::emulator::driver {

// `PFN_<name>_v<since>` is the type of the interface of that version.
#define FUNCTION(name, symbol, since, parameters)                                                  \
  static_assert(                                                                                   \
      same_shape<std::remove_pointer_t<PFN_##name##_v##since>, Result parameters>::value,          \
      #name " has other parameters");
#define PFN_cuProfilerStart_v4000 Result (*)() // declared in cudaProfiler.h
#define PFN_cuProfilerStop_v4000 Result (*)()
#define PFN_tritoncEmulatorVersion_v12000 Result (*)(int *, int *) // ours
#include "emulator/fake_driver/functions.def"

static_assert(sizeof(LaunchConfig) == sizeof(CUlaunchConfig));
static_assert(offsetof(LaunchConfig, stream) == offsetof(CUlaunchConfig, hStream));
static_assert(offsetof(LaunchConfig, attribute_count) == offsetof(CUlaunchConfig, numAttrs));
static_assert(sizeof(LaunchAttribute) == sizeof(CUlaunchAttribute));
static_assert(offsetof(LaunchAttribute, value) == offsetof(CUlaunchAttribute, value));
static_assert(LaunchAttribute::cluster_dimension == int(CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION));
static_assert(LaunchAttribute::cooperative == int(CU_LAUNCH_ATTRIBUTE_COOPERATIVE));
static_assert(LaunchAttribute::programmatic_serialization ==
              int(CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION));
static_assert(sizeof(PoolProperties) == sizeof(CUmemPoolProps));
static_assert(offsetof(PoolProperties, location) == offsetof(CUmemPoolProps, location));
static_assert(offsetof(PoolProperties, reserved) == offsetof(CUmemPoolProps, reserved));
static_assert(pinned_allocation == int(CU_MEM_ALLOCATION_TYPE_PINNED));
static_assert(location_is_device == int(CU_MEM_LOCATION_TYPE_DEVICE));
static_assert(free_on_launch == int(CUDA_GRAPH_INSTANTIATE_FLAG_AUTO_FREE_ON_LAUNCH));
static_assert(sizeof(Copy2D) == sizeof(CUDA_MEMCPY2D));
static_assert(offsetof(Copy2D, target_x) == offsetof(CUDA_MEMCPY2D, dstXInBytes));
static_assert(offsetof(Copy2D, height) == offsetof(CUDA_MEMCPY2D, Height));
static_assert(sizeof(Uuid) == sizeof(CUuuid));
static_assert(sizeof(TensorMapBytes) == sizeof(CUtensorMap));
static_assert(alignof(CUtensorMap) % alignof(TensorMapBytes) == 0);

static_assert(invalid_value == int(CUDA_ERROR_INVALID_VALUE));
static_assert(no_binary_for_gpu == int(CUDA_ERROR_NO_BINARY_FOR_GPU));
static_assert(unsupported_code_version == int(CUDA_ERROR_UNSUPPORTED_PTX_VERSION));
static_assert(peer_access_unsupported == int(CUDA_ERROR_PEER_ACCESS_UNSUPPORTED));
static_assert(launch_timeout == int(CUDA_ERROR_LAUNCH_TIMEOUT));
static_assert(assertion_failed == int(CUDA_ERROR_ASSERT));
static_assert(misaligned_address == int(CUDA_ERROR_MISALIGNED_ADDRESS));
static_assert(launch_failed == int(CUDA_ERROR_LAUNCH_FAILED));
static_assert(cooperative_launch_too_large == int(CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE));
static_assert(capture_unjoined == int(CUDA_ERROR_STREAM_CAPTURE_UNJOINED));
static_assert(capture_implicit == int(CUDA_ERROR_STREAM_CAPTURE_IMPLICIT));
static_assert(capture_wrong_thread == int(CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD));
static_assert(invalid_cluster_size == int(CUDA_ERROR_INVALID_CLUSTER_SIZE));

} // namespace tritonc::emulator::driver
