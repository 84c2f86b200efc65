// Tests generator/tool/inspect_command.cpp with the outputs of the whole compiler.

#include "tool/inspect_command.h"

#include "backend/toolchain.h"
#include "compile.h"
#include "emit/cpp/header.h"
#include "emit/object/object.h"
#include "emit/report/manifest.h"
#include "support/child_process.h"
#include "support/contains.h"
#include "support/scale_source.h"
#include "support/temporary_folder.h"

#include "llvm/Support/JSON.h"

#include <doctest/doctest.h>

using namespace tritonc;

namespace {

// A library that is compiled once. The tests change copies of it.
const Library &library() {
  static const Library made = [] {
    TemporaryFolder files;
    std::string path = files.write("scale.tc", scale_source);
    CompileResult result =
        compile({.sources = {path}, .gpus = {find_gpu("80"), find_gpu("90a")}, .name = "scale"});
    REQUIRE_MESSAGE(result.code == ExitCode::ok, result.diagnostics_text);
    return result.library;
  }();
  return made;
}

class Emitted {
public:
  explicit Emitted(const Library &library) {
    Result<Interface> interface = make_interface(library);
    REQUIRE(interface);
    Result<Tables> tables = make_tables(*interface);
    REQUIRE(tables);
    Result<std::string> object = object_file(*tables, "");
    REQUIRE(object);
    files.write("scale.o", *object);
    files.write("scale.hpp", self_contained_header(library, *interface, *tables));
    files.write("scale.json", manifest(library));
  }

  /// The problems that verify finds in the object. The header must have the same problems.
  std::string problems(bool with_manifest = false) const {
    std::string said = problems_of("scale.o", with_manifest);
    CHECK(problems_of("scale.hpp", with_manifest) == said);
    return said;
  }

  TemporaryFolder files;

private:
  std::string problems_of(const std::string &name, bool with_manifest) const {
    std::string said;
    Verification verification =
        verify({files.path(name)}, with_manifest ? files.path("scale.json") : "");
    for (const Error &problem : verification.problems)
      said += text(problem) + "\n";
    return said;
  }
};

/// Runs a shell command in the folder of the files.
void run_in(const TemporaryFolder &files, const std::string &command) {
  ChildResult child =
      run_child({"/bin/sh", "-c", "cd " + files.path() + " && " + command}, files.path());
  REQUIRE_MESSAGE(child.code == 0, child.output);
}

Variant &first_variant(Library &library) { return library.kernels[0].variants[0]; }

} // namespace

TEST_CASE("verify: accepts compiled code for every GPU") {
  TemporaryFolder files;
  std::string path = files.write("scale.tc", scale_source);
  std::vector<const Gpu *> gpus;
  for (const Gpu &gpu : all_gpus())
    gpus.push_back(&gpu);
  gpus.push_back(find_ptx("75"));
  gpus.push_back(find_ptx("90"));
  CompileResult result = compile({.sources = {path}, .gpus = gpus, .name = "scale", .jobs = 2});
  REQUIRE_MESSAGE(result.code == ExitCode::ok, result.diagnostics_text);
  Emitted emitted(result.library);
  CHECK(emitted.problems(true) == "");
  CHECK(verify({emitted.files.path("scale.o")}, "").images == 4 * gpus.size());
}

TEST_CASE("verify: finds launch arguments that the code does not take") {
  Library changed = library();
  std::string kernel = "error: `scale::scale<half> 256` for sm_80: ";
  Variant &variant = changed.kernels[0].variants[1]; // 256, the preferred variant
  REQUIRE(variant.parameters[2].name == "n");
  SUBCASE("parameter n has another type") {
    variant.parameters[2].element = "i64";
    changed.kernels[0].variants[0].parameters[2].element = "i64";
    CHECK(contains(Emitted(changed).problems(),
                   kernel + "parameter `n` is 8 bytes in a launch, but 4 bytes in the code\n"));
  }
  SUBCASE("one more parameter") {
    for (int i : {0, 1})
      changed.kernels[0].variants[size_t(i)].parameters.push_back(
          {.name = "more", .element = "i32"});
    CHECK(contains(Emitted(changed).problems(),
                   kernel + "a launch passes 5 parameters, but the code takes 4\n"));
  }
  SUBCASE("one more hidden parameter") {
    variant.images[0].launch.schedule = {.kind = Schedule::Kind::multistage, .tile = {1, 2, 3}};
    variant.images[0].launch.hidden = {{.elem = ir::Elem::i32, .value = Expr::constant(1)}};
    CHECK(Emitted(changed).problems() == "error: `scale::scale<half> 256` for sm_80, 1x2x3 "
                                         "multistage: a launch passes 5 parameters, "
                                         "but the code takes 4\n");
  }
}

