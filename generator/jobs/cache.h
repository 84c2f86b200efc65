// An on-disk cache of compilation results that builds and processes share.
//
// A cache may lose an entry at any time. So get() and put() never fail: an unreadable entry counts
// as missing, and put() ignores write errors.
#pragma once

#include "support/result.h"

#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>

namespace tritonc {

struct CacheOptions {
  std::string directory;              // empty = no cache
  bool is_asked_for = false;          // whether the user chose it; then warn if it is unusable
  uint64_t limit = uint64_t(1) << 30; // bytes
};

/// Parses a size such as "500M" into bytes.
Result<uint64_t> parse_size(const std::string &size);

/// The directory of the command line, of $TRITONC_CACHE_DIR ("off" = no cache) or in the user's
/// cache folder, in this order; and the limit of the command line or of $TRITONC_CACHE_LIMIT. Both
/// arguments may be empty.
Result<CacheOptions> cache_options(const std::string &directory, const std::string &limit);

/// The key of an entry: a digest of a text with all inputs of the entry.
std::string cache_key(std::string_view text);

struct CacheStatus {
  size_t entries = 0;
  uint64_t bytes = 0;
};

class Cache {
public:
  /// Creates the directory if necessary. Fails if it belongs to another user or others can write to
  /// it.
  static Result<Cache> open(const CacheOptions &options);

  /// Returns the content of an entry; nullopt if missing. Removes a damaged entry.
  std::optional<std::string> get(const std::string &key) const;

  /// Stores an entry atomically: readers in other processes see the whole entry or no entry.
  /// A failure is harmless: the next build compiles the code again.
  void put(const std::string &key, std::string_view content) const;

  /// Why the first put that failed could not write, such as "No space left on device".
  std::optional<std::string> put_failure() const;

  /// A digest of a file's content, cached until the file changes. Empty if the file is unreadable.
  std::string digest_of_file(const std::string &path) const;

  CacheStatus status() const;

  /// Removes the least recently used entries until the rest takes at most `limit` bytes. Also
  /// removes temporary files of killed processes. Returns the remaining entries.
  CacheStatus trim(uint64_t limit) const;

  const CacheOptions &options() const { return options_; }

private:
  struct PutFailure {
    std::mutex mutex;
    std::optional<std::string> reason;
  };

  explicit Cache(CacheOptions options) : options_(std::move(options)) {}
  std::string path_of(const std::string &key) const;

  CacheOptions options_;
  std::shared_ptr<PutFailure> put_failure_ = std::make_shared<PutFailure>();
};

} // namespace tritonc
