// Tests backend/host_arithmetic.cpp: runs small LLVM IR kernels on the host.

#include "interpreter/numbers.h"
#include "unit/backend/host_machine.h"

#include <doctest/doctest.h>

#include <cmath>
#include <limits>
#include <random>

using namespace tritonc;
using namespace tritonc::interpreter;
using ir::Elem;
using test::computed;
using test::host_code_of;
using test::HostMachine;
using test::LinkedHostCode;

namespace {

// A kernel `k(out, parameters)`. `body` computes %r, and the kernel stores it.
LinkedHostCode kernel(const std::string &parameters, const std::string &body,
                      const std::string &result) {
  return host_code_of(R"(
    declare bfloat @llvm.fabs.bf16(bfloat)
    declare bfloat @llvm.copysign.bf16(bfloat, bfloat)
    declare i1 @llvm.is.fpclass.bf16(bfloat, i32 immarg)
    declare bfloat @llvm.sqrt.bf16(bfloat)
    declare bfloat @llvm.minnum.bf16(bfloat, bfloat)
    declare half @llvm.fma.f16(half, half, half)
    declare bfloat @llvm.fma.bf16(bfloat, bfloat, bfloat)
    declare <2 x bfloat> @llvm.maxnum.v2bf16(<2 x bfloat>, <2 x bfloat>)
    define ptx_kernel void @k(ptr addrspace(1) %out, )" +
                      parameters + ") {" + body + "\n store " + result +
                      " %r, ptr addrspace(1) %out\n ret void }");
}

uint16_t bits16(Elem elem, double value) {
  return uint16_t(bits_of(elem, Element::of_number(value)));
}
double number16(Elem elem, uint16_t bits) { return from_bits(elem, bits).number; }

// Numbers that are hard to round: near ties, the smallest, and the largest.
std::vector<double> hard_numbers(Elem elem) {
  int digits = elem == Elem::bf16 ? 8 : 11;
  std::vector<double> numbers = {0.,
                                 -0.,
                                 1.,
                                 65504.,
                                 65519.999,
                                 65520.,
                                 3.3895313892515355e38,
                                 3.4e38,
                                 1e-45,
                                 1e300,
                                 -1e300,
                                 std::numeric_limits<double>::infinity()};
  for (int exponent : {-149, -140, -133, -126, -25, -24, -14, 0, 3, 15, 100, 127})
    for (double base : {1., 1 + std::ldexp(1, -digits), 1 + 3 * std::ldexp(1, -digits)})
      for (double nudge : {0., std::ldexp(1, -50), -std::ldexp(1, -50), std::ldexp(1, -25)})
        for (int sign : {-1, 1})
          numbers.push_back(sign * std::ldexp(base + nudge, exponent));
  return numbers;
}

} // namespace

TEST_CASE("host_arithmetic: f64 to f16 and bf16 rounds once") {
  for (Elem elem : {Elem::f16, Elem::bf16}) {
    std::string type = elem == Elem::f16 ? "half" : "bfloat";
    LinkedHostCode code = kernel("double %x", "%r = fptrunc double %x to " + type, type);
    HostMachine machine;
    for (double x : hard_numbers(elem)) {
      uint16_t bits = computed<uint16_t>(*code, machine, x);
      CHECK_MESSAGE(bits == bits16(elem, rounded(elem, x)), type, " of ", x);
    }
    uint16_t nan = computed<uint16_t>(*code, machine, std::nan(""));
    CHECK(std::isnan(number16(elem, nan)));
  }
}

TEST_CASE("host_arithmetic: f32 to bf16 rounds to nearest") {
  LinkedHostCode code = kernel("float %x", "%r = fptrunc float %x to bfloat", "bfloat");
  HostMachine machine;
  for (double x : hard_numbers(Elem::bf16)) {
    float narrow = float(x);
    CHECK_MESSAGE(computed<uint16_t>(*code, machine, narrow) ==
                      bits16(Elem::bf16, rounded(Elem::bf16, narrow)),
                  narrow);
  }
  // A NaN whose set mantissa bits are all in the lower half stays a NaN.
  uint32_t nan = 0x7f800001;
  CHECK(std::isnan(number16(Elem::bf16, computed<uint16_t>(*code, machine, nan))));
}

