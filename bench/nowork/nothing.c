/* What bench/call_cost.py calls in place of flashfit_attention_run, to time the Python binding alone: reads what a
 * call would read of each tensor, and does nothing. */
#include "flashfit/flashfit.h"

FLASHFIT_API int flashfit_nothing(const flashfit_attention_args* args, flashfit_allocate allocate, void* context);

FLASHFIT_API int flashfit_nothing(const flashfit_attention_args* args, flashfit_allocate allocate, void* context) {
  (void)allocate, (void)context;
  const DLTensor* const tensors[] = {args->q,           args->k, args->v, args->out, args->lse, args->cu_seqlens_q,
                                     args->cu_seqlens_k};
  volatile int64_t read = 0;
  for (unsigned i = 0; i < sizeof tensors / sizeof *tensors; ++i) {
    if (!tensors[i]) continue;
    for (int d = 0; d < tensors[i]->ndim; ++d) read += tensors[i]->shape[d] + tensors[i]->strides[d];
    read += (int64_t)(intptr_t)tensors[i]->data + tensors[i]->dtype.bits + tensors[i]->device.device_id;
  }
  return read == 1;
}
