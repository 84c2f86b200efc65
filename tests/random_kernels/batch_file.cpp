// Writes and reads files of compiled random kernels. See batch_file.h.
//
// A record is a length and that many bytes: a line with the kernel's properties, the case as the
// text of a file (case.h), and then each image after its own line.
//
// Tested by tests/random_kernels/batch_file_test.cpp.

#include "random_kernels/batch_file.h"

#include <sstream>

namespace tritonc::random {
namespace {

constexpr const char *first_line = "TritonC random kernels, version 1";

void write_block(std::ostream &out, const std::string &bytes) {
  out << bytes.size() << "\n" << bytes;
}

bool read_block(std::istream &in, std::string &bytes) {
  size_t size;
  if (!(in >> size) || in.get() != '\n' || size > (size_t(1) << 30))
    return false;
  bytes.resize(size);
  return bool(in.read(bytes.data(), std::streamsize(size)));
}

} // namespace

void write_batch_header(std::ostream &out) { out << first_line << "\n"; }

void write_batch_kernel(std::ostream &out, const BatchKernel &kernel) {
  out << "kernel " << kernel.seed << " " << kernel.gpu << " " << kernel.threads << " "
      << kernel.shared_bytes << " " << kernel.images.size() << "\n";
  write_block(out, file_text(kernel.tried, ""));
  for (const BatchImage &image : kernel.images) {
    write_block(out, image.how);
    write_block(out, image.bytes);
  }
}

bool read_batch_header(std::istream &in) {
  std::string line;
  return std::getline(in, line) && line == first_line;
}

std::optional<BatchKernel> read_batch_kernel(std::istream &in, bool &is_broken) {
  std::string word, text, problem;
  is_broken = false;
  if (!(in >> word))
    return std::nullopt;
  is_broken = true;
  BatchKernel kernel;
  size_t images;
  if (word != "kernel" ||
      !(in >> kernel.seed >> kernel.gpu >> kernel.threads >> kernel.shared_bytes >> images) ||
      !read_block(in, text))
    return std::nullopt;
  std::optional<Case> tried = read_case(text, problem);
  if (!tried)
    return std::nullopt;
  kernel.tried = std::move(*tried);
  kernel.tried.source.clear();
  for (size_t i = 0; i < images; i++) {
    BatchImage image;
    if (!read_block(in, image.how) || !read_block(in, image.bytes))
      return std::nullopt;
    kernel.images.push_back(std::move(image));
  }
  is_broken = false;
  return kernel;
}

} // namespace tritonc::random