TEST_CASE("verify: finds PTX that differs from its descriptor") {
  static const Library made = [] {
    TemporaryFolder files;
    CompileResult result = compile({.sources = {files.write("scale.tc", scale_source)},
                                    .gpus = {find_ptx("80"), find_ptx("90")},
                                    .name = "scale"});
    REQUIRE_MESSAGE(result.code == ExitCode::ok, result.diagnostics_text);
    return result.library;
  }();
  Library changed = made;
  Variant &variant = first_variant(changed);
  Image &image = variant.images[0];
  std::string kernel = "error: `scale::scale<half> 128` for compute_80";
  CHECK(Emitted(changed).problems(true) == "");
  SUBCASE("PTX of another kernel") {
    variant.entry = "scala";
    CHECK(contains(Emitted(changed).problems(),
                   kernel + ": the code has no kernel of this name; it has scale\n"));
  }
  SUBCASE("PTX for another GPU") {
    image.bytes = variant.images[1].bytes;
    image.cubin_bytes = variant.images[1].cubin_bytes;
    CHECK(Emitted(changed).problems() == kernel + ": the code is for compute_90\n");
  }
  SUBCASE("PTX of another size") {
    image.cubin_bytes += 8;
    CHECK(contains(Emitted(changed).problems(), kernel + " is damaged: its code has "));
  }
  SUBCASE("parameter has another type") {
    for (Variant &each : changed.kernels[0].variants)
      each.parameters[2].element = "i64";
    CHECK(contains(Emitted(changed).problems(),
                   kernel + ": parameter `n` is 8 bytes in a launch, but 4 bytes in the code\n"));
  }
  SUBCASE("inspect shows the PTX") {
    Emitted emitted(changed);
    Result<std::string> table = inspect({emitted.files.path("scale.o")}, false);
    REQUIRE(table);
    CHECK(contains(*table, "compute_80"));
    Result<std::string> json = inspect({emitted.files.path("scale.o")}, true);
    REQUIRE(json);
    CHECK(contains(*json, "\"ptx_gpu\": \"compute_80\""));
    CHECK_FALSE(contains(*json, "cubin_gpu"));
  }
}

TEST_CASE("verify: finds code that differs from its descriptor") {
  Library changed = library();
  Variant &variant = first_variant(changed);
  Image &image = variant.images[0];
  std::string kernel = "error: `scale::scale<half> 128` for sm_80";
  SUBCASE("code of another kernel") {
    variant.entry = "scala";
    CHECK(contains(Emitted(changed).problems(),
                   kernel + ": the code has no kernel of this name; it has scale\n"));
  }
  SUBCASE("code for another GPU") {
    image.bytes = variant.images[1].bytes;
    image.cubin_bytes = variant.images[1].cubin_bytes;
    image.registers = variant.images[1].registers;
    CHECK(Emitted(changed).problems() == kernel + ": the code is for sm_90a\n");
  }
  SUBCASE("code of another size") {
    image.cubin_bytes += 8;
    CHECK(contains(Emitted(changed).problems(), kernel + " is damaged: its code has "));
  }
  SUBCASE("code with another register count") {
    image.registers++;
    CHECK(contains(Emitted(changed).problems(), kernel + " is damaged: its code takes "));
  }
  SUBCASE("code damaged before its checksum") {
    image.bytes[80] ^= 1; // the first byte of the zstd data
    CHECK(contains(Emitted(changed).problems(), kernel + " is damaged: it cannot be unpacked"));
  }
  SUBCASE("no image") {
    image.bytes = "nothing";
    CHECK(Emitted(changed).problems() == kernel + " is damaged: it is only 7 bytes long\n");
  }
}

TEST_CASE("verify: finds a wrong checksum of every image") {
  Emitted emitted(library());
  std::string whole = emitted.files.read("scale.o");
  int found = 0;
  for (size_t at = 0; (at = whole.find("TritonC\n", at)) != whole.npos; at++, found++) {
    std::string damaged = whole;
    damaged[at + 100] ^= 4;
    emitted.files.write("scale.o", damaged);
    Verification verification = verify({emitted.files.path("scale.o")}, "");
    REQUIRE(verification.problems.size() == 1);
    CHECK(contains(text(verification.problems[0]), " is damaged: its checksum is wrong"));
  }
  CHECK(found == 8);
}

