// Reads kernels from their descriptors, and finds images in files. See read_library.h.
//
// Tested by tests/unit/emit/read_library_test.cpp.

#include "emit/object/read_library.h"

#include "emit/object/descriptor_checksum.h"
#include "emit/object/elf_memory.h"
#include "emit/object/header_memory.h"

#include <tritonc/descriptor.hpp>

#include "llvm/Object/Archive.h"

#include <cstddef>
#include <cstring>

namespace tritonc {

namespace {

/// Checks a count against a limit that no undamaged file exceeds.
uint32_t sane(uint32_t count, uint32_t max_value) {
  if (count > max_value)
    throw Damage{"it counts " + std::to_string(count) + " where at most " +
                 std::to_string(max_value) + " can be"};
  return count;
}

class KernelReader {
public:
  explicit KernelReader(const DescriptorMemory &memory) : memory_(memory) {}

  KernelContents kernel(uint64_t at) const {
    using S = abi::kernel;
    require_abi_version(memory_.number<uint32_t>(at + offsetof(S, version)));
    KernelContents result = {.name = text(at + offsetof(S, name))};
    uint32_t parameters =
        sane(memory_.number<uint32_t>(at + offsetof(S, parameter_count)), abi::max_parameters);
    uint32_t variants = sane(memory_.number<uint32_t>(at + offsetof(S, variant_count)), 1 << 20);
    uint32_t axes = sane(memory_.number<uint32_t>(at + offsetof(S, axis_count)), 1 << 10);
    for (uint32_t i = 0; i < variants; i++) {
      std::vector<int32_t> choices;
      for (uint32_t axis = 0; axis < axes; axis++)
        choices.push_back(memory_.number<int32_t>(memory_.pointer(at + offsetof(S, choices)) +
                                                  4 * (i * axes + axis)));
      add_variants(memory_.pointer(at + offsetof(S, variants)) + i * sizeof(abi::variant),
                   parameters, choices, result);
    }
    uint32_t tunings = sane(memory_.number<uint32_t>(at + offsetof(S, tuning_count)), 1 << 10);
    for (uint32_t i = 0; i < tunings && variants; i++)
      result.tunings.push_back(
          tuning(memory_.pointer(at + offsetof(S, tunings)) + i * sizeof(abi::tuning), result));
    result.is_damaged = !has_valid_checksum(memory_, at);
    return result;
  }

private:
  TuningContents tuning(uint64_t at, const KernelContents &kernel) const {
    using S = abi::tuning;
    TuningContents result = {.gpu = text(at + offsetof(S, gpu)),
                             .sm = memory_.number<int32_t>(at + offsetof(S, sm)),
                             .num_sms = memory_.number<int32_t>(at + offsetof(S, num_sms)),
                             .arguments = {},
                             .problems = memory_.number<uint32_t>(at + offsetof(S, problem_count))};
    uint32_t axes =
        sane(memory_.number<uint32_t>(at + offsetof(S, axis_count)), abi::max_parameters);
    for (uint32_t i = 0; i < axes; i++)
      result.arguments.push_back(name_of_parameter(
          kernel, memory_.number<uint32_t>(memory_.pointer(at + offsetof(S, axes)) +
                                           i * sizeof(uint32_t))));
    return result;
  }

  static std::string name_of_parameter(const KernelContents &kernel, uint32_t index) {
    const std::vector<ParameterContents> &parameters = kernel.variants.front().parameters;
    if (index >= parameters.size())
      throw Damage{"tuning data are about an argument that there is not"};
    return parameters[index].name;
  }

  /// The specializations for some choices, then their general variant.
  void add_variants(uint64_t at, uint32_t parameters, const std::vector<int32_t> &choices,
                    KernelContents &kernel) const {
    using S = abi::variant;
    uint32_t count = sane(memory_.number<uint32_t>(at + offsetof(S, specialized_count)), 1 << 10);
    for (uint32_t i = 0; i <= count; i++) {
      uint64_t place =
          i == count ? at
                     : memory_.pointer(at + offsetof(S, specialized)) + i * sizeof(abi::variant);
      kernel.variants.push_back(variant(place, parameters));
      kernel.variants.back().choices = choices;
    }
  }

