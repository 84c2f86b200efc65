// Tests case.cpp and data.cpp: cases as files, and differences of outputs.

#include "random_kernels/case.h"
#include "random_kernels/generate.h"

#include <doctest/doctest.h>

#include <cmath>
#include <set>

using namespace tritonc::random;

namespace {

// The buffers after a correct run.
std::vector<std::vector<uint8_t>> right_buffers(const Case &tried) {
  std::vector<std::vector<uint8_t>> buffers(tried.arguments.size());
  for (size_t i = 0; i < tried.arguments.size(); i++) {
    const Argument &argument = tried.arguments[i];
    if (!argument.is_written())
      continue;
    std::vector<uint8_t> before = initial_bytes(tried, int(i));
    size_t size = size_t(bytes_of(argument.scalar));
    for (size_t k = 0; k < argument.expected.size(); k++)
      if (argument.written[k])
        append_bytes(argument.scalar, {argument.expected[k].integer, argument.expected[k].real},
                     buffers[i]);
      else
        buffers[i].insert(buffers[i].end(), &before[k * size], &before[k * size] + size);
  }
  return buffers;
}

Case case_of_seed(uint64_t seed) {
  Generated made = generate(seed);
  return case_of(made.kernel, made.evaluation);
}

} // namespace

TEST_CASE("append_bytes, from_bytes: round trip") {
  for (int scalar = 0; scalar < scalar_count; scalar++)
    for (int64_t value : {0, 1, 96, -3}) {
      if (value < 0 && !is_signed(Scalar(scalar)))
        continue;
      std::vector<uint8_t> bytes;
      append_bytes(Scalar(scalar), {value, double(value)}, bytes);
      CAPTURE(name_of(Scalar(scalar)));
      REQUIRE(int(bytes.size()) == bytes_of(Scalar(scalar)));
      DataValue read = from_bytes(Scalar(scalar), bytes.data());
      if (is_float(Scalar(scalar)))
        CHECK(read.real == double(value));
      else
        CHECK(read.integer == (scalar == 0 ? value != 0 : value));
    }
  std::vector<uint8_t> small;
  append_bytes(Scalar::e4m3, {0, 448}, small); // max value; other types have infinity there
  append_bytes(Scalar::e4m3, {0, -std::ldexp(1, -9)}, small);
  append_bytes(Scalar::e5m2, {0, 57344}, small);
  CHECK(small == std::vector<uint8_t>{0x7e, 0x81, 0x7b});
  CHECK(from_bytes(Scalar::e4m3, &small[1]).real == -std::ldexp(1, -9));
  CHECK(std::isnan(from_bytes(Scalar::e4m3, std::vector<uint8_t>{0xff}.data()).real));
  CHECK(std::isinf(from_bytes(Scalar::e5m2, std::vector<uint8_t>{0xfc}.data()).real));
  std::vector<uint8_t> half;
  append_bytes(Scalar::half, {0, 1.5}, half);
  CHECK(half == std::vector<uint8_t>{0x00, 0x3e});
  half.clear();
  append_bytes(Scalar::half, {0, std::ldexp(3, -24)}, half); // subnormal
  CHECK(half == std::vector<uint8_t>{0x03, 0x00});
  CHECK(from_bytes(Scalar::half, half.data()).real == std::ldexp(3, -24));
}

TEST_CASE("Data: in range, not constant") {
  Data data{-3, 3};
  std::set<int64_t> seen;
  for (int64_t i = 0; i < 100; i++)
    seen.insert(value_of(data, 5, i).integer);
  CHECK(seen == std::set<int64_t>{-3, -2, -1, 0, 1, 2, 3});
  CHECK(value_of({5, 5, 1}, 1, 3).real == 2.5);
  CHECK(value_of(data, 5, 7).integer == value_of(data, 5, 7).integer);
  CHECK(stream_of(1, "x1") != stream_of(1, "x2"));
}

TEST_CASE("difference: finds any wrong result") {
  for (uint64_t seed = 0; seed < 30; seed++) {
    Case tried = case_of_seed(seed);
    auto buffers = right_buffers(tried);
    CAPTURE(seed);
    CHECK(difference(tried, buffers) == "");
    for (size_t i = 0; i < buffers.size(); i++)
      if (!buffers[i].empty()) {
        auto wrong = buffers;
        wrong[i].back() ^= 0x40;
        CHECK(difference(tried, wrong) != "");
      }
  }
}

TEST_CASE("difference: ignores -0, finds unexpected writes") {
  Case tried;
  Argument y{.name = "y", .role = Parameter::Role::output, .scalar = Scalar::float_, .count = 2};
  y.expected = {Number::of_real(0), Number()};
  y.written = {true, false};
  tried.arguments = {y};
  std::vector<uint8_t> bytes = unwritten_bytes(Scalar::float_, 2);
  CHECK(difference(tried, {bytes}).starts_with("y[0] is"));
  for (int i = 0; i < 4; i++)
    bytes[size_t(i)] = i == 3 ? 0x80 : 0; // -0
  CHECK(difference(tried, {bytes}) == "");
  bytes[5]++;
  CHECK(difference(tried, {bytes}).starts_with("y[1] is written"));
}

TEST_CASE("case file: round trip") {
  for (uint64_t seed = 0; seed < 30; seed++) {
    Case tried = case_of_seed(seed);
    std::string problem, text = file_text(tried, "found\nby chance");
    std::optional<Case> read = read_case(text, problem);
    CAPTURE(text);
    REQUIRE_MESSAGE(read, problem);
    CHECK(read->grid == tried.grid);
    CHECK(read->data_seed == tried.data_seed);
    REQUIRE(read->arguments.size() == tried.arguments.size());
    for (size_t i = 0; i < tried.arguments.size(); i++) {
      const Argument &a = tried.arguments[i], &b = read->arguments[i];
      CHECK(a.name == b.name);
      CHECK(a.role == b.role);
      CHECK(a.scalar == b.scalar);
      CHECK(a.count == b.count);
      CHECK(a.integer == b.integer);
      CHECK(a.data == b.data);
      CHECK(a.has_hash == b.has_hash);
      CHECK(a.hash == b.hash);
    }
    auto buffers = right_buffers(tried); // the hash accepts the same elements
    CHECK(difference(*read, buffers) == "");
  }
}

TEST_CASE("read_case: error text for invalid files") {
  std::string problem;
  CHECK_FALSE(read_case("__global__ void k() {}", problem));
  CHECK(problem == "has no lines //! that say how it is launched");
  CHECK_FALSE(read_case("//! grid 1 1 1\n//! x0 input quarter 5 0 1 0\n", problem));
  CHECK(problem == "does not read: //! x0 input quarter 5 0 1 0");
}
