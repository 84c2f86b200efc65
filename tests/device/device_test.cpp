// Runs every compiled variant of the matrix multiplications on the GPU and compares with a product
// in double precision.
//
// What makes it strict: inputs are new random numbers for each case; what lies between the end of a
// row and the next row is NaN, so one element read too far spoils a result; outputs are NaN before,
// so one that is not written shows; what lies between rows of the output must stay as it was;
// buffers end where their last element ends (run it under compute-sanitizer too); sizes are odd
// multiples of the tile; the loop runs no, one, two, three and seven times.
//
// Prints a line per failure and a closing count. Exits with 0 if all passed, 1 if not, 77 where
// there is no GPU.

#include <device_kernels.hpp>
#include <tritonc/device.hpp>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <random>
#include <string>
#include <thread>
#include <vector>

namespace {

namespace kernels = device_kernels;
using kernels::A;
using kernels::B;

int passed = 0, failed = 0;
int every = 1; // run only every n-th case
std::string filter;
std::mt19937_64 generator(20261121);

void fail(const std::string &what, const std::string &why) {
  std::printf("FAILED %s: %s\n", what.c_str(), why.c_str());
  failed++;
}

// A failure of the machine or of an earlier kernel: nothing that follows would mean anything.
void require(tritonc::status status, const std::string &what) {
  if (status.ok())
    return;
  fail(what, status.message().c_str());
  std::printf("%d passed, %d failed, then stopped\n", passed, failed);
  std::exit(1);
}

// --- Matrices ------------------------------------------------------------------------------------

// Numbers in [-1, 1], row by row without gaps.
struct Matrix {
  int rows, columns;
  std::vector<float> elements;

