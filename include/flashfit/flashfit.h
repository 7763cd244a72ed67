/* flashfit: fused attention and mixture of experts that fit the GPU that is there. C API, thread safe; flashfit.hpp is
 * C++ over it.
 *
 * Every call returns a status; the message of the calling thread's last failure is flashfit_last_error(): one line that
 * names the argument, its value and what is accepted. Nothing throws, aborts, synchronises or allocates device memory.
 * The library loads without a GPU or driver; it opens libcuda.so.1 when a GPU tensor is first used.
 *
 * The environment is read once, by the first call that needs it; unset, empty and 0 mean no:
 * - FLASHFIT_LOG=1: one line on stderr for each distinct decision (backend, GPU, variant, image, grid, or why not).
 * - FLASHFIT_DISABLE=1: calls that compute are refused with FLASHFIT_DISABLED; =gpu: those of GPU tensors alone; any
 *   other value: with FLASHFIT_INVALID_ARGUMENT. */
#ifndef FLASHFIT_FLASHFIT_H_
#define FLASHFIT_FLASHFIT_H_

#include <dlpack/dlpack.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define FLASHFIT_VERSION_MAJOR 0
#define FLASHFIT_VERSION_MINOR 3
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
  FLASHFIT_INTERNAL = 6,         /* a defect of flashfit */
  FLASHFIT_DISABLED = 7,         /* refused by FLASHFIT_DISABLE in the environment; nothing was launched or written */
  FLASHFIT_STATUS_RANGE = 0x7fffffff /* no status: lets the type hold what later libraries return */
} flashfit_status;

/* "FLASHFIT_MISFIT"; of a number that is no status "FLASHFIT_UNKNOWN". Static, never NULL. */
FLASHFIT_API const char* flashfit_status_name(flashfit_status status);

/* Version of the library that is loaded: major * 10000 + minor * 100 + patch. A build between releases has the version
 * of the one before, and may have what is marked with the next one: flashfit_has_feature() says. */
FLASHFIT_API uint32_t flashfit_version(void);

/* What the library that is loaded can do, by name; ends with NULL; static. Names are added, never changed:
 *   attention.forward  with .causal, .varlen (cu_seqlens), .gqa (heads_kv below heads_q), .lse, .strided, .head_dim_v
 *                      (another head_dim of v), .window, .softcap, .alibi, .sinks, .bias, .seqused_k, .batch_invariant
 *   attention.prepare, attention.run, attention.workspace, explain, explain.tile
 *   moe.route          with .topk_first, .renormalize, .sigmoid, .sqrt_softplus, .bias, .groups, .scale;
 *                      moe.route.prepare, moe.route.explain
 *   moe.layer          flashfit_fused_moe, with .part (experts_low and experts_high), .grouped (offsets), .map
 *                      (expert_map), on a GPU .keep (z), on the CPU .shared, .backward; moe.layer.prepare,
 *                      moe.layer.run, moe.layer.workspace; on a GPU moe.activation.backward,
 *                      moe.product, moe.rows and moe.weights
 *   cpu.fp16, cpu.bf16, cpu.fp32       dtypes of tensors on the CPU, any head_dim
 *   gpu                                kernels for GPUs are carried; whether this machine has one: flashfit_gpus_json
 *   gpu.fp16, gpu.fp16.d64, ...        dtypes and head_dims of tensors on a GPU for which one is carried
 *   env.log, env.disable               FLASHFIT_LOG, FLASHFIT_DISABLE */
FLASHFIT_API const char* const* flashfit_features(void);

/* 1 if flashfit_features() has the name, 0 if not or if it is NULL. */
FLASHFIT_API int flashfit_has_feature(const char* name);

/* The calling thread's last failure, "" if none. Valid until this thread's next call. Never NULL. */
FLASHFIT_API const char* flashfit_last_error(void);

/* An opaque CUDA stream (CUstream / cudaStream_t) of the tensors' GPU; NULL is its legacy default stream. Ignored for
 * CPU tensors. */
typedef void* flashfit_stream;

/* flags */
#define FLASHFIT_CAUSAL 1u   /* key j is visible to query i iff j <= i + seqlen_k - seqlen_q (bottom-right aligned) */
#define FLASHFIT_PTX_ONLY 2u /* use PTX even where machine code fits: for tests; no effect on the CPU */
#define FLASHFIT_WINDOW 8u   /* window_left and window_right hold */
/* The result of a sequence does not depend, to the last bit, on the batch around it. */
#define FLASHFIT_BATCH_INVARIANT 16u

