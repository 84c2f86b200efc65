// Implements `tritonc inspect` and `tritonc verify`. See inspect_command.h.
//
// Both commands use only the bytes of the file: descriptors lead to images, images to cubins or
// PTX, and these to the kernels' resources and parameters. Different programs write the launch stub
// and the kernel, so `verify` checks in the final file that both agree. It also checks the
// checksums: of each image, of the data that launches read, and of a whole object or bundle.
//
// Tested by tests/unit/tool/inspect_test.cpp.

#include "tool/inspect_command.h"

#include "tool/command_line.h"
#include "tool/diagnostic_printer.h"
#include "tool/output_files.h"

#include "backend/cubin.h"
#include "backend/fatbinary.h"
#include "backend/ptx_contents.h"
#include "backend/ptxas.h"
#include "emit/cpp_text.h"
#include "emit/object/bundle.h"
#include "emit/object/object_seal.h"
#include "emit/object/read_library.h"
#include "emit/report/manifest.h"
#include "emit/report/report.h"
#include "support/read_file.h"

#include <tritonc/descriptor.hpp>

#include "llvm/ADT/StringExtras.h"
#include "llvm/BinaryFormat/ELF.h"
#include "llvm/Support/Endian.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/raw_ostream.h"

#include <filesystem>
#include <map>
#include <optional>
#include <set>

