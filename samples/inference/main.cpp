// A step of inference: h = layer_norm(x), s = h W, p = softmax(s), in half. The program captures
// the three launches in a graph once. Then it launches the graph for each batch of inputs, with the
// same buffers.
//
// Exit code: 0 = all results are right, or there is no GPU; 1 = a wrong result or an error.

#include "driver.h"

#include <products.hpp>
#include <rows.hpp>
#include <tritonc/device.hpp>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <vector>

namespace {

using tritonc::half;

constexpr int batch = 64, features = 256, classes = 128;
constexpr float epsilon = 1e-5f;

void require(tritonc::status status) {
  if (status.ok())
    return;
  std::fprintf(stderr, "inference: %s\n", status.message().c_str());
  std::exit(1);
}

/// Uniform numbers in [-1, 1], the same in each run.
class Random {
public:
  float next() {
    state_ = state_ * 6364136223846793005u + 1442695040888963407u;
    return float(std::int32_t(state_ >> 32)) * 0x1p-31f;
  }
  std::vector<half> elements(int count, float scale, float middle = 0) {
    std::vector<half> out(static_cast<std::size_t>(count));
    for (half &element : out)
      element = half(middle + scale * next());
    return out;
  }

private:
  std::uint64_t state_ = 1;
};

/// The parameters of the layer, on the host.
struct Layer {
  std::vector<half> gain, bias, weights;
  explicit Layer(Random &random)
      : gain(random.elements(features, 0.5f, 1)), bias(random.elements(features, 0.5f)),
        weights(random.elements(features * classes, 0.25f)) {}
};

/// Device memory for the whole program: the graph contains its addresses.
struct Buffers {
  tritonc::buffer<half> x, gain, bias, weights, normal, scores, probabilities;

  explicit Buffers(const Layer &layer) {
    require(x.allocate(batch * features));
    require(normal.allocate(batch * features));
    require(scores.allocate(batch * classes));
    require(probabilities.allocate(batch * classes));
    for (auto [memory, values] : {std::pair(&gain, &layer.gain), std::pair(&bias, &layer.bias),
                                  std::pair(&weights, &layer.weights)}) {
      require(memory->allocate(values->size()));
      require(memory->copy_from(values->data()));
    }
  }
};

using norm = rows::layer_norm<half>;
using softmax = rows::softmax<half>;
using product = products::matmul<half, products::A::N, products::B::N>;

/// Enqueues the step. Each launch reads the output of the previous launch.
void launch_step(tritonc::stream stream, const Buffers &on) {
  require(norm::launch(stream, {.x = on.x.data(),
                                .gain = on.gain.data(),
                                .bias = on.bias.data(),
                                .y = on.normal.data(),
                                .epsilon = epsilon,
                                .M = batch,
                                .N = features,
                                .ldx = features,
                                .ldy = features}));
  require(product::launch(stream, {.A = on.normal.data(),
                                   .B = on.weights.data(),
                                   .C = on.scores.data(),
                                   .M = batch,
                                   .N = classes,
                                   .K = features,
                                   .lda = features,
                                   .ldb = classes,
                                   .ldc = classes}));
  require(softmax::launch(stream, {.x = on.scores.data(),
                                   .y = on.probabilities.data(),
                                   .M = batch,
                                   .N = classes,
                                   .ldx = classes,
                                   .ldy = classes}));
}

/// The same for one row, in double precision.
std::vector<double> expected_row(const Layer &layer, const half *x) {
  double mean = 0, variance = 0;
  for (int i = 0; i < features; i++)
    mean += float(x[i]) / features;
  for (int i = 0; i < features; i++)
    variance += (float(x[i]) - mean) * (float(x[i]) - mean) / features;
  std::vector<double> scores(classes, 0.0);
  for (int i = 0; i < features; i++) {
    double normal = (float(x[i]) - mean) / std::sqrt(variance + epsilon) * float(layer.gain[i]) +
                    float(layer.bias[i]);
    for (int j = 0; j < classes; j++)
      scores[j] += normal * float(layer.weights[i * classes + j]);
  }
  double largest = *std::max_element(scores.begin(), scores.end()), sum = 0;
  for (double &score : scores)
    sum += score = std::exp(score - largest);
  for (double &score : scores)
    score /= sum;
  return scores;
}

/// The max difference between a probability and its expected value.
double error_of(const Layer &layer, const std::vector<half> &x, const std::vector<half> &result) {
  double error = 0;
  for (int row = 0; row < batch; row++) {
    std::vector<double> expected = expected_row(layer, &x[std::size_t(row) * features]);
    for (int i = 0; i < classes; i++) {
      double difference = std::abs(float(result[std::size_t(row) * classes + i]) - expected[i]);
      if (!(difference <= error)) // true also for NaN
        error = difference;
    }
  }
  return error;
}

} // namespace

int main() {
  tritonc::device_info device;
  tritonc::status found = tritonc::current_device(device);
  if (found.code() == tritonc::status_code::no_driver ||
      found.code() == tritonc::status_code::no_device) {
    std::printf("inference: no GPU here (%s), so nothing was run\n", found.message().c_str());
    return 0;
  }
  require(found);
  std::printf("layer norm, product, softmax on %s\n", device.name);

  Random random;
  Layer layer(random);
  Buffers on(layer);
  // Drivers before CUDA 12.3 cannot load code during a capture.
  require(norm::preload());
  require(product::preload());
  require(softmax::preload());

  Stream stream;
  Graph graph(stream, [&] { launch_step(stream.handle(), on); });

  bool all_right = true;
  std::vector<half> result(batch * classes);
  for (int step = 1; step <= 3; step++) {
    std::vector<half> x = random.elements(batch * features, float(step), float(step - 2));
    require(on.x.copy_from(x.data()));
    require(on.probabilities.fill(0xff)); // NaN, to detect elements that no kernel writes
    require(tritonc::synchronize());      // the stream does not wait for the default stream
    graph.launch();
    require(tritonc::synchronize(stream.handle()));
    require(on.probabilities.copy_to(result.data()));
    double error = error_of(layer, x, result);
    bool right = error < 2e-2; // scores near 8 are rounded to half, by up to 1/256
    all_right = all_right && right;
    std::printf("batch %d: largest error of a probability %.1e %s\n", step, error,
                right ? "" : "WRONG");
  }
  return all_right ? 0 : 1;
}