TEST_CASE("verify: notices flips in every part of an object") {
  Emitted emitted(library());
  std::string whole = emitted.files.read("scale.o");
  auto is_valid = [&](const std::string &bytes) {
    Verification verification = verify({emitted.files.write("changed.o", bytes)}, "");
    return verification.problems.empty() && verification.images == 8;
  };
  CHECK(is_valid(whole));
  // All bits of the ELF header, and every 89th byte of the rest.
  for (size_t at = 0; at < whole.size(); at += at < 64 ? 1 : 89)
    for (int bit = 0; bit < (at < 64 ? 8 : 1); bit++) {
      std::string changed = whole;
      changed[at] ^= char(1 << (int(at) + bit) % 8);
      CAPTURE(at);
      CHECK_FALSE(is_valid(changed));
    }
}

TEST_CASE("verify: notices another alignment of an argument") {
  Emitted emitted(library());
  std::string header = emitted.files.read("scale.hpp");
  size_t at = header.find("parameters_0[] = {");
  REQUIRE(at != header.npos);
  at = header.find(", 0, 16, ", at);
  REQUIRE(at != header.npos);
  header.replace(at, 9, ", 0, 144, ");
  std::string path = emitted.files.write("scale.hpp", header);
  std::vector<Error> problems = verify({path}, "").problems;
  REQUIRE(problems.size() == 2); // half and float share the parameters
  CHECK(text(problems[0]) ==
        "error: `scale::scale<half>` is damaged: the checksum of its launch data is wrong; "
        "generate it again");
  Result<std::string> table = inspect({path}, false);
  REQUIRE(table);
  CHECK(contains(*table, "\n  damaged: the checksum of the launch data is wrong\n"));
  table = inspect({path}, true);
  REQUIRE(table);
  CHECK(contains(*table, "\"problem\": \"the checksum of the launch data is wrong\""));
}

TEST_CASE("verify: refuses images in a file of unknown type") {
  Emitted emitted(library());
  std::string changed = emitted.files.read("scale.o");
  changed[0] = 0;
  std::string path = emitted.files.write("scale.o", changed);
  std::vector<Error> problems = verify({path}, "").problems;
  REQUIRE(problems.size() == 1);
  CHECK(text(problems[0]) == "error: `" + path +
                                 "` is damaged: it has images, but their kernels "
                                 "are lost; generate it again");
  CHECK(inspect({path}, false)); // it shows the images
}

TEST_CASE("verify: accepts programs and static libraries, stripped or not") {
  Emitted emitted(library());
  const TemporaryFolder &files = emitted.files;
  auto images = [&](const std::string &command, const std::string &name) {
    run_in(files, command);
    Verification verification = verify({files.path(name)}, files.path("scale.json"));
    for (const Error &problem : verification.problems)
      FAIL_CHECK(text(problem));
    return verification.images;
  };
  CHECK(images("ld -shared scale.o -o scale.so", "scale.so") == 8);
  CHECK(images("ar rc scale.a scale.o scale.json", "scale.a") == 8);
  CHECK(images("strip --strip-debug scale.a", "scale.a") == 8);
  CHECK(images("strip scale.so", "scale.so") == 8); // without symbols, so without kernels
}

TEST_CASE("verify: notices damage in programs and static libraries") {
  Emitted emitted(library());
  const TemporaryFolder &files = emitted.files;
  for (const char *command : {"ld -shared scale.o -o scale.so && mv scale.so scale.out",
                              "ar rc scale.a scale.o && mv scale.a scale.out"}) {
    CAPTURE(command);
    run_in(files, command);
    std::string changed = files.read("scale.out");
    size_t name = changed.find("scale::scale<half>");
    REQUIRE(name != changed.npos);
    changed[name + 1] ^= 1;
    files.write("scale.out", changed);
    std::vector<Error> problems = verify({files.path("scale.out")}, "").problems;
    REQUIRE(problems.size() == 1);
    CHECK(problems[0].id == Message::descriptor_damaged);
  }
}