/* out = softmax(softmax_scale * q k^T) v over visible keys; a query that sees no key gives 0 and LSE = -inf.
 *
 * Dense:            q [batch, seqlen_q, heads_q, head_dim], k [batch, seqlen_k, heads_kv, head_dim], v like k and out
 *                   like q, but both may have another head_dim (since 0.3); lse [batch, heads_q, seqlen_q].
 * Variable length:  cu_seqlens_q and cu_seqlens_k given: q [total_q, heads_q, head_dim], k [total_k, heads_kv,
 *                   head_dim], v like k and out like q, as above; lse [heads_q, total_q]; sequence b is rows
 *                   cu_seqlens[b] to cu_seqlens[b + 1].
 * dtypes:           q, k, v, out of one dtype: fp16, bf16, on the CPU also fp32; lse fp32, contiguous; cu_seqlens
 *                   int32 [batch + 1], contiguous.
 * strides:          0 or more (out: each past all that smaller ones span, so that no element lies on another), in
 *                   elements, 1 in the last dimension. NULL strides mean row-major contiguous. Strides of dimensions
 *                   of size 1, and of tensors without elements, are not looked at.
 * alignment:        pointers are multiples of an element's bytes. On a GPU the fast kernels also need those of q, k, v
 *                   and out to be 16-byte aligned and their strides multiples of 8 elements; others run on a general
 *                   one.
 * values:           cu_seqlens start with 0, never fall and end with the rows of q, or of k; seqused_k are 0 to the
 * keys of their sequences; checked on the CPU, on a GPU the caller's promise. heads_q must be a multiple of heads_kv.
 * All tensors on one device: kDLCPU (kDLCUDAHost counts as it) or kDLCUDA. The memory of out and of lse, from first to
 * last element, may not overlap that of another tensor. */
typedef struct flashfit_attention_args {
  /* sizeof(flashfit_attention_args). Newer libraries take older callers; older ones take newer if what they lack is 0.
   */
  uint32_t struct_size;
  uint32_t flags; /* FLASHFIT_CAUSAL, FLASHFIT_PTX_ONLY, FLASHFIT_WINDOW, FLASHFIT_BATCH_INVARIANT */
  const DLTensor* q;
  const DLTensor* k;
  const DLTensor* v;
  const DLTensor* out;
  const DLTensor* lse;          /* or NULL */
  const DLTensor* cu_seqlens_q; /* or NULL */
  const DLTensor* cu_seqlens_k; /* or NULL */
  flashfit_stream stream;
  /* Force a variant of `flashfit images` by name, for tests and tuning, or, as NAME/PARTS, that and parts that keys are
   * cut in, 1 to 64; or NULL; NULL on the CPU. */
  const char* variant;
  float softmax_scale; /* > 0 and finite; 0 means 1 / sqrt(head_dim) */
  uint32_t reserved;   /* 0 */
  /* Since 0.2. Scratch memory on the tensors' device, 256-byte aligned, that overlaps none of them and is no other
   * call's until the stream has passed this one; at least as many bytes as flashfit_attention_workspace says, and not
   * looked at if that is 0. */
  void* workspace;
  uint64_t workspace_bytes;
  /* Since 0.3; 0 and NULL: without it. The score of query i and key j is s = softmax_scale * q k; with softcap > 0
   * s = softcap * tanh(s / softcap); with ALiBi s -= slope * |i + seqlen_k - seqlen_q - j|; with a bias s += bias. */
  /* With FLASHFIT_WINDOW: query i sees keys from i + seqlen_k - seqlen_q - window_left to i + seqlen_k - seqlen_q +
   * window_right; each 0 or more, or -1 for no limit. With FLASHFIT_CAUSAL window_right counts as 0. */
  int64_t window_left, window_right;
  const DLTensor* alibi_slopes; /* fp32 [heads_q] or [batch, heads_q], contiguous */
  const DLTensor* sinks;        /* fp32 [heads_q], contiguous: each adds exp(sink) to its head's sum, and to its LSE */
  /* [batch or 1, heads_q or 1, seqlen_q or 1, seqlen_k or 1], strides of 0 or more; q's dtype or fp32: added to the
   * score; bool (type code 6, which DLPack's older headers lack): where it is false the key is not seen. Not with
   * cu_seqlens. */
  const DLTensor* bias;
  const DLTensor* seqused_k; /* int32 [batch], contiguous, 0 to the keys of each: only so many are there */
  float softcap;             /* 0 or more and finite */
  uint32_t reserved_2;       /* 0 */
} flashfit_attention_args;

/* On the CPU the result is there on return; on a GPU the work is queued on the stream. */
FLASHFIT_API flashfit_status flashfit_attention_forward(const flashfit_attention_args* args);

/* *bytes: the workspace that the same call of flashfit_attention_forward needs; 0 on the CPU. Checks the same
 * arguments, except for the workspace, and gives the same errors; launches nothing. */
FLASHFIT_API flashfit_status flashfit_attention_workspace(const flashfit_attention_args* args, uint64_t* bytes);

/* Gives a call the workspace that it needs: the address of that many bytes, as args->workspace has to be, which stay
 * the caller's; NULL fails the call. Called on the caller's thread; no exception may leave it. Of
 * flashfit_attention_run and flashfit_fused_moe_run. */
typedef void* (*flashfit_allocate)(void* context, uint64_t bytes);