namespace tritonc {
namespace {

using llvm::json::Array;
using llvm::json::Object;

// --- Reading files -------------------------------------------------------------------------------

// An image or a cubin, as far as it is readable.
struct Code {
  std::string image; // empty = a separate cubin
  std::string code;  // cubin or PTX
  bool is_ptx = false;
  CubinContents contents;
  std::string problem;
};

Code read_code(std::string image) {
  Code code = {.image = std::move(image)};
  if (!unpack(code.image, code.code, code.problem))
    return code;
  code.is_ptx = holds_ptx(code.image);
  CubinReading reading = code.is_ptx ? read_ptx(code.code) : read_cubin(code.code);
  code.contents = std::move(reading.contents);
  code.problem = std::move(reading.problem);
  return code;
}

Code read_sealed(const std::string &sealed) {
  std::string image, problem;
  if (!unseal(sealed, image, problem))
    return {.image = image, .problem = problem};
  return read_code(std::move(image));
}

Code read_image(const ImageContents &image) {
  if (!image.problem.empty())
    return {.problem = image.problem};
  return read_sealed(image.sealed);
}

struct File {
  std::string path;
  std::vector<KernelContents> kernels; // code with descriptors
  std::vector<Code> codes;             // code without: a cubin, an image, a stripped program
  std::optional<Error> problem;        // of the file, though its kernels and images can be read
  std::vector<Error> unreadable;       // bundles
};

bool is_elf(const std::string &bytes) { return bytes.rfind("\177ELF", 0) == 0; }

bool is_cubin(const std::string &bytes) {
  return is_elf(bytes) && bytes.size() > 20 &&
         llvm::support::endian::read16le(bytes.data() + 18) == llvm::ELF::EM_CUDA;
}

bool is_fatbinary(const std::string &bytes) { return bytes.rfind("\x50\xed\x55\xba", 0) == 0; }

// Loads the images that are in bundles. A bundle is in the directory of the file, where the runtime
// also finds it.
void take_from_bundles(File &file) {
  struct Read {
    std::string bytes, problem;
    bool is_unreadable = false;
  };
  std::map<std::string, Read> bundles;
  for (KernelContents &kernel : file.kernels)
    for (VariantContents &variant : kernel.variants)
      for (ImageContents &image : variant.images) {
        if (image.bundle.empty())
          continue;
        auto [found, is_new] = bundles.try_emplace(image.bundle);
        Read &bundle = found->second;
        if (is_new) {
          Result<std::string> bytes =
              read_file((std::filesystem::path(file.path).parent_path() / image.bundle).string(),
                        max_data_bytes);
          if (bytes) {
            bundle.bytes = std::move(*bytes);
            bundle.problem = check_bundle(bundle.bytes);
          } else {
            bundle.problem = diagnostic(bytes.error()).text;
            bundle.is_unreadable = true;
            file.unreadable.push_back({Message::bundle_unreadable, {file.path, bundle.problem}});
          }
        }
        image.is_unreadable = bundle.is_unreadable;
        if (bundle.is_unreadable)
          image.problem = bundle.problem;
        else if (!bundle.problem.empty())
          image.problem = "it is in " + image.bundle + ": " + bundle.problem;
        else
          take_from_bundle(image, bundle.bytes);
      }
}

// Whether a file without descriptors can have images: a program without symbols, an object of the
// host's compiler for a self-contained header, an image.
bool can_have_images(const std::string &bytes) {
  if (is_object(bytes))
    return !has_tritonc_sections(bytes);
  return is_elf(bytes) ||
         bytes.rfind(std::string(abi::image_magic, sizeof abi::image_magic), 0) == 0;
}

// Reads an object, a program, a header, or a member of a static library into `file`. Returns the
// reason why its kernels cannot be read.
std::optional<Error> read_contents(const std::string &path, const std::string &bytes, File &file) {
  Result<std::vector<KernelContents>> kernels =
      is_elf(bytes) ? read_object(path, bytes) : read_header(path, bytes);
  if (!kernels)
    return kernels.error();
  for (KernelContents &kernel : *kernels)
    file.kernels.push_back(std::move(kernel));
  if (!kernels->empty())
    return std::nullopt;
  std::vector<std::string> images = find_images(bytes);
  for (const std::string &sealed : images)
    file.codes.push_back(read_sealed(sealed));
  if (!images.empty() && !can_have_images(bytes))
    file.problem =
        Error{Message::file_damaged, {path, "it has images, but their kernels are lost"}};
  return std::nullopt;
}

// Members may be stripped, so their seals don't count. Other members than objects and programs are
// of interest only if they have images.
std::optional<Error> read_archive(const std::string &bytes, File &file) {
  Result<std::vector<ArchiveMember>> members = archive_members(file.path, bytes);
  if (!members)
    return members.error();
  for (const ArchiveMember &member : *members) {
    std::optional<Error> error =
        read_contents(file.path + "(" + member.name + ")", member.bytes, file);
    if (error && !find_images(member.bytes).empty())
      return error;
  }
  return std::nullopt;
}

Result<File> inspect_file(const std::string &path) {
  Result<std::string> read = read_file(path, max_data_bytes);
  if (!read)
    return read.error();
  const std::string &bytes = *read;
  File file = {.path = path};
  if (is_bundle(bytes)) {
    if (std::string problem = check_bundle(bytes); !problem.empty())
      return Error{Message::file_damaged, {path, problem}};
    for (const std::string &sealed : images_of_bundle(bytes))
      file.codes.push_back(read_sealed(sealed));
    return file;
  }
  if (is_cubin(bytes)) {
    CubinReading reading = read_cubin(bytes);
    if (reading.problem.empty() && reading.contents.kernels.empty())
      reading.problem = "it has no kernel";
    if (!reading.problem.empty())
      return Error{Message::file_damaged, {path, reading.problem}};
    file.codes.push_back({.code = bytes, .contents = reading.contents});
    return file;
  }
  if (is_fatbinary(bytes)) {
    Code code = read_code(bytes);
    if (!code.problem.empty())
      return Error{Message::file_damaged, {path, code.problem}};
    file.codes.push_back(std::move(code));
    return file;
  }
  std::optional<Error> error =
      is_archive(bytes) ? read_archive(bytes, file) : read_contents(path, bytes, file);
  if (error)
    return *error;
  if (is_object(bytes) && !file.kernels.empty() && !has_valid_seal(bytes))
    file.problem = Error{Message::object_changed, {path}};
  take_from_bundles(file);
  if (file.kernels.empty() && file.codes.empty())
    return Error{Message::no_kernels_inside, {path}};
  return file;
}

// --- inspect -------------------------------------------------------------------------------------

std::string text_of(const std::vector<int32_t> &choices) {
  std::vector<std::string> texts;
  for (int32_t choice : choices)
    texts.push_back(std::to_string(choice));
  return join(texts, " ");
}

std::string number(int64_t value) { return std::to_string(value); }

// Whether the code has `assert` or `print`.
bool has_checks(const Code &code) { return !code.contents.calls.empty(); }

// The state of an image as one word for a table.
std::string state_of(const Code &code, bool is_unreadable = false) {
  return is_unreadable           ? "unreadable"
         : !code.problem.empty() ? "damaged"
         : has_checks(code)      ? "checks"
                                 : "ok";
}

// The axis values and the specialization of a variant.
std::string name_of(const VariantContents &variant) {
  return variant_name(text_of(variant.choices), variant.specialization);
}

// One line if the launch data is damaged, one per unreadable bundle, and one per GPU model with
// measurements.
std::string notes_on(const KernelContents &kernel) {
  std::string out =
      kernel.is_damaged ? "  damaged: the checksum of the launch data is wrong\n" : "";
  std::set<std::string> unreadable;
  for (const VariantContents &variant : kernel.variants)
    for (const ImageContents &image : variant.images)
      if (image.is_unreadable && unreadable.insert(image.problem).second)
        out += "  unreadable: " + image.problem + "\n";
  for (const TuningContents &tuning : kernel.tunings)
    out += "  measured on " + tuning.gpu + " (sm_" + number(tuning.sm) + ", " +
           number(tuning.num_sms) + " SMs): " + number(int64_t(tuning.problems)) +
           (tuning.problems == 1 ? " problem" : " problems") + " of " +
           join(tuning.arguments, ", ") + "\n";
  return out;
}

std::string table_of(const KernelContents &kernel) {
  std::vector<std::vector<std::string>> rows = {{kernel.name, "gpu", "schedule", "sha256", "state",
                                                 "threads", "registers", "shared", "spilled",
                                                 "cubin", "embedded"}};
  for (const VariantContents &variant : kernel.variants)
    for (const ImageContents &image : variant.images) {
      Code code = read_image(image);
      rows.push_back({"  " + name_of(variant), image.gpu, image.schedule,
                      code.image.empty() ? "-" : sha256(code.image).substr(0, 12),
                      state_of(code, image.is_unreadable), number(image.threads),
                      number(image.registers), number(image.shared_bytes + image.static_shared),
                      number(image.spill_stores + image.spill_loads), number(image.cubin_bytes),
                      number(int64_t(code.image.size()))});
    }
  return aligned(rows, 5) + notes_on(kernel);
}

std::string table_of(const std::vector<Code> &codes) {
  std::vector<std::vector<std::string>> rows = {{"kernel", "gpu", "sha256", "state", "registers",
                                                 "stack", "parameters", "code", "cubin",
                                                 "embedded"}};
  for (const Code &code : codes) {
    const std::string &bytes = code.image.empty() ? code.code : code.image;
    if (!code.problem.empty())
      rows.push_back({"", "", sha256(bytes).substr(0, 12), "damaged", "", "", "", "", "",
                      number(int64_t(bytes.size()))});
    for (const CubinKernel &kernel : code.contents.kernels)
      rows.push_back({kernel.name, code.contents.gpu, sha256(bytes).substr(0, 12), state_of(code),
                      number(kernel.registers), number(kernel.stack_bytes),
                      number(int64_t(kernel.parameters.size())), number(kernel.code_bytes),
                      number(int64_t(code.code.size())), number(int64_t(code.image.size()))});
  }
  return aligned(rows, 4);
}

Object json_of(const CubinKernel &kernel) {
  Array parameters;
  for (const CubinParameter &parameter : kernel.parameters)
    parameters.push_back(Object{{"offset", parameter.offset}, {"bytes", parameter.bytes}});
  return Object{{"name", llvm::json::fixUTF8(kernel.name)},
                {"registers", kernel.registers},
                {"stack_bytes", kernel.stack_bytes},
                {"code_bytes", kernel.code_bytes},
                {"parameters", std::move(parameters)}};
}

// The contents of the image or cubin.
Object json_of(const Code &code) {
  Object out;
  if (!code.image.empty()) {
    out["image_bytes"] = int64_t(code.image.size());
    out["image_sha256"] = sha256(code.image);
  }
  if (!code.problem.empty()) {
    out["problem"] = llvm::json::fixUTF8(code.problem);
    return out;
  }
  Array kernels;
  for (const CubinKernel &kernel : code.contents.kernels)
    kernels.push_back(json_of(kernel));
  if (has_checks(code))
    out["checks"] = true;
  std::string kind = code.is_ptx ? "ptx" : "cubin";
  out[kind + "_bytes"] = int64_t(code.code.size());
  out[kind + "_sha256"] = sha256(code.code);
  out[kind + "_gpu"] = llvm::json::fixUTF8(code.contents.gpu);
  out["kernels"] = std::move(kernels);
  return out;
}

Object json_of(const ImageContents &image) {
  Object out = json_of(read_image(image));
  if (!image.bundle.empty())
    out["bundle"] = llvm::json::fixUTF8(image.bundle);
  out["gpu"] = llvm::json::fixUTF8(image.gpu);
  out["schedule"] = llvm::json::fixUTF8(image.schedule);
  out["threads"] = image.threads;
  out["registers"] = image.registers;
  out["shared_bytes"] = image.shared_bytes;
  out["static_shared_bytes"] = image.static_shared;
  out["spill_stores"] = image.spill_stores;
  out["spill_loads"] = image.spill_loads;
  out["stack_bytes"] = image.stack_bytes;
  return out;
}

Object json_of(const KernelContents &kernel) {
  Array variants;
  for (const VariantContents &variant : kernel.variants) {
    Array choices, parameters, images;
    for (int32_t choice : variant.choices)
      choices.push_back(choice);
    for (const ParameterContents &parameter : variant.parameters)
      parameters.push_back(
          Object{{"name", llvm::json::fixUTF8(parameter.name)}, {"bytes", parameter.bytes}});
    for (const ImageContents &image : variant.images)
      images.push_back(json_of(image));
    Object made{{"choices", std::move(choices)},
                {"specialization", llvm::json::fixUTF8(variant.specialization)},
                {"entry", llvm::json::fixUTF8(variant.entry)},
                {"parameters", std::move(parameters)},
                {"images", std::move(images)}};
    Array constants;
    for (const ConstantContents &constant : variant.constants)
      constants.push_back(Object{{"name", llvm::json::fixUTF8(constant.name)},
                                 {"offset", constant.offset},
                                 {"bytes", constant.bytes}});
    if (!constants.empty())
      made["constants"] = std::move(constants);
    variants.push_back(std::move(made));
  }
  Object out{{"name", llvm::json::fixUTF8(kernel.name)}, {"variants", std::move(variants)}};
  if (kernel.is_damaged)
    out["problem"] = "the checksum of the launch data is wrong";
  if (kernel.tunings.empty())
    return out;
  Array tunings;
  for (const TuningContents &tuning : kernel.tunings) {
    Array arguments;
    for (const std::string &argument : tuning.arguments)
      arguments.push_back(llvm::json::fixUTF8(argument));
    tunings.push_back(Object{{"gpu", Object{{"name", llvm::json::fixUTF8(tuning.gpu)},
                                            {"arch", tuning.sm},
                                            {"sms", tuning.num_sms}}},
                             {"arguments", std::move(arguments)},
                             {"problems", int64_t(tuning.problems)}});
  }
  out["tuning"] = std::move(tunings);
  return out;
}

Object json_of(const File &file) {
  Array kernels, images;
  for (const KernelContents &kernel : file.kernels)
    kernels.push_back(json_of(kernel));
  for (const Code &code : file.codes)
    images.push_back(json_of(code));
  Object out{{"file", llvm::json::fixUTF8(file.path)}};
  if (!kernels.empty())
    out["kernels"] = std::move(kernels);
  if (!images.empty())
    out["images"] = std::move(images);
  return out;
}

// --- verify --------------------------------------------------------------------------------------

class Verifier {
public:
  explicit Verifier(const std::string &manifest) : manifest_(manifest) {}

