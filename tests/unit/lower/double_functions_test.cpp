// Tests lower/double_functions.cpp: runs the functions on the host and compares them with the C
// library in long double.

#include "lower/double_functions.h"

#include "backend/ptx.h"
#include "target/gpu.h"
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

using Function = llvm::Value *(*)(llvm::IRBuilder<> &, llvm::Value *);

// A kernel k(out, x) that stores f(x).
std::string kernel(Function function) {
  llvm::LLVMContext context;
  llvm::Module module("k", context);
  prepare_module(module);
  llvm::IRBuilder<> builder(context);
  llvm::Type *parameters[] = {builder.getPtrTy(1), builder.getDoubleTy()};
  auto *k = llvm::Function::Create(llvm::FunctionType::get(builder.getVoidTy(), parameters, false),
                                   llvm::Function::ExternalLinkage, "k", module);
  k->setCallingConv(llvm::CallingConv::PTX_Kernel);
  builder.SetInsertPoint(llvm::BasicBlock::Create(context, "", k));
  builder.CreateStore(function(builder, k->getArg(1)), k->getArg(0));
  builder.CreateRetVoid();
  std::string text;
  llvm::raw_string_ostream(text) << module;
  return text;
}

// The error in units in the last place of the result.
double units_off(double found, long double exact) {
  double nearest = double(exact);
  if (found == nearest)
    return 0;
  double unit = std::max(std::nextafter(std::fabs(nearest), INFINITY) - std::fabs(nearest),
                         std::numeric_limits<double>::denorm_min());
  return double(std::fabs(static_cast<long double>(found) - exact) / unit);
}

// pi/2 with 113 bits, to subtract multiples of it.
#if __LDBL_MANT_DIG__ == 113
using Quad = long double;
#else
__extension__ using Quad = __float128;
#endif

// sin(x + quarters * pi/2). The C library's 64-bit sine is accurate enough only near zero.
long double exact_sine(double x, int quarters) {
  double turns = std::nearbyint(x * 0x1.45f306dc9c883p-1);
  Quad rest = x;
  for (double part : {0x1.921fb54442d18p0, 0x1.1a62633145c07p-54, -0x1.f1976b7ed8fbcp-110})
    rest -= Quad(turns) * Quad(part);
  switch ((static_cast<int64_t>(turns) + quarters) & 3) {
  case 0:
    return std::sin(static_cast<long double>(rest));
  case 1:
    return std::cos(static_cast<long double>(rest));
  case 2:
    return -std::sin(static_cast<long double>(rest));
  default:
    return -std::cos(static_cast<long double>(rest));
  }
}

} // namespace

TEST_CASE("exp_of_double: error below 2 ulp") {
  LinkedHostCode code = host_code_of(kernel(exp_of_double));
  HostMachine machine;
  std::mt19937_64 random(1);
  double worst = 0;
  for (double range : {1e-3, 1.0, 30.0, 708.0, 745.0})
    for (int i = 0; i < 2000; i++) {
      double x = std::uniform_real_distribution<double>(-range, std::min(range, 709.78))(random);
      worst = std::max(worst, units_off(computed<double>(*code, machine, x),
                                        std::exp(static_cast<long double>(x))));
    }
  CHECK(worst < 2);
  CHECK(computed<double>(*code, machine, 0.0) == 1);
  CHECK(computed<double>(*code, machine, 1e-300) == 1);
  CHECK(computed<double>(*code, machine, 709.8) == INFINITY);
  CHECK(computed<double>(*code, machine, double(INFINITY)) == INFINITY);
  CHECK(computed<double>(*code, machine, -746.0) == 0);
  CHECK(computed<double>(*code, machine, -double(INFINITY)) == 0);
  CHECK(std::isnan(computed<double>(*code, machine, std::nan(""))));
}

