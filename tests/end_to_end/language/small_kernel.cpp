// Runs a small kernel and checks the memory that it leaves. See small_kernel.h.

#include "end_to_end/language/small_kernel.h"

#include "passes/pipeline.h"
#include "support/host_code.h"
#include "support/kernel_file.h"
#include "support/tile_memory.h"
#include "translate/translate.h"
#include "unit/emulator/modes.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>

namespace tritonc::test {

namespace {

constexpr const char *gpus[] = {"75", "80", "90a"};

double number_of(ir::Elem elem, const interpreter::Element &element) {
  return ir::is_float(elem) ? element.number : double(element.integer);
}

bool is_near(double found, double expected, double error) {
  if (std::isnan(expected))
    return std::isnan(found);
  if (found == expected) // also infinities
    return true;
  return std::abs(found - expected) <= error * std::max(1.0, std::abs(expected));
}

} // namespace

SmallKernel::SmallKernel(const std::string &source, std::vector<Define> defines) {
  FrontEndResult result = translate_source(KernelFile(source, std::move(defines)).input);
  REQUIRE_MESSAGE(result.errors == 0, result.diagnostics_text);
  fn_ = std::move(result.checked.at(0));
}

int SmallKernel::add(ir::Elem elem, const std::vector<double> &values) {
  int buffer = memory_.add("x" + std::to_string(memory_.size()), elem, values);
  launch_.arguments.push_back(interpreter::Element::pointer(buffer));
  return buffer;
}

int SmallKernel::add_unwritten(ir::Elem elem, size_t count) {
  int buffer = memory_.add_unwritten("x" + std::to_string(memory_.size()), elem, count);
  launch_.arguments.push_back(interpreter::Element::pointer(buffer));
  return buffer;
}

void SmallKernel::add_same(int buffer) {
  launch_.arguments.push_back(interpreter::Element::pointer(buffer));
}

void SmallKernel::add_value(ir::Elem elem, double value) {
  launch_.arguments.push_back(ir::is_float(elem)
                                  ? interpreter::Element::of_number(value)
                                  : interpreter::Element::of_integer(int64_t(value)));
}

void SmallKernel::fill(const std::string &constant, const std::vector<double> &values) {
  if (launch_.constants.empty())
    launch_.constants = interpreter::initial_constants(fn_);
  for (const ir::ConstantMemory &part : fn_.constant_memory) {
    if (part.name != constant)
      continue;
    REQUIRE(int64_t(values.size()) <= part.count);
    ir::Function filled; // holds the values in their memory layout
    filled.constant_memory = {part};
    filled.constant_memory[0].values.clear();
    filled.constant_memory[0].floats.clear();
    filled.constant_memory[0].offset = 0;
    for (double value : values)
      if (ir::is_float(part.elem))
        filled.constant_memory[0].floats.push_back(value);
      else
        filled.constant_memory[0].values.push_back(int64_t(value));
    std::vector<uint8_t> bytes = interpreter::initial_constants(filled);
    std::copy_n(bytes.begin(), values.size() * size_t(ir::bytes_of(part.elem)),
                launch_.constants.begin() + part.offset);
    return;
  }
  FAIL("there is no constant memory `" << constant << "`");
}

void SmallKernel::compare(const interpreter::Memory &memory, int buffer,
                          const std::vector<double> &expected, double error) const {
  const interpreter::Buffer &found = memory[buffer];
  REQUIRE(found.elements.size() == expected.size());
  for (size_t i = 0; i < expected.size(); i++) {
    double number = number_of(found.elem, found.elements[i]);
    CAPTURE(i);
    CAPTURE(number);
    CAPTURE(expected[i]);
    CHECK_FALSE(found.elements[i].poison);
    CHECK(is_near(number, expected[i], error));
  }
}

void SmallKernel::must_give(int buffer, const std::vector<double> &expected, double error) {
  interpreter::Memory interpreted = memory_;
  interpreter::Result result = interpreter::run(fn_, launch_, interpreted);
  for (const interpreter::Report &report : result.reports)
    FAIL_CHECK(interpreter::text_of(report));
  compare(interpreted, buffer, expected, error);
  for (const char *gpu : gpus) {
    ir::Function fn = ir::clone(fn_);
    run_pipeline(fn, *find_gpu(gpu), [](std::string_view, ir::Function &) {}, schedule_);
    LinkedHostCode code = host_code_of(fn, *find_gpu(gpu));
    for (emulator::Options options : emulator::test::all_modes()) {
      if (options.async == emulator::Async::random || options.races != races_)
        continue;
      TileMemory memory(memory_);
      emulator::Result emulated =
          emulator::launch(*code, *memory.launch(*code, fn, launch_), options, memory.memory());
      INFO("sm_", gpu, ", ", emulator::test::name_of(options));
      for (const emulator::Report &report : emulated.reports)
        FAIL_CHECK(report.text);
      compare(memory.read(), buffer, expected, error);
    }
  }
}

} // namespace tritonc::test