  Verification verify(const std::vector<std::string> &paths) {
    if (!manifest_.empty())
      read_manifest();
    for (const std::string &path : paths) {
      Result<File> file = inspect_file(path);
      if (file)
        check(*file);
      else
        result_.problems.push_back(file.error());
    }
    if (result_.problems.empty())
      for (const auto &[digest, name] : announced_)
        if (!seen_.count(digest))
          problem(Message::other_contents, name.first, name.second, "no file contains it");
    return std::move(result_);
  }

private:
  template <typename... Texts> void problem(Message id, Texts... texts) {
    result_.problems.push_back({id, {texts...}});
  }

  // Reads the images of the manifest: digest to kernel and GPU.
  void read_manifest() {
    auto unreadable = [&](const std::string &reason) {
      problem(Message::cannot_read, manifest_, reason);
    };
    Result<std::string> text = read_file(manifest_, max_data_bytes);
    if (!text)
      return result_.problems.push_back(text.error());
    llvm::Expected<llvm::json::Value> json = llvm::json::parse(*text);
    if (!json)
      return unreadable(llvm::toString(json.takeError()));
    auto list = [](const Object *object, const char *name) {
      static const Array nothing;
      const Array *found = object ? object->getArray(name) : nullptr;
      return found ? found : &nothing;
    };
    for (const llvm::json::Value &kernel : *list(json->getAsObject(), "kernels"))
      for (const llvm::json::Value &variant : *list(kernel.getAsObject(), "variants"))
        for (const llvm::json::Value &image : *list(variant.getAsObject(), "images")) {
          const Object *object = image.getAsObject();
          if (!object || !object->getString("image_sha256"))
            return unreadable("an image has no digest");
          announced_[object->getString("image_sha256")->str()] = {
              kernel.getAsObject()->getString("name").value_or("").str(),
              object->getString("gpu").value_or("").str()};
        }
  }

