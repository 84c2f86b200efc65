// Results on disk, shared by builds and processes: what was compiled once is not compiled again.
//
// A cache may lose what it was given at any time, so nothing here fails: what cannot be read is not
// there, what cannot be written is not kept.
#pragma once

#include "backend/result.h"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace tritonc {

struct CacheOptions {
  std::string directory;              // empty: none
  bool is_asked_for = false;          // by a person, who wants to know if it cannot be used
  uint64_t limit = uint64_t(1) << 30; // bytes
};

/// Bytes of "500M".
Result<uint64_t> parse_size(const std::string &size);

/// The directory that the command line or $TRITONC_CACHE_DIR names ("off": none), else a folder of
/// the user's caches; and the limit of $TRITONC_CACHE_LIMIT. Both texts may be empty.
Result<CacheOptions> cache_options(const std::string &directory, const std::string &limit);

/// The key of an entry: a digest of a text that says everything that the entry follows from.
std::string cache_key(std::string_view text);

struct CacheStatus {
  size_t entries = 0;
  uint64_t bytes = 0;
};

class Cache {
public:
  /// Makes the directory if there is none. Fails if it is not ours alone.
  static Result<Cache> open(const CacheOptions &options);

  /// The entry as it was put there. A damaged one is removed.
  std::optional<std::string> get(const std::string &key) const;

  /// Readers in other processes see the whole entry or none.
  void put(const std::string &key, std::string_view content) const;

  /// A digest of a file's content, remembered for as long as the file does not change. Empty if it
  /// cannot be read.
  std::string digest_of_file(const std::string &path) const;

  CacheStatus status() const;

  /// Removes the entries that have not been used for longest, until all take at most `limit`, and
  /// what processes that were killed have left; says what is left.
  CacheStatus trim(uint64_t limit) const;

  const CacheOptions &options() const { return options_; }

private:
  explicit Cache(CacheOptions options) : options_(std::move(options)) {}
  std::string path_of(const std::string &key) const;
  CacheOptions options_;
};

} // namespace tritonc
