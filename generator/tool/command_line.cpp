// Converts command line texts to options and checks them. See command_line.h.
//
// Tested by tests/unit/tool/command_line_test.cpp.

#include "tool/command_line.h"
#include "tool/diagnostic_printer.h"

#include "support/write_files.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringRef.h"

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <set>

namespace tritonc {

namespace fs = std::filesystem;

const std::vector<std::pair<std::string, Stage>> stages = {
    {"tile-ir", Stage::tile_ir},     {"llvm", Stage::llvm},   {"ptx", Stage::ptx},
    {"host-llvm", Stage::host_llvm}, {"cubin", Stage::cubin}, {"sass-stats", Stage::sass_stats},
};

namespace {

std::vector<Define> parse_defines(const std::vector<std::string> &texts) {
  std::vector<Define> defines;
  for (const std::string &text : texts) {
    size_t equals = text.find('=');
    bool has_value = equals != std::string::npos;
    defines.push_back({text.substr(0, equals), has_value ? text.substr(equals + 1) : "1"});
  }
  return defines;
}

// Splits lists such as "80,90a" into names.
std::vector<std::string> names_in(const std::vector<std::string> &texts) {
  std::vector<std::string> names;
  for (llvm::StringRef list : texts)
    for (llvm::StringRef rest = list; !rest.empty();) {
      size_t end = rest.find_first_of(",;");
      names.push_back(rest.take_front(end).trim().str());
      rest = end == llvm::StringRef::npos ? "" : rest.drop_front(end + 1);
    }
  return names;
}

std::optional<Error> parse_architectures(const std::vector<std::string> &texts,
                                         std::vector<const Gpu *> &gpus) {
  for (const std::string &name : names_in(texts)) {
    const Gpu *gpu = find_gpu(name);
    if (!gpu)
      return Error{Message::unknown_gpu, {name, llvm::join(gpu_names(), ", ")}};
    if (!llvm::is_contained(gpus, gpu))
      gpus.push_back(gpu);
  }
  return std::nullopt;
}

// Appends PTX to the GPUs. `auto` means PTX for the oldest GPU without a suffix. If all GPUs have a
// suffix (such as sm_90a), `auto` means PTX for the oldest GPU, without its suffix.
std::optional<Error> parse_ptx(const std::vector<std::string> &texts,
                               std::vector<const Gpu *> &gpus) {
  for (const std::string &name : names_in(texts)) {
    const Gpu *ptx = find_ptx(name);
    if (name == "auto") {
      auto is_older = [](const Gpu *a, const Gpu *b) {
        return std::pair(a->suffix != 0, a->sm) < std::pair(b->suffix != 0, b->sm);
      };
      auto oldest = std::min_element(gpus.begin(), gpus.end(), is_older);
      if (oldest == gpus.end())
        return usage("--ptx auto needs --arch");
      ptx = find_ptx(std::to_string((*oldest)->sm));
    } else if (!ptx && find_gpu(name)) {
      return usage("--ptx " + name + ": later GPUs cannot run this PTX; write --ptx " +
                   std::to_string(find_gpu(name)->sm));
    }
    if (!ptx)
      return Error{Message::unknown_gpu, {name, llvm::join(gpu_names(), ", ")}};
    if (!llvm::is_contained(gpus, ptx))
      gpus.push_back(ptx);
  }
  return std::nullopt;
}

// The library name: --namespace, else --name, else the stem of the header.
std::string library_name(const CommandLine &line) {
  if (!line.name_space.empty())
    return line.name_space;
  const std::string &header = line.header.empty() ? line.c_header : line.header;
  return line.compile.name.empty() ? fs::path(header).stem().string() : line.compile.name;
}

// The files that the command reads. Included files are not known yet.
std::vector<std::string> input_paths(const CommandLine &line) {
  std::vector<std::string> paths = line.compile.sources;
  for (const auto *files : {&line.compile.tuning, &line.compile.code_files, &line.inspected,
                            &line.tune.problem_files, &line.tuning_from})
    llvm::append_range(paths, *files);
  for (const std::string &path :
       {line.compile.variant_file, line.expected_manifest, line.tune.tuner})
    if (!path.empty())
      paths.push_back(path);
  return paths;
}

std::vector<std::string> output_paths(const CommandLine &line) {
  std::vector<std::string> paths;
  for (const std::string &path :
       {line.header, line.c_header, line.registration, line.bundle, line.object, line.host_code,
        line.manifest, line.report, line.depfile, line.output, line.codes_file, line.plan_file,
        line.stamp, line.diagnostics_file})
    if (!path.empty() && path != "-")
      paths.push_back(path);
  if (!line.keep_folder.empty())
    paths.push_back((fs::path(line.keep_folder) / "index.json").string());
  return paths;
}

// The same text for all spellings of a path, also if there is no such file yet.
fs::path identity_of(const std::string &path) {
  std::error_code error;
  fs::path absolute = fs::absolute(path, error);
  fs::path canonical = fs::weakly_canonical(absolute, error);
  return error ? absolute.lexically_normal() : canonical; // an error: a loop of symbolic links
}

// Chooses the compression of images: zstd requires a driver for CUDA 12.4 or later.
std::optional<Error> choose_compression(const CommandLine &line, ToolchainOptions &tools) {
  constexpr int with_zstd = 12040;
  int major = 0, minor = 0;
  auto [before, after] = llvm::StringRef(line.min_driver).split('.');
  bool is_version = !before.getAsInteger(10, major) && !after.getAsInteger(10, minor) &&
                    major >= 12 && major < 100 && minor >= 0 && minor < 100;
  if (!line.min_driver.empty() && !is_version)
    return usage("invalid --min-driver " + line.min_driver +
                 ": expected a CUDA version, 12.0 or later");
  tools.oldest_driver = major * 1000 + minor * 10;
  bool is_old = tools.oldest_driver && tools.oldest_driver < with_zstd;
  bool by_zstd = line.compression == "balance" || line.compression == "size";
  if (is_old && by_zstd)
    return usage("--compress " + line.compression + " requires a driver for CUDA 12.4 or later, " +
                 "but --min-driver is " + line.min_driver + "; use speed or none");
  tools.compression = !line.compression.empty() ? line.compression : is_old ? "speed" : "balance";
  return std::nullopt;
}

} // namespace

std::optional<Error> usage(const std::string &text) { return Error{Message::usage, {text}}; }

std::optional<Error> choose_warnings(CommandLine &line) {
  DiagnosticOptions &options = line.compile.messages;
  for (llvm::StringRef text : line.warnings) {
    if (text == "error") {
      line.compile.warnings_are_errors = true;
      continue;
    }
    bool is_error = text.consume_front("error="), is_off = !is_error && text.consume_front("no-");
    std::string name = text.str();
    if (!is_warning_name(name))
      return Error{Message::unknown_warning, {name, llvm::join(warning_names(), ", ")}};
    llvm::erase(options.off, name);
    if (is_off)
      options.off.push_back(name);
    if (is_error && !llvm::is_contained(options.errors, name))
      options.errors.push_back(name);
  }
  return std::nullopt;
}

std::optional<Error> complete(CommandLine &line) {
  CompileOptions &options = line.compile;
  options.defines = parse_defines(line.defines);
  if (std::optional<Error> failure = parse_architectures(line.architectures, options.gpus))
    return failure;
  if (std::optional<Error> failure = parse_architectures(line.emulate, options.emulate))
    return failure;
  if (std::optional<Error> failure = parse_ptx(line.ptx, options.gpus))
    return failure;
  // If the user emulates any GPU, also make host code for the PTX images.
  if (!options.emulate.empty())
    llvm::copy_if(options.gpus, std::back_inserter(options.emulate),
                  [](const Gpu *gpu) { return gpu->is_ptx(); });
  for (const auto &[name, stage] : stages) {
    if (name == line.emit)
      options.stage = stage;
    if (llvm::is_contained(line.keep, name))
      options.keep.push_back(stage);
  }
  if (!line.shard.empty()) {
    auto [shard, shards] = llvm::StringRef(line.shard).split('/');
    if (shard.getAsInteger(10, options.shard) || shards.getAsInteger(10, options.shards) ||
        options.shard < 0 || options.shard >= options.shards)
      return usage("invalid --shard " + line.shard + ": expected I/N, with I from 0 to N - 1");
  }
  if (std::optional<Error> failure = choose_compression(line, options.tools))
    return failure;
  if (std::optional<Error> failure = choose_warnings(line))
    return failure;
  for (const std::string &folder : options.include_dirs)
    if (std::error_code error; fs::exists(folder, error) && !fs::is_directory(folder, error))
      return usage("cannot search `" + folder + "` for included files: it is not a directory");
  options.name = library_name(line);
  options.tools.time_limit = std::chrono::seconds(line.timeout_seconds);
  Result<CacheOptions> cache = cache_options(line.cache_directory, line.cache_limit);
  if (!cache)
    return cache.error();
  options.cache = *cache;
  if (!line.memory_limit.empty()) {
    Result<uint64_t> bytes = parse_size(line.memory_limit);
    if (!bytes)
      return bytes.error();
    line.budget.bytes = (long long)std::min<uint64_t>(*bytes, 1ull << 50);
  }
  return std::nullopt;
}

std::optional<Error> check_instantiation(const CommandLine &line) {
  bool one_stage = line.compile.stage != Stage::library;
  bool is_shard = line.compile.shards != 0;
  if (is_shard == line.codes_file.empty())
    return usage("--shard I/N and --codes-to FILE go together");
  if (is_shard &&
      (one_stage || !(line.header + line.object + line.manifest + line.report).empty() ||
       !line.keep.empty()))
    return usage("--shard writes only machine code, to --codes-to; build the library from all "
                 "shards in a call with --codes");
  if (!one_stage && !is_shard && line.header.empty() && line.object.empty())
    return Error{Message::no_output, {}};
  if (one_stage &&
      !(line.header + line.c_header + line.object + line.manifest + line.report).empty())
    return usage("cannot use --emit with --header, --c-header, --object, --manifest or --report: "
                 "it prints one stage of one variant");
  if (one_stage && line.output.empty())
    return usage("--emit needs -o FILE, or -o - for standard output");
  if (!one_stage && !line.output.empty())
    return usage("-o needs --emit; write a library with --header and --object");
  if (line.embed == "object" && !line.header.empty() && line.object.empty())
    return usage("--embed object needs --object FILE with --header");
  if ((line.embed == "bundle") == line.bundle.empty())
    return usage("--embed bundle and --bundle FILE go together");
  if (!line.bundle.empty() && line.object.empty())
    return usage("--embed bundle needs --object FILE for all but the compiled kernels");
  if (line.embed == "header" && !line.object.empty())
    return usage("--embed header puts the code into the header; remove --object");
  if (line.compile.gpus.empty() && line.compile.stage != Stage::tile_ir)
    return usage("missing --arch, such as --arch 80,90a");
  if (line.compile.emulate.empty() != line.host_code.empty())
    return usage("--emulate and --host-code FILE.a go together");
  if (!line.c_header.empty() && line.object.empty())
    return usage("--c-header needs --object FILE: a C header has no code");
  if (!line.registration.empty() && line.header.empty())
    return usage("--registration needs --header FILE, which declares the kernels");
  if (!line.host_code.empty() && line.object.empty())
    return usage("--emulate needs --object FILE: host code cannot be embedded in a header");
  for (const Gpu *gpu : line.compile.emulate)
    if (!llvm::is_contained(line.compile.gpus, gpu))
      return usage("--emulate names " + std::string(gpu->name) + ", which is not in --arch");
  if (!line.target.empty() && !line.host_code.empty())
    return usage("cannot use --emulate with --target: it compiles for this machine");
  if (line.keep.empty() != line.keep_folder.empty())
    return usage("--keep STAGE,... and --keep-in FOLDER go together");
  if (one_stage && !line.keep.empty())
    return usage("cannot use --keep with --emit");
  return std::nullopt;
}

std::optional<Error> check_outputs(const CommandLine &line) {
  if (std::optional<Error> failure = check_inputs_survive(line, input_paths(line)))
    return failure;
  std::set<fs::path> taken;
  for (const std::string &path : output_paths(line))
    if (!taken.insert(identity_of(path)).second)
      return usage("output `" + path + "` is given twice");
  return check_writable(output_paths(line));
}

std::optional<Error> check_inputs_survive(const CommandLine &line,
                                          const std::vector<std::string> &inputs) {
  std::set<fs::path> read;
  for (const std::string &path : inputs)
    read.insert(identity_of(path));
  if (read.count(identity_of(line.diagnostics_file)))
    printer.write_no_file();
  for (const std::string &path : output_paths(line))
    if (read.count(identity_of(path)))
      return usage("output `" + path + "` is also an input");
  return std::nullopt;
}

bool has_own_file(const CommandLine &line) {
  std::vector<std::string> files = input_paths(line);
  llvm::append_range(files, output_paths(line));
  fs::path own = identity_of(line.diagnostics_file);
  auto is_own = [&](const std::string &path) { return identity_of(path) == own; };
  return llvm::count_if(files, is_own) == 1; // only the file itself
}

} // namespace tritonc
