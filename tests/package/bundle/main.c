// The same as wrapper.cpp, with the C header.
#include <scale.h>

#include <stdio.h>

static tritonc_status run(float *numbers, size_t bytes) {
  void *x = NULL;
  tritonc_status status = tritonc_allocate(&x, bytes);
  if (status.code == TRITONC_OK)
    status = tritonc_copy_to_device(x, numbers, bytes);
  scale_scale_args arguments = {.x = (float *)x, .factor = 21, .n = 100};
  if (status.code == TRITONC_OK)
    status = scale_scale_launch(NULL, &arguments);
  if (status.code == TRITONC_OK)
    status = tritonc_copy_to_host(numbers, x, bytes);
  return status;
}

int main(void) {
  float numbers[100];
  for (int i = 0; i < 100; i++)
    numbers[i] = 2;
  tritonc_status status = run(numbers, sizeof numbers);
  if (status.code != TRITONC_OK)
    puts(tritonc_status_name(status));
  else
    puts(numbers[99] == 42 ? "42" : numbers[99] == 84 ? "84" : "wrong");
  return 0;
}
