/* The header is plain C: this is compiled as C99 with every warning an error, linked with the shared library alone, and
 * run. */
#include <flashfit/flashfit.h>
#include <stdio.h>
#include <string.h>

static float q[4] = {1, 0, 0, 1}, k[4] = {1, 0, 0, 1}, v[4] = {1, 2, 3, 4}, out[4];

static DLTensor tensor(float* data, int64_t* shape) {
  DLTensor t;
  memset(&t, 0, sizeof t);
  t.data = data;
  t.device.device_type = kDLCPU;
  t.ndim = 4;
  t.dtype.code = kDLFloat;
  t.dtype.bits = 32;
  t.dtype.lanes = 1;
  t.shape = shape;
  return t;
}

int main(void) {
  int64_t shape[4] = {1, 2, 1, 2};
  DLTensor tq = tensor(q, shape), tk = tensor(k, shape), tv = tensor(v, shape), to = tensor(out, shape);
  flashfit_attention_args args;
  char* json = NULL;
  memset(&args, 0, sizeof args);
  args.struct_size = sizeof args;
  args.flags = FLASHFIT_CAUSAL;
  args.q = &tq;
  args.k = &tk;
  args.v = &tv;
  args.out = &to;
  if (flashfit_attention_forward(&args) != FLASHFIT_OK) {
    fprintf(stderr, "%s\n", flashfit_last_error());
    return 1;
  }
  if (out[0] != 1 || out[1] != 2 || !(out[2] > 2 && out[2] < 3))
    return 2; /* the first query sees the first key alone */
  args.softmax_scale = -1;
  if (flashfit_attention_forward(&args) != FLASHFIT_INVALID_ARGUMENT) return 3;
  if (strstr(flashfit_last_error(), "softmax_scale: -1") == NULL) return 4;
  if (flashfit_gpus_json(&json) != FLASHFIT_OK || json == NULL) return 5;
  flashfit_free(json);
  return flashfit_version() == 300 ? 0 : 6;
}
