// Reads images from a bundle. See bundle.h.
//
// The runtime reads an image and does not map it. A file may be truncated or replaced at any time,
// and an access beyond the end of a mapping kills the process; a read only returns fewer bytes. The
// runtime reads only the header and one image, into memory from mmap. It unmaps the memory when the
// driver has its own copy, so no memory remains in use, however large the file is.
//
// The runtime opens and closes the file for each image, once per image. A descriptor that stays
// open would be lost in programs that close all descriptors, and would then refer to another file.

#include "load/bundle.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <link.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

namespace tritonc::v1::cuda {

namespace {

class File {
public:
  // O_NONBLOCK: if the path is a pipe by mistake, a blocking open would wait for a writer.
  explicit File(const char *path) : file_(open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK)) {}
  ~File() {
    if (file_ >= 0)
      close(file_);
  }
  File(const File &) = delete;

  bool is_open() const { return file_ >= 0; }

  /// Returns the size in bytes; negative if the path is not a regular file.
  std::int64_t length() const {
    struct stat facts;
    if (fstat(file_, &facts) != 0 || !S_ISREG(facts.st_mode))
      return -1;
    return facts.st_size;
  }

  /// Reads up to `size` bytes and returns their number. After a short read, `errno` is 0 at the end
  /// of the file.
  std::size_t read(std::uint64_t offset, void *to, std::size_t size) const {
    std::size_t done = 0;
    errno = 0;
    while (done < size) {
      ssize_t count =
          pread(file_, static_cast<char *>(to) + done, size - done, off_t(offset + done));
      if (count < 0 && errno == EINTR)
        continue;
      if (count <= 0)
        break;
      done += std::size_t(count);
    }
    return done;
  }

private:
  int file_;
};

/// The program or shared library that contains `address`; the program if no module contains it.
struct Module {
  const void *address;
  char path[PATH_MAX];
  std::size_t length; // of the folder in `path`
};

int find_module(dl_phdr_info *loaded, std::size_t, void *data) {
  Module &module = *static_cast<Module *>(data);
  auto address = reinterpret_cast<std::uintptr_t>(module.address);
  bool is_inside = false;
  for (int i = 0; i < loaded->dlpi_phnum; i++) {
    const auto &part = loaded->dlpi_phdr[i];
    std::uintptr_t begin = loaded->dlpi_addr + part.p_vaddr;
    is_inside =
        is_inside || (part.p_type == PT_LOAD && address >= begin && address - begin < part.p_memsz);
  }
  if (!is_inside)
    return 0;
  const char *name = loaded->dlpi_name ? loaded->dlpi_name : ""; // empty for the program
  std::size_t length = strnlen(name, sizeof module.path - 1);
  memcpy(module.path, name, length);
  module.path[length] = 0;
  return 1;
}

/// Finds the module's folder: the first `length` characters of `path`.
void find_folder(Module &module) {
  dl_iterate_phdr(find_module, &module);
  if (!*module.path) {
    ssize_t length = readlink("/proc/self/exe", module.path, sizeof module.path - 1);
    module.path[length < 0 ? 0 : length] = 0;
  }
  const char *slash = strrchr(module.path, '/');
  module.length = slash ? std::size_t(slash - module.path) : 0;
}

bool is_header(const abi::bundle_header &header) {
  return memcmp(header.magic, abi::bundle_magic, sizeof header.magic) == 0 &&
         header.version == abi::bundle_version;
}

/// Returns the more informative of two errors: a wrong or damaged bundle before a missing one.
const status &better(const status &a, const status &b) {
  return b.code() == status_code::no_bundle && !a.ok() ? a : b;
}

} // namespace

BundledImage::~BundledImage() {
  if (memory_)
    munmap(memory_, size_);
}

status BundledImage::read(const abi::kernel &kernel, const abi::image &image) noexcept {
  status refused = {status_code::no_bundle, &kernel, image.bundle->name, ENOENT};
  // Setuid programs ignore the variable, as they ignore TRITONC_DRIVER.
  const char *folders = secure_getenv("TRITONC_BUNDLE_PATH");
  while (folders && *folders) {
    const char *end = strchrnul(folders, ':');
    if (end != folders) {
      status read = read_from(folders, std::size_t(end - folders), kernel, image);
      if (read.ok())
        return {};
      refused = better(refused, read);
    }
    folders = *end ? end + 1 : end;
  }
  Module module = {&image, {}, 0};
  find_folder(module);
  status read = read_from(module.path, module.length, kernel, image);
  return read.ok() ? read : better(refused, read);
}

status BundledImage::read_from(const char *folder, std::size_t length, const abi::kernel &kernel,
                               const abi::image &image) {
  const abi::bundle &bundle = *image.bundle;
  auto fails = [&](status_code code, int why = 0) {
    return status{code, &kernel, bundle.name, why};
  };
  char path[PATH_MAX];
  std::size_t name_length = strlen(bundle.name);
  if (length + 1 + name_length >= sizeof path)
    return fails(status_code::no_bundle, ENAMETOOLONG);
  memcpy(path, folder, length);
  path[length] = '/';
  memcpy(path + length + 1, bundle.name, name_length + 1);

  File file(path);
  if (!file.is_open())
    return fails(status_code::no_bundle, errno);
  abi::bundle_header header;
  std::int64_t bytes = file.length();
  if (bytes < 0)
    return fails(status_code::wrong_bundle);
  if (file.read(0, &header, sizeof header) != sizeof header)
    return errno ? fails(status_code::no_bundle, errno) : fails(status_code::corrupt_bundle);
  if (!is_header(header) || memcmp(header.digest, bundle.digest, sizeof header.digest) != 0)
    return fails(status_code::wrong_bundle);
  if (header.length != bundle.length || std::uint64_t(bytes) != bundle.length)
    return fails(status_code::corrupt_bundle);

  if (!memory_) {
    void *memory =
        mmap(nullptr, image.size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED)
      return fails(status_code::no_bundle, errno);
    memory_ = memory;
    size_ = image.size;
  }
  if (file.read(image.offset, memory_, size_) != size_)
    return errno ? fails(status_code::no_bundle, errno) : fails(status_code::corrupt_bundle);
  return {};
}

} // namespace tritonc::v1::cuda
