// Tests lower/double_functions.cpp: on this machine, against the functions of the C library in long
// double.

#include "lower/double_functions.h"

#include "backend/host_machine.h"
#include "backend/ptx.h"
#include "target/gpu.h"

#include "llvm/IR/Module.h"
#include "llvm/Support/raw_ostream.h"

#include <doctest/doctest.h>

#include <bit>
#include <cmath>
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

// The distance in units in the last place of the result.
double units_off(double found, long double exact) {
  double nearest = double(exact);
  if (found == nearest)
    return 0;
  double unit = std::max(std::nextafter(std::fabs(nearest), INFINITY) - std::fabs(nearest),
                         std::numeric_limits<double>::denorm_min());
  return double(std::fabs(static_cast<long double>(found) - exact) / unit);
}

} // namespace

TEST_CASE("exp is within 2 units in the last place") {
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

TEST_CASE("exp2 is within 2 units in the last place, and log times log2 e within 3 of log2") {
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

TEST_CASE("log is within 2 units in the last place") {
  LinkedHostCode code = host_code_of(kernel(log_of_double));
  HostMachine machine;
  std::mt19937_64 random(2);
  double worst = 0;
  auto try_on = [&](double x) {
    worst = std::max(worst, units_off(computed<double>(*code, machine, x),
                                      std::log(static_cast<long double>(x))));
  };
  for (int i = 0; i < 10000; i++)
    try_on(std::bit_cast<double>(random() % 0x7ff0'0000'0000'0000 + 1)); // of every size
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
