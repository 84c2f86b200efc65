// Tests lower/float_functions.cpp: runs the functions on the host and compares them with the C
// library in double. On the host, exp2 is the C library's; a GPU's own exp2 is within 2 ulp.

#include "lower/float_functions.h"

#include "backend/ptx.h"
#include "unit/backend/host_machine.h"

#include "llvm/IR/Module.h"
#include "llvm/Support/raw_ostream.h"

#include <doctest/doctest.h>

#include <bit>
#include <cmath>
#include <functional>
#include <limits>
#include <random>

using namespace tritonc;
using test::computed;
using test::host_code_of;
using test::HostMachine;
using test::LinkedHostCode;

namespace {

using Make = std::function<llvm::Value *(llvm::IRBuilder<> &, llvm::Value *, llvm::Value *)>;

// A kernel k(out, x, y) that stores f(x, y).
std::string kernel(const Make &make, bool of_doubles = false) {
  llvm::LLVMContext context;
  llvm::Module module("k", context);
  prepare_module(module);
  llvm::IRBuilder<> builder(context);
  llvm::Type *type = of_doubles ? builder.getDoubleTy() : builder.getFloatTy();
  llvm::Type *parameters[] = {builder.getPtrTy(1), type, type};
  auto *k = llvm::Function::Create(llvm::FunctionType::get(builder.getVoidTy(), parameters, false),
                                   llvm::Function::ExternalLinkage, "k", module);
  k->setCallingConv(llvm::CallingConv::PTX_Kernel);
  builder.SetInsertPoint(llvm::BasicBlock::Create(context, "", k));
  builder.CreateStore(make(builder, k->getArg(1), k->getArg(2)), k->getArg(0));
  builder.CreateRetVoid();
  std::string text;
  llvm::raw_string_ostream(text) << module;
  return text;
}

template <typename Function> Make of_one(Function function) {
  return [=](llvm::IRBuilder<> &builder, llvm::Value *x, llvm::Value *) {
    return function(builder, x);
  };
}

// The error in units in the last place of the result.
double units_off(float found, double exact) {
  float nearest = float(exact);
  if (found == nearest || (std::isnan(found) && std::isnan(nearest)))
    return 0;
  double unit = std::max(std::nextafter(std::fabs(nearest), INFINITY) - std::fabs(nearest),
                         std::numeric_limits<float>::denorm_min());
  return std::fabs(double(found) - exact) / unit;
}

class Computed {
public:
  explicit Computed(const Make &make) : code_(host_code_of(kernel(make))) {}

  float operator()(float x, float y = 0) { return computed<float>(*code_, machine_, x, y); }

private:
  LinkedHostCode code_;
  HostMachine machine_;
};

// The largest error over values of all magnitudes up to `range`.
double worst_of(Computed &function, double (*exact)(double), double range) {
  std::mt19937_64 random(1);
  double worst = 0;
  for (double size = range; size > 1e-3; size /= 3)
    for (int i = 0; i < 3000; i++) {
      float x = float(std::uniform_real_distribution<double>(-size, size)(random));
      worst = std::max(worst, units_off(function(x), exact(double(x))));
    }
  return worst;
}

constexpr float no_number = std::numeric_limits<float>::quiet_NaN(), infinity = INFINITY;

} // namespace

TEST_CASE("sin_of_float, cos_of_float: error below 2 ulp, large x too") {
  Computed sin(of_one(sin_of_float)), cos(of_one(cos_of_float));
  for (double range : {10.0, 1e5, 1e9, 0x1p50}) {
    CAPTURE(range);
    CHECK(worst_of(sin, std::sin, range) < 2);
    CHECK(worst_of(cos, std::cos, range) < 2);
  }
  CHECK(std::bit_cast<uint32_t>(sin(-0.0f)) == 0x80000000);
  CHECK(sin(1e-30f) == 1e-30f);
  CHECK(cos(0) == 1);
  for (float none : {no_number, infinity, -infinity, 0x1p51f}) {
    CHECK(std::isnan(sin(none)));
    CHECK(std::isnan(cos(none)));
  }
}

TEST_CASE("tanh_of_float, erf_of_float: error below 2 ulp") {
  Computed tanh(of_one(tanh_of_float)), erf(of_one(erf_of_float));
  for (double range : {10.0, 1.0}) {
    CHECK(worst_of(tanh, std::tanh, range) < 2);
    CHECK(worst_of(erf, std::erf, range) < 2);
  }
  for (Computed *function : {&tanh, &erf}) {
    CHECK((*function)(infinity) == 1);
    CHECK((*function)(-infinity) == -1);
    CHECK((*function)(-50) == -1);
    CHECK(std::isnan((*function)(no_number)));
    CHECK(std::bit_cast<uint32_t>((*function)(-0.0f)) == 0x80000000);
  }
}

TEST_CASE("pow_of_floats: almost always correctly rounded") {
  Computed pow(pow_of_floats);
  std::mt19937_64 random(2);
  double worst = 0;
  for (int i = 0; i < 20000; i++) {
    float x = std::bit_cast<float>(uint32_t(random() % 0x7f800000)); // all magnitudes
    float y = float(std::uniform_real_distribution<double>(-3, 3)(random) * (i % 7));
    worst = std::max(worst, units_off(pow(x, y), std::pow(double(x), double(y))));
  }
  CHECK(worst < 0.51);
  for (float x :
       {0.0f, -0.0f, 1.0f, -1.0f, 2.5f, -2.5f, 0.25f, -0.25f, infinity, -infinity, no_number})
    for (float y : {0.0f, -0.0f, 1.0f, -1.0f, 2.0f, 3.0f, -3.0f, 0.5f, -0.5f, 0x1p24f, infinity,
                    -infinity, no_number}) {
      CAPTURE(x);
      CAPTURE(y);
      float expected = std::pow(x, y), found = pow(x, y);
      CHECK((std::isnan(expected) ? std::isnan(found) : found == expected));
      CHECK((std::isnan(expected) || std::signbit(found) == std::signbit(expected)));
    }
}

TEST_CASE("rounded_away: ties away from zero, others to nearest") {
  Computed round(of_one(rounded_away));
  for (float x : {0.0f, -0.0f, 0.5f, -0.5f, 1.5f, 2.5f, -2.5f, 0.49999997f, -0.49999997f,
                  8388607.5f, 8388609.0f, 1e30f, infinity, -infinity}) {
    CAPTURE(x);
    CHECK(round(x) == std::round(x));
    CHECK(std::signbit(round(x)) == std::signbit(std::round(x)));
  }
  CHECK(std::isnan(round(no_number)));
  LinkedHostCode code = host_code_of(kernel(of_one(rounded_away), /*of_doubles=*/true));
  HostMachine machine;
  for (double x : {0.49999999999999994, 2.5, -3.5, 4503599627370495.5})
    CHECK(computed<double>(*code, machine, x, x) == std::round(x));
}
