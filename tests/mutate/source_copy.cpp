// A copy of the source tree. See source_copy.h.
//
// Tested by tests/mutate/source_copy_test.cpp.

#include "mutate/source_copy.h"

#include <fstream>
#include <iterator>
#include <set>
#include <stdexcept>
#include <vector>

namespace tritonc::mutate {
namespace fs = std::filesystem;
namespace {

// The regular files, relative to the tree.
std::set<fs::path> files_of(const fs::path &tree) {
  std::set<fs::path> files;
  for (auto entry = fs::recursive_directory_iterator(tree);
       entry != fs::recursive_directory_iterator(); ++entry) {
    fs::path name = entry->path().lexically_relative(tree);
    if (entry.depth() == 0 && (name == "build" || name == ".git" || name == ".cache"))
      entry.disable_recursion_pending();
    else if (entry->is_regular_file())
      files.insert(name);
  }
  return files;
}

} // namespace

std::string read_text(const fs::path &path) {
  std::ifstream file(path, std::ios::binary);
  return std::string(std::istreambuf_iterator<char>(file), {});
}

void write_text(const fs::path &path, const std::string &text) {
  std::ofstream file(path, std::ios::binary);
  file << text;
  if (!file.flush())
    throw std::runtime_error("cannot write " + path.string());
}

size_t update_copy(const fs::path &root, const fs::path &copy) {
  fs::create_directories(copy);
  std::set<fs::path> files = files_of(root);
  size_t changes = 0;
  for (const fs::path &file : files_of(copy))
    if (!files.count(file))
      changes += fs::remove(copy / file);
  for (const fs::path &file : files) {
    std::string text = read_text(root / file);
    if (fs::exists(copy / file) && read_text(copy / file) == text)
      continue;
    fs::create_directories((copy / file).parent_path());
    write_text(copy / file, text);
    fs::permissions(copy / file, fs::status(root / file).permissions());
    changes++;
  }
  return changes;
}

} // namespace tritonc::mutate