TEST_CASE("exp2_of_double: error below 2 ulp; log2 below 3 ulp") {
  LinkedHostCode code = host_code_of(kernel(exp2_of_double));
  LinkedHostCode log2 = host_code_of(kernel([](llvm::IRBuilder<> &builder, llvm::Value *x) {
    return builder.CreateFMul(log_of_double(builder, x),
                              llvm::ConstantFP::get(x->getType(), 0x1.71547652b82fep0));
  }));
  HostMachine machine;
  std::mt19937_64 random(3);
  double worst = 0, worst_log2 = 0;
  for (double range : {1e-3, 1.0, 30.0, 1023.0, 1074.0})
    for (int i = 0; i < 2000; i++) {
      double x = std::uniform_real_distribution<double>(-range, std::min(range, 1023.99))(random);
      worst = std::max(worst, units_off(computed<double>(*code, machine, x),
                                        std::exp2(static_cast<long double>(x))));
      double y = std::exp2(x * 0.9);
      worst_log2 = std::max(worst_log2, units_off(computed<double>(*log2, machine, y),
                                                  std::log2(static_cast<long double>(y))));
    }
  CHECK(worst < 2);
  CHECK(worst_log2 < 3);
  CHECK(computed<double>(*code, machine, 10.0) == 1024);
  CHECK(computed<double>(*code, machine, 1024.0) == INFINITY);
  CHECK(computed<double>(*code, machine, -double(INFINITY)) == 0);
  CHECK(std::isnan(computed<double>(*code, machine, std::nan(""))));
}

