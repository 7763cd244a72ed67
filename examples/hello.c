/* cc examples/hello.c -Iinclude -Lbuild/lib -lflashfit -Wl,-rpath,build/lib -o hello && ./hello */
#include <flashfit/flashfit.h>
#include <stdio.h>

int main(void) {
  float q[2] = {1, 0}, k[4] = {1, 0, 0, 1}, v[4] = {1, 2, 3, 4}, out[2]; /* 1 query, 2 keys, head_dim 2 */
  int64_t one[4] = {1, 1, 1, 2}, two[4] = {1, 2, 1, 2};                  /* [batch, seqlen, heads, head_dim] */
  DLDevice cpu = {kDLCPU, 0};
  DLDataType fp32 = {kDLFloat, 32, 1};
  DLTensor tq = {q, cpu, 4, fp32, one, NULL, 0}, tk = {k, cpu, 4, fp32, two, NULL, 0};
  DLTensor tv = {v, cpu, 4, fp32, two, NULL, 0}, to = {out, cpu, 4, fp32, one, NULL, 0};
  flashfit_attention_args args = {.struct_size = sizeof args, .q = &tq, .k = &tk, .v = &tv, .out = &to};
  if (flashfit_attention_forward(&args)) return fprintf(stderr, "%s\n", flashfit_last_error()), 1;
  return printf("%g %g\n", out[0], out[1]) < 0;
}
