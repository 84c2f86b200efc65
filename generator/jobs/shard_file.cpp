// Reads and writes shard files. See shard_file.h.
//
// Format: a line that identifies the format, the SHA-256 of the rest, then the codes. A code is a
// sequence of fields. Each text field follows its length in eight bytes, little endian.
//
// Tested by tests/unit/jobs/shards_test.cpp.

#include "jobs/shard_file.h"

#include "support/read_file.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Endian.h"
#include "llvm/Support/SHA256.h"

#include <array>

namespace tritonc {
namespace {

constexpr llvm::StringLiteral first_line = "TritonC machine code 1\n";
constexpr size_t hash_size = 32;

std::string hash_of(llvm::StringRef bytes) {
  llvm::SHA256 hash;
  hash.update(bytes);
  std::array<uint8_t, hash_size> result = hash.final();
  return std::string(result.begin(), result.end());
}

class Writer {
public:
  void number(uint64_t value) {
    char bytes[8];
    llvm::support::endian::write64le(bytes, value);
    text.append(bytes, sizeof bytes);
  }
  void field(const std::string &value) {
    number(value.size());
    text += value;
  }
  std::string text;
};

class Reader {
public:
  explicit Reader(llvm::StringRef text) : rest_(text) {}

  bool at_end() const { return rest_.empty(); }
  bool failed() const { return failed_; }

  uint64_t number() {
    if (failed_ || rest_.size() < 8) {
      failed_ = true;
      return 0;
    }
    uint64_t value = llvm::support::endian::read64le(rest_.data());
    rest_ = rest_.drop_front(8);
    return value;
  }
  std::string field() {
    uint64_t size = number();
    failed_ |= size > rest_.size();
    if (failed_)
      return "";
    std::string value = rest_.take_front(size).str();
    rest_ = rest_.drop_front(size);
    return value;
  }

private:
  llvm::StringRef rest_;
  bool failed_ = false;
};

} // namespace

std::string shard_file(std::vector<StoredCode> codes) {
  llvm::sort(codes, [](const StoredCode &a, const StoredCode &b) { return a.key < b.key; });
  Writer writer;
  for (const StoredCode &code : codes) {
    const Resources &resources = code.cubin.resources;
    writer.field(code.key);
    for (int value : {resources.registers, resources.spill_stores, resources.spill_loads,
                      resources.stack_bytes, resources.static_shared})
      writer.number(uint64_t(value));
    writer.number(resources.advice.size());
    for (const std::string &advice : resources.advice)
      writer.field(advice);
    for (const std::string &field : {code.cubin.bytes, code.image, code.ptx})
      writer.field(field);
  }
  return first_line.str() + hash_of(writer.text) + writer.text;
}

Result<std::vector<StoredCode>> read_shard_file(const std::string &path) {
  Result<std::string> bytes = read_file(path, max_data_bytes);
  if (!bytes)
    return bytes.error();
  Error damaged = {Message::cannot_read,
                   {path, "it is not an intact output of `tritonc compile --shard`"}};
  llvm::StringRef text = *bytes;
  if (!text.consume_front(first_line) || text.size() < hash_size ||
      text.take_front(hash_size) != hash_of(text.drop_front(hash_size)))
    return damaged;

  std::vector<StoredCode> codes;
  Reader reader(text.drop_front(hash_size));
  while (!reader.at_end() && !reader.failed()) {
    StoredCode code;
    Resources &resources = code.cubin.resources;
    code.key = reader.field();
    for (int *value : {&resources.registers, &resources.spill_stores, &resources.spill_loads,
                       &resources.stack_bytes, &resources.static_shared})
      *value = int(reader.number());
    for (uint64_t left = reader.number(); left && !reader.failed(); left--)
      resources.advice.push_back(reader.field());
    code.cubin.bytes = reader.field();
    code.image = reader.field();
    code.ptx = reader.field();
    codes.push_back(std::move(code));
  }
  if (reader.failed())
    return damaged;
  return codes;
}

} // namespace tritonc
