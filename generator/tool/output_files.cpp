// Writes the outputs of a command. See output_files.h.
//
// Tested by tests/unit/tool/command_line_test.cpp and tests/robustness/faults_test.cpp.

#include "tool/output_files.h"

#include "emit/cpp/c_header.h"
#include "emit/cpp/header.h"
#include "emit/cpp/registration.h"
#include "emit/object/host_archive.h"
#include "emit/object/object.h"
#include "emit/report/depfile.h"
#include "emit/report/manifest.h"
#include "emit/report/report.h"
#include "support/write_files.h"
#include "tool/diagnostic_printer.h"

#include <filesystem>
#include <set>
#include <system_error>
#include <utility>
#include <vector>

namespace tritonc {
namespace {

namespace fs = std::filesystem;

// The requested library files: header, object, host code, manifest, report and so on.
Result<std::vector<OutputFile>> library_files(const CommandLine &line, const Library &library) {
  Result<Interface> interface = make_interface(library);
  if (!interface)
    return interface.error();
  Result<Tables> tables = make_tables(*interface);
  if (!tables)
    return tables.error();

  std::vector<OutputFile> files;
  std::optional<Bundle> made;
  if (!line.bundle.empty())
    made = make_bundle(*tables, fs::path(line.bundle).filename().string());
  const Bundle *bundle = made ? &*made : nullptr;
  if (!line.object.empty()) {
    Result<std::string> object = object_file(*tables, line.target, bundle);
    if (!object)
      return object.error();
    files.push_back({line.object, std::move(*object)});
  }
  if (!line.host_code.empty()) {
    Result<std::string> archive = host_archive(library);
    if (!archive)
      return archive.error();
    files.push_back({line.host_code, std::move(*archive)});
  }
  if (!line.header.empty())
    files.push_back({line.header, line.object.empty()
                                      ? self_contained_header(library, *interface, *tables)
                                      : object_mode_header(library, *interface)});
  if (!line.c_header.empty())
    files.push_back({line.c_header, c_header(library, *interface)});
  if (!line.registration.empty())
    files.push_back({line.registration, registration(*interface, line.object.empty())});
  if (!line.manifest.empty())
    files.push_back({line.manifest, manifest(library, bundle)});
  if (!line.report.empty())
    files.push_back({line.report, report(library, bundle)});
  if (bundle) // before the object, which needs the bundle
    files.insert(files.begin(), {line.bundle, std::move(made->bytes)});
  return files;
}

// The output that a build system depends on: the stamp if any.
std::string main_output(const CommandLine &line) {
  for (const std::string &path : {line.stamp, line.object, line.header, line.codes_file})
    if (!path.empty())
      return path;
  return line.output;
}

// All files in writing order. The stamp is last, because it says that all other files exist.
Result<std::vector<OutputFile>> output_files(const CommandLine &line, CompileResult &result) {
  std::vector<OutputFile> files;
  if (line.compile.shards) {
    files.push_back({line.codes_file, shard_file(std::move(result.codes))});
  } else if (line.compile.stage == Stage::library) {
    Result<std::vector<OutputFile>> library = library_files(line, result.library);
    if (!library)
      return library;
    files = std::move(*library);
  } else {
    files.push_back({line.output, std::move(result.stage_output)});
  }
  if (!line.depfile.empty()) {
    std::string target = line.depfile_target.empty() ? main_output(line) : line.depfile_target;
    Result<std::string> text = depfile({target}, result.dependencies);
    if (!text)
      return text.error();
    files.push_back({line.depfile, std::move(*text)});
  }
  for (KeptFile &file : result.kept)
    files.push_back({(fs::path(line.keep_folder) / file.name).string(), std::move(file.content)});
  if (!line.stamp.empty())
    files.push_back({line.stamp, "", /*even_if_unchanged=*/true});
  return files;
}

// Removes files of an earlier --keep that this run did not write. It recognizes the files by name.
void remove_stale(const CommandLine &line, const std::vector<OutputFile> &files) {
  std::set<fs::path> current;
  for (const OutputFile &file : files)
    current.insert(file.path);
  std::error_code error;
  for (const auto &entry : fs::directory_iterator(line.keep_folder, error)) {
    std::string stem = entry.path().stem().string();
    size_t dash = stem.rfind('-');
    bool is_ours = dash != std::string::npos && stem.size() - dash == 13 &&
                   stem.find_first_not_of("0123456789abcdef", dash + 1) == std::string::npos;
    if (is_ours && !current.count(entry.path()))
      fs::remove(entry.path(), error);
  }
}

} // namespace

std::optional<Error> write_outputs(const CommandLine &line, CompileResult &result) {
  Result<std::vector<OutputFile>> files = output_files(line, result);
  if (!files)
    return files.error();
  if (std::optional<Error> failure = write_files(*files))
    return failure;
  remove_stale(line, *files);
  return std::nullopt;
}

ExitCode print(const std::string &text) {
  std::optional<Error> failure = write_files({{"-", text}});
  return failure ? fail(*failure) : ExitCode::ok;
}

} // namespace tritonc
