/* flashfit: fused attention that fits the GPU that is there. C API, thread safe.
 *
 * Every call returns a status; the message of the calling thread's last failure is flashfit_last_error(): one line that
 * names the argument, its value and what is accepted. Nothing throws, aborts, synchronises or allocates device memory.
 * The library loads without a GPU or driver; it opens libcuda.so.1 when a GPU tensor is first used. */
#ifndef FLASHFIT_FLASHFIT_H_
#define FLASHFIT_FLASHFIT_H_

#include <dlpack/dlpack.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define FLASHFIT_VERSION_MAJOR 0
#define FLASHFIT_VERSION_MINOR 1
#define FLASHFIT_VERSION_PATCH 0

#if defined(__GNUC__)
#define FLASHFIT_API __attribute__((visibility("default")))
#else
#define FLASHFIT_API
#endif

typedef enum flashfit_status {
  FLASHFIT_OK = 0,
  FLASHFIT_INVALID_ARGUMENT = 1, /* an argument is wrong; nothing was launched or written */
  FLASHFIT_MISFIT = 2,           /* sound, but nothing carried fits this GPU or driver; the message says what binds */
  FLASHFIT_NO_GPU = 3,           /* GPU tensors given, but no driver or no usable GPU */
  FLASHFIT_CUDA = 4,             /* the driver refused a call */
  FLASHFIT_OUT_OF_MEMORY = 5,    /* host memory */
  FLASHFIT_INTERNAL = 6          /* a defect of flashfit */
} flashfit_status;

/* Version of the library that is loaded: major * 10000 + minor * 100 + patch. */
FLASHFIT_API uint32_t flashfit_version(void);

/* The calling thread's last failure, "" if none. Valid until this thread's next call. Never NULL. */
FLASHFIT_API const char* flashfit_last_error(void);

/* An opaque CUDA stream (CUstream / cudaStream_t); NULL is the legacy default stream. Ignored for CPU tensors. */
typedef void* flashfit_stream;

/* flags */
#define FLASHFIT_CAUSAL 1u   /* key j is visible to query i iff j <= i + seqlen_k - seqlen_q (bottom-right aligned) */
#define FLASHFIT_PTX_ONLY 2u /* use PTX even where machine code fits: for tests; no effect on the CPU */

/* out = softmax(softmax_scale * q k^T) v over visible keys; a query that sees no key gives 0 and LSE = -inf.
 *
 * Dense:            q [batch, seqlen_q, heads_q, head_dim], k and v [batch, seqlen_k, heads_kv, head_dim], out like q,
 *                   lse [batch, heads_q, seqlen_q].
 * Variable length:  cu_seqlens_q and cu_seqlens_k given: q [total_q, heads_q, head_dim], k and v
 *                   [total_k, heads_kv, head_dim], out like q, lse [heads_q, total_q]; sequence b is rows
 *                   cu_seqlens[b] to cu_seqlens[b + 1].
 * dtypes:           q, k, v, out of one dtype: fp16, bf16, on the CPU also fp32; lse fp32, contiguous; cu_seqlens
 *                   int32 [batch + 1], contiguous.
 * strides:          0 or more (out: each element its own place), in elements, 1 in the last dimension; on a GPU
 *                   pointers of q, k, v are 16-byte aligned and their strides multiples of 8 elements (out: 4-byte,
 *                   2 elements). NULL strides mean row-major contiguous. Strides of dimensions of size 1 are not
 *                   looked at.
 * values:           cu_seqlens start with 0, never fall and end with the rows of q, or of k; checked on the CPU, on a
 *                   GPU the caller's promise.
 * heads_q must be a multiple of heads_kv. All tensors on one device: kDLCPU (kDLCUDAHost counts as it) or kDLCUDA.
 * The memory of out and of lse, from first to last element, may not overlap that of another tensor. */
typedef struct flashfit_attention_args {
  /* sizeof(flashfit_attention_args). Newer libraries take older callers; older ones take newer if what they lack is 0.
   */
  uint32_t struct_size;
  uint32_t flags; /* FLASHFIT_CAUSAL ... */
  const DLTensor* q;
  const DLTensor* k;
  const DLTensor* v;
  const DLTensor* out;
  const DLTensor* lse;          /* or NULL */
  const DLTensor* cu_seqlens_q; /* or NULL */
  const DLTensor* cu_seqlens_k; /* or NULL */
  flashfit_stream stream;
  const char* variant; /* force a row of `flashfit images` by name, for tests and tuning; or NULL; NULL on the CPU */
  float softmax_scale; /* > 0 and finite; 0 means 1 / sqrt(head_dim) */
  uint32_t reserved;   /* 0 */
} flashfit_attention_args;

FLASHFIT_API flashfit_status flashfit_attention_forward(const flashfit_attention_args* args);

/* What flashfit would run and why, for any GPU in the table, on any machine. */
typedef struct flashfit_explain_args {
  uint32_t struct_size;
  uint32_t flags;    /* FLASHFIT_CAUSAL, FLASHFIT_PTX_ONLY */
  const char* gpu;   /* "L4", "8.9", "all"; NULL: the GPUs of this machine */
  const char* dtype; /* "fp16", "bf16", "fp32" */
  int64_t batch, seqlen_q, seqlen_k, heads_q, heads_kv, head_dim;
  /* The driver's CUDA version to assume (12090 = 12.9); 0: this machine's if gpu is NULL, else new enough. */
  int32_t cuda_version;
  uint32_t reserved; /* 0 */
} flashfit_explain_args;

/* JSON documents (docs/plan.md, docs/images.md describe the keys). *json is freed by flashfit_free. */
FLASHFIT_API flashfit_status flashfit_explain_json(const flashfit_explain_args* args, char** json);
FLASHFIT_API flashfit_status flashfit_images_json(char** json);
/* This machine: GPUs, driver; no GPU is a fact, not an error. */
FLASHFIT_API flashfit_status flashfit_gpus_json(char** json);
FLASHFIT_API void flashfit_free(char* json);

#ifdef __cplusplus
}
#endif
#endif /* FLASHFIT_FLASHFIT_H_ */
