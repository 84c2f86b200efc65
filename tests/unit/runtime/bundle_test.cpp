// Tests runtime/src/load/bundle.cpp: the search path of bundles, and damaged or wrong bundles.

#include "unit/runtime/machine.h"
#include "unit/runtime/sample_kernel.h"

#include <doctest/doctest.h>

#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <sys/stat.h>

using namespace tritonc;

namespace fs = std::filesystem;

namespace {

/// A temporary folder; TRITONC_BUNDLE_PATH names it.
class Folder {
public:
  Folder() {
    char name[] = "/tmp/tritonc-bundle-XXXXXX";
    REQUIRE(mkdtemp(name));
    path_ = name;
    search(path());
  }
  ~Folder() {
    unsetenv("TRITONC_BUNDLE_PATH");
    fs::remove_all(path_);
  }
  Folder(const Folder &) = delete;

  static void search(const std::string &folders) {
    setenv("TRITONC_BUNDLE_PATH", folders.c_str(), 1);
  }
  std::string path(const std::string &name = "") const { return (path_ / name).string(); }
  void write(const std::string &name, const std::string &bytes) const {
    std::ofstream(path(name), std::ios::binary) << bytes;
  }

private:
  fs::path path_;
};

/// The sample kernel with its images in sample.tcb.
class BundledKernel {
public:
  BundledKernel() {
    file.resize(sizeof(abi::bundle_header));
    for (size_t v = 0; v < 2; v++)
      for (size_t i = 0; i < 2; i++) {
        abi::image &image = sample.images[v][i];
        image.offset = file.size();
        image.bundle = &bundle;
        file.append(image.bytes, image.size);
        file.resize((file.size() + 63) / 64 * 64);
        image.bytes = nullptr;
      }
    bundle.length = file.size();
    abi::bundle_header header = {};
    std::memcpy(header.magic, abi::bundle_magic, sizeof header.magic);
    header.version = abi::bundle_version;
    header.image_count = 4;
    header.length = bundle.length;
    std::memcpy(header.digest, bundle.digest, sizeof header.digest);
    std::memcpy(file.data(), &header, sizeof header);
  }

  status launch(Machine &machine, int n = 64 * 16) {
    SampleArgs args = good_args();
    args.n = n;
    return machine.runtime().launch(sample.kernel, {}, &args, nullptr, nullptr);
  }
  const abi::image &image() const { return sample.images[0][1]; } // the image that launches use

  SampleKernel sample;
  abi::bundle bundle = {"sample.tcb", 0, {0x123456789abcdef, 0xfedcba9876543210}};
  std::string file;
};

bool is_refused(const status &status, status_code code) {
  return status.code() == code && std::string(status.argument()) == "sample.tcb";
}

} // namespace

TEST_CASE("bundle: read once, then the file is not needed") {
  Folder folder;
  Machine machine;
  BundledKernel kernel;
  folder.write("sample.tcb", kernel.file);
  REQUIRE(kernel.launch(machine).ok());
  CHECK(machine.driver().calls("cuLibraryLoadData") == 1);
  CHECK(std::string(machine.driver().last_launch().gpu) == "sm_90a");
  fs::remove(folder.path("sample.tcb"));
  REQUIRE(kernel.launch(machine).ok());
  REQUIRE(kernel.launch(machine, 2 * 64 * 16).ok());
  CHECK(machine.driver().calls("cuLibraryLoadData") == 1);
  CHECK(is_refused(kernel.launch(machine, 64), status_code::no_bundle)); // the other variant
}

TEST_CASE("bundle: missing file returns no_bundle, retry succeeds") {
  Folder folder;
  Machine machine;
  BundledKernel kernel;
  status missing = kernel.launch(machine);
  CHECK(is_refused(missing, status_code::no_bundle));
  CHECK(machine.message(missing) ==
        "sample::copy: cannot read the kernel's code from sample.tcb: No such file or directory; "
        "put the file into the folder of the program or shared library, or add its folder to "
        "TRITONC_BUNDLE_PATH");
  CHECK(machine.runtime().preload(kernel.sample.kernel, nullptr, abi::current).code() ==
        status_code::no_bundle);
  CHECK(machine.driver().calls("cuLibraryLoadData") == 0);
  folder.write("sample.tcb", kernel.file);
  CHECK(kernel.launch(machine).ok());
}

