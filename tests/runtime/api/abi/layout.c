/* The layout that callers were compiled with: numbers may be added, never changed. Fails to compile if one is. */
#include <flashfit/flashfit.h>

/* GNU C has both in C99; C11 and later have them by these names. */
#define HOLDS(what) _Static_assert(what, #what)
#define AT(type, field, offset) HOLDS(offsetof(type, field) == (offset))

HOLDS(sizeof(flashfit_attention_args) == 160);
AT(flashfit_attention_args, struct_size, 0);
AT(flashfit_attention_args, flags, 4);
AT(flashfit_attention_args, q, 8);
AT(flashfit_attention_args, k, 16);
AT(flashfit_attention_args, v, 24);
AT(flashfit_attention_args, out, 32);
AT(flashfit_attention_args, lse, 40);
AT(flashfit_attention_args, cu_seqlens_q, 48);
AT(flashfit_attention_args, cu_seqlens_k, 56);
AT(flashfit_attention_args, stream, 64);
AT(flashfit_attention_args, variant, 72);
AT(flashfit_attention_args, softmax_scale, 80);
AT(flashfit_attention_args, reserved, 84);
AT(flashfit_attention_args, workspace, 88);
AT(flashfit_attention_args, workspace_bytes, 96);
AT(flashfit_attention_args, window_left, 104);
AT(flashfit_attention_args, window_right, 112);
AT(flashfit_attention_args, alibi_slopes, 120);
AT(flashfit_attention_args, sinks, 128);
AT(flashfit_attention_args, bias, 136);
AT(flashfit_attention_args, seqused_k, 144);
AT(flashfit_attention_args, softcap, 152);
AT(flashfit_attention_args, reserved_2, 156);

HOLDS(sizeof(flashfit_explain_args) == 152);
AT(flashfit_explain_args, struct_size, 0);
AT(flashfit_explain_args, flags, 4);
AT(flashfit_explain_args, gpu, 8);
AT(flashfit_explain_args, dtype, 16);
AT(flashfit_explain_args, batch, 24);
AT(flashfit_explain_args, seqlen_q, 32);
AT(flashfit_explain_args, seqlen_k, 40);
AT(flashfit_explain_args, heads_q, 48);
AT(flashfit_explain_args, heads_kv, 56);
AT(flashfit_explain_args, head_dim, 64);
AT(flashfit_explain_args, cuda_version, 72);
AT(flashfit_explain_args, reserved, 76);
AT(flashfit_explain_args, variant, 80);
AT(flashfit_explain_args, total_q, 88);
AT(flashfit_explain_args, total_k, 96);
AT(flashfit_explain_args, block_m, 104);
AT(flashfit_explain_args, block_n, 108);
AT(flashfit_explain_args, warps, 112);
AT(flashfit_explain_args, stages, 116);
AT(flashfit_explain_args, head_dim_v, 120);
AT(flashfit_explain_args, window_left, 128);
AT(flashfit_explain_args, window_right, 136);
AT(flashfit_explain_args, bias, 144);

HOLDS(sizeof(flashfit_plan) == 792);
AT(flashfit_plan, struct_size, 0);
AT(flashfit_plan, fits, 4);
AT(flashfit_plan, cc_major, 8);
AT(flashfit_plan, cc_minor, 12);
AT(flashfit_plan, block_m, 16);
AT(flashfit_plan, block_n, 20);
AT(flashfit_plan, warps, 24);
AT(flashfit_plan, stages, 28);
AT(flashfit_plan, threads, 32);
AT(flashfit_plan, shared_memory_bytes, 36);
AT(flashfit_plan, shared_memory_limit_bytes, 40);
AT(flashfit_plan, registers_per_thread, 44);
AT(flashfit_plan, registers_estimated, 48);
AT(flashfit_plan, spill_bytes, 52);
AT(flashfit_plan, blocks_per_sm, 56);
AT(flashfit_plan, reserved, 60);
AT(flashfit_plan, grid, 64);
AT(flashfit_plan, workspace_bytes, 72);
AT(flashfit_plan, modelled_us, 80);
AT(flashfit_plan, gpu, 88);
AT(flashfit_plan, family, 152);
AT(flashfit_plan, variant, 168);
AT(flashfit_plan, target, 232);
AT(flashfit_plan, bound, 248);
AT(flashfit_plan, reason, 280);

HOLDS(FLASHFIT_OK == 0);
HOLDS(FLASHFIT_INVALID_ARGUMENT == 1);
HOLDS(FLASHFIT_MISFIT == 2);
HOLDS(FLASHFIT_NO_GPU == 3);
HOLDS(FLASHFIT_CUDA == 4);
HOLDS(FLASHFIT_OUT_OF_MEMORY == 5);
HOLDS(FLASHFIT_INTERNAL == 6);
HOLDS(FLASHFIT_DISABLED == 7);
HOLDS(sizeof(flashfit_status) == 4);
HOLDS(FLASHFIT_CAUSAL == 1);
HOLDS(FLASHFIT_PTX_ONLY == 2);
HOLDS(FLASHFIT_VARIABLE_LENGTH == 4);
HOLDS(FLASHFIT_WINDOW == 8);
HOLDS(FLASHFIT_BATCH_INVARIANT == 16);
HOLDS(FLASHFIT_SOFTCAP == 32);
HOLDS(FLASHFIT_ALIBI == 64);
HOLDS(FLASHFIT_UNALIGNED == 128);
HOLDS(FLASHFIT_TOPK_FIRST == 256);
HOLDS(FLASHFIT_RENORMALIZE == 512);
HOLDS(FLASHFIT_SINKS == 1024);

HOLDS(sizeof(flashfit_moe_route_args) == 48);
AT(flashfit_moe_route_args, struct_size, 0);
AT(flashfit_moe_route_args, flags, 4);
AT(flashfit_moe_route_args, logits, 8);
AT(flashfit_moe_route_args, weights, 16);
AT(flashfit_moe_route_args, ids, 24);
AT(flashfit_moe_route_args, stream, 32);
AT(flashfit_moe_route_args, variant, 40);

HOLDS(sizeof(flashfit_moe_route_explain_args) == 64);
AT(flashfit_moe_route_explain_args, struct_size, 0);
AT(flashfit_moe_route_explain_args, flags, 4);
AT(flashfit_moe_route_explain_args, gpu, 8);
AT(flashfit_moe_route_explain_args, dtype, 16);
AT(flashfit_moe_route_explain_args, tokens, 24);
AT(flashfit_moe_route_explain_args, experts, 32);
AT(flashfit_moe_route_explain_args, top_k, 40);
AT(flashfit_moe_route_explain_args, variant, 48);
AT(flashfit_moe_route_explain_args, cuda_version, 56);
AT(flashfit_moe_route_explain_args, reserved, 60);