  // A checksum only says that something is wrong, so it counts if no other check fails.
  void check(const File &file) {
    const size_t before = result_.problems.size();
    for (const Error &bundle : file.unreadable)
      result_.problems.push_back(bundle);
    for (const KernelContents &kernel : file.kernels)
      check(kernel);
    check_codes(file);
    if (file.problem && result_.problems.size() == before)
      result_.problems.push_back(*file.problem);
  }

  void check(const KernelContents &kernel) {
    const size_t before = result_.problems.size();
    for (const VariantContents &variant : kernel.variants)
      for (const ImageContents &image : variant.images)
        check(kernel, variant, image);
    if (kernel.is_damaged && result_.problems.size() == before)
      problem(Message::descriptor_damaged, kernel.name);
  }

  void check_codes(const File &file) {
    for (const Code &code : file.codes) {
      result_.images++;
      std::string gpu = code.contents.gpu.empty() ? "some GPU" : code.contents.gpu;
      if (!code.problem.empty())
        problem(Message::image_damaged, file.path, gpu, code.problem);
      else
        for (const CubinKernel &kernel : code.contents.kernels)
          check_code(file.path, gpu, code, kernel.name);
      check_announced(file.path, gpu, code);
    }
  }

  void check(const KernelContents &kernel, const VariantContents &variant,
             const ImageContents &image) {
    result_.images++;
    if (image.is_unreadable) // reported for the whole file
      return;
    std::string name = kernel.name;
    if (std::string which = name_of(variant); !which.empty())
      name += " " + which;
    std::string gpu = image.gpu + (image.schedule == "baseline" ? "" : ", " + image.schedule);
    Code code = read_image(image);
    if (!code.problem.empty())
      return problem(Message::image_damaged, name, gpu, code.problem);
    if (int64_t(code.code.size()) != image.cubin_bytes)
      return problem(Message::image_damaged, name, gpu,
                     "its code has " + number(int64_t(code.code.size())) + " bytes, but should " +
                         "have " + number(image.cubin_bytes));
    if (code.contents.gpu != image.gpu && "sm_" + number(code.contents.sm) != image.gpu)
      problem(Message::other_gpu, name, gpu, code.contents.gpu);
    if (!check_code(name, gpu, code, variant.entry))
      return;
    check_announced(name, gpu, code);
    for (const CubinKernel &found : code.contents.kernels)
      if (found.name == variant.entry)
        check_parameters(name, gpu, variant, image, code, found);
  }

