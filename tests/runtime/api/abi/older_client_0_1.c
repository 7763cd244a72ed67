/* A client as it was compiled against version 0.1, whose declarations are copied here: it runs with today's library. */
#include <dlpack/dlpack.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

typedef struct attention_args_0_1 {
  uint32_t struct_size, flags;
  const DLTensor *q, *k, *v, *out, *lse, *cu_seqlens_q, *cu_seqlens_k;
  void* stream;
  const char* variant;
  float softmax_scale;
  uint32_t reserved;
} attention_args_0_1;

typedef struct explain_args_0_1 {
  uint32_t struct_size, flags;
  const char *gpu, *dtype;
  int64_t batch, seqlen_q, seqlen_k, heads_q, heads_kv, head_dim;
  int32_t cuda_version;
  uint32_t reserved;
} explain_args_0_1;

uint32_t flashfit_version(void);
const char* flashfit_last_error(void);
int flashfit_attention_forward(const attention_args_0_1* args);
int flashfit_explain_json(const explain_args_0_1* args, char** json);
int flashfit_images_json(char** json);
int flashfit_gpus_json(char** json);
void flashfit_free(char* json);

_Static_assert(sizeof(attention_args_0_1) == 88, "as in 0.1");
_Static_assert(sizeof(explain_args_0_1) == 80, "as in 0.1");

/* What a newer library may read past the struct's end must not matter. */
static struct {
  attention_args_0_1 args;
  unsigned char behind[64];
} call;
static struct {
  explain_args_0_1 args;
  unsigned char behind[64];
} question;

static int fails(int which) { return fprintf(stderr, "step %d: %s\n", which, flashfit_last_error()), which; }

int main(void) {
  float q[2] = {1, 0}, k[4] = {1, 0, 0, 1}, v[4] = {1, 2, 3, 4}, out[2] = {-1, -1};
  int64_t one[4] = {1, 1, 1, 2}, two[4] = {1, 2, 1, 2};
  DLDevice cpu = {kDLCPU, 0};
  DLDataType fp32 = {kDLFloat, 32, 1};
  DLTensor tq = {q, cpu, 4, fp32, one, NULL, 0}, tk = {k, cpu, 4, fp32, two, NULL, 0};
  DLTensor tv = {v, cpu, 4, fp32, two, NULL, 0}, to = {out, cpu, 4, fp32, one, NULL, 0};
  char* json = NULL;
  memset(&call, 0xff, sizeof call);
  memset(&call.args, 0, sizeof call.args);
  call.args.struct_size = sizeof call.args;
  call.args.q = &tq, call.args.k = &tk, call.args.v = &tv, call.args.out = &to;
  call.args.softmax_scale = 20; /* the second key's weight is exp(-20): nothing in fp32 */
  if (flashfit_attention_forward(&call.args) != 0) return fails(1);
  if (!(out[0] > 0.99999f && out[0] < 1.00001f && out[1] > 1.99999f && out[1] < 2.00001f)) return fails(2);
  call.args.reserved = 1;
  if (flashfit_attention_forward(&call.args) != 1 || !strstr(flashfit_last_error(), "reserved is 1")) return fails(3);

  memset(&question, 0xff, sizeof question);
  memset(&question.args, 0, sizeof question.args);
  question.args.struct_size = sizeof question.args;
  question.args.gpu = "L4", question.args.dtype = "fp16";
  question.args.batch = question.args.heads_q = question.args.heads_kv = 1;
  question.args.seqlen_q = question.args.seqlen_k = question.args.head_dim = 64;
  if (flashfit_explain_json(&question.args, &json) != 0 || !strstr(json, "\"L4\"")) return fails(4);
  flashfit_free(json);
  if (flashfit_images_json(&json) != 0) return fails(5);
  flashfit_free(json);
  if (flashfit_gpus_json(&json) != 0) return fails(6);
  flashfit_free(json);
  return flashfit_version() >= 100 ? 0 : 7;
}