TEST_CASE("verify: names the damaged member of a static library") {
  Emitted emitted(library());
  const TemporaryFolder &files = emitted.files;
  run_in(files, "ar rc scale.a scale.json scale.o");
  const std::string whole = files.read("scale.a"), path = files.path("scale.a");
  CHECK(verify({path}, "").images == 8);
  auto problem = [&](const std::string &bytes) {
    files.write("scale.a", bytes);
    std::vector<Error> problems = verify({path}, "").problems;
    REQUIRE(problems.size() == 1);
    return text(problems[0]);
  };
  std::string changed = whole;
  size_t object = whole.find("\177ELF");
  REQUIRE(object != whole.npos);
  changed[object + 0x28] ^= 1; // the place of the section headers
  CHECK(problem(changed).rfind("error: `" + path + "(scale.o)` is damaged: ", 0) == 0);
  CHECK(problem(whole.substr(0, whole.size() - 100)) ==
        "error: `" + path + "` is damaged: its member `scale.o` is truncated; generate it again");
}

TEST_CASE("verify: says that another tool rewrote an object") {
  Emitted emitted(library());
  run_in(emitted.files, "strip --strip-debug scale.o");
  std::string path = emitted.files.path("scale.o");
  std::vector<Error> problems = verify({path}, "").problems;
  REQUIRE(problems.size() == 1);
  CHECK(
      text(problems[0]) ==
      "error: `" + path +
          "` is not the object that tritonc wrote: its checksum is wrong; "
          "generate it again, or, if `strip`, `objcopy` or `ld -r` changed it, verify the program "
          "that links it");
}

TEST_CASE("verify: compares the images with the manifest") {
  Emitted emitted(library());
  CHECK(emitted.problems(true) == "");
  Library less = library();
  less.kernels[0].variants.pop_back();
  Emitted other(less);
  CHECK(other.problems(true) == "");
  emitted.files.write("scale.json", other.files.read("scale.json"));
  CHECK(contains(emitted.problems(true), "for sm_80 does not match the manifest: the manifest "
                                         "has no image with digest "));
  other.files.write("scale.json", manifest(library()));
  CHECK(
      contains(other.problems(true), "for sm_80 does not match the manifest: no file contains it"));
  other.files.write("scale.json", "{");
  CHECK(contains(other.problems(true), "error: cannot read `"));
  std::string undigested = manifest(library());
  undigested.replace(undigested.find("image_sha256"), 12, "image_sha512");
  other.files.write("scale.json", undigested);
  CHECK(contains(other.problems(true), "scale.json`: an image has no digest\n"));
  other.files.write("scale.json", "[]"); // announces no image
  CHECK(other.problems(true) == "");
  CHECK(contains(text(verify({other.files.path("scale.o")}, "/nowhere").problems.at(0)),
                 "error: cannot read `/nowhere`"));
}

TEST_CASE("inspect: prints a table, or the same as JSON") {
  Emitted emitted(library());
  for (const char *name : {"scale.o", "scale.hpp"}) {
    CAPTURE(name);
    Result<std::string> table = inspect({emitted.files.path(name)}, false);
    REQUIRE(table);
    CAPTURE(*table);
    CHECK(contains(*table, "scale::scale<half>"));
    CHECK(contains(*table, "\n  256 "));
    CHECK(contains(*table, " sm_90a "));
    CHECK_FALSE(contains(*table, "damaged"));
    Result<std::string> text = inspect({emitted.files.path(name)}, true);
    REQUIRE(text);
    llvm::Expected<llvm::json::Value> json = llvm::json::parse(*text);
    REQUIRE(bool(json));
    const llvm::json::Object &kernel =
        *(*json->getAsArray()->front().getAsObject()->getArray("kernels"))[0].getAsObject();
    CHECK(kernel.getString("name") == "scale::scale<half>");
    const llvm::json::Object &variant = *(*kernel.getArray("variants"))[0].getAsObject();
    CHECK(variant.getString("entry") == "scale");
    CHECK(variant.getArray("parameters")->size() == 4);
    const llvm::json::Object &image = *(*variant.getArray("images"))[0].getAsObject();
    CHECK(image.getString("gpu") == "sm_80");
    CHECK(image.getString("cubin_gpu") == "sm_80");
    CHECK(image.getInteger("registers").value_or(0) > 0);
    CHECK(image.getString("image_sha256")->size() == 64);
    CHECK(contains(emitted.files.read("scale.json"), image.getString("image_sha256")->str()));
  }
}