/* Since 0.3. flashfit_attention_forward for callers that allocate a workspace only where a call needs one: where it
 * does and args->workspace is NULL, allocate(context, bytes) is called once, after all checks and before anything is
 * launched. If it gives NULL: FLASHFIT_OUT_OF_MEMORY, and nothing was launched. allocate may be NULL: then this is
 * flashfit_attention_forward. */
FLASHFIT_API flashfit_status flashfit_attention_run(const flashfit_attention_args* args, flashfit_allocate allocate,
                                                    void* context);

/* All of flashfit_attention_forward but the launch: the same checks, except for the workspace, and the kernel loaded on
 * that GPU, so that the first call takes no longer than later ones. On the CPU it only checks. */
FLASHFIT_API flashfit_status flashfit_attention_prepare(const flashfit_attention_args* args);

/* flags of flashfit_explain_args alone */
#define FLASHFIT_VARIABLE_LENGTH 4u
#define FLASHFIT_SOFTCAP 32u
#define FLASHFIT_ALIBI 64u
#define FLASHFIT_UNALIGNED 128u /* tensors that are not as "alignment" above says */
#define FLASHFIT_SINKS 1024u

/* What flashfit would run and why, for any GPU in the table, on any machine. */
typedef struct flashfit_explain_args {
  uint32_t struct_size;
  uint32_t flags;    /* FLASHFIT_CAUSAL, FLASHFIT_PTX_ONLY, FLASHFIT_WINDOW, FLASHFIT_BATCH_INVARIANT and those above */
  const char* gpu;   /* "L4", "8.9", "all"; NULL: the GPUs of this machine */
  const char* dtype; /* "fp16", "bf16", "fp32" */
  int64_t batch, seqlen_q, seqlen_k, heads_q, heads_kv, head_dim; /* of variable length: seqlen_q and seqlen_k are 0 */
  /* The driver's CUDA version to assume (12090 = 12.9); 0: this machine's if gpu is NULL, else new enough. */
  int32_t cuda_version;
  uint32_t reserved; /* 0 */
  /* Since 0.2. */
  const char* variant;      /* force a variant of `flashfit images` by name, or NAME/PARTS; or NULL */
  int64_t total_q, total_k; /* rows over all sequences, with FLASHFIT_VARIABLE_LENGTH; else 0 */
  /* What if: would a kernel of this tile fit, whether or not it is carried? 16 to 4096 rows and keys, 1 to 32 warps,
   * 2 to 8 stages, 0 meaning 4 warps and 2 stages; all 0: no such question. Not with variant or FLASHFIT_PTX_ONLY. */
  int32_t block_m, block_n, warps, stages;
  /* Since 0.3. */
  int64_t head_dim_v;                /* of v and out; 0: as head_dim */
  int64_t window_left, window_right; /* as in flashfit_attention_args */
  const char* bias;                  /* what it holds: "bool", "fp32" or the dtype; NULL: there is none */
} flashfit_explain_args;

/* One GPU's answer. A misfit is an answer too: fits is 0, reason says what binds, what is unknown is 0 or "".
 * Text is cut where it is longer. */
typedef struct flashfit_plan {
  uint32_t struct_size; /* sizeof(flashfit_plan): the caller sets it in the first, the library in all */
  int32_t fits;         /* 1 or 0 */
  int32_t cc_major, cc_minor;
  int32_t block_m, block_n, warps, stages; /* of the kernel: query rows and keys of a tile, ... */
  int32_t threads;                         /* a block */
  int32_t shared_memory_bytes;             /* dynamic, a block */
  int32_t shared_memory_limit_bytes;       /* of a block on this GPU, opt-in */
  int32_t registers_per_thread;
  int32_t registers_estimated; /* 1: no compiled image knows them */
  int32_t spill_bytes;         /* a thread */
  int32_t blocks_per_sm;
  int32_t reserved;         /* 0 */
  int64_t grid;             /* thread blocks; 0 of a what-if, and where there are no rows */
  uint64_t workspace_bytes; /* what flashfit_attention_workspace would say; 0 of a what-if */
  double modelled_us;       /* by counting: it ranks variants, it is no promise */
  char gpu[64];             /* "L4" */
  char family[16];          /* "mma" */
  char variant[64];         /* a row of `flashfit images`; "" if a what-if is none */
  char target[16];          /* of the image: "8.9", "8.0+PTX"; "" of a what-if */
  char bound[32];           /* what the model spends most on: "tensor cores", "DRAM", ... */
  char reason[512];         /* one line: why this plan, or why none */
} flashfit_plan;

/* Fills plans[0] to plans[min(capacity, *count) - 1]; *count is the number of GPUs that args->gpu means, even if
 * capacity is smaller. plans may be NULL if capacity is 0, so a first call counts and a second fills. */
FLASHFIT_API flashfit_status flashfit_explain(const flashfit_explain_args* args, flashfit_plan* plans, size_t capacity,
                                              size_t* count);

