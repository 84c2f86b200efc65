// What is in a file that was emitted, read back: an object, a self-contained header, a program that
// was linked with one.
#pragma once

#include "backend/result.h"

#include <cstdint>
#include <string>
#include <vector>

namespace tritonc {

/// An image as its descriptor has it, and its bytes.
struct ImageContents {
  std::string gpu, form;
  int threads = 0, registers = 0, shared_bytes = 0, static_shared = 0;
  int spill_stores = 0, spill_loads = 0, stack_bytes = 0, cubin_bytes = 0;
  std::vector<uint32_t> hidden; // bytes of each hidden parameter
  std::string sealed;           // behind its abi::image_header
  // If it is in a bundle, `sealed` is empty until it is taken from there.
  std::string bundle; // its name
  uint64_t bundle_length = 0, bundle_digest[2] = {}, offset = 0, size = 0;
  std::string problem; // why it could not be taken
};

struct ParameterContents {
  std::string name;
  uint32_t bytes = 0;
};

/// A part of constant memory.
struct ConstantContents {
  std::string name;
  uint32_t offset = 0, bytes = 0;
};

/// What is compiled under hints is one of its own, in front of the general code of its choices.
struct VariantContents {
  std::vector<int32_t> choices;
  std::string hints;
  std::string entry;
  std::vector<ParameterContents> parameters;
  std::vector<ConstantContents> constants;
  std::vector<ImageContents> images;
};

/// What was measured of a kernel's variants on one kind of GPU.
struct TuningContents {
  std::string gpu; // "NVIDIA H200"
  int sm = 0, multiprocessors = 0;
  std::vector<std::string> arguments; // that make up a problem
  size_t problems = 0;
};

struct KernelContents {
  std::string name; // "gemm::dot<half, N, T>"
  std::vector<VariantContents> variants;
  std::vector<TuningContents> tunings;
};

/// What a launch passes for a hidden parameter, an abi::hidden_kind.
uint32_t hidden_bytes(uint32_t kind);

/// The kernels of an object file, or of a program that still has its symbols. None if there are
/// none; fails if they can't be read.
Result<std::vector<KernelContents>> read_object(const std::string &path, const std::string &bytes);

/// The kernels of a header that holds their code.
Result<std::vector<KernelContents>> read_header(const std::string &path, const std::string &text);

/// All images that lie anywhere in a file, with their headers.
std::vector<std::string> find_images(const std::string &bytes);

/// Takes the image from its bundle, which check_bundle found nothing wrong with, or says in
/// `problem` why it is not there.
void take_from_bundle(ImageContents &image, const std::string &bundle);

/// The image behind its header. False, and what is wrong in `problem`, if header and image don't
/// belong together.
bool unseal(const std::string &sealed, std::string &image, std::string &problem);

} // namespace tritonc