TEST_CASE("inspect: shows whether code has checks") {
  std::string source = scale_source;
  source.insert(source.rfind('}'), "  assert(n > 0);\n");
  TemporaryFolder files;
  CompileOptions options = {.sources = {files.write("scale.tc", source)},
                            .gpus = {find_gpu("80"), find_ptx("80")},
                            .name = "scale"};
  for (bool checks : {false, true}) {
    CAPTURE(checks);
    options.checks = checks;
    CompileResult result = compile(options);
    REQUIRE_MESSAGE(result.code == ExitCode::ok, result.diagnostics_text);
    Emitted emitted(result.library);
    CHECK(emitted.problems(true) == "");
    Result<std::string> table = inspect({emitted.files.path("scale.o")}, false);
    REQUIRE(table);
    CHECK(contains(*table, "checks") == checks);
    CHECK(contains(*table, " ok ") == !checks);
    Result<std::string> json = inspect({emitted.files.path("scale.o")}, true);
    REQUIRE(json);
    CHECK(contains(*json, "\"checks\": true") == checks);
  }
}

TEST_CASE("inspect: accepts images and several files") {
  Emitted emitted(library());
  const Image &image = library().kernels[0].variants[0].images[1];
  std::string path = emitted.files.write("scale.fatbin", image.bytes);
  Result<std::string> table = inspect({path}, false);
  REQUIRE(table);
  CHECK(contains(*table, "scale   sm_90a  "));
  CHECK(verify({path}, "").problems.empty());
  table = inspect({path, emitted.files.path("scale.o")}, false);
  REQUIRE(table);
  CHECK(table->rfind(path + ":\n", 0) == 0);

  emitted.files.write("scale.fatbin", image.bytes.substr(0, 200));
  table = inspect({path}, false);
  REQUIRE_FALSE(table);
  CHECK(text(table.error()).rfind("error: `" + path + "` is damaged: ", 0) == 0);
  std::string source = emitted.files.write("scale.tc", scale_source);
  table = inspect({source}, false);
  REQUIRE_FALSE(table);
  CHECK(text(table.error()) == "error: no tritonc kernels in `" + source +
                                   "`; pass a header, object, bundle or program that has kernels");
}

TEST_CASE("inspect, verify: accept a cubin, and name what is wrong with one") {
  TemporaryFolder files;
  CompileResult result = compile({.sources = {files.write("scale.tc", scale_source)},
                                  .defines = {{"TYPE", "half"}, {"SIZE", "128"}},
                                  .gpus = {find_gpu("80")},
                                  .stage = Stage::cubin});
  REQUIRE_MESSAGE(result.code == ExitCode::ok, result.diagnostics_text);
  std::string path = files.write("scale.cubin", result.stage_output);
  Result<std::string> table = inspect({path}, false);
  REQUIRE(table);
  CHECK(table->rfind("kernel  gpu    sha256        state  registers  ", 0) == 0);
  CHECK(contains(*table, "\nscale   sm_80  "));
  Result<std::string> json = inspect({path}, true);
  REQUIRE(json);
  CHECK(contains(*json, "\"cubin_gpu\": \"sm_80\""));
  CHECK(contains(*json, "\"name\": \"scale\""));
  CHECK_FALSE(contains(*json, "image_sha256")); // a cubin is in no image
  CHECK(verify({path}, "").problems.empty());
  CHECK(verify({path}, "").images == 1);

  auto problem = [&](const std::string &bytes) {
    files.write("scale.cubin", bytes);
    table = inspect({path}, false);
    REQUIRE_FALSE(table);
    std::vector<Error> problems = verify({path}, "").problems;
    REQUIRE(problems.size() == 1);
    CHECK(text(problems[0]) == text(table.error()));
    return text(problems[0]);
  };
  CHECK(
      problem(result.stage_output.substr(0, 1000)).rfind("error: `" + path + "` is damaged: ", 0) ==
      0);
  // ptxas also accepts code without a kernel.
  Result<Toolchain> tools = find_toolchain({});
  REQUIRE(tools);
  files.write("empty.ptx", ".version 8.0\n.target sm_80\n.address_size 64\n"
                           ".visible .global .align 4 .u32 counter;\n");
  run_in(files, tools->ptxas + " -arch sm_80 empty.ptx -o empty.cubin");
  CHECK(problem(files.read("empty.cubin")) ==
        "error: `" + path + "` is damaged: it has no kernel; generate it again");
}

