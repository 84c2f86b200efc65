// Runs hand-written test kernels on the emulator. See kernel.h.

#include "unit/emulator/kernel.h"

#include <stdexcept>
#include <unordered_map>

namespace tritonc::emulator::test {
namespace {

/// The host code of every kernel: the function to run follows the last parameter.
void entry(const abi::host_operation *operations, abi::host_thread *thread,
           void *const *arguments) {
  size_t count = *static_cast<const size_t *>(arguments[0]);
  const auto &body = *static_cast<const std::function<void(Gpu &)> *>(arguments[count + 1]);
  Gpu gpu(operations, thread, arguments + 1);
  body(gpu);
}

std::string without_blanks(std::string_view signature) {
  size_t blank = signature.find(' ');
  if (blank == signature.npos)
    return std::string(signature);
  std::string result(signature.substr(0, blank + 1));
  for (char c : signature.substr(blank))
    if (c != ' ')
      result += c;
  return result;
}

struct Numbers {
  std::unordered_map<std::string, size_t> by_signature;
  std::vector<std::string> signatures;
  std::vector<const char *> names;

  Numbers() {
    for (const NamedOperation &operation : all_operations())
      signatures.emplace_back(operation.signature);
    for (size_t i = 0; i < signatures.size(); i++) {
      names.push_back(signatures[i].c_str());
      by_signature[signatures[i]] = i;
    }
  }
};

const Numbers &numbers() {
  static const Numbers all;
  return all;
}

} // namespace

size_t operation_number(std::string_view hook) {
  auto number = numbers().by_signature.find(without_blanks(hook));
  if (number == numbers().by_signature.end()) {
    fprintf(stderr, "the emulator has no operation %s\n", std::string(hook).c_str());
    abort();
  }
  return number->second;
}

size_t operation_number(Row row) {
  static const std::vector<size_t> known = [] {
    std::vector<size_t> result;
    for (const char *signature : {
#define TARGET_OP(name, result, operands, ...) #name " " #result #operands,
#include "backend/target_ops.def"
         }) {
      auto number = numbers().by_signature.find(without_blanks(signature));
      result.push_back(number == numbers().by_signature.end() ? SIZE_MAX : number->second);
    }
    return result;
  }();
  size_t number = known[size_t(row)];
  if (number == SIZE_MAX) {
    fprintf(stderr, "the emulator lacks row %zu of target_ops.def\n", size_t(row));
    abort();
  }
  return number;
}

namespace {

struct Sites {
  abi::host_site sites[site_lines];
  Sites() {
    for (uint32_t line = 0; line < site_lines; line++)
      sites[line] = {line ? "k.tc" : "", line, line ? 1u : 0u};
  }
};
const Sites sites;

} // namespace

const abi::host_site &site_of_line(uint32_t line) {
  return sites.sites[line < site_lines ? line : 0];
}

void Kernel::add(std::string parameter_name, const void *bytes, size_t size, bool is_pointer) {
  Parameter parameter{std::move(parameter_name), std::make_unique<uint64_t[]>(size / 8 + 16),
                      uint32_t(size), is_pointer};
  std::memcpy(parameter.value.get(), bytes, size);
  parameters_.push_back(std::move(parameter));
}

void Kernel::buffer(std::string buffer_name, uint32_t offset, uint32_t bytes) {
  buffers_.push_back({std::move(buffer_name), offset, bytes});
}

const Result &Kernel::run(std::function<void(Gpu &)> body) {
  // The first parameter is the number of the others; the last is `body`.
  size_t count = parameters_.size();
  std::vector<void *> arguments = {&count};
  std::vector<abi::host_parameter> parameters = {{"", 8, 0}};
  for (const Parameter &parameter : parameters_) {
    arguments.push_back(parameter.value.get());
    parameters.push_back({parameter.name.c_str(), parameter.bytes, parameter.is_pointer});
  }
  arguments.push_back(&body);
  parameters.push_back({"", 8, 0});
  std::vector<abi::host_buffer> buffers;
  for (const Buffer &buffer : buffers_)
    buffers.push_back({buffer.name.c_str(), buffer.offset, buffer.bytes});

  abi::host_code code = {};
  std::memcpy(code.magic, abi::host_code_magic, sizeof code.magic);
  code.version = abi::host_code_version;
  code.operation_count = uint32_t(numbers().names.size());
  code.operations = numbers().names.data();
  code.entry = entry;
  code.name = name.c_str();
  code.gpu = "sm_90a";
  code.parameters = parameters.data();
  code.parameter_count = uint32_t(parameters.size());
  code.buffers = buffers.data();
  code.buffer_count = uint32_t(buffers.size());
  code.sites = sites.sites;
  code.site_count = site_lines;
  code.threads = threads;
  code.shared_bytes = shared_bytes;
  code.cluster_size = cluster.x * cluster.y * cluster.z;
  code.blocks_per_sm = blocks_per_sm;

  Launch what;
  what.grid = grid;
  what.cluster = cluster;
  what.threads = threads;
  what.starts_early = starts_early;
  what.shared_bytes = shared_bytes;
  what.arguments = arguments.data();
  if (instead)
    code = instead(code);
  result = launch(code, what, options, memory);
  return result;
}

std::string Kernel::reports() const {
  std::string texts;
  for (const Report &report : result.reports)
    texts += report.text + "\n";
  return texts;
}

} // namespace tritonc::emulator::test
