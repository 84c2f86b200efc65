// Reads back the contents of emitted files: an object, a self-contained header, or a program or
// static library that contains one.
#pragma once

#include "support/result.h"

#include <cstdint>
#include <string>
#include <vector>

namespace tritonc {

/// An image: the facts in its descriptor, and its bytes.
struct ImageContents {
  std::string gpu, schedule;
  int threads = 0, registers = 0, shared_bytes = 0, static_shared = 0;
  int spill_stores = 0, spill_loads = 0, stack_bytes = 0, cubin_bytes = 0;
  std::vector<uint32_t> hidden; // bytes of each hidden parameter
  std::string sealed;           // the image with its abi::image_header
  // For an image in a bundle, `sealed` is empty until take_from_bundle.
  std::string bundle; // file name; empty = not in a bundle
  uint64_t bundle_length = 0, bundle_digest[2] = {}, offset = 0, size = 0;
  std::string problem;        // why the image cannot be taken from its bundle
  bool is_unreadable = false; // the bundle cannot be read; see `problem`
};

struct ParameterContents {
  std::string name;
  uint32_t bytes = 0;
};

/// A variable in constant memory.
struct ConstantContents {
  std::string name;
  uint32_t offset = 0, bytes = 0;
};

/// A specialization is a separate VariantContents, before the general variant with the same
/// choices.
struct VariantContents {
  std::vector<int32_t> choices;
  std::string specialization;
  std::string entry;
  std::vector<ParameterContents> parameters;
  std::vector<ConstantContents> constants;
  std::vector<ImageContents> images;
};

/// The tuning data of a kernel for one GPU model.
struct TuningContents {
  std::string gpu; // "NVIDIA H200"
  int sm = 0, num_sms = 0;
  std::vector<std::string> arguments; // the problem parameters
  size_t problems = 0;
};

struct KernelContents {
  std::string name; // "gemm::dot<half, N, T>"
  std::vector<VariantContents> variants;
  std::vector<TuningContents> tunings;
  bool is_damaged = false; // the descriptors do not have their checksum
};

/// The size of a hidden parameter of kind abi::hidden_kind.
uint32_t hidden_bytes(uint32_t kind);

/// The kernels of an object file, or of a program that still has its symbols. Empty if it has no
/// kernels; an error if they cannot be read.
Result<std::vector<KernelContents>> read_object(const std::string &path, const std::string &bytes);

/// The kernels of a self-contained header.
Result<std::vector<KernelContents>> read_header(const std::string &path, const std::string &text);

struct ArchiveMember {
  std::string name, bytes;
};

/// Whether a file begins with the magic number of a static library ("ar").
bool is_archive(const std::string &bytes);

/// The members of a static library. A thin one has none: it only names other files.
Result<std::vector<ArchiveMember>> archive_members(const std::string &path,
                                                   const std::string &bytes);

/// All images at any offset in a file, with their headers.
std::vector<std::string> find_images(const std::string &bytes);

/// Copies the image from its bundle, or sets its `problem`. Call check_bundle first.
void take_from_bundle(ImageContents &image, const std::string &bundle);

/// Extracts the image after its header. If header and image do not match, returns false and sets
/// `problem`.
bool unseal(const std::string &sealed, std::string &image, std::string &problem);

} // namespace tritonc