TEST_CASE("inspect: shows the measurements of a kernel") {
  const std::string measurement =
      R"({"kernel": "scale", "types": "TYPE=half", "gpu": {"name": "NVIDIA H200", "arch": 90,
          "sms": 132}, "parameters": "const f16 *x, f16 *y, i32 n, f32 factor", "cache": "warm",
          "times": {"SIZE=128": {"ns": 2000}, "SIZE=256": {"ns": 1000}}, "problem": {"n": )";
  TemporaryFolder files;
  CompileOptions options = {.sources = {files.write("scale.tc", scale_source)},
                            .tuning = {files.path("tuning.json")},
                            .gpus = {find_gpu("90a")},
                            .name = "scale"};
  for (int problems : {0, 1, 2}) {
    CAPTURE(problems);
    std::string tuning = R"({"schema": 2, "measurements": [)";
    for (int n = 1; n <= problems; n++)
      tuning += (n > 1 ? ", " : "") + measurement + std::to_string(n) + "}}";
    files.write("tuning.json", tuning + "]}");
    CompileResult result = compile(options);
    REQUIRE_MESSAGE(result.code == ExitCode::ok, result.diagnostics_text);
    CHECK(result.diagnostics_text == "");
    Emitted emitted(result.library);
    CHECK(emitted.problems(true) == "");
    for (const char *name : {"scale.o", "scale.hpp"}) {
      Result<std::string> table = inspect({emitted.files.path(name)}, false);
      REQUIRE(table);
      Result<std::string> json = inspect({emitted.files.path(name)}, true);
      REQUIRE(json);
      CHECK(contains(*table, "  measured on NVIDIA H200 (sm_90, 132 SMs): 1 problem of n\n") ==
            (problems == 1));
      CHECK(contains(*table, "  measured on NVIDIA H200 (sm_90, 132 SMs): 2 problems of n\n") ==
            (problems == 2));
      CHECK(contains(*json, "\"tuning\"") == (problems != 0));
      CHECK(contains(*json, "\"problems\": " + std::to_string(problems)) == (problems != 0));
      CHECK(contains(*json, "\"name\": \"NVIDIA H200\"") == (problems != 0));
    }
  }
}

TEST_CASE("inspect: JSON names the constant memory") {
  TemporaryFolder files;
  CompileResult result =
      compile({.sources = {files.write("k.tc", "__constant__ int first[3], second[5];\n"
                                               "__global__ void plain(int *p) { *p = 1; }\n"
                                               "__global__ void reads(int *p, int i) {\n"
                                               "  *p = *(first + i) + *(second + i);\n}\n")},
               .gpus = {find_gpu("80")},
               .name = "scale"});
  REQUIRE_MESSAGE(result.code == ExitCode::ok, result.diagnostics_text);
  Emitted emitted(result.library);
  CHECK(emitted.problems(true) == "");
  Result<std::string> text = inspect({emitted.files.path("scale.o")}, true);
  REQUIRE(text);
  llvm::Expected<llvm::json::Value> json = llvm::json::parse(*text);
  REQUIRE(bool(json));
  const llvm::json::Array &kernels =
      *json->getAsArray()->front().getAsObject()->getArray("kernels");
  REQUIRE(kernels.size() == 2);
  for (const llvm::json::Value &kernel : kernels) {
    const llvm::json::Object &variant =
        *(*kernel.getAsObject()->getArray("variants"))[0].getAsObject();
    const llvm::json::Array *constants = variant.getArray("constants");
    CHECK((constants != nullptr) == (variant.getString("entry") == "reads"));
    if (constants) {
      CHECK(llvm::formatv("{0}", llvm::json::Value(llvm::json::Array(*constants))).str() ==
            R"([{"bytes":12,"name":"first","offset":0},{"bytes":20,"name":"second","offset":16}])");
    }
  }
}