  float &at(int row, int column) { return elements[size_t(row) * columns + column]; }
  float at(int row, int column) const { return elements[size_t(row) * columns + column]; }
};

// Rounded to T, so that the reference sees what the kernel sees.
template <typename T> Matrix random_matrix(int rows, int columns) {
  std::uniform_real_distribution<float> uniform(-1, 1);
  Matrix matrix = {rows, columns, std::vector<float>(size_t(rows) * columns)};
  for (float &element : matrix.elements)
    element = float(T(uniform(generator)));
  return matrix;
}

Matrix transposed(const Matrix &matrix) {
  Matrix result = {matrix.columns, matrix.rows, std::vector<float>(matrix.elements.size())};
  for (int row = 0; row < matrix.rows; row++)
    for (int column = 0; column < matrix.columns; column++)
      result.at(column, row) = matrix.at(row, column);
  return result;
}

// Calls work(i) for every i below count, on all cores.
template <typename Work> void in_parallel(int count, const Work &work) {
  std::atomic<int> next = 0;
  auto run = [&] {
    for (int i; (i = next++) < count;)
      work(i);
  };
  std::vector<std::thread> threads;
  for (unsigned i = 1; i < std::min<unsigned>(std::thread::hardware_concurrency(), 16); i++)
    threads.emplace_back(run);
  run();
  for (std::thread &thread : threads)
    thread.join();
}

std::vector<double> product(const Matrix &a, const Matrix &b) {
  std::vector<double> wide(b.elements.begin(), b.elements.end());
  std::vector<double> c(size_t(a.rows) * b.columns);
  in_parallel(a.rows, [&](int row) {
    double *out = &c[size_t(row) * b.columns];
    for (int k = 0; k < a.columns; k++) {
      double factor = a.at(row, k);
      const double *in = &wide[size_t(k) * b.columns];
      for (int column = 0; column < b.columns; column++)
        out[column] += factor * in[column];
    }
  });
  return c;
}

// --- Memory --------------------------------------------------------------------------------------

// A matrix in device memory, rows `leading` elements apart. It begins `lead` elements into its
// buffer and ends where the buffer ends.
template <typename T> class DeviceMatrix {
public:
  DeviceMatrix(int rows, int columns, int leading, int lead)
      : rows_(rows), columns_(columns), leading_(leading), lead_(lead),
        host_(lead + (rows > 0 ? size_t(rows - 1) * leading + columns : 0)) {
    std::memset(static_cast<void *>(host_.data()), 0xff, host_.size() * sizeof(T)); // NaN
    require(memory_.allocate(std::max<size_t>(host_.size(), 1)), "allocation");
  }

  void write(const Matrix &matrix) {
    for (int row = 0; row < rows_; row++)
      for (int column = 0; column < columns_; column++)
        at(row, column) = T(matrix.at(row, column));
    poison();
  }

  // Fills the device's memory with what the host has: NaN, unless it was written.
  void poison() {
    if (!host_.empty())
      require(tritonc::copy_to_device(memory_.data(), host_.data(), host_.size() * sizeof(T)),
              "copy");
  }

  void read() {
    if (!host_.empty())
      require(tritonc::copy_to_host(host_.data(), memory_.data(), host_.size() * sizeof(T)),
              "copy");
  }

  T *data() const { return memory_.data() + lead_; }
  T &at(int row, int column) { return host_[lead_ + size_t(row) * leading_ + column]; }

  // Whether what lies before the matrix and between its rows is as it was.
  bool gaps_are_untouched() const {
    const auto *bytes = reinterpret_cast<const unsigned char *>(host_.data());
    auto untouched = [&](size_t from, size_t to) {
      return std::all_of(bytes + from * sizeof(T), bytes + to * sizeof(T),
                         [](unsigned char byte) { return byte == 0xff; });
    };
    if (!untouched(0, lead_))
      return false;
    for (int row = 0; row + 1 < rows_; row++)
      if (!untouched(lead_ + size_t(row) * leading_ + columns_, lead_ + size_t(row + 1) * leading_))
        return false;
    return true;
  }

private:
  int rows_, columns_, leading_, lead_;
  std::vector<T> host_;
  tritonc::buffer<T> memory_;
};

// --- Cases ---------------------------------------------------------------------------------------

struct Shape {
  int m, n, k;
  int gap;  // elements between the end of a row and the next, a multiple of 8
  int lead; // elements before the matrix, a multiple of 16 bytes
};

// In multiples of the tile: no, one, two, three and seven steps of the loop.
template <typename Params> std::vector<Shape> shapes(const Params &tile, bool may_be_empty) {
  std::vector<Shape> result = {
      {3 * tile.TM, 5 * tile.TN, 7 * tile.TK, 24, 16},
      {tile.TM, tile.TN, tile.TK, 0, 0},
      {tile.TM, 3 * tile.TN, 2 * tile.TK, 8, 8},
      {3 * tile.TM, tile.TN, 3 * tile.TK, 0, 16},
  };
  if (may_be_empty)
    result.push_back({tile.TM, tile.TN, 0, 8, 0});
  return result;
}

struct Family {
  std::string name; // "matmul<half, N, T>"
  bool a_transposed, b_transposed;
  bool may_be_empty; // K = 0 is allowed
};

template <typename T>
std::string compare(DeviceMatrix<T> &result, const std::vector<double> &expected, int rows,
                    int columns) {
  constexpr double tolerance = sizeof(T) == 2 ? 1e-3 : 1e-5;
  double distance = 0, length = 0;
  for (int row = 0; row < rows; row++)
    for (int column = 0; column < columns; column++) {
      double wanted = expected[size_t(row) * columns + column];
      double difference = double(float(result.at(row, column))) - wanted;
      if (std::isnan(difference))
        return "element (" + std::to_string(row) + ", " + std::to_string(column) + ") is NaN";
      distance += difference * difference;
      length += wanted * wanted;
    }
  double error = length > 0 ? std::sqrt(distance / length) : std::sqrt(distance);
  char text[64];
  std::snprintf(text, sizeof text, "relative error %.2e", error);
  return error < tolerance ? "" : text;
}

template <typename Kernel, typename T, typename Params>
std::string run_case(const Family &family, const Params &tile, const Shape &shape,
                     const std::string &what) {
  Matrix a = random_matrix<T>(shape.m, shape.k), b = random_matrix<T>(shape.k, shape.n);
  Matrix stored_a = family.a_transposed ? transposed(a) : a;
  Matrix stored_b = family.b_transposed ? transposed(b) : b;
  int lda = stored_a.columns + shape.gap, ldb = stored_b.columns + shape.gap,
      ldc = shape.n + shape.gap;
  DeviceMatrix<T> device_a(stored_a.rows, stored_a.columns, lda, shape.lead);
  DeviceMatrix<T> device_b(stored_b.rows, stored_b.columns, ldb, shape.lead);
  DeviceMatrix<T> device_c(shape.m, shape.n, ldc, shape.lead);
  device_a.write(stored_a);
  device_b.write(stored_b);
  device_c.poison();

  typename Kernel::args arguments = {.A = device_a.data(),
                                     .B = device_b.data(),
                                     .C = device_c.data(),
                                     .M = shape.m,
                                     .N = shape.n,
                                     .K = shape.k,
                                     .lda = lda,
                                     .ldb = ldb,
                                     .ldc = ldc};
  tritonc::status launched = Kernel::launch({}, arguments, tile);
  if (!launched.ok())
    return launched.message().c_str();
  require(tritonc::synchronize(), what);
  device_c.read();
  if (std::string problem = compare(device_c, product(a, b), shape.m, shape.n); !problem.empty())
    return problem;
  return device_c.gaps_are_untouched() ? "" : "wrote between the rows of C";
}

template <typename Kernel, typename T> void run_family(const Family &family) {
  for (const auto &tile : Kernel::variants())
    for (const Shape &shape : shapes(tile, family.may_be_empty)) {
      char text[200];
      std::snprintf(text, sizeof text, "%s TM=%d TN=%d TK=%d M=%d N=%d K=%d gap=%d",
                    family.name.c_str(), int(tile.TM), int(tile.TN), int(tile.TK), shape.m, shape.n,
                    shape.k, shape.gap);
      static int number = 0;
      if (std::string(text).find(filter) == std::string::npos || number++ % every != 0)
        continue;
      if (std::string problem = run_case<Kernel, T>(family, tile, shape, text); !problem.empty())
        fail(text, problem);
      else
        passed++;
    }
}

template <template <typename, A, B> class Kernel, typename T>
void run_layouts(const std::string &name, const std::string &type, bool may_be_empty) {
  auto family = [&](const char *layout, bool a, bool b) {
    return Family{name + "<" + type + ", " + layout + ">", a, b, may_be_empty};
  };
  run_family<Kernel<T, A::N, B::N>, T>(family("N, N", false, false));
  run_family<Kernel<T, A::N, B::T>, T>(family("N, T", false, true));
  run_family<Kernel<T, A::T, B::N>, T>(family("T, N", true, false));
  run_family<Kernel<T, A::T, B::T>, T>(family("T, T", true, true));
}

template <typename T> void run_type(const std::string &type) {
  run_layouts<kernels::matmul, T>("matmul", type, true);
  run_family<kernels::matmul_basic<T>, T>({"matmul_basic<" + type + ">", false, false, true});
  run_family<kernels::matmul_prefetch<T>, T>(
      {"matmul_prefetch<" + type + ">", false, false, false});
  run_layouts<kernels::matmul_remat, T>("matmul_remat", type, false);
}

// True if there is something to run on.
bool find_device() {
  tritonc::device_info device;
  tritonc::status status = tritonc::current_device(device);
  if (status.code() == tritonc::status_code::no_driver ||
      status.code() == tritonc::status_code::no_device) {
    std::printf("[SKIP] no GPU here: %s\n", status.message().c_str());
    return false;
  }
  require(status, "the device");
  std::printf("%s, compute capability %d.%d\n", device.name, device.major, device.minor);
  return true;
}

} // namespace

int main(int count, char **arguments) {
  for (int i = 1; i + 1 < count; i += 2) {
    std::string option = arguments[i];
    if (option == "--filter")
      filter = arguments[i + 1];
    else if (option == "--every")
      every = std::max(1, std::atoi(arguments[i + 1]));
    else if (option == "--seed")
      generator.seed(std::strtoull(arguments[i + 1], nullptr, 10));
  }
  if (!find_device())
    return 77;
  run_type<tritonc::half>("half");
  run_type<float>("float");
  std::printf("%d passed, %d failed\n", passed, failed);
  return failed == 0 && passed > 0 ? 0 : 1;
}
