// Tests read_library.cpp, descriptor_memory.cpp, elf_memory.cpp and header_memory.cpp of
// emit/object: reads emitted files back.

#include "emit/object/read_library.h"

#include "emit/cpp/header.h"
#include "emit/object/object.h"
#include "emit/tables.h"
#include "unit/emit/host_compiler.h"
#include "unit/emit/sample_library.h"
#include "unit/emit/written_library.h"

#include <doctest/doctest.h>

#include <fstream>
#include <random>

using namespace tritonc;

namespace {

using Kernels = std::vector<KernelContents>;

Kernels read(Result<Kernels> kernels) {
  REQUIRE_MESSAGE(kernels, (kernels ? "" : text(kernels.error())));
  return *kernels;
}

// The contents as text.
std::string text_of(const Kernels &kernels) {
  std::string out;
  for (const KernelContents &kernel : kernels) {
    out += kernel.name + "\n";
    for (const TuningContents &tuning : kernel.tunings) {
      out += " measured on " + tuning.gpu + " " + std::to_string(tuning.sm) + " " +
             std::to_string(tuning.num_sms) + ": " + std::to_string(tuning.problems);
      for (const std::string &argument : tuning.arguments)
        out += " " + argument;
      out += "\n";
    }
    for (const VariantContents &variant : kernel.variants) {
      out += " " + variant.entry + ":" +
             (variant.specialization.empty() ? "" : " under " + variant.specialization);
      for (int32_t choice : variant.choices)
        out += " " + std::to_string(choice);
      for (const ParameterContents &parameter : variant.parameters)
        out += ", " + parameter.name + " " + std::to_string(parameter.bytes);
      for (const ConstantContents &constant : variant.constants)
        out += ", constant " + constant.name + " " + std::to_string(constant.bytes) + " at " +
               std::to_string(constant.offset);
      out += "\n";
      for (const ImageContents &image : variant.images) {
        out += "  " + image.gpu + " \"" + image.schedule + "\"";
        for (int fact :
             {image.threads, image.registers, image.shared_bytes, image.static_shared,
              image.spill_stores, image.spill_loads, image.stack_bytes, image.cubin_bytes})
          out += " " + std::to_string(fact);
        out += " hidden";
        for (uint32_t bytes : image.hidden)
          out += " " + std::to_string(bytes);
        std::string bytes, problem;
        bool is_whole = unseal(image.sealed, bytes, problem);
        out += ": " + (is_whole ? bytes : problem) + "\n";
      }
    }
  }
  return out;
}

std::string read_file(const std::string &path) {
  std::ifstream file(path, std::ios::binary);
  return std::string((std::istreambuf_iterator<char>(file)), {});
}

} // namespace

TEST_CASE("read_object: returns kernels, variants and images") {
  std::string found = text_of(read(read_object("schedules.o", object(schedules_library()))));
  CAPTURE(found);
  CHECK(found.find("schedules::dot\n dot:") == 0);
  CHECK(found.find("  sm_80 \"baseline\" 128 96 16384 0 0 0 0 20000 hidden: ") != found.npos);
  CHECK(found.find(" hidden 128 ") != found.npos); // a tensor map
  Kernels kernels = read(read_object("gemm.o", object(sample_library())));
  CHECK(kernels.size() == 5);
  found = text_of(kernels);
  CAPTURE(found);
  CHECK(found.find("gemm::dot<half, T>\n dot: 64,") != found.npos);
  CHECK(found.find("gemm::scale\n") != found.npos);
  CHECK(found.find(", constant AD 20 at 0, constant shift 12 at 32\n") != found.npos);
}

TEST_CASE("read_object: specializations come before the general variant") {
  std::vector<KernelContents> kernels = read(read_object("x.o", object(specialized_library())));
  REQUIRE(kernels.size() == 1);
  std::string found;
  for (const VariantContents &variant : kernels[0].variants)
    found += std::to_string(variant.choices.at(0)) + " [" + variant.specialization + "] " +
             std::to_string(variant.images.size()) + "; ";
  CHECK(found == "64 [lda % 16] 2; 64 [M == 64] 1; 64 [] 2; 32 [] 2; ");
}

TEST_CASE("read_object: returns the tuning data of each kernel by GPU") {
  std::string found = text_of(read(read_object("x.o", object(measured_library()))));
  CAPTURE(found);
  CHECK(found.find("gemm::dot<half, N>\n measured on NVIDIA H200 90 132: 2 M N\n"
                   " measured on another 80 108: 1 M N\n") != found.npos);
  CHECK(found.find("gemm::dot<half, T>\n dot") != found.npos);
  found = text_of(read(read_object("x.o", object(sample_library()))));
  CHECK(found.find("measured") == found.npos);
}