TEST_CASE("host_arithmetic: bf16 arithmetic uses f32, then rounds") {
  struct Row {
    const char *instruction;
    double (*exact)(double, double);
  };
  const Row rows[] = {
      {"fadd bfloat %x, %y", [](double x, double y) { return x + y; }},
      {"fsub bfloat %x, %y", [](double x, double y) { return x - y; }},
      {"fmul bfloat %x, %y", [](double x, double y) { return x * y; }},
      {"fdiv bfloat %x, %y", [](double x, double y) { return x / y; }},
      {"frem bfloat %x, %y", [](double x, double y) { return std::fmod(x, y); }},
      {"call bfloat @llvm.minnum.bf16(bfloat %x, bfloat %y)",
       [](double x, double y) { return std::fmin(x, y); }},
      {"call bfloat @llvm.sqrt.bf16(bfloat %x)", [](double x, double) { return std::sqrt(x); }},
      {"fneg bfloat %x", [](double x, double) { return -x; }},
      {"call bfloat @llvm.fabs.bf16(bfloat %x)", [](double x, double) { return std::fabs(x); }},
      {"call bfloat @llvm.copysign.bf16(bfloat 0xRC000, bfloat %x)",
       [](double x, double) { return std::copysign(-2.0, x); }},
  };
  std::mt19937 random(1);
  for (const Row &row : rows) {
    LinkedHostCode code =
        kernel("bfloat %x, bfloat %y", std::string("%r = ") + row.instruction, "bfloat");
    HostMachine machine;
    for (int i = 0; i < 300; i++) {
      uint16_t x = uint16_t(0x3c00 + random() % 0x0800), y = uint16_t(0x3c00 + random() % 0x0800);
      double wanted = row.exact(number16(Elem::bf16, x), number16(Elem::bf16, y));
      CHECK_MESSAGE(computed<uint16_t>(*code, machine, x, y) ==
                        bits16(Elem::bf16, rounded(Elem::bf16, wanted)),
                    row.instruction, " of ", x, " and ", y);
    }
  }
}

TEST_CASE("host_arithmetic: neg and abs keep the bits of a NaN") {
  LinkedHostCode negated = kernel("bfloat %x", "%r = fneg bfloat %x", "bfloat");
  LinkedHostCode absolute =
      kernel("bfloat %x", "%r = call bfloat @llvm.fabs.bf16(bfloat %x)", "bfloat");
  HostMachine machine;
  CHECK(computed<uint16_t>(*negated, machine, uint16_t(0x7f81)) == 0xff81);
  CHECK(computed<uint16_t>(*absolute, machine, uint16_t(0xff81)) == 0x7f81);
}

TEST_CASE("host_arithmetic: is.fpclass of bf16, also for subnormals") {
  LinkedHostCode code = kernel("bfloat %x",
                               "%c = call i1 @llvm.is.fpclass.bf16(bfloat %x, i32 128)\n"
                               "%r = zext i1 %c to i8",
                               "i8");
  HostMachine machine;
  uint16_t zero = 0, subnormal = 1, normal = 0x0080, negative = 0x8001;
  CHECK(computed<uint8_t>(*code, machine, subnormal) == 1); // 128: subnormal, positive
  CHECK(computed<uint8_t>(*code, machine, zero) == 0);
  CHECK(computed<uint8_t>(*code, machine, normal) == 0);
  CHECK(computed<uint8_t>(*code, machine, negative) == 0);
}

TEST_CASE("host_arithmetic: bf16 compares like f32") {
  LinkedHostCode code =
      kernel("bfloat %x, bfloat %y", "%c = fcmp olt bfloat %x, %y\n %r = zext i1 %c to i8", "i8");
  HostMachine machine;
  uint16_t minus_one = 0xbf80, one = 0x3f80, nan = 0x7fc0;
  CHECK(computed<uint8_t>(*code, machine, minus_one, one) == 1);
  CHECK(computed<uint8_t>(*code, machine, one, minus_one) == 0);
  CHECK(computed<uint8_t>(*code, machine, one, nan) == 0);
}

TEST_CASE("host_arithmetic: bf16 vectors") {
  LinkedHostCode code = kernel("i32 %a, i32 %b", R"(
        %x = bitcast i32 %a to <2 x bfloat>
        %y = bitcast i32 %b to <2 x bfloat>
        %m = call <2 x bfloat> @llvm.maxnum.v2bf16(<2 x bfloat> %x, <2 x bfloat> %y)
        %s = fadd <2 x bfloat> %m, %y
        %n = fneg <2 x bfloat> %s
        %r = bitcast <2 x bfloat> %n to i32)",
                               "i32");
  HostMachine machine; // max(1, 2) + 2 = 4 in the lower half, max(3, -1) - 1 = 2 in the upper half
  CHECK(computed<uint32_t>(*code, machine, 0x40403f80u, 0xbf804000u) == 0xc000c080u);
}

