// Running fatbinary, and checking what it wrote.
//
// The file, all little endian: a header (u32 magic, u16 version, u16 its size, u64 size of what
// follows), then each image (u16 kind, 1 for PTX, 2 for code; u16; u32 size of its header; u64 size
// after that; u32 compressed size, or 0; ...; at 56 the u64 size once unpacked, or 0), in the order
// in which they are asked for. An image's header has 64 bytes, and 112 from sm_100 on; at 40 it has
// flags. What is behind it is compressed, in the mode `speed` as a block of LZ4, in others by zstd,
// and padded to 8 bytes. PTX gets a zero at its end, and loses its comments and superfluous blanks.
// A file of several images is taken apart: what one of them would be by itself is the file's
// header, for its size, and the image.
//
// Compressed is in the mode `balance` unless the caller wants another: `size` takes three times as
// long, a tenth of what ptxas takes, for objects that are 3 percent smaller.
//
// Tested by tests/backend/fatbinary_test.cpp.

#include "backend/fatbinary.h"

#include "backend/temporary_directory.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/Compression.h"
#include "llvm/Support/Endian.h"
#include "llvm/Support/Error.h"

#include <algorithm>

namespace tritonc {
namespace {

constexpr uint32_t magic = 0xBA55ED50;
constexpr size_t file_header = 16, least_image_header = 64;
constexpr uint16_t kind_ptx = 1, kind_code = 2;
constexpr uint64_t flag_lz4 = 0x2000;

// Of what an image holds; its header says 0 if it is not compressed.
size_t size_once_unpacked(const char *image) {
  using namespace llvm::support::endian;
  uint64_t unpacked = read64le(image + 56);
  return unpacked ? unpacked : read64le(image + 8);
}

// LZ4's blocks: by turns some literal bytes and a copy of what is behind, whose sizes are half a
// byte each, or go on in bytes while they are 255. It ends with literals. False if these are none.
bool unpack_lz4(llvm::ArrayRef<uint8_t> packed, size_t most, llvm::SmallVectorImpl<uint8_t> &out) {
  size_t at = 0;
  auto size_from = [&](size_t half) {
    bool goes_on = half == 15;
    while (goes_on && at < packed.size() && half <= most) {
      goes_on = packed[at] == 255;
      half += packed[at++];
    }
    return half;
  };
  while (at < packed.size()) {
    uint8_t sizes = packed[at++];
    size_t literals = size_from(sizes >> 4);
    if (literals > packed.size() - at || literals > most - out.size())
      return false;
    out.append(packed.begin() + at, packed.begin() + at + literals);
    at += literals;
    if (at == packed.size())
      return true;
    if (packed.size() - at < 2)
      return false;
    size_t back = llvm::support::endian::read16le(packed.data() + at);
    at += 2;
    size_t copied = 4 + size_from(sizes & 15);
    if (back == 0 || back > out.size() || copied > most - out.size())
      return false;
    for (; copied > 0; copied--)
      out.push_back(uint8_t(out[out.size() - back]));
  }
  return false;
}

// PTX without comments and blanks: what two texts that say the same have in common.
std::string without_blanks(llvm::StringRef ptx) {
  std::string text;
  while (!ptx.empty()) {
    auto [line, rest] = ptx.split('\n');
    for (char c : line.split("//").first)
      if (!llvm::isSpace(c))
        text += c;
    ptx = rest;
  }
  return text;
}

// What is wrong with the file around the images; empty if nothing is.
std::string check_file(const std::string &bytes) {
  using namespace llvm::support::endian;
  const char *data = bytes.data();
  if (bytes.size() < file_header + least_image_header)
    return "it is only " + std::to_string(bytes.size()) + " bytes long";
  if (read32le(data) != magic || read16le(data + 6) != file_header)
    return "it does not begin like an image";
  if (read64le(data + 8) != bytes.size() - file_header)
    return "its header says " + std::to_string(read64le(data + 8)) + " bytes, it has " +
           std::to_string(bytes.size() - file_header);
  return "";
}

// The images in `bytes` as files of their own. Where a header is wrong the pieces are, too, and
// check_image says so.
std::vector<std::string> taken_apart(const std::string &bytes) {
  using namespace llvm::support::endian;
  std::vector<std::string> images;
  for (size_t at = file_header; at + least_image_header <= bytes.size();) {
    size_t left = bytes.size() - at;
    size_t header = std::max<size_t>(read32le(bytes.data() + at + 4), least_image_header);
    size_t size = std::min(left, header + std::min<size_t>(left, read64le(bytes.data() + at + 8)));
    std::string image = bytes.substr(0, file_header) + bytes.substr(at, size);
    write64le(image.data() + 8, size);
    images.push_back(std::move(image));
    at += size;
  }
  return images;
}

// What is wrong with an image that was just made; empty if nothing is.
std::string check_packed(const std::string &image, const std::string &code, const Gpu &gpu) {
  std::string unpacked, problem;
  if (!gpu.is_ptx())
    return check_image(image, code.size());
  if (unpack(image, unpacked, problem) && without_blanks(unpacked) != without_blanks(code))
    return "it holds another text";
  return problem;
}

} // namespace

bool holds_ptx(const std::string &image) {
  return image.size() >= file_header + least_image_header &&
         llvm::support::endian::read16le(image.data() + file_header) == kind_ptx;
}

std::string check_image(const std::string &bytes, size_t code_bytes) {
  using namespace llvm::support::endian;
  if (std::string problem = check_file(bytes); !problem.empty())
    return problem;
  const char *image = bytes.data() + file_header;
  if (read16le(image) != kind_code && read16le(image) != kind_ptx)
    return "what it holds is not code";
  size_t image_header = read32le(image + 4);
  if (image_header < least_image_header ||
      file_header + image_header + read64le(image + 8) != bytes.size())
    return "it holds more or less than one piece of code";
  size_t zeros = size_once_unpacked(image) - code_bytes;
  if (read16le(image) == kind_code ? zeros != 0 : zeros < 1 || zeros > 8)
    return "what it holds has another size than the code";
  return "";
}

bool unpack(const std::string &image, std::string &code, std::string &problem) {
  using namespace llvm::support::endian;
  constexpr size_t largest_code = size_t(1) << 30;
  size_t code_bytes = 0;
  if (image.size() >= file_header + least_image_header)
    code_bytes = size_once_unpacked(image.data() + file_header);
  problem = check_image(image, code_bytes - (holds_ptx(image) ? 1 : 0));
  if (!problem.empty())
    return false;
  size_t begin = file_header + read32le(image.data() + file_header + 4);
  size_t packed_bytes = read32le(image.data() + file_header + 16);
  if (packed_bytes == 0) {
    code = image.substr(begin);
    if (holds_ptx(image))
      code.erase(code.find_last_not_of('\0') + 1);
    return true;
  }
  bool is_lz4 = read64le(image.data() + file_header + 40) & flag_lz4;
  if (packed_bytes > image.size() - begin || code_bytes > largest_code)
    problem = "its sizes are wrong";
  else if (!is_lz4 && !llvm::compression::zstd::isAvailable())
    problem = "this tool was built without zstd";
  if (!problem.empty())
    return false;
  llvm::SmallVector<uint8_t, 0> unpacked;
  llvm::ArrayRef<uint8_t> packed(reinterpret_cast<const uint8_t *>(image.data()) + begin,
                                 packed_bytes);
  if (is_lz4) {
    if (!unpack_lz4(packed, code_bytes, unpacked))
      problem = "it cannot be unpacked";
  } else if (llvm::Error error = llvm::compression::zstd::decompress(packed, unpacked, code_bytes))
    problem = "it cannot be unpacked: " + llvm::toString(std::move(error));
  if (problem.empty() && unpacked.size() != code_bytes)
    problem = "its sizes are wrong";
  code.assign(unpacked.begin(), unpacked.end());
  if (holds_ptx(image))
    code.erase(code.find_last_not_of('\0') + 1);
  return problem.empty();
}

Result<std::vector<std::string>>
compress(const Toolchain &tools, const std::vector<const std::string *> &codes, const Gpu &gpu) {
  std::string subject = "code for " + std::string(gpu.name), sm(gpu.machine.substr(3));
  std::string form = gpu.is_ptx() ? "ptx" : "elf";
  Result<TemporaryDirectory> directory = TemporaryDirectory::make();
  if (!directory)
    return directory.failure();
  std::string output = directory->file("kernels.fatbin");
  std::vector<std::string> command = {tools.fatbinary, "-64", "--compress-all",
                                      "--compress-mode=" + tools.compression, "--create=" + output};
  for (size_t i = 0; i < codes.size(); i++) {
    std::string input = directory->file(std::to_string(i) + "." + form);
    if (auto written = write_tool_input(input, *codes[i]); !written)
      return written.failure();
    command.push_back("--image3=kind=" + form + ",sm=" + sm + ",file=" + input);
  }
  Result<std::string> report = run_tool(command, directory->path(), tools.time_limit, subject);
  if (!report)
    return report.failure();

  Result<std::string> bytes = read_tool_output("fatbinary", output, subject);
  if (!bytes)
    return bytes.failure();
  auto damaged = [&](const std::string &problem) {
    return bad_output("fatbinary", subject, "the image is damaged: " + problem);
  };
  if (std::string problem = check_file(*bytes); !problem.empty())
    return damaged(problem);
  std::vector<std::string> images = taken_apart(*bytes);
  if (images.size() != codes.size())
    return damaged("there are " + std::to_string(images.size()) + " for " +
                   std::to_string(codes.size()) + " pieces of code");
  for (size_t i = 0; i < images.size(); i++)
    if (std::string problem = check_packed(images[i], *codes[i], gpu); !problem.empty())
      return damaged(problem);
  return images;
}

} // namespace tritonc