  VariantContents variant(uint64_t at, uint32_t parameters) const {
    using S = abi::variant;
    VariantContents result = {.entry = text(at + offsetof(S, entry))};
    for (uint32_t i = 0; i < parameters; i++) {
      uint64_t row = memory_.pointer(at + offsetof(S, parameters)) + i * sizeof(abi::parameter);
      result.parameters.push_back({text(row + offsetof(abi::parameter, name)),
                                   memory_.number<uint8_t>(row + offsetof(abi::parameter, bytes))});
    }
    uint32_t constants = sane(memory_.number<uint32_t>(at + offsetof(S, constant_count)), 1 << 16);
    for (uint32_t i = 0; i < constants; i++) {
      using C = abi::constant;
      uint64_t row = memory_.pointer(at + offsetof(S, constants)) + i * sizeof(C);
      result.constants.push_back({text(row + offsetof(C, name)),
                                  memory_.number<uint32_t>(row + offsetof(C, offset)),
                                  memory_.number<uint32_t>(row + offsetof(C, bytes))});
    }
    uint32_t images = sane(memory_.number<uint32_t>(at + offsetof(S, image_count)), 1 << 16);
    for (uint32_t i = 0; i < images; i++) {
      uint64_t info = memory_.pointer(at + offsetof(S, infos)) + i * sizeof(image_info);
      result.images.push_back(
          image(memory_.pointer(at + offsetof(S, images)) + i * sizeof(abi::image), info));
      result.specialization = text(info + offsetof(image_info, specialization));
    }
    return result;
  }

  ImageContents image(uint64_t at, uint64_t info) const {
    using S = abi::image;
    using I = image_info;
    auto fact = [&](size_t offset) { return memory_.number<int32_t>(info + offset); };
    ImageContents result = {
        .gpu = text(info + offsetof(I, gpu)),
        .schedule = text(info + offsetof(I, schedule)),
        .threads = fact(offsetof(I, threads)),
        .registers = fact(offsetof(I, registers)),
        .shared_bytes = fact(offsetof(I, shared_bytes)),
        .static_shared = fact(offsetof(I, static_shared_bytes)),
        .spill_stores = fact(offsetof(I, spill_stores)),
        .spill_loads = fact(offsetof(I, spill_loads)),
        .stack_bytes = fact(offsetof(I, stack_bytes)),
        .cubin_bytes = fact(offsetof(I, cubin_bytes)),
    };
    if (uint64_t launch = memory_.pointer(at + offsetof(S, launch))) {
      uint32_t count =
          sane(memory_.number<uint32_t>(launch + offsetof(abi::launch_config, hidden_count)),
               uint32_t(abi::max_hidden));
      for (uint32_t i = 0; i < count; i++) {
        uint64_t row = memory_.pointer(launch + offsetof(abi::launch_config, hidden)) +
                       i * sizeof(abi::hidden_parameter);
        result.hidden.push_back(
            hidden_bytes(memory_.number<uint32_t>(row + offsetof(abi::hidden_parameter, kind))));
      }
    }
    uint64_t size = memory_.number<uint64_t>(at + offsetof(S, size));
    if (uint64_t bundle = memory_.pointer(at + offsetof(S, bundle))) {
      using B = abi::bundle;
      result.bundle = text(bundle + offsetof(B, name));
      result.bundle_length = memory_.number<uint64_t>(bundle + offsetof(B, length));
      for (size_t i = 0; i < 2; i++)
        result.bundle_digest[i] = memory_.number<uint64_t>(bundle + offsetof(B, digest) + i * 8);
      result.offset = memory_.number<uint64_t>(at + offsetof(S, offset));
      result.size = size;
      return result;
    }
    std::string_view bytes = memory_.bytes_from(memory_.pointer(at + offsetof(S, bytes)));
    if (size > bytes.size())
      throw Damage{"an image is cut off"};
    result.sealed = bytes.substr(0, size);
    return result;
  }

  std::string text(uint64_t slot) const { return std::string(memory_.text(slot)); }