TEST_CASE("read_object, read_header: agree for all hosts and modes") {
  for (const Library &library :
       {sample_library(), schedules_library(), specialized_library(), measured_library()}) {
    std::string expected = text_of(read(read_object("x.o", object(library, "x86_64-linux-gnu"))));
    CHECK(text_of(read(read_object("x.o", object(library, "aarch64-linux-gnu")))) == expected);
    CHECK(text_of(read(read_header("x.hpp", header(library)))) == expected);
  }
}

TEST_CASE("read_object, find_images: read programs and shared libraries") {
  test::GeneratedFiles files(sample_library());
  std::string object_bytes = object(sample_library());
  std::string expected = text_of(read(read_object("gemm.o", object_bytes)));
  std::vector<std::string> images = find_images(object_bytes);
  CHECK(images.size() > 4);
  const char *program = "#include <gemm.hpp>\n"
                        "int main() { return int(gemm::scale::info().size() + "
                        "gemm::dot<tritonc::half, gemm::A::T>::variants().size() + "
                        "gemm::dot<tritonc::half, gemm::A::N>::variants().size() + "
                        "gemm::dot<float, gemm::A::T>::variants().size() + "
                        "gemm::dot<float, gemm::A::N>::variants().size()); }";
  for (const char *how : {"", "-no-pie -Wl,--no-relax", "-shared -fPIC"}) {
    CAPTURE(how);
    std::string path = files.path("program");
    test::Outcome outcome =
        files.compile("object", program,
                      "-std=c++17 " + std::string(how) + " " + files.path("gemm.o") +
                          " " TRITONC_RUNTIME_LIBRARY " -ldl -o " + path);
    REQUIRE_MESSAGE(outcome.status == 0, outcome.output);
    std::string bytes = read_file(path);
    CHECK(text_of(read(read_object(path, bytes))) == expected);
    CHECK(find_images(bytes) == images);
    // Without symbols, only the images are found.
    REQUIRE(test::run("strip " + path).status == 0);
    bytes = read_file(path);
    CHECK(read(read_object(path, bytes)).empty());
    CHECK(find_images(bytes) == images);
  }
}

TEST_CASE("read_object, read_header: return nothing without kernels") {
  CHECK(read(read_header("x.hpp", "")).empty());
  CHECK(read(read_header("x.hpp", "int main() {}")).empty());
  CHECK(read(read_object("sh", read_file("/bin/sh"))).empty());
  CHECK(find_images("").empty());
  CHECK(find_images("TritonC\n").empty());
  CHECK_FALSE(read_object("x.o", "no ELF"));
}

TEST_CASE("unseal: returns the image or its problem") {
  std::string sealed_image = sealed("an image"), image, problem;
  CHECK(unseal(sealed_image, image, problem));
  CHECK(image == "an image");
  for (size_t length = 0; length < sealed_image.size(); length++)
    CHECK_FALSE(unseal(sealed_image.substr(0, length), image, problem));
  CHECK(problem == "its header says 8 bytes, it has 7");
  std::string other = sealed_image;
  other.back() = '!';
  CHECK_FALSE(unseal(other, image, problem));
  CHECK(problem == "its checksum is wrong");
  other = sealed_image;
  other[0] = 'x';
  CHECK_FALSE(unseal(other, image, problem));
  CHECK(problem == "it does not begin like an image");
}

TEST_CASE("read_object, read_header: accept or reject damaged files") {
  std::mt19937 random(1);
  std::string files[] = {object(schedules_library()), header(schedules_library()),
                         object(measured_library()), header(measured_library())};
  for (size_t i = 0; i < std::size(files); i++) {
    const bool is_header = i % 2 != 0;
    const std::string &whole = files[i];
    auto try_reading = [&](const std::string &bytes) {
      auto result = is_header ? read_header("f", bytes) : read_object("f", bytes);
      if (!result)
        CHECK(text(result.error()).rfind("error: `f` is damaged: ", 0) == 0);
      return bool(result);
    };
    int failed = 0;
    for (size_t length = 0; length < whole.size(); length += 7)
      failed += !try_reading(whole.substr(0, length));
    CHECK(failed > 10);
    for (int time = 0; time < 2000; time++) {
      std::string bytes = whole;
      bytes[random() % bytes.size()] ^= char(1 << random() % 8);
      failed += !try_reading(bytes);
    }
    CHECK(try_reading(whole));
  }
}
