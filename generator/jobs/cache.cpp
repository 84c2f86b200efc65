// Implements the cache as a directory with one file per entry, named by its key. See cache.h.
//
// A file consists of a header (magic, length of the content, digest of key and content) and the
// content. A file gets its final name only when it is complete. If the header or the digest does
// not match, the file is damaged and get() removes it.
//
// No file changes in place, so processes need no lock. Two processes that put the same entry write
// the same bytes. A process that reads a file can continue after another process removes it.
//
// The modification time of a file is the time of its last use. trim() removes the least recently
// used files.
//
// Cached code ends up in the user's programs. So open() rejects a directory that other users can
// write to.
//
// Tested by tests/unit/jobs/cache_test.cpp.

#include "jobs/cache.h"

#include "support/owner_lock.h"
#include "support/write_files.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/BLAKE3.h"
#include "llvm/Support/Endian.h"
#include "llvm/Support/MemoryBuffer.h"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <fcntl.h>
#include <filesystem>
#include <sys/stat.h>
#include <unistd.h>
#include <vector>

namespace tritonc {
namespace {

namespace fs = std::filesystem;
using namespace llvm::support::endian;

constexpr char magic[] = "TritonC cache 1\n";
constexpr size_t magic_bytes = sizeof magic - 1;
constexpr size_t digest_bytes = 32;
constexpr size_t header_bytes = magic_bytes + 8 + digest_bytes;

// Seconds. A younger file may change again without a new timestamp, so its digest is not cached.
constexpr time_t min_age = 2;

std::string variable(const char *name) {
  const char *value = std::getenv(name);
  return value ? value : "";
}

std::string default_directory() {
  if (std::string caches = variable("XDG_CACHE_HOME"); fs::path(caches).is_absolute())
    return caches + "/tritonc";
  std::string home = variable("HOME");
  return fs::path(home).is_absolute() ? home + "/.cache/tritonc" : "";
}

std::string digest_of(std::string_view key, std::string_view content) {
  llvm::BLAKE3 hash;
  hash.update(llvm::StringRef(key));
  hash.update(llvm::StringRef(content));
  auto digest = hash.final();
  return std::string(digest.begin(), digest.end());
}

std::string header_of(std::string_view key, std::string_view content) {
  std::string header = magic;
  char length[8];
  write64le(length, content.size());
  header.append(length, sizeof length);
  return header + digest_of(key, content);
}

bool is_entry(const fs::path &path) {
  std::string name = path.filename().string();
  return name.size() == 2 * digest_bytes && llvm::all_of(name, llvm::isHexDigit);
}

struct File {
  std::string path;
  uint64_t bytes;
  timespec used;
};

// Calls visit(File, whether it is an entry) for each file.
template <typename Visit> void for_each_file(const std::string &directory, Visit visit) {
  std::error_code ignored; // files may vanish during the iteration
  for (fs::directory_iterator at(directory, ignored), end; at != end; at.increment(ignored)) {
    struct stat status;
    if (lstat(at->path().c_str(), &status) == 0 && S_ISREG(status.st_mode))
      visit(File{at->path().string(), uint64_t(status.st_size), status.st_mtim},
            is_entry(at->path()));
    if (ignored)
      break;
  }
}

std::vector<File> entries_of(const std::string &directory) {
  std::vector<File> entries;
  for_each_file(directory, [&](File file, bool is_entry) {
    if (is_entry)
      entries.push_back(std::move(file));
  });
  return entries;
}

CacheStatus status_of(const std::vector<File> &entries) {
  CacheStatus status;
  for (const File &entry : entries) {
    status.entries++;
    status.bytes += entry.bytes;
  }
  return status;
}

bool is_earlier(const timespec &a, const timespec &b) {
  return a.tv_sec != b.tv_sec ? a.tv_sec < b.tv_sec : a.tv_nsec < b.tv_nsec;
}

} // namespace

Result<uint64_t> parse_size(const std::string &size) {
  llvm::StringRef text = size;
  uint64_t unit = 1, number = 0;
  for (auto [suffix, bytes] : {std::pair('K', 10), {'M', 20}, {'G', 30}, {'T', 40}})
    if (text.consume_back(llvm::StringRef(&suffix, 1)))
      unit = uint64_t(1) << bytes;
  if (text.getAsInteger(10, number) || number > UINT64_MAX / unit)
    return Error{Message::bad_size, {size}};
  return number * unit;
}

Result<CacheOptions> cache_options(const std::string &directory, const std::string &limit) {
  CacheOptions options;
  options.directory = directory.empty() ? variable("TRITONC_CACHE_DIR") : directory;
  options.is_asked_for = !options.directory.empty();
  if (options.directory.empty())
    options.directory = default_directory();
  if (options.directory == "off")
    options.directory = "";

  std::string size = limit.empty() ? variable("TRITONC_CACHE_LIMIT") : limit;
  if (size.empty())
    return options;
  Result<uint64_t> bytes = parse_size(size);
  if (!bytes)
    return bytes.error();
  options.limit = *bytes;
  return options;
}

std::string cache_key(std::string_view text) {
  return llvm::toHex(digest_of("", text), /*LowerCase=*/true);
}

Result<Cache> Cache::open(const CacheOptions &options) {
  auto refuse = [&](const std::string &reason) {
    return Error{Message::cannot_use_cache, {options.directory, reason}};
  };
  std::error_code error;
  fs::path parent = fs::absolute(options.directory, error).lexically_normal();
  if (!parent.has_filename())
    parent = parent.parent_path();
  fs::create_directories(parent.parent_path(), error);
  if (mkdir(options.directory.c_str(), 0700) != 0 && errno != EEXIST)
    return refuse(std::strerror(errno));

  struct stat status;
  if (stat(options.directory.c_str(), &status) != 0)
    return refuse(std::strerror(errno));
  if (!S_ISDIR(status.st_mode))
    return refuse(std::strerror(ENOTDIR));
  if (status.st_uid != geteuid())
    return refuse("it belongs to another user");
  if (status.st_mode & (S_IWGRP | S_IWOTH))
    return refuse("other users may write to it");
  if (access(options.directory.c_str(), R_OK | W_OK | X_OK) != 0)
    return refuse(std::strerror(errno));
  return Cache(options);
}

std::string Cache::path_of(const std::string &key) const { return options_.directory + "/" + key; }

std::optional<std::string> Cache::get(const std::string &key) const {
  std::string path = path_of(key);
  auto file = llvm::MemoryBuffer::getFile(path, /*IsText=*/false, /*RequiresNullTerminator=*/false,
                                          /*IsVolatile=*/true);
  if (!file)
    return std::nullopt;
  llvm::StringRef bytes = (*file)->getBuffer();
  std::string_view content = bytes.drop_front(std::min(bytes.size(), header_bytes));
  if (bytes.size() < header_bytes || bytes.take_front(header_bytes) != header_of(key, content)) {
    unlink(path.c_str());
    return std::nullopt;
  }
  utimensat(AT_FDCWD, path.c_str(), nullptr, 0); // records the use
  return std::string(content);
}

void Cache::put(const std::string &key, std::string_view content) const {
  std::string file = header_of(key, content);
  file += content;
  std::optional<Error> failure = write_files({{path_of(key), std::move(file)}});
  if (!failure)
    return;
  std::lock_guard lock(put_failure_->mutex);
  if (!put_failure_->reason)
    put_failure_->reason = failure->args.back();
}

std::optional<std::string> Cache::put_failure() const {
  std::lock_guard lock(put_failure_->mutex);
  return put_failure_->reason;
}

std::string Cache::digest_of_file(const std::string &path) const {
  struct stat status;
  if (stat(path.c_str(), &status) != 0)
    return "";
  std::string identity = "digest of a file\n" + path;
  for (auto part : {int64_t(status.st_dev), int64_t(status.st_ino), int64_t(status.st_size),
                    int64_t(status.st_mtim.tv_sec), int64_t(status.st_mtim.tv_nsec),
                    int64_t(status.st_ctim.tv_sec), int64_t(status.st_ctim.tv_nsec)})
    identity += "\n" + std::to_string(part);
  std::string key = cache_key(identity);
  if (std::optional<std::string> known = get(key))
    return *known;

  auto file = llvm::MemoryBuffer::getFile(path, /*IsText=*/false, /*RequiresNullTerminator=*/false);
  if (!file)
    return "";
  std::string digest = cache_key((*file)->getBuffer());
  if (status.st_ctim.tv_sec < time(nullptr) - min_age)
    put(key, digest);
  return digest;
}

CacheStatus Cache::status() const { return status_of(entries_of(options_.directory)); }

CacheStatus Cache::trim(uint64_t limit) const {
  remove_abandoned(options_.directory);
  std::vector<File> entries = entries_of(options_.directory);
  std::sort(entries.begin(), entries.end(),
            [](const File &a, const File &b) { return is_earlier(a.used, b.used); });
  CacheStatus status = status_of(entries);
  for (const File &entry : entries) {
    if (status.bytes <= limit)
      break;
    unlink(entry.path.c_str());
    status.entries--;
    status.bytes -= entry.bytes;
  }
  return status;
}

} // namespace tritonc