/* flags of flashfit_moe_route_args and flashfit_moe_route_explain_args */
#define FLASHFIT_TOPK_FIRST 256u  /* the softmax is taken over the chosen experts, not over all */
#define FLASHFIT_RENORMALIZE 512u /* a token's weights are divided by their sum; with FLASHFIT_TOPK_FIRST it is 1 */
/* Scores that see one expert alone, instead of a softmax: one of them, and not with FLASHFIT_TOPK_FIRST. */
#define FLASHFIT_SIGMOID 2048u       /* score = 1 / (1 + exp(-logit)) */
#define FLASHFIT_SQRT_SOFTPLUS 4096u /* score = sqrt(log(1 + exp(logit))) */

/* Since 0.3. The router of a mixture of experts: each token's top_k experts and their weights.
 *
 *   ids[t]     = the top_k experts of the largest logits[t], the largest first, the lower id first where two are equal;
 *                NaN counts as the largest
 *   weights[t] = softmax(logits[t])[ids[t]], with FLASHFIT_TOPK_FIRST softmax(logits[t][ids[t]])
 *
 * With FLASHFIT_SIGMOID or FLASHFIT_SQRT_SOFTPLUS ids[t] are those of the largest score + router_bias, of the kept
 * groups alone, and weights[t] = score[ids[t]]; with FLASHFIT_RENORMALIZE / (their sum + 1e-20). At last weights are
 * multiplied by scale.
 *
 * A NaN or an infinity changes no other token's weights; ids stay distinct and in range. With the softmax routers, NaN
 * or +inf among the logits that the softmax sums makes NaN of the token's weights, as in PyTorch, and so do logits that
 * are all -inf; beside others -inf has weight 0. With the others its score follows the formula. Arithmetic in fp32; the
 * same bits in every run. */
typedef struct flashfit_moe_route_args {
  uint32_t struct_size; /* sizeof(flashfit_moe_route_args); as of flashfit_attention_args */
  uint32_t flags;       /* FLASHFIT_TOPK_FIRST, FLASHFIT_RENORMALIZE, FLASHFIT_SIGMOID, FLASHFIT_SQRT_SOFTPLUS,
                           FLASHFIT_PTX_ONLY */
  /* [tokens, experts], 1 to 512 experts; fp16, bf16 or fp32; strides 0 or more, 1 in the last dimension */
  const DLTensor* logits;
  const DLTensor* weights; /* fp32 [tokens, top_k], contiguous; top_k from 1 to experts, at most 16 */
  const DLTensor* ids;     /* int32 [tokens, top_k], contiguous */
  flashfit_stream stream;
  const char*
      variant; /* force a variant of `flashfit images` by name, for tests and tuning; or NULL; NULL on the CPU */
  /* With FLASHFIT_SIGMOID or FLASHFIT_SQRT_SOFTPLUS: fp32 [experts], contiguous: added to the scores by
   * which experts are chosen, never to weights; or NULL. */
  const DLTensor* router_bias;
  /* Likewise: experts in `groups` equal parts, of which each token keeps `groups_kept`: those with the largest sum of
   * their two largest score + router_bias, the lower group first where two are equal. Both 0: one group; on a GPU at
   * most 32. */
  int32_t groups, groups_kept;
  float scale;       /* of all routers: multiplies weights; finite; 0 means 1 */
  uint32_t reserved; /* 0 */
} flashfit_moe_route_args;

/* On the CPU the result is there on return; on a GPU the work is queued on the stream. The memory of weights and ids
 * overlaps no other tensor's. */
FLASHFIT_API flashfit_status flashfit_moe_route(const flashfit_moe_route_args* args);

/* All of flashfit_moe_route but the launch: the same checks, and the kernel loaded on that GPU. */
FLASHFIT_API flashfit_status flashfit_moe_route_prepare(const flashfit_moe_route_args* args);

/* flags of flashfit_fused_moe_args alone */
#define FLASHFIT_TRANSPOSED 8192u       /* weights lie [experts, inputs, outputs] */
#define FLASHFIT_INTERLEAVED 16384u     /* w13's outputs are gate and up of feature 0, of feature 1, ... */
#define FLASHFIT_WEIGHT_ON_INPUT 32768u /* a token's weight of an expert multiplies x instead of y */
#define FLASHFIT_KEEPING 65536u         /* of questions: a call with z, what comes before the activation */

/* activation of flashfit_fused_moe_args: h of g and u, in fp32 */
#define FLASHFIT_SWIGLU 0     /* min(g, limit) / (1 + exp(-alpha min(g, limit))) (clamp(u, -limit, limit) + shift) */
#define FLASHFIT_GEGLU_TANH 1 /* g / 2 (1 + tanh(sqrt(2 / pi) (g + 0.044715 g^3))) u */
#define FLASHFIT_GEGLU_ERF 2  /* g / 2 (1 + erf(g / sqrt(2))) u */
#define FLASHFIT_SILU 3       /* u / (1 + exp(-u)); there is no gate: w13 has `intermediate` outputs */
#define FLASHFIT_RELU2 4      /* max(u, 0)^2; nor here */

