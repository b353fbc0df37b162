/* A program in C that has libkusari_inference alone: computes what write_case says, several times. */
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <kusari/framework/inference/c_api.h>

/* As dlpack.h has them. */
typedef struct {
  void* data;
  struct {
    int32_t type, id;
  } device;
  int32_t ndim;
  struct {
    uint8_t code, bits;
    uint16_t lanes;
  } dtype;
  int64_t *shape, *strides;
  uint64_t byte_offset;
} DLTensor;
struct DLManagedTensor {
  DLTensor tensor;
  void* context;
  void (*deleter)(struct DLManagedTensor* self);
};

enum { kIn = 2 * 3 * 16 * 16, kOut = 2 * 5 };

static int fail(const char* what) {
  fprintf(stderr, "%s: %s\n", what, kusari_last_error());
  return 1;
}

int main(int count, char** arguments) {
  static float input[kIn];
  float expected[kOut];
  int64_t shape[] = {2, 3, 16, 16};
  struct DLManagedTensor given;
  const struct DLManagedTensor* inputs[1];
  struct DLManagedTensor* results[1];
  kusari_session* session;
  FILE* file;
  int run, i;
  if (count != 3) return 2;
  file = fopen(arguments[2], "rb");
  if (file == NULL || fread(input, sizeof(float), kIn, file) != kIn || fread(expected, sizeof(float), kOut, file) != kOut) {
    fprintf(stderr, "%s cannot be read\n", arguments[2]);
    return 1;
  }
  fclose(file);
  if (kusari_session_open("missing.onnx", NULL) != NULL || strstr(kusari_last_error(), "missing.onnx") == NULL) {
    return fail("a file that is not there");
  }
  session = kusari_session_open(arguments[1], NULL);
  if (session == NULL) return fail("open");
  memset(&given, 0, sizeof(given));
  given.tensor.data = input;
  given.tensor.device.type = 1; /* CPU */
  given.tensor.ndim = 4;
  given.tensor.dtype.code = 2; /* float */
  given.tensor.dtype.bits = 32;
  given.tensor.dtype.lanes = 1;
  given.tensor.shape = shape;
  inputs[0] = &given;
  for (run = 0; run < 3; ++run) {
    const DLTensor* result;
    if (kusari_session_run(session, inputs, 1, results, 1) != 1) return fail("run");
    result = &results[0]->tensor;
    if (result->ndim != 2 || result->shape[0] != 2 || result->shape[1] != 5) return fail("another shape");
    for (i = 0; i < kOut; ++i) {
      const float found = ((const float*)((const char*)result->data + result->byte_offset))[i];
      if (!(fabsf(found - expected[i]) <= 1e-4F)) {
        fprintf(stderr, "result %d is %g, not %g\n", i, found, expected[i]);
        return 1;
      }
    }
    results[0]->deleter(results[0]);
  }
  if (kusari_session_describe(session) == NULL) return fail("describe");
  kusari_session_close(session);
  printf("as expected\n");
  return 0;
}
