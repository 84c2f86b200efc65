// Tests generator/jobs/cache.cpp and generator/tool/cache_command.cpp.

#include "jobs/cache.h"

#include "support/temporary_folder.h"
#include "tool/cache_command.h"

#include <doctest/doctest.h>

#include <chrono>
#include <cstdlib>
#include <optional>
#include <sys/stat.h>
#include <thread>

using namespace tritonc;

namespace {

namespace fs = std::filesystem;

// A cache in a separate directory.
class TestCache {
public:
  explicit TestCache(uint64_t limit = 1 << 20) : cache(open(files.path("cache"), limit)) {}

  // Sets the last use of the entry to `minutes` ago.
  void age(const std::string &key, int minutes) const {
    fs::last_write_time(path(key),
                        fs::file_time_type::clock::now() - std::chrono::minutes(minutes));
  }
  std::string path(const std::string &key) const { return files.path("cache/" + key); }

  TemporaryFolder files;
  Cache cache;

private:
  static Cache open(const std::string &directory, uint64_t limit) {
    Result<Cache> cache = Cache::open({.directory = directory, .limit = limit});
    REQUIRE(cache);
    return *cache;
  }
};

// Sets an environment variable, and restores its old value at the end.
class Variable {
public:
  Variable(const char *name, const char *value) : name_(name) {
    if (const char *old = std::getenv(name))
      old_ = old;
    set(value);
  }
  ~Variable() { set(old_ ? old_->c_str() : nullptr); }

private:
  void set(const char *value) const { value ? setenv(name_, value, 1) : unsetenv(name_); }
  const char *name_;
  std::optional<std::string> old_;
};

void write(const std::string &path, const std::string &bytes) {
  std::ofstream(path, std::ios::binary) << bytes;
}

} // namespace

TEST_CASE("Cache: get returns what put stored, and nothing else") {
  TestCache test;
  std::string key = cache_key("a"), other = cache_key("b");
  CHECK(key.size() == 64);
  CHECK(key != other);
  CHECK_FALSE(test.cache.get(key));
  std::string content("with \0 and\n", 11);
  test.cache.put(key, content);
  CHECK(test.cache.get(key) == content);
  CHECK_FALSE(test.cache.get(other));
  test.cache.put(other, "");
  CHECK(test.cache.get(other) == "");
  CHECK(test.files.count() == 1);
  CHECK(test.cache.status().entries == 2); // no temporary file is left
}

TEST_CASE("Cache: get removes a damaged entry and returns nullopt") {
  TestCache test;
  std::string key = cache_key("a");
  test.cache.put(key, "what was compiled");
  std::string whole = test.files.read("cache/" + key);
  std::vector<std::string> damaged = {whole + "x", whole + std::string(8, '\0')};
  for (size_t length = 0; length < whole.size(); length++)
    damaged.push_back(whole.substr(0, length));
  for (size_t bit = 0; bit < whole.size() * 8; bit++) {
    damaged.push_back(whole);
    damaged.back()[bit / 8] ^= char(1 << bit % 8);
  }
  for (const std::string &bytes : damaged) {
    write(test.path(key), bytes);
    CHECK_FALSE(test.cache.get(key));
    CHECK_FALSE(fs::exists(test.path(key)));
  }
  write(test.path(key), whole);
  CHECK(test.cache.get(key));
}

TEST_CASE("Cache: entry under the key of another entry is damaged") {
  TestCache test;
  test.cache.put(cache_key("a"), "a's");
  fs::copy_file(test.path(cache_key("a")), test.path(cache_key("b")));
  CHECK_FALSE(test.cache.get(cache_key("b")));
  CHECK(test.cache.get(cache_key("a")) == "a's");
}

TEST_CASE("Cache: trim removes the least recently used entries") {
  TestCache test;
  std::string keys[4];
  for (int i = 0; i < 4; i++) {
    keys[i] = cache_key(std::to_string(i));
    test.cache.put(keys[i], std::string(1000, 'x'));
    test.age(keys[i], 50 - 10 * i);
  }
  CHECK(test.cache.get(keys[0])); // counts as a use
  CacheStatus all = test.cache.status();
  CHECK(all.entries == 4);
  CHECK(all.bytes > 4000);
  CHECK(test.cache.trim(all.bytes).entries == 4); // removes nothing
  CHECK(test.cache.trim(all.bytes / 2).entries == 2);
  CHECK(test.cache.get(keys[0]));
  CHECK_FALSE(test.cache.get(keys[1]));
  CHECK_FALSE(test.cache.get(keys[2]));
  CHECK(test.cache.get(keys[3]));
}

TEST_CASE("Cache: trim removes temporary files of killed runs, no others") {
  TestCache test;
  write(test.path(".tritonc-tmp-abcdef"), "half");
  write(test.path("a person's"), "file");
  CHECK(test.cache.trim(0).entries == 0);
  CHECK_FALSE(fs::exists(test.path(".tritonc-tmp-abcdef")));
  CHECK(fs::exists(test.path("a person's")));
}

TEST_CASE("Cache: put_failure is the reason of the first failed put") {
  TestCache test;
  CHECK_FALSE(test.cache.put_failure());
  fs::create_directories(test.path(cache_key("a") + "/full")); // the rename fails
  test.cache.put(cache_key("b"), "content");
  CHECK_FALSE(test.cache.put_failure());
  test.cache.put(cache_key("a"), "content");
  CHECK(test.cache.put_failure() == "Is a directory");
}