TEST_CASE("host_arithmetic: f16 and bf16 bits survive all moves") {
  for (std::string type : {"half", "bfloat"}) {
    LinkedHostCode code = host_code_of(R"(
      define ptx_kernel void @k(ptr addrspace(1) %out, i8 %c, )" +
                                       type + R"( %x) {
        %b = icmp ne i8 %c, 0
        br i1 %b, label %then, label %end
      then:
        %p = getelementptr )" + type + R"(, ptr addrspace(1) %out, i64 1
        %y = load )" + type + R"(, ptr addrspace(1) %p
        %f = freeze )" + type + R"( %y
        br label %end
      end:
        %z = phi )" + type + R"( [ %f, %then ], [ )" +
                                       (type == "half" ? "0xH3C00" : "0xR3F80") +
                                       R"(, %0 ]
        %w = select i1 %b, )" + type + " %x, " +
                                       type + R"( %z
        %v = insertelement <2 x )" + type +
                                       "> poison, " + type + R"( %z, i32 0
        %u = insertelement <2 x )" + type +
                                       "> %v, " + type + R"( %w, i32 1
        store <2 x )" + type + R"(> %u, ptr addrspace(1) %out
        ret void
      })");
    uint16_t memory[2] = {0, 0x7f81}, *place = memory; // a signaling NaN of bf16
    uint8_t yes = 1, no = 0;
    uint16_t x = 0x7c01; // a signaling NaN of f16
    HostMachine machine;
    machine.run(*code, {&place, &yes, &x});
    CHECK(memory[0] == 0x7f81);
    CHECK(memory[1] == 0x7c01);
    machine.run(*code, {&place, &no, &x});
    CHECK(memory[0] == (type == "half" ? 0x3c00 : 0x3f80));
    CHECK(memory[1] == memory[0]);
  }
}

TEST_CASE("host_arithmetic: f16 and bf16 to f64") {
  LinkedHostCode code = kernel("half %x, bfloat %y", R"(
        %a = fpext half %x to double
        %b = fpext bfloat %y to double
        %r = fadd double %a, %b)",
                               "double");
  HostMachine machine;
  CHECK(computed<double>(*code, machine, uint16_t(0x3e00), uint16_t(0x3e80)) == 1.75);
}

TEST_CASE("host_arithmetic: integer to f16 and bf16 rounds once") {
  for (Elem elem : {Elem::f16, Elem::bf16}) {
    std::string type = elem == Elem::f16 ? "half" : "bfloat";
    LinkedHostCode from_signed = kernel("i64 %x", "%r = sitofp i64 %x to " + type, type);
    LinkedHostCode from_unsigned = kernel("i64 %x", "%r = uitofp i64 %x to " + type, type);
    LinkedHostCode from_word = kernel("i32 %x", "%r = sitofp i32 %x to " + type, type);
    HostMachine machine;
    std::vector<int64_t> numbers = {0,
                                    1,
                                    -1,
                                    2049,
                                    2051,
                                    65519,
                                    65520,
                                    INT64_MAX,
                                    INT64_MIN,
                                    0x4040000000000001,
                                    0x40c0000000000000,
                                    -0x4040000000000001,
                                    int64_t(0x8080000000000001),
                                    int64_t(0x8080000000000000)};
    for (int bit = 8; bit < 62; bit++) // ties, and one above and below
      for (int64_t nudge : {-1, 0, 1})
        numbers.push_back((int64_t(elem == Elem::f16 ? 4097 : 513) << (bit - 8)) + nudge);
    for (int64_t x : numbers) {
      auto wanted = [&](int64_t value, bool is_unsigned) {
        return bits16(elem, rounded_integer(elem, value, is_unsigned));
      };
      CHECK_MESSAGE(computed<uint16_t>(*from_signed, machine, x) == wanted(x, false), type, x);
      CHECK_MESSAGE(computed<uint16_t>(*from_unsigned, machine, x) == wanted(x, true), type, x);
      CHECK_MESSAGE(computed<uint16_t>(*from_word, machine, int32_t(x)) ==
                        wanted(int32_t(x), false),
                    type, int32_t(x));
    }
  }
}

