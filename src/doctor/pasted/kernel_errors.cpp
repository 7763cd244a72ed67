// Errors of kernels and of launches: too large for the GPU, or wrong. Of these only the first are misfits.
#include "doctor/pasted/tables.hpp"

namespace flashfit::doctor::pasted {
namespace {

constexpr std::string_view kAnyLaunch =
    "the launch that failed ran before the line that raised it, by an unknown while: CUDA_LAUNCH_BLOCKING=1 makes the "
    "line true";

const ErrorClass kClasses[] = {
    {.name = "too-much-shared-memory",
     .code = "FF820",
     .title = "a kernel's tile is larger than a block's shared memory",
     .patterns =
         {{"uses too much shared data",
           R"((?:function '(?P<kernel>[^']+)' )?uses too much shared data \((?P<bytes>0x[0-9a-fA-F]+) bytes, (?P<limit>0x[0-9a-fA-F]+) max\))"},
          {"out of resource: shared memory",
           R"(out of resource: shared memory, Required: (?P<bytes>\d+), Hardware limit: (?P<limit>\d+))"},
          {"out of resources: shared memory",
           R"(out of resources: shared memory, Required: (?P<bytes>\d+), Hardware limit: (?P<limit>\d+))"},
          {"SMEM overflow", R"(SMEM overflow \((?P<kilobytes>[\d.]+) ?KB > (?P<limit_kilobytes>[\d.]+) ?KB limit\))"},
          {"exceeds shared memory", R"((?P<bytes>\d+) bytes.* exceeds shared memory limit(?: of)? \(?(?P<limit>\d+))"}},
     .concluded = "a block of [{kernel}|the kernel] asks for {bytes} bytes of shared memory and may have {limit}. "
                  "Fewer warps do not change that: the tiles and stages decide",
     .mend = "a smaller tile or fewer stages (BLOCK_M, BLOCK_N, num_stages)[, or for {kernel}: dynamic shared memory "
             "with cudaFuncAttributeMaxDynamicSharedMemorySize]",
     .explained_by = {"FF501"},
     .source = "CUDA C++ Programming Guide, \"Compute Capabilities\"; Triton, OutOfResources"},
    {.name = "too-many-resources",
     .code = "FF821",
     .title = "a block asks for more registers or threads than the GPU has",
     .asynchronous = true,
     .patterns =
         {{"too many resources requested for launch", R"(too many resources requested for launch)"},
          {"cudaErrorLaunchOutOfResources", R"(cudaErrorLaunchOutOfResources)"},
          {"out of resource: ",
           R"(out of resource: (?P<what>threads|registers|tensor memory), Required: (?P<bytes>\d+), Hardware limit: (?P<limit>\d+))"}},
     .concluded = "a launch asked for more[ {what}: {bytes} of {limit}| registers or threads a block] than this GPU "
                  "has; the code itself is for it",
     .unknown = "which kernel: the next call that looked reports it",
     .explained_by = {"FF502", "FF503"},
     .source = "CUDA Runtime API, cudaErrorLaunchOutOfResources"},
    {.name = "out-of-memory",
     .code = "FF822",
     .title = "the GPU's memory is full",
     .nature = Nature::kNoMisfit,
     .patterns = {{"CUDA out of memory", R"(CUDA out of memory\. Tried to allocate (?P<bytes>[\d.]+ \w+))"},
                  {"GPU total capacity", R"(has a total capacity of (?P<capacity>[\d.]+ \w+))", true},
                  {"CUDA out of memory", R"(CUDA out of memory)"},
                  {"CUDA error: out of memory", R"(CUDA error: out of memory)"},
                  {"cudaMalloc failed: out of memory", R"(cudaMalloc failed: out of memory)"},
                  {"RESOURCE_EXHAUSTED: Out of memory",
                   R"(RESOURCE_EXHAUSTED: Out of memory while trying to allocate (?P<bytes>\d+ bytes))"},
                  {"OOM when allocating tensor", R"(OOM when allocating tensor)"},
                  {"CUDA_ERROR_OUT_OF_MEMORY", R"(CUDA_ERROR_OUT_OF_MEMORY)"},
                  {"cudaErrorMemoryAllocation", R"(cudaErrorMemoryAllocation)"},
                  {"total capacity of", R"(has a total capacity of (?P<capacity>[\d.]+ \w+))", true}},
     .concluded = "an allocation[ of {bytes}] found no room[ on a GPU of {capacity}]. It is no misfit: every file "
                  "fits, the problem is larger than the memory that is left",
     .mend = "a smaller batch or resolution, a model that is offloaded or quantised, or other processes ended "
             "(nvidia-smi lists them)",
     .source = "PyTorch, \"Memory management\""},
    {.name = "illegal-memory-access",
     .code = "FF823",
     .title = "a kernel went wrong",
     .nature = Nature::kNoMisfit,
     .asynchronous = true,
     .patterns = {{"illegal memory access", R"((?P<what>an illegal memory access was encountered))"},
                  {"unspecified launch failure", R"((?P<what>unspecified launch failure))"},
                  {"misaligned address", R"(CUDA error: (?P<what>misaligned address))"},
                  {"an illegal barrier", R"((?P<what>an illegal barrier))"},
                  {"CUDA_ERROR_ILLEGAL_ADDRESS", R"((?P<what>CUDA_ERROR_ILLEGAL_ADDRESS))"},
                  {"CUDA_ERROR_MISALIGNED_ADDRESS", R"((?P<what>CUDA_ERROR_MISALIGNED_ADDRESS))"},
                  {"CUDA_ERROR_LAUNCH_FAILED", R"((?P<what>CUDA_ERROR_LAUNCH_FAILED))"}},
     .concluded = "a kernel ran and did what it may not ({what}): its code fits the GPU. After this every further call "
                  "of the process fails with the same words",
     .unknown = kAnyLaunch,
     .mend = "CUDA_LAUNCH_BLOCKING=1 with the same program names the launch; compute-sanitizer names the kernel and "
             "the address",
     .source = "CUDA C++ Programming Guide, \"Error checking\"; PyTorch, \"Asynchronous execution\""},
    {.name = "instruction-refused-by-gpu",
     .code = "FF823",
     .title = "a kernel came to an instruction that the GPU refuses",
     .proof = Proof::kFiles,
     .asynchronous = true,
     .patterns = {{"illegal instruction was encountered", R"((?P<what>an illegal instruction was encountered))"},
                  {"cudaErrorIllegalInstruction", R"((?P<what>cudaErrorIllegalInstruction)\b)"},
                  {"CUDA_ERROR_ILLEGAL_INSTRUCTION", R"((?P<what>CUDA_ERROR_ILLEGAL_INSTRUCTION))"}},
     .concluded = "a kernel was found for this GPU, ran, and stopped ({what}): it was made for the features of another "
                  "architecture (sm_90a and sm_120a have instructions that sm_90 and sm_120 lack), it jumped into what "
                  "is no code after it wrote past its own, or the GPU's memory is damaged. Every further call of the "
                  "process fails with the same words",
     .unknown = "which of these, and the launch: CUDA_LAUNCH_BLOCKING=1 makes the line that raised it true",
     .ask = "CUDA_LAUNCH_BLOCKING=1 with the same program, then the package in the last frame: flashfit doctor PACKAGE "
            "--gpu NAME -v (what its code was made for)",
     .explained_by = {"FF101", "FF102", "FF110"},
     .source = "CUDA Runtime API, cudaErrorIllegalInstruction; NVIDIA/cutlass#3174"},
    {.name = "cutlass-does-not-start",
     .code = "FF819",
     .title = "a kernel of CUTLASS did not start",
     .proof = Proof::kFiles,
     .patterns = {{"Failed to initialize cutlass", R"(Failed to initialize (?P<what>cutlass [\w ]+?(?:gemm|GEMM)\w*))"},
                  {"Error Internal", R"((?i)\b(?P<what>\w*(?:cutlass|gemm)\w*)\b.*?\bError Internal\b)"},
                  {"RuntimeError: Error Internal", R"(RuntimeError: Error Internal\s*$)"},
                  {"Error Arch Mismatch", R"(\bError Arch Mismatch\b)"}},
     .concluded =
         "CUTLASS could not start a kernel[ ({what})]: its block asks for more shared memory than this GPU has "
         "(99 KB on 8.6, 8.9 and 12.x, 227 KB on 9.0 and 10.x), the package has no code of it for this very "
         "GPU (code for sm_120a does not run on 12.1, nor sm_100a on 10.3), or a call before it failed. The "
         "program's own check may have said that the GPU is served",
     .unknown = "which of these: CUTLASS says no more than that",
     .mend = "a release of the package that serves this GPU, or its other kernels in place of this one (vLLM: "
             "VLLM_DISABLED_KERNELS with the kernel's name, from its log); a model in another quantisation",
     .ask = "flashfit doctor PACKAGE --gpu NAME -v (what its code was made for)",
     .explained_by = {"FF101", "FF102", "FF501"},
     .subject = "cutlass",
     .source = "vllm-project/vllm#43367, #39367, #24377, #40758, sgl-project/sglang#17494"},
    {.name = "device-side-assert",
     .code = "FF824",
     .title = "a check in a kernel failed",
     .nature = Nature::kNoMisfit,
     .asynchronous = true,
     .patterns = {{"device-side assert triggered", R"(device-side assert triggered)"},
                  {"Assertion `",
                   R"((?P<file>[^\s:]+\.cuh?):(?P<line>\d+):.*block: \[.*Assertion `(?P<assertion>.+?)[`'] failed)"}},
     .concluded = "a kernel checked its data and found it wrong[: {assertion} in {file}:{line}], mostly an index "
                  "outside a table. Its code fits the GPU",
     .unknown = kAnyLaunch,
     .mend = "the same on the CPU, or CUDA_LAUNCH_BLOCKING=1, names the line of the program",
     .source = "PyTorch, \"Asynchronous execution\""},
    {.name = "cuda-after-fork",
     .code = "FF825",
     .title = "CUDA in a process that was forked",
     .nature = Nature::kNoMisfit,
     .patterns = {{"Cannot re-initialize CUDA in forked subprocess",
                   R"(Cannot re-initialize CUDA in forked subprocess)"}},
     .concluded = "the program used CUDA and then forked: a driver's state does not survive a fork, in any release",
     .unknown = "what used CUDA before: also torch.cuda.is_available() may, and an import that asks for the GPU's name",
     .mend = "multiprocessing.set_start_method('spawn') under if __name__ == '__main__'; vLLM: "
             "VLLM_WORKER_MULTIPROC_METHOD=spawn; a DataLoader: no CUDA tensors in its dataset",
     .source = "pytorch/pytorch#40403, vllm-project/vllm#8893, traveller59/spconv#408"},
    {.name = "nccl",
     .code = "FF829",
     .title = "communication between GPUs",
     .nature = Nature::kOutOfScope,
     .asynchronous = true,
     .consequence = true,
     .patterns = {{"NCCL error", R"(NCCL error(?: in: (?P<file>[^\s,]+))?)"},
                  {"NCCL failure", R"(NCCL failure (?P<file>[^\s:,]+):?\d* '[^']+')"},
                  {"ncclUnhandledCudaError", R"(ncclUnhandledCudaError)"},
                  {"ncclSystemError", R"(ncclSystemError)"},
                  {"ncclInternalError", R"(ncclInternalError)"},
                  {"Watchdog caught collective operation timeout", R"(Watchdog caught collective operation timeout)"},
                  {"DistBackendError", R"(DistBackendError)"}},
     .concluded = "NCCL reports it, the library that moves data between GPUs: networks, other ranks and their errors "
                  "are beyond what the doctor judges",
     .unknown = "what the other ranks wrote: the first of them that failed tells more",
     .mend = "NCCL_DEBUG=INFO with the same program, and the log of the rank that failed first",
     .source = "NCCL, \"Troubleshooting\"; NVIDIA/nccl-tests#6"},
};

}  // namespace

std::span<const ErrorClass> kernel_errors() { return kClasses; }

}  // namespace flashfit::doctor::pasted