/* Since 0.3. A layer of experts. For each token t and rank k, with e = topk_ids[t, k] and w = topk_weights[t, k]:
 *
 *   z = (g, u) = x[t] w13[e]^T + b13[e];  h = activation(g, u);  y = h w2[e]^T + b2[e];  out[t] += w y
 *
 * over k from 0 to top_k - 1 in this order, in fp32, rounded once; then y of the shared expert, if there is one.
 * Experts are found in one of three ways: topk_ids and topk_weights are given; or router_logits, of which they are made
 * as flashfit_moe_route makes them; or offsets, and then row r of x is expert e's if offsets[e] <= r < offsets[e + 1],
 * and out[r] = y, with 0 for rows of none.
 *
 * Repeated ids of a token are legal. Ids of experts that experts_low and experts_high, or expert_map, leave out, and
 * ids that are none, add 0 and touch no memory; without either the CPU refuses ids out of range, and a GPU adds 0. No
 * token is dropped. The same bits in every run; on the CPU a token's result does not depend on the tokens around it.
 *
 * x, w13, w2, out and, where given, b13, b2 and shared_* are of one dtype, fp16, bf16 or, on the CPU, fp32; their
 * strides are 0 or more and 1 in the last dimension. All tensors are on one device. The memory of out, and of z,
 * overlaps no other tensor's. */
typedef struct flashfit_fused_moe_args {
  uint32_t struct_size; /* sizeof(flashfit_fused_moe_args); as of flashfit_attention_args */
  uint32_t flags;       /* FLASHFIT_TRANSPOSED, FLASHFIT_INTERLEAVED, FLASHFIT_WEIGHT_ON_INPUT, FLASHFIT_PTX_ONLY, and
                           with router_logits those of flashfit_moe_route_args */
  const DLTensor* x;    /* [tokens, hidden] */
  /* [experts, 2 intermediate, hidden]: all gates, then all ups; or interleaved; without gate [experts, intermediate,
   * hidden]. With FLASHFIT_TRANSPOSED [experts, hidden, 2 intermediate]. Of the experts that are owned: 1 to 512. */
  const DLTensor* w13;
  const DLTensor* w2;  /* [experts, hidden, intermediate]; with FLASHFIT_TRANSPOSED [experts, intermediate, hidden] */
  const DLTensor* out; /* [tokens, hidden] */
  const DLTensor* topk_ids;      /* int32 [tokens, top_k], contiguous, top_k from 1 to 16; or NULL */
  const DLTensor* topk_weights;  /* fp32 [tokens, top_k], contiguous; or NULL */
  const DLTensor* router_logits; /* [tokens, all experts], as of flashfit_moe_route_args; or NULL */
  const DLTensor* offsets;       /* int32 [experts + 1], contiguous, never falling, from 0 to tokens; or NULL */
  const DLTensor* b13;           /* [experts, outputs of w13]; or NULL */
  const DLTensor* b2;            /* [experts, hidden]; or NULL */
  const DLTensor* router_bias;   /* as of flashfit_moe_route_args; or NULL */
  const DLTensor* expert_map;    /* int32 [all experts], contiguous: for each id its place in w13, or -1; or NULL */
  /* An expert of every token, of an intermediate size of its own, without biases: [2 intermediate, hidden] and [hidden,
   * intermediate] (both turned with FLASHFIT_TRANSPOSED); both or neither. */
  const DLTensor* shared_w13;
  const DLTensor* shared_w2;
  const DLTensor* shared_gate; /* [hidden]: the shared y is multiplied by sigmoid(x[t] shared_gate); or NULL */
  flashfit_stream stream;
  const char*
      variant; /* force a variant of `flashfit images` by name, for tests and tuning; or NULL; NULL on the CPU */
  /* As of flashfit_attention_args; at least as many bytes as flashfit_fused_moe_workspace says. */
  void* workspace;
  uint64_t workspace_bytes;
  /* w13[0] is expert experts_low, the last one expert experts_high - 1. Both 0: all experts. Not with expert_map. */
  int32_t experts_low, experts_high;
  int32_t activation;          /* FLASHFIT_SWIGLU, ... */
  float alpha, limit, shift;   /* of FLASHFIT_SWIGLU; alpha 0 means 1, limit 0 means none */
  int32_t top_k;               /* with router_logits: 1 to 16 and to all experts; else 0 */
  int32_t groups, groups_kept; /* as of flashfit_moe_route_args */
  float scale;                 /* likewise */
  /* Since 0.4. On a GPU, for a backward: written, z of each choice, gates of all features, then ups, however w13 has
   * them: [tokens top_k + experts of w13, outputs of w13], contiguous, of x's dtype. An expert's choices lie together
   * in their order, the experts one after the other, each behind one row that is not written; nor are the rows left at
   * the end, as many as there are choices that add 0. Not with offsets. Or NULL. */
  const DLTensor* z;
} flashfit_fused_moe_args;

/* On the CPU the result is there on return; on a GPU the work is queued on the stream. When which status is returned:
 * docs/api.md, "The way of a call"; what is refused: docs/moe.md. */
