// Tests lower/small_floats.cpp. The code for GPUs without fp8 instructions runs on the host; the
// test compares it with the definitions of e4m3 and e5m2 ("FP8 Formats for Deep Learning", arXiv
// 2209.05433). For other GPUs, the test checks the instructions.

#include "lower/small_floats.h"

#include "backend/ptx.h"
#include "unit/backend/host_machine.h"
#include "unit/lower/llvm_text.h"

#include "llvm/IR/Module.h"
#include "llvm/Support/raw_ostream.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <random>

using namespace tritonc;
using namespace tritonc::test;
using ir::Elem;

namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();

struct Format {
  Elem elem;
  int exponent_bits, fraction_bits;
  bool has_infinity; // if false, only the code of all ones is NaN

  double value(int code) const {
    int highest = (1 << exponent_bits) - 1, bias = highest / 2;
    int exponent = code >> fraction_bits & highest, fraction = code & ((1 << fraction_bits) - 1);
    double sign = code & 0x80 ? -1 : 1, part = std::ldexp(fraction, -fraction_bits);
    if (exponent == highest && has_infinity)
      return fraction ? NAN : sign * infinity;
    if ((code & 0x7f) == 0x7f)
      return NAN;
    return sign * (exponent ? std::ldexp(1 + part, exponent - bias) : std::ldexp(part, 1 - bias));
  }

  // The code of the nearest finite value; a tie goes to the even code.
  int nearest(double number) const {
    if (std::isnan(number))
      return 0x7f;
    int code = 0;
    double magnitude = std::fabs(number);
    while (std::isfinite(value(code + 1)) && value(code + 1) <= magnitude)
      code++;
    double next = value(code + 1), below = magnitude - value(code), above = next - magnitude;
    if (std::isfinite(next) && (above < below || (above == below && code % 2)))
      code++;
    return code | (std::signbit(number) ? 0x80 : 0);
  }
};

const Format formats[] = {{Elem::e4m3, 4, 3, false}, {Elem::e5m2, 5, 2, true}};

enum class Given { code, real, wide };

// A kernel k(out, x) that stores `make`(x).
template <typename Make> std::string kernel(Given given, Make make) {
  llvm::LLVMContext context;
  llvm::Module module("k", context);
  prepare_module(module);
  llvm::IRBuilder<> builder(context);
  llvm::Type *number = given == Given::code   ? builder.getInt8Ty()
                       : given == Given::real ? builder.getFloatTy()
                                              : builder.getDoubleTy();
  llvm::Type *parameters[] = {builder.getPtrTy(1), number};
  auto *k = llvm::Function::Create(llvm::FunctionType::get(builder.getVoidTy(), parameters, false),
                                   llvm::Function::ExternalLinkage, "k", module);
  k->setCallingConv(llvm::CallingConv::PTX_Kernel);
  builder.SetInsertPoint(llvm::BasicBlock::Create(context, "", k));
  builder.CreateStore(make(builder, k->getArg(1)), k->getArg(0));
  builder.CreateRetVoid();
  std::string text;
  llvm::raw_string_ostream(text) << module;
  return text;
}

std::string narrowing(Elem elem, Given given, const char *gpu = "80") {
  return kernel(given, [&](llvm::IRBuilder<> &builder, llvm::Value *number) {
    return codes_of(builder, *find_gpu(gpu), elem, {number})[0];
  });
}

std::string widening(Elem elem, const char *gpu = "80") {
  return kernel(Given::code, [&](llvm::IRBuilder<> &builder, llvm::Value *code) {
    llvm::Value *half = halves_of(builder, *find_gpu(gpu), elem, {code})[0];
    return builder.CreateFPExt(half, builder.getFloatTy());
  });
}

// Counts differences and shows the first one.
struct Differences {
  int count = 0;
  double first = 0;

  void compare(double number, int found, int expected) {
    if (found != expected && count++ == 0)
      first = number;
  }
};

} // namespace

TEST_CASE("widen: every code gives its format's value") {
  HostMachine machine;
  for (const Format &format : formats) {
    CAPTURE(ir::name_of(format.elem));
    LinkedHostCode code = host_code_of(widening(format.elem));
    for (int i = 0; i < 256; i++) {
      CAPTURE(i);
      float found = computed<float>(*code, machine, uint8_t(i));
      double expected = format.value(i);
      CHECK((std::isnan(expected)
                 ? std::isnan(found)
                 : std::bit_cast<uint32_t>(found) == std::bit_cast<uint32_t>(float(expected))));
    }
  }
}

