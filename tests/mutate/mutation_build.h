// The copy of the source tree and its build, in which mutants are planted and tested.

#pragma once

#include "mutate/campaign.h"
#include "mutate/compile_commands.h"

#include <chrono>
#include <filesystem>
#include <functional>
#include <map>
#include <string>
#include <vector>

namespace tritonc::mutate {

class MutationBuild {
public:
  using Say = std::function<void(const std::string &line)>;

  /// `work` gets the folders `source` and `build`, and logs.
  MutationBuild(std::filesystem::path root, std::filesystem::path work, int jobs, Say say);

  /// Updates the copy and its build system.
  void prepare();

  /// All mutants of the files whose paths begin with one of `prefixes`.
  std::vector<Mutant> list_mutants(const std::vector<std::string> &prefixes);

  /// Builds and runs all tests of these files without a mutant, which must pass, and measures their
  /// times and the objects.
  void measure(const std::vector<std::string> &prefixes);

  /// Plants a mutant, judges it, and restores the file.
  Result try_mutant(const Mutant &mutant);

private:
  std::vector<CompileCommand> commands_for(const std::vector<std::string> &prefixes) const;
  std::string file_of(const CompileCommand &command) const; // from the root of the repository
  bool build(const std::string &target, const std::string &log);
  End run(const QuickTest &test);

  std::filesystem::path root_, work_, source_, build_;
  int jobs_;
  Say say_;
  std::vector<QuickTest> tests_;
  std::vector<CompileCommand> commands_;
  std::map<std::string, std::chrono::duration<double>> normal_times_; // by the command of a test
  std::map<std::string, size_t> objects_; // hash of the object code without a mutant, by its path
};

} // namespace tritonc::mutate