TEST_CASE("log_of_double: error below 2 ulp") {
  LinkedHostCode code = host_code_of(kernel(log_of_double));
  HostMachine machine;
  std::mt19937_64 random(2);
  double worst = 0;
  auto try_on = [&](double x) {
    worst = std::max(worst, units_off(computed<double>(*code, machine, x),
                                      std::log(static_cast<long double>(x))));
  };
  for (int i = 0; i < 10000; i++)
    try_on(std::bit_cast<double>(random() % 0x7ff0'0000'0000'0000 + 1)); // all magnitudes
  for (int i = 0; i < 5000; i++)
    try_on(1 + std::ldexp(std::uniform_real_distribution<double>(-1, 1)(random), -(i % 40) - 1));
  CHECK(worst < 2);
  CHECK(computed<double>(*code, machine, 1.0) == 0);
  CHECK(computed<double>(*code, machine, 0.0) == -INFINITY);
  CHECK(computed<double>(*code, machine, -0.0) == -INFINITY);
  CHECK(computed<double>(*code, machine, double(INFINITY)) == INFINITY);
  CHECK(std::isnan(computed<double>(*code, machine, -1.0)));
  CHECK(std::isnan(computed<double>(*code, machine, -1e-320)));
  CHECK(std::isnan(computed<double>(*code, machine, std::nan(""))));
}

TEST_CASE("sin_of_double, cos_of_double: error below 2 ulp") {
  LinkedHostCode sine = host_code_of(kernel(sin_of_double));
  LinkedHostCode cosine = host_code_of(kernel(cos_of_double));
  HostMachine machine;
  std::mt19937_64 random(4);
  double worst = 0;
  auto try_on = [&](double x) {
    CAPTURE(x);
    double off = std::max(units_off(computed<double>(*sine, machine, x), exact_sine(x, 0)),
                          units_off(computed<double>(*cosine, machine, x), exact_sine(x, 1)));
    worst = std::max(worst, off);
  };
  for (double range : {1e-5, 0.8, 10.0, 1e4, 1e9, 0x1p45})
    for (int i = 0; i < 2000; i++)
      try_on(std::uniform_real_distribution<double>(-range, range)(random));
  for (int i = 0; i < 3000; i++) // near multiples of pi/2
    try_on(double((random() >> (19 + i % 45)) * 1.57079632679489661923132169163975144L));
  CHECK(worst < 2);
  CHECK(computed<double>(*sine, machine, 0.0) == 0);
  CHECK(std::signbit(computed<double>(*sine, machine, -0.0)));
  CHECK(computed<double>(*sine, machine, 1e-310) == 1e-310);
  CHECK(computed<double>(*cosine, machine, 0.0) == 1);
  for (double x : {0x1p46, double(INFINITY), -double(INFINITY), std::nan("")})
    CHECK(std::isnan(computed<double>(*cosine, machine, x)));
}

TEST_CASE("tanh_of_double: error below 3 ulp; erf below 2 ulp") {
  LinkedHostCode tanh = host_code_of(kernel(tanh_of_double));
  LinkedHostCode erf = host_code_of(kernel(erf_of_double));
  HostMachine machine;
  std::mt19937_64 random(5);
  double worst_tanh = 0, worst_erf = 0;
  for (double range : {1e-300, 1e-3, 0.6, 1.1, 4.0, 30.0})
    for (int i = 0; i < 3000; i++) {
      double x = std::uniform_real_distribution<double>(-range, range)(random);
      worst_tanh = std::max(worst_tanh, units_off(computed<double>(*tanh, machine, x),
                                                  std::tanh(static_cast<long double>(x))));
      worst_erf = std::max(worst_erf, units_off(computed<double>(*erf, machine, x),
                                                std::erf(static_cast<long double>(x))));
    }
  CHECK(worst_tanh < 3);
  CHECK(worst_erf < 2);
  for (const LinkedHostCode &code : {std::cref(tanh), std::cref(erf)}) {
    CHECK(computed<double>(*code, machine, 0.0) == 0);
    CHECK(std::signbit(computed<double>(*code, machine, -0.0)));
    CHECK(computed<double>(*code, machine, double(INFINITY)) == 1);
    CHECK(computed<double>(*code, machine, -1000.0) == -1);
    CHECK(std::isnan(computed<double>(*code, machine, std::nan(""))));
  }
}

TEST_CASE("pow_of_doubles: error below 2 ulp") {
  HostMachine machine;
  std::mt19937_64 random(6);
  double worst = 0;
  // The exponent is a constant in the code.
  auto powers_of = [&](double y) {
    static double exponent;
    exponent = y;
    return host_code_of(kernel([](llvm::IRBuilder<> &builder, llvm::Value *x) {
      return pow_of_doubles(builder, x, llvm::ConstantFP::get(x->getType(), exponent));
    }));
  };
  for (double y : {0.5, -1.0, 3.0, 1.0 / 3, 17.25, -123.456, 1e5, 1e-5, 2.0, 700.0}) {
    CAPTURE(y);
    LinkedHostCode code = powers_of(y);
    double range = std::min(1000.0, 1020 / std::fabs(y)); // of log2 x
    for (int i = 0; i < 1500; i++) {
      double x = std::exp2(std::uniform_real_distribution<double>(-range, range)(random));
      worst = std::max(
          worst, units_off(computed<double>(*code, machine, x),
                           std::pow(static_cast<long double>(x), static_cast<long double>(y))));
    }
  }
  CHECK(worst < 2);
  const double infinite = INFINITY, none = std::nan("");
  for (double y : {0.0, 1.0, 2.0, 3.0, -3.0, 0.5, -0.5, 1e300, -1e300, 0x1p53, 0x1p53 - 1, infinite,
                   -infinite, none}) {
    CAPTURE(y);
    LinkedHostCode code = powers_of(y);
    for (double x : {0.0, -0.0, 1.0, -1.0, 2.0, -2.0, 0.5, 1e-310, infinite, -infinite, none}) {
      CAPTURE(x);
      double found = computed<double>(*code, machine, x), right = std::pow(x, y);
      CHECK((std::isnan(right) ? std::isnan(found)
                               : units_off(found, static_cast<long double>(right)) < 2 &&
                                     std::signbit(found) == std::signbit(right)));
    }
  }
}