TEST_CASE("narrow: f32 rounds to nearest even and saturates") {
  HostMachine machine;
  std::mt19937 random(1);
  for (const Format &format : formats) {
    CAPTURE(ir::name_of(format.elem));
    LinkedHostCode code = host_code_of(narrowing(format.elem, Given::real));
    Differences differences;
    auto try_on = [&](float x) {
      for (float number : {x, -x})
        differences.compare(number, computed<uint8_t>(*code, machine, number),
                            format.nearest(number));
    };
    for (int i = 0; i < 0x7e; i++) { // all values, the midpoints, and their adjacent floats
      double here = format.value(i), there = format.value(i + 1);
      if (!std::isfinite(there))
        continue;
      float middle = float((here + there) / 2);
      for (float x :
           {float(here), middle, std::nextafter(middle, 0.0f), std::nextafter(middle, INFINITY)})
        try_on(x);
    }
    for (int i = 0; i < 20000; i++)
      try_on(std::bit_cast<float>(uint32_t(random() & 0x7fffffff)));
    for (float x : {0.0f, 1e-45f, 1e-30f, 464.0f, 480.0f, 61440.0f, 65536.0f, 3e38f, INFINITY})
      try_on(x);
    CHECK_MESSAGE(differences.count == 0, differences.first);
    CHECK(computed<uint8_t>(*code, machine, -NAN) == 0x7f);
  }
}

TEST_CASE("narrow: f64 rounds once") {
  HostMachine machine;
  std::mt19937_64 random(2);
  for (const Format &format : formats) {
    CAPTURE(ir::name_of(format.elem));
    LinkedHostCode code = host_code_of(narrowing(format.elem, Given::wide));
    Differences differences;
    auto try_on = [&](double x) {
      for (double number : {x, -x})
        differences.compare(number, computed<uint8_t>(*code, machine, number),
                            format.nearest(number));
    };
    for (int i = 0; i < 0x7e; i++) { // so close to a tie that a float would be the tie
      double here = format.value(i), there = format.value(i + 1);
      if (!std::isfinite(there))
        continue;
      double middle = (here + there) / 2;
      for (double x : {here, middle, middle * (1 - 0x1p-40), middle * (1 + 0x1p-40)})
        try_on(x);
    }
    for (int i = 0; i < 5000; i++)
      try_on(std::ldexp(double(random() >> 11), int(random() % 40) - 73));
    for (double x : {0.0, 5e-324, 1e-300, 1e30, 1e300, infinity})
      try_on(x);
    CHECK_MESSAGE(differences.count == 0, differences.first);
    CHECK(computed<uint8_t>(*code, machine, std::nan("")) == 0x7f);
  }
}

TEST_CASE("constant: rounds like narrow") {
  llvm::LLVMContext context;
  for (const Format &format : formats)
    for (double number :
         {0.0, -0.0, 0.3, -1.0, 17.0, 19.0, 1e-9, 1e9, -1e9, infinity, -infinity, double(NAN)}) {
      CAPTURE(number);
      auto *code = llvm::cast<llvm::ConstantInt>(code_of(context, format.elem, number));
      CHECK(int(code->getZExtValue()) == format.nearest(number));
    }
}

TEST_CASE("narrow: pair instructions from sm_89") {
  for (const char *gpu : {"89", "90a", "120"}) {
    CHECK(contains(narrowing(Elem::e4m3, Given::real, gpu), "call i32 @tritonc.cvt_e4m3x2(float"));
    CHECK(contains(narrowing(Elem::e5m2, Given::wide, gpu), "call i32 @tritonc.cvt_e5m2x2(float"));
    CHECK(contains(widening(Elem::e4m3, gpu), "call i32 @tritonc.cvt_f16x2_e4m3x2(i32"));
    CHECK_FALSE(contains(widening(Elem::e5m2, gpu), "call i32 @tritonc.cvt")); // the upper half
  }
  for (const char *gpu : {"75", "80", "86"})
    for (const Format &format : formats) {
      CHECK_FALSE(contains(narrowing(format.elem, Given::real, gpu), "@tritonc.cvt"));
      CHECK_FALSE(contains(widening(format.elem, gpu), "@tritonc.cvt"));
    }
  std::string three = kernel(Given::code, [&](llvm::IRBuilder<> &builder, llvm::Value *code) {
    std::vector<llvm::Value *> halves =
        halves_of(builder, *find_gpu("90a"), Elem::e4m3, {code, code, code});
    CHECK(halves.size() == 3);
    return halves[2];
  });
  CHECK(count(three, "call i32 @tritonc.cvt_f16x2_e4m3x2(") == 2);
}
