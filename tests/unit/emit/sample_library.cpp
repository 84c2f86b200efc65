// Small libraries for the tests of emit/. See sample_library.h.

#include "unit/emit/sample_library.h"

#include <cstring>

namespace tritonc {

namespace {

Parameter pointer(std::string name, std::string element, bool read_only) {
  Parameter parameter;
  parameter.name = std::move(name);
  parameter.element = std::move(element);
  parameter.is_pointer = true;
  parameter.read_only = read_only;
  return parameter;
}

Parameter integer(std::string name, int multiple_of = 1) {
  Parameter parameter;
  parameter.name = std::move(name);
  parameter.element = "i32";
  parameter.multiple_of = multiple_of;
  return parameter;
}

Constant constant(std::string name, std::string element, int64_t count, int bytes_of_element,
                  int64_t offset) {
  return {.name = std::move(name),
          .element = std::move(element),
          .count = count,
          .offset = offset,
          .bytes = count * bytes_of_element};
}

Requirement divides(int parameter, const std::string &name, int divisor) {
  Expr remainder =
      Expr::binary(Expr::Kind::rem, Expr::parameter(parameter), Expr::constant(divisor));
  return {Expr::binary(Expr::Kind::eq, remainder, Expr::constant(0)),
          name + " % " + std::to_string(divisor) + " == 0"};
}

Expr quotient(int parameter, int divisor) {
  return Expr::binary(Expr::Kind::div, Expr::parameter(parameter), Expr::constant(divisor));
}

/// Not a real cubin: the runtime does not read the image, and no test gives it to a real driver.
/// The fake driver requires a dollar sign at the end.
Image image(const std::string &gpu, int sm, char suffix, const std::string &bytes) {
  Image image;
  image.gpu = gpu;
  image.sm = sm;
  image.suffix = suffix;
  image.bytes = bytes;
  image.threads = 128;
  image.shared_bytes = 16384;
  image.registers = 96;
  image.cubin_bytes = 20000;
  return image;
}

Variant dot_variant(int type, int a, int tile_index) {
  const int tile = tile_index == 0 ? 64 : 32;
  const std::string element = type == 0 ? "f16" : "f32";
  Variant variant;
  variant.values = {type, a, tile_index};
  variant.entry = "dot";
  variant.preference = tile_index;
  variant.defines = {{"TYPE", type == 0 ? "half" : "float"},
                     {"USE_A", a == 0 ? "a" : "^a"},
                     {"TM", std::to_string(tile)}};
  variant.parameters = {pointer("A", element, true), pointer("C", element, false), integer("M"),
                        integer("N"), integer("lda", 8)};
  variant.plan.grid = {quotient(2, tile), quotient(3, tile)};
  variant.plan.requirements = {divides(2, "M", tile), divides(3, "N", tile)};
  std::string name = element + (a == 0 ? "N" : "T") + std::to_string(tile);
  // On sm_80, A = N and A = T have the same code, to test deduplication.
  variant.images = {
      image("sm_80", 80, 0, element + std::to_string(tile) + " for sm_80$"),
      image("sm_90a", 90, 'a', name + " for sm_90a \x01\x02" + std::string(1, 0) + "7$")};
  return variant;
}

KernelEntry dot() {
  KernelEntry kernel;
  kernel.name = "dot";
  kernel.axes = {
      {"TYPE", false, {{"half", {{"TYPE", "half"}}}, {"float", {{"TYPE", "float"}}}}},
      {"A", false, {{"N", {{"USE_A", "a"}}}, {"T", {{"USE_A", "^a"}}}}},
      {"TM", true, {{"64", {{"TM", "64"}}}, {"32", {{"TM", "32"}}}}},
  };
  for (int type = 0; type < 2; type++)
    for (int a = 0; a < 2; a++)
      for (int tile = 0; tile < 2; tile++)
        kernel.variants.push_back(dot_variant(type, a, tile));
  return kernel;
}

Expr programs(int axis) { return {Expr::Kind::programs, axis, {}}; }
Expr num_sms() { return {Expr::Kind::num_sms, 0, {}}; }

/// A launch of dot<half, N> with all kinds of hidden parameters.
LaunchConfig wgmma_launch() {
  Expr tiles = Expr::binary(Expr::Kind::ceil_div, Expr::parameter(2), Expr::constant(128)); // of M
  TensorMap a, c;
  a.parameter = 0;
  a.offset = Expr::constant(0);
  a.sizes = {Expr::parameter(4), Expr::parameter(2)};
  a.strides = {Expr::parameter(4)};
  a.box = {64, 128};
  a.swizzle_bytes = 128;
  c.parameter = 1;
  c.offset = Expr::parameter(4);
  c.elem = ir::Elem::f32;
  c.to_tf32 = true;
  c.sizes = {Expr::parameter(3)};
  c.box = {32};
  LaunchConfig launch;
  launch.schedule = {.kind = Schedule::Kind::warp_specialized, .tile = {128, 256, 64}};
  launch.guards = {divides(4, "lda", 8)};
  launch.cost = Expr::binary(Expr::Kind::ceil_div,
                             Expr::binary(Expr::Kind::mul, programs(0), programs(1)), num_sms());
  launch.blocks = {Expr::binary(Expr::Kind::min, tiles, num_sms()), Expr::constant(1)};
  launch.cluster = 2;
  launch.shared_bytes = Expr::binary(Expr::Kind::mul, Expr::parameter(4), Expr::constant(16));
  launch.hidden = {{.value = {}, .map = a},
                   {.elem = ir::Elem::i32, .value = tiles, .map = {}},
                   {.value = {}, .map = c},
                   {.elem = ir::Elem::i64, .value = Expr::constant(-5), .map = {}}};
  return launch;
}

/// A kernel without axes and without a declared grid, with a nullable pointer.
KernelEntry scale() {
  Parameter factor;
  factor.name = "factor";
  factor.element = "f64";
  Variant variant;
  variant.entry = "scale";
  variant.parameters = {pointer("values", "bf16", false), pointer("bias", "bf16", true), factor,
                        integer("n")};
  variant.parameters[1].nullable = true;
  variant.constants = {constant("AD", "i8", 20, 1, 0), constant("shift", "i32", 3, 4, 32)};
  variant.constants[1].is_signed = false;
  variant.images = {image("sm_80", 80, 0, "scale for sm_80$")};
  KernelEntry kernel;
  kernel.name = "scale";
  kernel.variants = {variant};
  return kernel;
}

} // namespace

Library schedules_library() {
  Library library = {"schedules", "kernels/gemm.tc", "tritonc 0.1.0", {dot()}};
  KernelEntry &kernel = library.kernels[0];
  kernel.axes.clear();
  kernel.variants.resize(1);
  Variant &variant = kernel.variants[0];
  variant.values = {};
  Image &tiled = variant.images[1];
  tiled.launch = wgmma_launch();
  tiled.cubin_bytes = 30000;
  Image with_cost = tiled, baseline = tiled;
  with_cost.bytes = "with a cost$";
  with_cost.launch = {.cost = Expr::parameter(2)};
  baseline.bytes = "plain$";
  baseline.launch = {};
  variant.images.insert(variant.images.end(), {with_cost, baseline});
  return library;
}

Library specialized_library() {
  KernelEntry kernel = dot();
  kernel.axes.erase(kernel.axes.begin(), kernel.axes.begin() + 2);
  kernel.variants = {dot_variant(0, 0, 0), dot_variant(0, 0, 0), dot_variant(0, 0, 0),
                     dot_variant(0, 0, 1)};
  for (Variant &variant : kernel.variants)
    variant.values = {variant.values[2]};
  Variant &wide = kernel.variants[0], &folded = kernel.variants[1];
  wide.plan.specialization = "lda % 16";
  wide.parameters[4].multiple_of = 16;
  for (Image &image : wide.images)
    image.bytes = "wide " + image.bytes;
  folded.plan.specialization = "M == 64";
  folded.plan.requirements.push_back(
      {Expr::binary(Expr::Kind::eq, Expr::parameter(2), Expr::constant(64)), "M == 64"});
  folded.images.pop_back(); // not for sm_90a
  folded.images[0].bytes = "folded$";
  return {"gemm", "kernels/gemm.tc", "tritonc 0.1.0", {kernel}};
}

Library sample_library() { return {"gemm", "kernels/gemm.tc", "tritonc 0.1.0", {dot(), scale()}}; }

Library emulated_library(decltype(abi::host_code::entry) entry) {
  static const abi::host_parameter parameters[] = {
      {"values", 8, 1}, {"bias", 8, 1}, {"factor", 8, 0}, {"n", 4, 0}};
  Library library = sample_library();
  Image &image = library.kernels[1].variants[0].images[0];
  abi::host_code code = {};
  std::memcpy(code.magic, abi::host_code_magic, sizeof code.magic);
  code.version = abi::host_code_version;
  code.entry = entry;
  code.name = "scale";
  code.gpu = "sm_80";
  code.parameters = parameters;
  code.parameter_count = 4;
  code.threads = std::uint32_t(image.threads);
  code.shared_bytes = std::uint32_t(image.shared_bytes);
  code.cluster_size = 1;
  image.bytes.assign(reinterpret_cast<const char *>(&code), sizeof code);
  return library;
}

Library measured_library() {
  Library library = sample_library();
  KernelEntry &kernel = library.kernels[0];
  auto measure = [&](const std::string &gpu, int arch, int num_sms, int64_t m,
                     std::vector<size_t> variants, const std::string &file) {
    Measurement measurement = {.gpu = gpu,
                               .arch = arch,
                               .num_sms = num_sms,
                               .problem = {{2, m}, {3, 64}},
                               .times = {},
                               .file = file};
    for (size_t variant : variants)
      measurement.times.push_back({variant, 1000 + int64_t(variant), {}, ""});
    kernel.measurements.push_back(std::move(measurement));
  };
  measure("NVIDIA H200", 90, 132, 64, {0}, "old.json");
  measure("NVIDIA H200", 90, 132, 128, {0, 1}, "new.json");
  measure("another", 80, 108, 64, {1}, "old.json");
  return library;
}

} // namespace tritonc
