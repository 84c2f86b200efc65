// Tests specialized code in a program (generator/variants/specialization.h and
// runtime/src/launch/launch.cpp): a launch uses the specialized code if its assumptions hold, else
// the general code. Both compute the matmul. The tests run on the emulator, which finds races and
// accesses out of bounds.

#include <specialized_kernels.hpp>

#include <tritonc/device.hpp>
#include <tritonc/hooks.hpp>

#include <doctest/doctest.h>

#include <cstring>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

using namespace tritonc;
using product = specialized_kernels::product;

namespace {

const std::string wide = "lda % 8 && ldb % 8 && ldc % 8 && A % 16 && B % 16 && C % 16";

std::string last_specialization, last_schedule;

void on_choice(const choice_event &what, void *) {
  last_specialization = what.specialization;
  last_schedule = what.schedule;
}

// Small integers, so that the sums of their products are exact.
int value_at(int row, int column) { return (row * 7 + column * 5) % 5 - 2; }

struct Shape {
  int m, n, k;
  int gap = 0;  // elements between rows
  int lead = 0; // before each matrix
};

// Launches a matmul, in `variant` if it is not null, and checks all elements. Returns the
// specialization of the code that ran.
std::string run(const Shape &shape, const product::params *variant = nullptr) {
  auto [m, n, k, gap, lead] = shape;
  int lda = k + gap, ldb = n + gap, ldc = n + gap;
  auto filled = [lead = lead](int rows, int columns, int stride) {
    std::vector<half> elements(std::size_t(lead + rows * stride), half(0.0f));
    for (int row = 0; row < rows; row++)
      for (int column = 0; column < columns; column++)
        elements[std::size_t(lead + row * stride + column)] = half(float(value_at(row, column)));
    return elements;
  };
  std::vector<half> a = filled(m, k, lda), b = filled(k, n, ldb), c = filled(m, n, ldc);
  buffer<half> on_device[3];
  const std::vector<half> *from[] = {&a, &b, &c};
  for (int i = 0; i < 3; i++) {
    REQUIRE(on_device[i].allocate(from[i]->size()).ok());
    REQUIRE(on_device[i].copy_from(from[i]->data()).ok());
  }
  static const hooks choice_hooks = {nullptr, nullptr, on_choice, nullptr};
  set_hooks(&choice_hooks);
  last_specialization = "none ran";
  product::args arguments = {.A = on_device[0].data() + lead,
                             .B = on_device[1].data() + lead,
                             .C = on_device[2].data() + lead,
                             .M = m,
                             .N = n,
                             .K = k,
                             .lda = lda,
                             .ldb = ldb,
                             .ldc = ldc};
  status launched =
      variant ? product::launch({}, arguments, *variant) : product::launch({}, arguments);
  REQUIRE_MESSAGE(launched.ok(), launched.message().c_str());
  REQUIRE(synchronize().ok());
  REQUIRE(on_device[2].copy_to(c.data()).ok());
  int wrong = 0;
  for (int row = 0; row < m; row++)
    for (int column = 0; column < n; column++) {
      int sum = 0;
      for (int i = 0; i < k; i++)
        sum += value_at(row, i) * value_at(i, column);
      wrong += float(c[std::size_t(lead + row * ldc + column)]) != float(half(float(sum)));
    }
  CHECK(wrong == 0);
  return last_specialization;
}

} // namespace

TEST_CASE("launch: runs specialized code if the assumptions hold") {
  CHECK(run({40, 72, 40}) == wide);
  CHECK(run({64, 64, 64, 8}) == wide);
  CHECK(run({33, 72, 40, 0, 8}) == wide); // 8 elements are 16 bytes
}

TEST_CASE("launch: runs general code if an assumption does not hold") {
  CHECK(run({40, 72, 40, 1}) == "");    // rows of odd length
  CHECK(run({40, 72, 40, 0, 1}) == ""); // odd addresses
  CHECK(run({40, 70, 40}) == "");       // ldb
}

TEST_CASE("launch: tries the specializations in order") {
  CHECK(run({40, 72, 32}) == wide);
  CHECK(run({40, 72, 32, 1}) == "K == 32");
  CHECK(run({40, 72, 33, 1}) == "");
}

TEST_CASE("variants: lists each variant once, with all its code") {
  REQUIRE(product::variants().size() == 2);
  CHECK(product::variants()[0].TM == 64);
  CHECK(product::variants()[1].TM == 32);
  for (const product::params &variant : product::variants()) {
    CHECK(run({40, 72, 40}, &variant) == wide);
    CHECK(run({40, 72, 40, 1}, &variant) == "");
  }
  CHECK(product::variant<64>::preload().ok());
  CHECK(product::preload().ok());
}

TEST_CASE("info: each image names its specialization") {
  for (const product::params &variant : product::variants()) {
    int general = 0, specialized = 0, folded = 0;
    for (const image_info &info : product::info(variant)) {
      general += !std::strcmp(info.specialization, "");
      specialized += wide == info.specialization;
      folded += !std::strcmp(info.specialization, "K == 32");
    }
    CHECK(general >= 2);
    CHECK(specialized >= 2);
    CHECK(folded >= 2);
    CHECK(general + specialized + folded == int(product::info(variant).size()));
  }
  std::ifstream file(TRITONC_MANIFEST);
  std::string manifest{std::istreambuf_iterator<char>(file), {}};
  CHECK(manifest.find("\"specialization\": \"" + wide + "\"") != manifest.npos);
}

TEST_CASE("launch: error is about the general code if no code fits") {
  buffer<half> memory;
  REQUIRE(memory.allocate(64).ok());
  half *odd = reinterpret_cast<half *>(reinterpret_cast<char *>(memory.data()) + 1);
  product::args arguments = {.A = memory.data(),
                             .B = odd,
                             .C = memory.data(),
                             .M = 8,
                             .N = 8,
                             .K = 8,
                             .lda = 8,
                             .ldb = 8,
                             .ldc = 8};
  status refused = product::launch({}, arguments);
  CHECK(refused.code() == status_code::misaligned_pointer);
  CHECK(std::string(refused.message().c_str()).find("2 bytes") != std::string::npos);
}
