// Runs fatbinary, checks the file that it writes, and splits the file into images.
//
// The file is little endian. It has a file header, then the images in the order of the command
// line. Each image has an image header, then its data.
//
//     file header, 16 bytes: u32 magic, u16 version, u16 header size, u64 size of the rest
//
//     image header, 64 bytes (112 from sm_100 on):
//        0  u16 kind: 1 = PTX, 2 = cubin
//        4  u32 size of the image header
//        8  u64 size of the data after it
//       16  u32 compressed size; 0 = not compressed
//       40  u64 flags
//       56  u64 size when unpacked; 0 = not compressed
//
// The data is compressed and padded to 8 bytes: the mode `speed` writes one LZ4 block, the other
// modes use zstd. fatbinary removes comments and superfluous blanks from PTX and appends a zero
// byte. `compress` splits a file with several images: each result is the file header, with the size
// changed, and one image.
//
// The default compression mode is `balance`. `size` takes three times as long, a tenth of the time
// of ptxas, for objects that are 3 percent smaller.
//
// Tested by tests/unit/backend/fatbinary_test.cpp.

#include "backend/fatbinary.h"

#include "support/temporary_directory.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/Compression.h"
#include "llvm/Support/Endian.h"
#include "llvm/Support/Error.h"

#include <algorithm>

namespace tritonc {
namespace {

constexpr uint32_t magic = 0xBA55ED50;
constexpr size_t file_header = 16, min_image_header = 64;
constexpr uint16_t kind_ptx = 1, kind_code = 2;
constexpr uint64_t flag_lz4 = 0x2000;

// The unpacked size of an image's data. The header has 0 there if the data is not compressed.
size_t size_once_unpacked(const char *image) {
  using namespace llvm::support::endian;
  uint64_t unpacked = read64le(image + 56);
  return unpacked ? unpacked : read64le(image + 8);
}

// An LZ4 block: literal bytes and copies of earlier output alternate, and literals come last. Each
// size has 4 bits; a size of 15 continues in the next bytes while they are 255. Returns false if
// the data is not a valid LZ4 block.
bool unpack_lz4(llvm::ArrayRef<uint8_t> packed, size_t max_value,
                llvm::SmallVectorImpl<uint8_t> &out) {
  size_t at = 0;
  auto size_from = [&](size_t half) {
    bool goes_on = half == 15;
    while (goes_on && at < packed.size() && half <= max_value) {
      goes_on = packed[at] == 255;
      half += packed[at++];
    }
    return half;
  };
  while (at < packed.size()) {
    uint8_t sizes = packed[at++];
    size_t literals = size_from(sizes >> 4);
    if (literals > packed.size() - at || literals > max_value - out.size())
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
    if (back == 0 || back > out.size() || copied > max_value - out.size())
      return false;
    for (; copied > 0; copied--)
      out.push_back(uint8_t(out[out.size() - back]));
  }
  return false;
}

// PTX without comments and blanks, to compare two PTX texts.
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

// The problem with the file around the images; empty if valid.
std::string check_file(const std::string &bytes) {
  using namespace llvm::support::endian;
  const char *data = bytes.data();
  if (bytes.size() < file_header + min_image_header)
    return "it is only " + std::to_string(bytes.size()) + " bytes long";
  if (read32le(data) != magic || read16le(data + 6) != file_header)
    return "it does not begin like an image";
  if (read64le(data + 8) != bytes.size() - file_header)
    return "its header says " + std::to_string(read64le(data + 8)) + " bytes, it has " +
           std::to_string(bytes.size() - file_header);
  return "";
}

// Splits `bytes` into one file per image. A wrong header gives wrong files, which check_image
// rejects.
std::vector<std::string> taken_apart(const std::string &bytes) {
  using namespace llvm::support::endian;
  std::vector<std::string> images;
  for (size_t at = file_header; at + min_image_header <= bytes.size();) {
    size_t left = bytes.size() - at;
    size_t header = std::max<size_t>(read32le(bytes.data() + at + 4), min_image_header);
    size_t size = std::min(left, header + std::min<size_t>(left, read64le(bytes.data() + at + 8)));
    std::string image = bytes.substr(0, file_header) + bytes.substr(at, size);
    write64le(image.data() + 8, size);
    images.push_back(std::move(image));
    at += size;
  }
  return images;
}

// The problem with a new image of `code`; empty if valid.
std::string check_packed(const std::string &image, const std::string &code, const Gpu &gpu) {
  std::string unpacked, problem;
  if (!gpu.is_ptx())
    return check_image(image, code.size());
  if (unpack(image, unpacked, problem) && without_blanks(unpacked) != without_blanks(code))
    return "it contains other PTX";
  return problem;
}

} // namespace

bool holds_ptx(const std::string &image) {
  return image.size() >= file_header + min_image_header &&
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
  if (image_header < min_image_header ||
      file_header + image_header + read64le(image + 8) != bytes.size())
    return "it does not contain exactly one code";
  size_t zeros = size_once_unpacked(image) - code_bytes;
  if (read16le(image) == kind_code ? zeros != 0 : zeros < 1 || zeros > 8)
    return "what it holds has another size than the code";
  return "";
}

bool unpack(const std::string &image, std::string &code, std::string &problem) {
  using namespace llvm::support::endian;
  constexpr size_t largest_code = size_t(1) << 30;
  size_t code_bytes = 0;
  if (image.size() >= file_header + min_image_header)
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
    return directory.error();
  std::string output = directory->file("kernels.fatbin");
  std::vector<std::string> command = {tools.fatbinary, "-64", "--compress-all",
                                      "--compress-mode=" + tools.compression, "--create=" + output};
  for (size_t i = 0; i < codes.size(); i++) {
    std::string input = directory->file(std::to_string(i) + "." + form);
    if (auto written = write_tool_input(input, *codes[i]); !written)
      return written.error();
    command.push_back("--image3=kind=" + form + ",sm=" + sm + ",file=" + input);
  }
  Result<std::string> report = run_tool(command, directory->path(), tools.time_limit, subject);
  if (!report)
    return report.error();

  Result<std::string> bytes = read_tool_output("fatbinary", output, subject);
  if (!bytes)
    return bytes.error();
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