FLASHFIT_API flashfit_status flashfit_fused_moe(const flashfit_fused_moe_args* args);

/* All of flashfit_fused_moe but the launches: the same checks, except for the workspace, and the kernels loaded on that
 * GPU, so that the first call takes no longer than later ones. On the CPU it only checks. */
FLASHFIT_API flashfit_status flashfit_fused_moe_prepare(const flashfit_fused_moe_args* args);

/* *bytes: the workspace that the same call of flashfit_fused_moe needs, whatever its tensors hold; 0 on the CPU. Checks
 * the same arguments, except for the workspace, and launches nothing. */
FLASHFIT_API flashfit_status flashfit_fused_moe_workspace(const flashfit_fused_moe_args* args, uint64_t* bytes);

/* Since 0.4. flashfit_fused_moe for callers that allocate a workspace only where a call needs one; allocate and context
 * as of flashfit_attention_run. */
FLASHFIT_API flashfit_status flashfit_fused_moe_run(const flashfit_fused_moe_args* args, flashfit_allocate allocate,
                                                    void* context);

/* Since 0.3. Gradients of flashfit_fused_moe with topk_ids and topk_weights, given out's, dout. z and h are computed
 * again, so that a caller keeps nothing but the call's inputs. Sums in fp32, each gradient rounded once; the same bits
 * in every run. Gradients of experts without tokens, and of weights of ids that are not owned, are 0. On the CPU. */
typedef struct flashfit_fused_moe_backward_args {
  uint32_t struct_size; /* sizeof(flashfit_fused_moe_backward_args); as of flashfit_attention_args */
  uint32_t flags;       /* FLASHFIT_TRANSPOSED, FLASHFIT_INTERLEAVED, FLASHFIT_WEIGHT_ON_INPUT */
  /* As of flashfit_fused_moe_args; dout as out. */
  const DLTensor* x;
  const DLTensor* w13;
  const DLTensor* w2;
  const DLTensor* dout;
  const DLTensor* topk_ids;
  const DLTensor* topk_weights;
  const DLTensor* b13; /* or NULL */
  const DLTensor* b2;  /* or NULL */
  /* Written, each or NULL: of the shape and dtype of what it is the gradient of, dtopk_weights contiguous, the others
   * with 1 in the last dimension and strides as out's. Each has memory of its own. */
  const DLTensor* dx;
  const DLTensor* dw13;
  const DLTensor* dw2;
  const DLTensor* db13;
  const DLTensor* db2;
  const DLTensor* dtopk_weights;
  flashfit_stream stream;
  void* workspace; /* NULL: the CPU needs none */
  uint64_t workspace_bytes;
  int32_t experts_low, experts_high; /* these and what follows as of flashfit_fused_moe_args */
  int32_t activation;
  float alpha, limit, shift;
} flashfit_fused_moe_backward_args;

/* On the CPU the gradients are there on return; tensors on a GPU are refused. */
FLASHFIT_API flashfit_status flashfit_fused_moe_backward(const flashfit_fused_moe_backward_args* args);

/* Since 0.4. What a backward of flashfit_fused_moe computes between its products, where these are another library's.
 * Rows are those of flashfit_fused_moe_args' z. For each row r, with c = choices[r] and w = topk_weights[c], or 1
 * without topk_weights:
 *
 *   dtopk_weights[c] = sum of dh[r] activation(z[r]);  dz[r] = w dh[r] activation'(z[r]);  h[r] = w activation(z[r])
 *
 * in fp32, rounded once. Where c is below 0 dz[r] and h[r] are 0, whatever z[r] and dh[r] hold. Tensors are contiguous,
 * on one GPU; z, dh, dz and h of one dtype, fp16 or bf16. */
typedef struct flashfit_moe_activation_backward_args {
  uint32_t struct_size;         /* sizeof(flashfit_moe_activation_backward_args); as of flashfit_attention_args */
  uint32_t flags;               /* FLASHFIT_INTERLEAVED, of dz alone; FLASHFIT_PTX_ONLY */
  const DLTensor* z;            /* [rows, 2 features], gates, then ups; of activations without gate [rows, features] */
  const DLTensor* dh;           /* [rows, features], features a multiple of 8 */
  const DLTensor* choices;      /* int32 [rows], each below the sizes of topk_weights and dtopk_weights */
  const DLTensor* topk_weights; /* fp32, one dimension; or NULL */
  /* Written, each in memory of its own, but h may be dh. */
  const DLTensor* dz;            /* as z */
  const DLTensor* h;             /* as dh */
  const DLTensor* dtopk_weights; /* fp32, one dimension: at choices alone; or NULL */
  flashfit_stream stream;
  int32_t activation; /* this and what follows as of flashfit_fused_moe_args */
  float alpha, limit, shift;
} flashfit_moe_activation_backward_args;

/* Queued on the stream; tensors on the CPU are refused. */
FLASHFIT_API flashfit_status flashfit_moe_activation_backward(const flashfit_moe_activation_backward_args* args);

