// Computes the softmax of each row of a matrix by a kernel, and checks it on the CPU. In C11.
//
// Exit code: 0 = all results are right, or there is no GPU; 1 = a wrong result or an error.

#include "kernels.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum { rows = 7, columns = 1300, stride = 1304 };

static void require(tritonc_status status) {
  char text[512];
  if (status.code == TRITONC_OK)
    return;
  tritonc_status_message(status, text, sizeof text);
  fprintf(stderr, "softmax: %s\n", text);
  exit(1);
}

/// The largest difference between a row of results and its softmax in double precision.
static double error_of_row(const float *x, const float *y) {
  double largest = x[0], sum = 0, error = 0;
  for (int i = 1; i < columns; i++)
    largest = fmax(largest, x[i]);
  for (int i = 0; i < columns; i++)
    sum += exp(x[i] - largest);
  for (int i = 0; i < columns; i++) {
    double difference = fabs(y[i] - exp(x[i] - largest) / sum);
    if (!(difference <= error)) // true also for NaN
      error = difference;
  }
  return error;
}

static double error_of(const float *x, const float *y) {
  double error = 0;
  for (int row = 0; row < rows; row++) {
    double of_row = error_of_row(x + row * stride, y + row * stride);
    if (!(of_row <= error))
      error = of_row;
  }
  return error;
}

int main(void) {
  static float x[rows * stride], y[rows * stride];
  const size_t bytes = sizeof x;
  tritonc_device_info device;
  tritonc_status found = tritonc_current_device(&device);
  if (found.code == TRITONC_NO_DRIVER || found.code == TRITONC_NO_DEVICE) {
    printf("softmax: no GPU here (%s), so nothing was run\n", tritonc_status_name(found));
    return 0;
  }
  require(found);
  printf("softmax on %s\n", device.name);

  for (int i = 0; i < rows * stride; i++)
    x[i] = (float)(i * 37 % 101) / 10 - 5;
  void *x_memory = NULL, *y_memory = NULL;
  require(tritonc_allocate(&x_memory, bytes));
  require(tritonc_allocate(&y_memory, bytes));
  require(tritonc_copy_to_device(x_memory, x, bytes));
  require(tritonc_fill(y_memory, 0xff, bytes)); // NaN, to detect unwritten elements

  nn_softmax_float_args args = {
      .x = x_memory, .y = y_memory, .M = rows, .N = columns, .ldx = stride, .ldy = stride};
  require(nn_softmax_float_launch(NULL, &args)); // on the default stream
  require(tritonc_copy_to_host(y, y_memory, bytes));
  double once = error_of(x, y);

  // The same as a prepared launch, for loops: each launch costs little more than the driver's call.
  nn_softmax_float_prepared ready;
  require(tritonc_fill(y_memory, 0xff, bytes));
  require(nn_softmax_float_prepare(NULL, &args, &ready));
  for (int i = 0; i < 3; i++)
    require(nn_softmax_float_launch_prepared(&ready, NULL));
  require(tritonc_copy_to_host(y, y_memory, bytes));
  double again = error_of(x, y);

  require(tritonc_release(x_memory));
  require(tritonc_release(y_memory));
  int right = once < 1e-6 && again < 1e-6;
  printf("largest error %.1e, %.1e made ready: %s\n", once, again, right ? "right" : "WRONG");
  return right ? 0 : 1;
}
