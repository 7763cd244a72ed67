/* Attention on memory of the CUDA driver, without a CUDA toolkit: the driver is opened at run time and the few
 * functions used are declared here. Compares with the CPU's result. Exit status: 0 equal, 1 not, 77 no GPU to try it
 * on. cc examples/driver_memory.c -Iinclude -Lbuild/lib -lflashfit -ldl -Wl,-rpath,build/lib -o driver_memory */
#include <dlfcn.h>
#include <flashfit/flashfit.h>
#include <stdio.h>
#include <string.h>

enum { kRows = 256, kHeads = 4, kDim = 64, kElements = kRows * kHeads * kDim, kBytes = 2 * kElements };

static uint16_t inputs[3][kElements], on_cpu[kElements], on_gpu[kElements]; /* fp16 */

static void* driver;
static void (*find(const char* name))(void) {
  void* symbol = dlsym(driver, name);
  void (*function)(void);
  return memcpy(&function, &symbol, sizeof function), function;
}
#define DRIVER(name, ...) ((int (*)(__VA_ARGS__))find(#name))

/* What a call needs beside its tensors, for the caller to free once the stream has passed the call. */
static void* allocate(void* workspace, uint64_t bytes) {
  if (DRIVER(cuMemAlloc_v2, void**, size_t)(workspace, bytes)) return NULL;
  return *(void**)workspace;
}

/* *workspace: what was allocated; NULL if nothing, as on the CPU. */
static int attention(void* q, void* k, void* v, void* out, DLDeviceType where, void* stream, void** workspace) {
  int64_t shape[4] = {1, kRows, kHeads, kDim};
  DLDataType fp16 = {kDLFloat, 16, 1};
  DLDevice device = {where, 0};
  DLTensor tq = {q, device, 4, fp16, shape, NULL, 0}, tk = {k, device, 4, fp16, shape, NULL, 0};
  DLTensor tv = {v, device, 4, fp16, shape, NULL, 0}, to = {out, device, 4, fp16, shape, NULL, 0};
  flashfit_attention_args args = {.struct_size = sizeof args, .q = &tq, .k = &tk, .v = &tv, .out = &to};
  args.stream = stream;
  *workspace = NULL;
  if (!flashfit_attention_run(&args, allocate, workspace)) return 0;
  return fprintf(stderr, "%s\n", flashfit_last_error()), 1;
}

static float value(uint16_t h) { /* fp16 to fp32, 0 for subnormals */
  const uint32_t bits = h & 0x7c00 ? (uint32_t)(h & 0x8000) << 16 | ((uint32_t)(h & 0x7fff) + 0x1c000) << 13 : 0;
  float x;
  return memcpy(&x, &bits, sizeof x), x;
}

int main(void) {
  void *context, *stream, *memory[4], *workspace, *none;
  float most = 0;
  int device;
  driver = dlopen("libcuda.so.1", RTLD_NOW);
  if (!driver || DRIVER(cuInit, unsigned)(0) || DRIVER(cuDeviceGet, int*, int)(&device, 0))
    return puts("no driver or no GPU here"), 77;
  if (DRIVER(cuDevicePrimaryCtxRetain, void**, int)(&context, device) || DRIVER(cuCtxSetCurrent, void*)(context) ||
      DRIVER(cuStreamCreate, void**, unsigned)(&stream, 0))
    return puts("no context or stream"), 1;
  for (int i = 0; i < 4; ++i) {
    for (uint32_t j = 0; i < 3 && j < kElements; ++j) /* 0.5 to 2, of both signs */
      inputs[i][j] = (uint16_t)(0x3800 + (j * 2654435761u >> 16) % 0x800 + (j + i) % 2 * 0x8000);
    if (DRIVER(cuMemAlloc_v2, void**, size_t)(&memory[i], kBytes)) return puts("no device memory"), 1;
    if (i < 3 && DRIVER(cuMemcpyHtoD_v2, void*, const void*, size_t)(memory[i], inputs[i], kBytes)) return 1;
  }
  if (attention(memory[0], memory[1], memory[2], memory[3], kDLCUDA, stream, &workspace)) return 1;
  if (attention(inputs[0], inputs[1], inputs[2], on_cpu, kDLCPU, NULL, &none)) return 1; /* meanwhile */
  if (DRIVER(cuStreamSynchronize, void*)(stream) ||
      DRIVER(cuMemcpyDtoH_v2, void*, void*, size_t)(on_gpu, memory[3], kBytes))
    return puts("the GPU failed"), 1;
  for (int i = 0; i < 4; ++i) DRIVER(cuMemFree_v2, void*)(memory[i]);
  if (workspace) DRIVER(cuMemFree_v2, void*)(workspace);
  DRIVER(cuStreamDestroy_v2, void*)(stream);
  for (int j = 0; j < kElements; ++j) {
    const float difference = value(on_gpu[j]) - value(on_cpu[j]);
    most = difference > most ? difference : -difference > most ? -difference : most;
  }
  printf("GPU and CPU differ by at most %g\n", most);
  return most < 4e-3f ? 0 : 1; /* two roundings of fp16 below 2, and a share for sums in another order */
}