TEST_CASE("inspect: marks damaged images of a program without symbols") {
  Emitted emitted(library());
  const TemporaryFolder &files = emitted.files;
  run_in(files, "ld -shared scale.o -o scale.so && strip scale.so");
  Result<std::string> table = inspect({files.path("scale.so")}, false);
  REQUIRE(table);
  CHECK_FALSE(contains(*table, " damaged "));
  std::string changed = files.read("scale.so");
  size_t at = changed.find("TritonC\n");
  REQUIRE(at != changed.npos);
  changed[at + 100] ^= 4;
  files.write("scale.so", changed);
  table = inspect({files.path("scale.so")}, false);
  REQUIRE(table);
  CHECK(contains(*table, " damaged "));
  CHECK(contains(*table, " ok ")); // the other images
  Result<std::string> json = inspect({files.path("scale.so")}, true);
  REQUIRE(json);
  CHECK(contains(*json, "\"problem\": \"its checksum is wrong"));
  std::vector<Error> problems = verify({files.path("scale.so")}, "").problems;
  REQUIRE(problems.size() == 1);
  CHECK(contains(text(problems[0]), "` for some GPU is damaged: its checksum is wrong"));
}

TEST_CASE("inspect, verify: a missing bundle is missing, not damaged") {
  TemporaryFolder files;
  Result<Interface> interface = make_interface(library());
  REQUIRE(interface);
  Result<Tables> tables = make_tables(*interface);
  REQUIRE(tables);
  const Bundle bundle = make_bundle(*tables, "scale.tcb");
  Result<std::string> object = object_file(*tables, "", &bundle);
  REQUIRE(object);
  const std::string path = files.write("scale.o", *object), at = files.path("scale.tcb");
  const std::string reason = "cannot read `" + at + "`: No such file or directory";

  Result<std::string> table = inspect({path}, false);
  REQUIRE(table);
  CHECK(contains(*table, " unreadable "));
  CHECK(contains(*table, "\n  unreadable: " + reason + "\n"));
  CHECK_FALSE(contains(*table, "damaged"));
  CHECK(contains(*table, " -  ")); // instead of a checksum
  Result<std::string> json = inspect({path}, true);
  REQUIRE(json);
  CHECK(contains(*json, "\"problem\": \"" + reason + "\""));
  std::vector<Error> problems = verify({path}, "").problems;
  REQUIRE(problems.size() == 1); // not one per image
  CHECK(text(problems[0]) == "error: `" + path + "` needs its bundle: " + reason +
                                 "; put the bundle into the same folder");
  CHECK(exit_code_of(problems[0].id) == ExitCode::mismatch);
  for (const Result<std::string> &missing : {inspect({at}, false), inspect({at}, true)}) {
    REQUIRE_FALSE(missing);
    CHECK(text(missing.error()) == "error: " + reason);
  }
  problems = verify({at}, "").problems;
  REQUIRE(problems.size() == 1);
  CHECK(text(problems[0]) == "error: " + reason);

  files.write("scale.tcb", bundle.bytes);
  table = inspect({path, at}, false);
  REQUIRE(table);
  CHECK_FALSE(contains(*table, "unreadable"));
  CHECK(verify({path, at}, "").problems.empty());

  files.write("scale.tcb", bundle.bytes.substr(0, bundle.bytes.size() / 2));
  table = inspect({path}, false);
  REQUIRE(table);
  CHECK(contains(*table, " damaged "));
  CHECK_FALSE(contains(*table, "unreadable"));
  problems = verify({path}, "").problems;
  REQUIRE(problems.size() == 8);
  CHECK(contains(text(problems[0]), "is damaged: it is in scale.tcb: "));
}

TEST_CASE("tritonc inspect, verify: output and exit codes") {
  Emitted emitted(library());
  auto run = [](std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), TRITONC_TOOL);
    ChildResult child = run_child(arguments, "/tmp");
    return std::to_string(child.code) + " " + child.output;
  };
  std::string object = emitted.files.path("scale.o");
  CHECK(run({"verify", object, "--manifest", emitted.files.path("scale.json")}) ==
        "0 8 images, all valid\n");
  CHECK(contains(run({"inspect", object}), "0 scale::scale<half>"));
  CHECK(contains(run({"inspect", "--json", object}), "\"cubin_gpu\": \"sm_80\""));
  CHECK(contains(run({"verify", "/nowhere"}), "2 error: cannot read `/nowhere`"));
  CHECK(contains(run({"verify"}), "2 error: "));
  CHECK(contains(run({"verify", "/dev/null"}),
                 "2 error: cannot read `/dev/null`: it is a device, not a regular file"));
  std::string damaged = emitted.files.read("scale.o");
  damaged[damaged.find("TritonC\n") + 80] ^= 1;
  emitted.files.write("scale.o", damaged);
  CHECK(contains(run({"verify", object}), "6 error: `scale::scale<half>"));
}