  // Whether the code contains the kernel and is complete.
  bool check_code(const std::string &name, const std::string &gpu, const Code &code,
                  const std::string &kernel) {
    std::vector<std::string> names;
    for (const CubinKernel &found : code.contents.kernels)
      names.push_back(found.name);
    if (!llvm::is_contained(names, kernel)) {
      problem(Message::other_kernel, name, gpu, names.empty() ? "none" : join(names, ", "));
      return false;
    }
    std::string damage = code.is_ptx ? "" : check_cubin(code.code, kernel);
    if (!damage.empty())
      problem(Message::image_damaged, name, gpu, damage);
    return damage.empty();
  }

  void check_parameters(const std::string &name, const std::string &gpu,
                        const VariantContents &variant, const ImageContents &image,
                        const Code &code, const CubinKernel &kernel) {
    std::vector<uint32_t> passed;
    for (const ParameterContents &parameter : variant.parameters)
      passed.push_back(parameter.bytes);
    passed.insert(passed.end(), image.hidden.begin(), image.hidden.end());
    if (passed.size() != kernel.parameters.size())
      return problem(Message::other_parameters, name, gpu, number(int64_t(passed.size())),
                     number(int64_t(kernel.parameters.size())));
    uint32_t end = 0;
    for (size_t i = 0; i < passed.size(); i++) {
      const CubinParameter &taken = kernel.parameters[i];
      std::string which = i < variant.parameters.size() ? "`" + variant.parameters[i].name + "`"
                                                        : number(int64_t(i)) + " (hidden)";
      auto bytes = [](uint32_t count) { return number(count) + " bytes"; };
      if (taken.bytes != passed[i])
        problem(Message::other_parameter, name, gpu, which, bytes(passed[i]), bytes(taken.bytes));
      else if (taken.offset < end)
        problem(Message::other_parameter, name, gpu, which, "at " + number(end) + " or after",
                "at " + number(taken.offset));
      end = taken.offset + taken.bytes;
    }
    if (end != uint32_t(kernel.parameter_bytes))
      problem(Message::image_damaged, name, gpu,
              "its parameters end at byte " + number(end) + ", but should end at " +
                  number(kernel.parameter_bytes));
    if (!code.is_ptx && image.registers != kernel.registers)
      problem(Message::image_damaged, name, gpu,
              "its code takes " + number(kernel.registers) + " registers, not " +
                  number(image.registers));
  }