/* Since 0.4. The experts' grouped product alone, as a backward of flashfit_fused_moe needs it for dh and dx: for each
 * row r of expert e
 *
 *   out[r, o] = sum over d of a[r, d] w[e, o, d]
 *
 * in fp32, rounded once. An expert begins at the largest offset so far, and none reaches past the rows; rows that no
 * expert has are not written. On one GPU; all floats but topk_weights of one dtype, fp16 or bf16; the last dimension
 * contiguous, other strides multiples of 8, addresses of 16 bytes.
 *
 * Where sums are given, it also does what flashfit_moe_sum_rows does after it, to the same bits, and beside the
 * products where that is faster:
 *
 *   sums[t] = topk_weights[t, 0] out[places[t, 0]] + ... in the order of k, in fp32, rounded once */
typedef struct flashfit_moe_rows_product_args {
  uint32_t struct_size;    /* sizeof(flashfit_moe_rows_product_args); as of flashfit_attention_args */
  uint32_t flags;          /* FLASHFIT_TRANSPOSED, FLASHFIT_PTX_ONLY */
  const DLTensor* a;       /* [rows, depth], depth a multiple of 8 */
  const DLTensor* w;       /* [experts, outputs, depth], outputs a multiple of 8; FLASHFIT_TRANSPOSED: [experts, depth,
                            * outputs] */
  const DLTensor* offsets; /* int32 [experts + 1], contiguous: where each expert's rows begin */
  const DLTensor* out;     /* written: [rows, outputs], contiguous */
  flashfit_stream stream;
  void* workspace; /* as of flashfit_attention_args; NULL: `allocate` is asked */
  uint64_t workspace_bytes;
  /* NULL: nothing is added up. */
  const DLTensor* places;       /* int32 [tokens, top_k], contiguous: each below the number of rows, below 0: no row */
  const DLTensor* sums;         /* written: [tokens, outputs] */
  const DLTensor* topk_weights; /* fp32 [tokens, top_k], contiguous; or NULL for 1 */
} flashfit_moe_rows_product_args;

/* Queued on the stream; tensors on the CPU are refused. allocate and context as of flashfit_attention_run. */
FLASHFIT_API flashfit_status flashfit_moe_rows_product(const flashfit_moe_rows_product_args* args,
                                                       flashfit_allocate allocate, void* context);

/* Since 0.4. What comes before and after the products of a backward of flashfit_fused_moe: rows of tokens in the
 * experts' order, with p = places[t, k] the row of a choice, or below 0 of one that has none:
 *
 *   gathered:  rows[p] = tokens[t];  other rows are not written
 *   added up:  tokens[t] = topk_weights[t, 0] rows[places[t, 0]] + ... in the order of k, in fp32, rounded once
 *
 * On one GPU; tokens and rows of one dtype, fp16 or bf16, at addresses of 16 bytes. */
typedef struct flashfit_moe_rows_args {
  uint32_t struct_size;         /* sizeof(flashfit_moe_rows_args); as of flashfit_attention_args */
  uint32_t flags;               /* FLASHFIT_PTX_ONLY */
  const DLTensor* tokens;       /* [tokens, columns], the row stride a multiple of 8, as columns is */
  const DLTensor* places;       /* int32 [tokens, top_k], contiguous; each below the number of rows */
  const DLTensor* rows;         /* [rows, columns], contiguous */
  const DLTensor* topk_weights; /* of the sum: fp32 [tokens, top_k], contiguous; or NULL for 1 */
  flashfit_stream stream;
} flashfit_moe_rows_args;

/* Queued on the stream; tensors on the CPU are refused. */
FLASHFIT_API flashfit_status flashfit_moe_gather_rows(const flashfit_moe_rows_args* args);
FLASHFIT_API flashfit_status flashfit_moe_sum_rows(const flashfit_moe_rows_args* args);

/* Since 0.4. The order of the rows of a backward of flashfit_fused_moe, and of flashfit_fused_moe_args' z: choices
 * sorted by expert, an expert's in their own order, behind one row that is of no token, so that every expert has a row.
 * Choices of no expert, those whose id is not in experts_low to experts_low + experts - 1, have no place; as many rows
 * are left at the end. With c = t * top_k + k and r = places[t, k], choices[r] = c. On one GPU; tensors are int32 and
 * contiguous; what is written overlaps nothing. */
typedef struct flashfit_moe_sort_rows_args {
  uint32_t struct_size;     /* sizeof(flashfit_moe_sort_rows_args); as of flashfit_attention_args */
  uint32_t flags;           /* FLASHFIT_PTX_ONLY */
  const DLTensor* topk_ids; /* [tokens, top_k]: any numbers */
  /* Written. */
  const DLTensor* places;  /* [tokens, top_k]: -1 of choices of no expert */
  const DLTensor* choices; /* [tokens * top_k + experts]: -1 in rows of no token, and in those that are left */
  const DLTensor* offsets; /* [experts + 1]: each expert's first row, which is of no token; then the last one's end */
  flashfit_stream stream;
  void* workspace; /* as of flashfit_attention_args; NULL: `allocate` is asked, if more than 2,048 choices need one */
  uint64_t workspace_bytes;
  int32_t experts_low; /* 0 and more */
  uint32_t reserved;   /* 0 */
} flashfit_moe_sort_rows_args;