TEST_CASE("host_arithmetic: f16 and bf16 fma rounds once") {
  for (Elem elem : {Elem::f16, Elem::bf16}) {
    std::string type = elem == Elem::f16 ? "half" : "bfloat";
    std::string name = elem == Elem::f16 ? "f16" : "bf16";
    LinkedHostCode code = kernel(type + " %x, " + type + " %y, " + type + " %z",
                                 "%r = call " + type + " @llvm.fma." + name + "(" + type + " %x, " +
                                     type + " %y, " + type + " %z)",
                                 type);
    HostMachine machine;
    std::mt19937 random(2);
    int exponent_bits = elem == Elem::f16 ? 0x3c00 : 0x3f80;
    for (int i = 0; i < 2000; i++) {
      auto draw = [&](int range) {
        return uint16_t((exponent_bits + int(random() % unsigned(2 * range)) - range) |
                        (random() & 0x8000));
      };
      uint16_t x = draw(0x400), y = draw(0x400), z = draw(0x1000);
      long double product = (long double)number16(elem, x) * number16(elem, y);
      double wanted = rounded_to_small(elem, product + number16(elem, z));
      uint16_t bits = computed<uint16_t>(*code, machine, x, y, z);
      CHECK_MESSAGE(number16(elem, bits) == wanted, type, x, " ", y, " ", z);
    }
  }
}

TEST_CASE("host_arithmetic: integer division never traps") {
  LinkedHostCode divided = kernel("i32 %x, i32 %y", "%r = sdiv i32 %x, %y", "i32");
  LinkedHostCode remainder = kernel("i64 %x, i64 %y", "%r = srem i64 %x, %y", "i64");
  LinkedHostCode of_unsigned = kernel("i32 %x, i32 %y", "%r = udiv exact i32 %x, %y", "i32");
  LinkedHostCode by_minus_one = kernel("i32 %x", "%r = sdiv i32 %x, -1", "i32");
  HostMachine machine;
  CHECK(computed<int>(*divided, machine, -7, 2) == -3);
  computed<int>(*divided, machine, 7, 0);
  CHECK(computed<int>(*divided, machine, INT32_MIN, -1) == INT32_MIN);
  CHECK(computed<int64_t>(*remainder, machine, int64_t(-7), int64_t(2)) == -1);
  computed<int64_t>(*remainder, machine, int64_t(7), int64_t(0));
  CHECK(computed<int64_t>(*remainder, machine, INT64_MIN, int64_t(-1)) == 0);
  CHECK(computed<unsigned>(*of_unsigned, machine, 12u, 4u) == 3);
  computed<unsigned>(*of_unsigned, machine, 12u, 0u);
  CHECK(computed<int>(*by_minus_one, machine, 5) == -5);
  computed<int>(*by_minus_one, machine, INT32_MIN);
}

TEST_CASE("host_arithmetic: float to int saturates, NaN becomes 0") {
  LinkedHostCode code = kernel("float %x", "%r = fptosi float %x to i32", "i32");
  LinkedHostCode of_unsigned = kernel("bfloat %x", "%r = fptoui bfloat %x to i8", "i8");
  HostMachine machine;
  CHECK(computed<int>(*code, machine, -2.75f) == -2);
  CHECK(computed<int>(*code, machine, 1e20f) == INT32_MAX);
  CHECK(computed<int>(*code, machine, -1e20f) == INT32_MIN);
  CHECK(computed<int>(*code, machine, std::nanf("")) == 0);
  CHECK(computed<uint8_t>(*of_unsigned, machine, bits16(Elem::bf16, 200)) == 200);
  CHECK(computed<uint8_t>(*of_unsigned, machine, bits16(Elem::bf16, 300)) == 255);
}

TEST_CASE("host_arithmetic: atomic add of f16 and bf16") {
  for (std::string type : {"half", "bfloat"}) {
    LinkedHostCode code = host_code_of(R"(
      define ptx_kernel void @k(ptr addrspace(1) %out, )" +
                                       type + R"( %x) {
        %o = atomicrmw fadd ptr addrspace(1) %out, )" +
                                       type + R"( %x monotonic, align 2
        %p = atomicrmw fadd ptr addrspace(1) %out, )" +
                                       type + R"( %x monotonic, align 2
        ret void
      })");
    HostMachine machine;
    Elem elem = type == "half" ? Elem::f16 : Elem::bf16;
    CHECK(computed<uint16_t>(*code, machine, bits16(elem, 1.5)) == bits16(elem, 3));
    for (const test::HostCall &call : machine.calls) {
      bool is_atomic = call.name == "atomic_global" || call.name == "out_of_steps";
      CHECK(is_atomic);
    }
  }
}