TEST_CASE("bundle: searches the path and the program's folder") {
  Folder folder;
  Machine machine;
  BundledKernel kernel;
  fs::create_directory(folder.path("other"));
  SUBCASE("each folder of the path") {
    folder.write("other/sample.tcb", kernel.file);
    Folder::search("/nowhere::" + folder.path() + ":" + folder.path("other") + ":");
    CHECK(kernel.launch(machine).ok());
  }
  SUBCASE("skips a wrong bundle") {
    std::string wrong = kernel.file;
    wrong[100]++;
    wrong[offsetof(abi::bundle_header, digest)]++;
    folder.write("sample.tcb", wrong);
    folder.write("other/sample.tcb", kernel.file);
    Folder::search(folder.path() + ":" + folder.path("other"));
    CHECK(kernel.launch(machine).ok());
  }
  SUBCASE("a wrong bundle is reported before a missing one") {
    folder.write("sample.tcb", kernel.file + "x");
    Folder::search("/nowhere:" + folder.path() + ":" + folder.path("other"));
    CHECK(is_refused(kernel.launch(machine), status_code::corrupt_bundle));
  }
  SUBCASE("folder of the program") {
    unsetenv("TRITONC_BUNDLE_PATH");
    std::string name = "sample-" + std::to_string(getpid()) + ".tcb";
    kernel.bundle.name = name.c_str();
    std::string beside = (fs::read_symlink("/proc/self/exe").parent_path() / name).string();
    std::ofstream(beside, std::ios::binary) << kernel.file;
    CHECK(kernel.launch(machine).ok());
    fs::remove(beside);
  }
  SUBCASE("current folder is not searched") {
    unsetenv("TRITONC_BUNDLE_PATH");
    folder.write("sample.tcb", kernel.file);
    fs::path before = fs::current_path();
    fs::current_path(folder.path());
    CHECK(is_refused(kernel.launch(machine), status_code::no_bundle));
    fs::current_path(before);
  }
  SUBCASE("too long a path") {
    Folder::search("/" + std::string(5000, 'x'));
    CHECK(is_refused(kernel.launch(machine), status_code::no_bundle));
  }
}

TEST_CASE("bundle: wrong length returns corrupt_bundle") {
  Folder folder;
  Machine machine;
  BundledKernel kernel;
  for (size_t length = 0; length < kernel.file.size(); length++) {
    CAPTURE(length);
    folder.write("sample.tcb", kernel.file.substr(0, length));
    CHECK(is_refused(kernel.launch(machine), status_code::corrupt_bundle));
  }
  folder.write("sample.tcb", kernel.file + "x");
  CHECK(is_refused(kernel.launch(machine), status_code::corrupt_bundle));
  // A read that returns fewer bytes, as if the file were truncated after the length check.
  std::uint64_t length = kernel.image().offset + kernel.image().size - 1;
  kernel.bundle.length = length;
  std::memcpy(&kernel.file[offsetof(abi::bundle_header, length)], &length, sizeof length);
  folder.write("sample.tcb", kernel.file.substr(0, length));
  CHECK(is_refused(kernel.launch(machine), status_code::corrupt_bundle));
  CHECK(machine.driver().calls("cuLibraryLoadData") == 0);
}

TEST_CASE("bundle: finds every flipped bit before the driver") {
  Folder folder;
  Machine machine;
  BundledKernel kernel;
  const abi::image &image = kernel.image();
  auto launch_flipped = [&](size_t bit) {
    std::string flipped = kernel.file;
    flipped[bit / 8] = char(flipped[bit / 8] ^ (1 << bit % 8));
    folder.write("sample.tcb", flipped);
    return kernel.launch(machine);
  };
  for (size_t bit = 0; bit < offsetof(abi::bundle_header, padding) * 8; bit++) {
    if (bit / 32 == offsetof(abi::bundle_header, image_count) / 4)
      continue; // the runtime does not read it
    CAPTURE(bit);
    status refused = launch_flipped(bit);
    CHECK((is_refused(refused, status_code::wrong_bundle) ||
           is_refused(refused, status_code::corrupt_bundle)));
  }
  for (size_t bit = image.offset * 8; bit < (image.offset + image.size) * 8; bit++) {
    CAPTURE(bit);
    CHECK(is_refused(launch_flipped(bit), status_code::corrupt_bundle));
  }
  CHECK(machine.driver().calls("cuLibraryLoadData") == 0);
  // Damage outside the image does not matter.
  CHECK(launch_flipped((image.offset + image.size + 100) * 8).ok());
}

TEST_CASE("bundle: another file returns wrong_bundle") {
  Folder folder;
  Machine machine;
  BundledKernel kernel;
  std::string path = folder.path("sample.tcb");
  SUBCASE("folder") { fs::create_directory(path); }
  SUBCASE("pipe without a writer") { REQUIRE(mkfifo(path.c_str(), 0600) == 0); }
  SUBCASE("another file") { folder.write("sample.tcb", std::string(10000, 'x')); }
  SUBCASE("bundle of another build") {
    kernel.bundle.digest[1]++;
    folder.write("sample.tcb", kernel.file);
  }
  SUBCASE("bundle of another version") {
    kernel.file[offsetof(abi::bundle_header, version)]++;
    folder.write("sample.tcb", kernel.file);
  }
  status refused = kernel.launch(machine);
  CHECK(is_refused(refused, status_code::wrong_bundle));
  CHECK(machine.message(refused) == "sample::copy: sample.tcb is not the bundle of this program: "
                                    "use the file of the same build");
  CHECK(machine.driver().calls("cuLibraryLoadData") == 0);
}

TEST_CASE("bundle: required on the emulator too") {
  Folder folder;
  Machine machine(Machine::emulator);
  BundledKernel kernel;
  CHECK(is_refused(kernel.launch(machine), status_code::no_bundle));
  folder.write("sample.tcb", kernel.file);
  CHECK(kernel.launch(machine).ok());
}
