#include "matrices.h"

#include <algorithm>
#include <stdexcept>

namespace bench {

namespace {

// The matrices repeat this number of values. It is prime, so no row length divides it, and the rows
// of a matrix differ.
constexpr std::size_t max_numbers = 16777213;

void require(tritonc::status status) {
  if (!status.ok())
    throw std::runtime_error(status.message().c_str());
}

} // namespace

Matrices::Matrices(const std::vector<Row> &rows) {
  constexpr std::size_t least = std::size_t(smallest_size) * smallest_size * sizeof(tritonc::half);
  std::size_t a = least, b = least, c = least; // for launch_cost, if no row is selected
  for (const Row &row : rows) {
    a = std::max(a, std::size_t(row.m) * row.k * operand_bytes(row.type));
    b = std::max(b, std::size_t(row.k) * row.n * operand_bytes(row.type));
    c = std::max(c, std::size_t(row.m) * row.n * result_bytes(row.type));
  }
  require(a_.allocate(a));
  require(b_.allocate(b));
  require(ours_.allocate(c));
  require(peers_.allocate(c));
  host_ours_.resize(c);
  host_peers_.resize(c);
  numbers_ = normal_numbers(std::min(max_numbers, 2 * std::max(a, b) + 1));
}

void Matrices::fill(Type type) {
  if (is_filled_ && type == type_)
    return;
  std::vector<unsigned char> numbers = as_operands(numbers_, type);
  upload(a_, numbers, 0);
  upload(b_, numbers, numbers_.size() / 3 * std::size_t(operand_bytes(type)));
  is_filled_ = true;
  type_ = type;
}

// Fills the matrix with `numbers`, repeated from index `start`.
void Matrices::upload(Bytes &matrix, const std::vector<unsigned char> &numbers, std::size_t start) {
  for (std::size_t done = 0; done < matrix.size();) {
    std::size_t size = std::min(numbers.size() - start, matrix.size() - done);
    require(tritonc::copy_to_device(matrix.data() + done, numbers.data() + start, size));
    done += size;
    start = 0;
  }
}

Difference Matrices::compare(const Row &row, const Launch &ours, const Launch &peer) {
  std::size_t count = std::size_t(row.m) * row.n, bytes = count * result_bytes(row.type);
  for (unsigned char *result : {ours_.data(), peers_.data()})
    require(tritonc::fill(result, poison(row.type), bytes));
  ours();
  peer();
  require(tritonc::copy_to_host(host_ours_.data(), ours_.data(), bytes));
  require(tritonc::copy_to_host(host_peers_.data(), peers_.data(), bytes));
  return difference(row.type, host_ours_.data(), host_peers_.data(), count);
}

} // namespace bench