/* Queued on the stream; tensors on the CPU are refused. allocate and context as of flashfit_attention_run. */
FLASHFIT_API flashfit_status flashfit_moe_sort_rows(const flashfit_moe_sort_rows_args* args, flashfit_allocate allocate,
                                                    void* context);

/* Since 0.4. The product that gives gradients of weights in a backward of flashfit_fused_moe, dw13 and dw2: for each
 * expert e
 *
 *   out[e, i, j] = sum over the rows r of e of a[r, i] b[r, j]
 *
 * in fp32 and in the order of rows, rounded once; 0 of an expert without rows. Expert e has the rows from offsets[e] to
 * offsets[e + 1]: where these fall it has none, and no row that is not there. On one GPU of compute capability 9.0; a,
 * b and out of one dtype, fp16 or bf16; the last dimension contiguous, row strides multiples of 8, addresses of 16
 * bytes. */
typedef struct flashfit_moe_weights_product_args {
  uint32_t struct_size;    /* sizeof(flashfit_moe_weights_product_args); as of flashfit_attention_args */
  uint32_t flags;          /* FLASHFIT_PTX_ONLY */
  const DLTensor* a;       /* [rows, m], m a multiple of 8 */
  const DLTensor* b;       /* [rows, n], n a multiple of 8 */
  const DLTensor* offsets; /* int32 [experts + 1], contiguous: where each expert's rows begin */
  const DLTensor* out;     /* written: [experts, m, n], contiguous */
  flashfit_stream stream;
  void* workspace; /* as of flashfit_attention_args; NULL: `allocate` is asked */
  uint64_t workspace_bytes;
} flashfit_moe_weights_product_args;

/* Queued on the stream; tensors on the CPU are refused. allocate and context as of flashfit_attention_run. */
FLASHFIT_API flashfit_status flashfit_moe_weights_product(const flashfit_moe_weights_product_args* args,
                                                          flashfit_allocate allocate, void* context);

/* What flashfit_moe_route would run and why, for any GPU in the table, on any machine. */
typedef struct flashfit_moe_route_explain_args {
  uint32_t struct_size;
  uint32_t flags;    /* as of flashfit_moe_route_args */
  const char* gpu;   /* "L4", "8.9", "all"; NULL: the GPUs of this machine */
  const char* dtype; /* "fp16", "bf16", "fp32" */
  int64_t tokens, experts, top_k;
  const char* variant;  /* force a variant of `flashfit images` by name; or NULL */
  int32_t cuda_version; /* as of flashfit_explain_args */
  uint32_t reserved;    /* 0 */
} flashfit_moe_route_explain_args;

/* Since 0.4. What flashfit_fused_moe would run on a GPU and why, for any GPU in the table, on any machine. */
typedef struct flashfit_fused_moe_explain_args {
  uint32_t struct_size;
  uint32_t flags;    /* FLASHFIT_TRANSPOSED, FLASHFIT_INTERLEAVED, FLASHFIT_WEIGHT_ON_INPUT, FLASHFIT_KEEPING,
                      * FLASHFIT_PTX_ONLY */
  const char* gpu;   /* "L4", "8.9", "all"; NULL: the GPUs of this machine */
  const char* dtype; /* "fp16", "bf16", "fp32" */
  int64_t tokens, experts, top_k;    /* experts: all, 1 to 512; tokens * top_k below 2^31 */
  int64_t hidden, intermediate;      /* 1 to 2^20 */
  const char* variant;               /* force a variant of `flashfit images` by name; or NULL */
  int32_t cuda_version;              /* as of flashfit_explain_args */
  int32_t experts_low, experts_high; /* of the experts those whose weights are there; both 0: all */
  int32_t activation;                /* FLASHFIT_SWIGLU, ... */
} flashfit_fused_moe_explain_args;

/* JSON documents (docs/plan.md, docs/images.md describe the keys). *json is freed by flashfit_free. */
FLASHFIT_API flashfit_status flashfit_explain_json(const flashfit_explain_args* args, char** json);
/* docs/routing.md describes the keys. */
FLASHFIT_API flashfit_status flashfit_moe_route_explain_json(const flashfit_moe_route_explain_args* args, char** json);
/* docs/moe.md describes the keys. */
FLASHFIT_API flashfit_status flashfit_fused_moe_explain_json(const flashfit_fused_moe_explain_args* args, char** json);
FLASHFIT_API flashfit_status flashfit_images_json(char** json);
/* This machine: GPUs, driver; no GPU is a fact, not an error. */
FLASHFIT_API flashfit_status flashfit_gpus_json(char** json);
FLASHFIT_API void flashfit_free(char* json);

#ifdef __cplusplus
}
#endif
#endif /* FLASHFIT_FLASHFIT_H_ */