  void check_announced(const std::string &name, const std::string &gpu, const Code &code) {
    std::string digest = sha256(code.image);
    seen_.insert(digest);
    if (!announced_.empty() && !announced_.count(digest))
      problem(Message::other_contents, name, gpu,
              "the manifest has no image with digest " + digest);
  }

  const std::string &manifest_;
  std::map<std::string, std::pair<std::string, std::string>> announced_;
  std::set<std::string> seen_;
  Verification result_;
};

} // namespace

Result<std::string> inspect(const std::vector<std::string> &paths, bool as_json) {
  Array files;
  std::string text;
  for (const std::string &path : paths) {
    Result<File> file = inspect_file(path);
    if (!file)
      return file.error();
    if (as_json) {
      files.push_back(json_of(*file));
      continue;
    }
    if (paths.size() > 1)
      text += (text.empty() ? "" : "\n") + path + ":\n";
    for (const KernelContents &kernel : file->kernels)
      text += table_of(kernel);
    if (!file->codes.empty())
      text += table_of(file->codes);
  }
  if (as_json)
    llvm::raw_string_ostream(text)
        << llvm::formatv("{0:2}", llvm::json::Value(std::move(files))) << "\n";
  return text;
}

Verification verify(const std::vector<std::string> &paths, const std::string &manifest) {
  return Verifier(manifest).verify(paths);
}

ExitCode run_inspect(const CommandLine &line) {
  Result<std::string> text = inspect(line.inspected, line.as_json);
  if (!text)
    return fail(text.error());
  return print(*text);
}

ExitCode run_verify(const CommandLine &line) {
  Verification verification = verify(line.inspected, line.expected_manifest);
  ExitCode code = ExitCode::ok;
  for (const Error &problem : verification.problems) {
    ExitCode its_code = fail(problem);
    if (code == ExitCode::ok)
      code = its_code;
  }
  if (code == ExitCode::ok)
    return print(std::to_string(verification.images) + " images, all valid\n");
  return code;
}

} // namespace tritonc