TEST_CASE("Cache: several threads put, get and trim the same entries") {
  TestCache test;
  std::vector<std::thread> threads;
  std::atomic<int> wrong = 0;
  for (int t = 0; t < 4; t++)
    threads.emplace_back([&, t] {
      for (int i = 0; i < 50; i++) {
        std::string key = cache_key(std::to_string(i % 5)), content(100 * size_t(i % 5), 'x');
        test.cache.put(key, content);
        std::optional<std::string> found = test.cache.get(key);
        wrong += found && *found != content;
        if (t == 0)
          test.cache.trim(500);
      }
    });
  for (std::thread &thread : threads)
    thread.join();
  CHECK(wrong == 0);
  for (const auto &entry : fs::directory_iterator(test.path(".")))
    CHECK(entry.path().extension() != ".tmp");
}

TEST_CASE("Cache: digest_of_file follows the content of the file") {
  TestCache test;
  test.files.write("tool", "one");
  std::string digest = test.cache.digest_of_file(test.files.path("tool"));
  CHECK(digest.size() == 64);
  CHECK(test.cache.status().entries == 0); // not stored: may change in the same clock tick
  test.files.write("tool", "two");
  CHECK(test.cache.digest_of_file(test.files.path("tool")) != digest);
  test.files.write("tool", "one");
  CHECK(test.cache.digest_of_file(test.files.path("tool")) == digest);
  CHECK(test.cache.digest_of_file(test.files.path("none")) == "");
  // The cache stores the digest of an old file.
  CHECK(test.cache.digest_of_file("/bin/sh").size() == 64);
  CHECK(test.cache.status().entries == 1);
  CHECK(test.cache.digest_of_file("/bin/sh") == test.cache.digest_of_file("/bin/sh"));
}

TEST_CASE("Cache: open rejects an unusable directory") {
  TemporaryFolder files;
  std::string directory = files.path("a/b/cache/");
  const std::string remedy = "; set another directory with --cache-dir, or use --cache-dir off";
  auto reason = [&] {
    Result<Cache> cache = Cache::open({.directory = directory});
    return cache ? "" : text(cache.error());
  };
  CHECK(reason() == ""); // creates the directory for this user only
  struct stat status;
  REQUIRE(stat(directory.c_str(), &status) == 0);
  CHECK((status.st_mode & 0777) == 0700);
  chmod(directory.c_str(), 0777);
  CHECK(reason() ==
        "error: cannot use the cache `" + directory + "`: other users may write to it" + remedy);
  chmod(directory.c_str(), 0755);
  CHECK(reason() == "");
  directory = files.write("file", "");
  CHECK(reason() == "error: cannot use the cache `" + directory + "`: Not a directory" + remedy);
  directory = "/proc/cache";
  CHECK(reason() ==
        "error: cannot use the cache `/proc/cache`: No such file or directory" + remedy);
}

TEST_CASE("cache_options: directory from option, variable, user cache") {
  auto directory = [](const std::string &named) {
    Result<CacheOptions> options = cache_options(named, "");
    REQUIRE(options);
    CHECK(options->is_asked_for == (!named.empty() || std::getenv("TRITONC_CACHE_DIR")));
    return options->directory;
  };
  Variable home("HOME", "/home/someone"), xdg("XDG_CACHE_HOME", nullptr);
  Variable ours("TRITONC_CACHE_DIR", nullptr);
  CHECK(directory("") == "/home/someone/.cache/tritonc");
  {
    Variable xdg("XDG_CACHE_HOME", "/caches");
    CHECK(directory("") == "/caches/tritonc");
    Variable ours("TRITONC_CACHE_DIR", "/ours");
    CHECK(directory("") == "/ours");
    CHECK(directory("/here") == "/here");
    CHECK(directory("off") == "");
  }
  {
    Variable ours("TRITONC_CACHE_DIR", "off");
    CHECK(directory("") == "");
  }
  Variable relative("XDG_CACHE_HOME", "caches"), no_home("HOME", nullptr);
  CHECK(directory("") == "");
}

TEST_CASE("cache_options: limit from option or TRITONC_CACHE_LIMIT") {
  Variable variable("TRITONC_CACHE_LIMIT", nullptr);
  auto limit = [](const std::string &named) {
    Result<CacheOptions> options = cache_options("/c", named);
    return options ? std::to_string(options->limit) : text(options.error());
  };
  CHECK(limit("") == std::to_string(1 << 30));
  CHECK(limit("7") == "7");
  CHECK(limit("3K") == "3072");
  CHECK(limit("500M") == "524288000");
  CHECK(limit("2G") == "2147483648");
  for (const char *bad : {"x", "-1", "1.5G", "M", "99999999999T", "2GB"})
    CHECK(limit(bad) ==
          std::string("error: `") + bad + "` is not a size in bytes, such as 500M or 2G");
  Variable set("TRITONC_CACHE_LIMIT", "5K");
  CHECK(limit("") == "5120");
  CHECK(limit("6K") == "6144");
}

TEST_CASE("run_cache_command: status, trim and clear") {
  TestCache test(1 << 20);
  for (int i = 0; i < 3; i++)
    test.cache.put(cache_key(std::to_string(i)), std::string(1 << 19, 'x'));
  auto run = [&](CacheCommand command) {
    Result<std::string> text = run_cache_command(command, test.cache.options());
    REQUIRE(text);
    return *text;
  };
  std::string expected = "directory   " + test.path("");
  expected.pop_back();
  CHECK(run(CacheCommand::status) ==
        expected + "\nentries     3\nsize        1.5 MiB\nlimit       1.0 MiB\n");
  CHECK(run(CacheCommand::trim) ==
        expected + "\nentries     1\nsize        0.5 MiB\nlimit       1.0 MiB\n");
  CHECK(run(CacheCommand::clear) ==
        expected + "\nentries     0\nsize        0.0 MiB\nlimit       1.0 MiB\n");
  Result<std::string> off = run_cache_command(CacheCommand::clear, {});
  REQUIRE(off);
  CHECK(*off == "cache       off\n");
}