  const DescriptorMemory &memory_;
};

std::vector<KernelContents> kernels_in(const DescriptorMemory &memory) {
  std::vector<KernelContents> kernels;
  for (uint64_t kernel : memory.kernels)
    kernels.push_back(KernelReader(memory).kernel(kernel));
  return kernels;
}

} // namespace

Result<std::vector<KernelContents>> read_object(const std::string &path, const std::string &bytes) {
  try {
    return kernels_in(elf_memory(bytes));
  } catch (const Damage &damage) {
    return Error{Message::file_damaged, {path, damage.reason}};
  }
}

Result<std::vector<KernelContents>> read_header(const std::string &path, const std::string &text) {
  try {
    return kernels_in(header_memory(text));
  } catch (const Damage &damage) {
    return Error{Message::file_damaged, {path, damage.reason}};
  }
}

uint32_t hidden_bytes(uint32_t kind) {
  switch (abi::hidden_kind(kind)) {
  case abi::hidden_kind::i32:
    return 4;
  case abi::hidden_kind::i64:
  case abi::hidden_kind::workspace:
    return 8;
  case abi::hidden_kind::tensor_map:
    return 128;
  }
  return 0;
}

bool is_archive(const std::string &bytes) {
  return llvm::StringRef(bytes).starts_with(llvm::object::ArchiveMagic) ||
         llvm::StringRef(bytes).starts_with(llvm::object::ThinArchiveMagic);
}

Result<std::vector<ArchiveMember>> archive_members(const std::string &path,
                                                   const std::string &bytes) {
  auto damaged = [&](llvm::Error error) {
    return Error{Message::file_damaged, {path, llvm::toString(std::move(error))}};
  };
  std::vector<ArchiveMember> members;
  auto archive = llvm::object::Archive::create(llvm::MemoryBufferRef(bytes, path));
  if (!archive)
    return damaged(archive.takeError());
  if ((*archive)->isThin())
    return members;
  llvm::Error error = llvm::Error::success();
  for (const llvm::object::Archive::Child &child : (*archive)->children(error)) {
    llvm::Expected<llvm::StringRef> name = child.getName();
    if (!name) {
      llvm::consumeError(std::move(error));
      return damaged(name.takeError());
    }
    llvm::Expected<llvm::StringRef> contents = child.getBuffer();
    if (!contents) {
      llvm::consumeError(std::move(error));
      return damaged(contents.takeError());
    }
    // LLVM notices a truncated member only at the step to the next one.
    if (contents->size() > size_t(bytes.data() + bytes.size() - contents->data())) {
      llvm::consumeError(std::move(error));
      return Error{Message::file_damaged, {path, "its member `" + name->str() + "` is truncated"}};
    }
    members.push_back({name->str(), contents->str()});
  }
  if (error)
    return damaged(std::move(error));
  return members;
}

std::vector<std::string> find_images(const std::string &bytes) {
  std::vector<std::string> images;
  const std::string magic(abi::image_magic, sizeof abi::image_magic);
  for (size_t at = 0; (at = bytes.find(magic, at)) != bytes.npos; at++) {
    abi::image_header header;
    if (bytes.size() - at < sizeof header)
      break;
    std::memcpy(&header, bytes.data() + at, sizeof header);
    // Skips a magic number without an image: this program itself contains one.
    if (header.version == abi::image_version && header.reserved == 0 &&
        header.length <= bytes.size() - at - sizeof header)
      images.push_back(bytes.substr(at, sizeof header + header.length));
  }
  return images;
}

void take_from_bundle(ImageContents &image, const std::string &bundle) {
  abi::bundle_header header = {};
  std::memcpy(&header, bundle.data(), std::min(bundle.size(), sizeof header));
  bool is_ours = std::memcmp(header.digest, image.bundle_digest, sizeof header.digest) == 0 &&
                 header.length == image.bundle_length;
  if (!is_ours)
    image.problem = "it is in " + image.bundle + ", which is from another build";
  else if (image.offset > bundle.size() || image.size > bundle.size() - image.offset)
    image.problem = "it is after the end of " + image.bundle;
  else
    image.sealed = bundle.substr(image.offset, image.size);
}

bool unseal(const std::string &sealed, std::string &image, std::string &problem) {
  abi::image_header header;
  problem = "";
  if (sealed.size() < sizeof header)
    problem = "it is only " + std::to_string(sealed.size()) + " bytes long";
  if (!problem.empty())
    return false;
  std::memcpy(&header, sealed.data(), sizeof header);
  image = sealed.substr(sizeof header);
  if (std::memcmp(header.magic, abi::image_magic, sizeof header.magic) != 0)
    problem = "it does not begin like an image";
  else if (header.version != abi::image_version)
    problem = "it has version " + std::to_string(header.version);
  else if (header.length != image.size())
    problem = "its header says " + std::to_string(header.length) + " bytes, it has " +
              std::to_string(image.size());
  else if (header.checksum != abi::checksum(image.data(), image.size()))
    problem = "its checksum is wrong";
  return problem.empty();
}

} // namespace tritonc
