// Errors of GPU code that does not fit the GPU or the driver.
#include "doctor/pasted/tables.hpp"

namespace flashfit::doctor::pasted {
namespace {

const ErrorClass kClasses[] = {
    {.name = "gpu-not-in-paddle",
     .code = "FF818",
     .title = "this PaddlePaddle has no code for the GPU",
     .patterns =
         {{"Mismatched GPU Architecture",
           R"(PaddlePaddle package was compiled for (?P<carried>[\d ]+?) ?,but your current GPU is (?P<capability>\d+))"},
          {"not compatible with Paddle installation",
           R"(GPU architecture in your current machine is (?P<gpu>\w+), which is not compatible with Paddle installation with arch: (?P<carried>[\d ]+\d))"},
          {"is not supported by Paddle",
           R"(GPU compute capability in your current machine is (?P<capability>\d+), which is not supported by Paddle)"},
          {"GPU Compute Capability: ", R"(GPU Compute Capability: (?P<capability>\d+\.\d+))", true}},
     .concluded = "PaddlePaddle itself says that it was compiled for [{carried}|other GPUs], and the GPU is "
                  "[{capability}|{gpu}]",
     .mend =
         "the wheel of paddlepaddle-gpu that has code for this GPU (its builds differ by CUDA: cu118 has older GPUs, "
         "cu126 and later newer ones)",
     .explained_by = {"FF101", "FF102", "FF103"},
     .source = "PaddlePaddle/Paddle#54713, #73687, PaddlePaddle/PaddleX#4473, PaddlePaddle/PaddleHelix#369"},
    {.name = "gpu-not-in-tensorflow",
     .code = "FF818",
     .title = "this TensorFlow has no machine code for the GPU",
     .warning = true,
     .patterns =
         {{"not built with CUDA kernel binaries compatible",
           R"(TensorFlow was not built with CUDA kernel binaries compatible with compute capability (?P<capability>\d+\.\w+))"}},
     .concluded =
         "TensorFlow brings PTX for this GPU ({capability}) and no machine code: the driver compiles all of it at the "
         "first use, for up to half an hour, and keeps it. A driver older than that PTX refuses it",
     .mend =
         "CUDA_CACHE_MAXSIZE=4294967296, so that what was compiled is kept; or a release of TensorFlow that was built "
         "for this GPU",
     .explained_by = {"FF109", "FF101", "FF103"},
     .source = "tensorflow/tensorflow#62320, #97387, PRIME-RL/SimpleVLA-RL#57"},
    {.name = "ggml-lacks-older-code",
     .code = "FF818",
     .title = "llama.cpp has no code for a GPU this old",
     .patterns = {{"was not compiled with any CUDA arch",
                   R"(ggml was not compiled with any CUDA arch <= (?P<capability>\d+)0)"}},
     .concluded =
         "llama.cpp (ggml) has no code that serves {capability}, and took one of the GPUs for such. Where every GPU is "
         "newer it is a fault of its releases of August 2025, which asked so of all (ggml-org/llama.cpp#15587)",
     .mend = "a later llama.cpp; for a GPU that is that old: built here with -DCMAKE_CUDA_ARCHITECTURES=native",
     .explained_by = {"FF101", "FF102", "FF103"},
     .source = "ggml-org/llama.cpp#15589, #15587"},
    {.name = "extension-for-another-gpu",
     .code = "FF818",
     .title = "the extension was compiled for other GPUs",
     .patterns =
         {{"Could not find compatible",
           R"(Could not find compatible (?P<library>\w+) extension for compute capability (?P<capability>\d+))"}},
     .concluded =
         "{library} has a module a compute capability, and none for {capability} or before it: it was compiled on a "
         "machine with a newer GPU, or without one",
     .mend = "the package compiled again with this GPU named (tiny-cuda-nn: TCNN_CUDA_ARCHITECTURES=86 for 8.6, and "
             "pip install "
             "--no-cache-dir, so that the cached wheel is not taken)",
     .explained_by = {"FF708", "FF101", "FF102"},
     .subject = "{library}",
     .source = "nerfstudio-project/nerfstudio#1219, NVlabs/tiny-cuda-nn#285, #490"},
    {.name = "gpu-not-in-llama-cpp",
     .code = "FF818",
     .title = "this build of llama.cpp has no code for the GPU",
     .patterns =
         {{"has no device code compatible with CUDA arch",
           R"(CUDA kernel (?P<kernel>\w+) has no device code compatible with CUDA arch (?P<capability>\d+)0\.(?:.*was compiled for: (?P<carried>[\d,]+))?)"}},
     .concluded =
         "llama.cpp (ggml) was compiled for a list of architectures[ ({carried})], and none of them serves this "
         "call[ of {kernel}]: 520 alone is what a build without CMAKE_CUDA_ARCHITECTURES takes on a machine "
         "without a GPU",
     .mend =
         "CMAKE_ARGS='-DGGML_CUDA=on -DCMAKE_CUDA_ARCHITECTURES=native' pip install --force-reinstall --no-cache-dir "
         "--no-binary llama-cpp-python llama-cpp-python (where the GPU is)",
     .explained_by = {"FF101", "FF102", "FF103"},
     .source = "ggml-org/llama.cpp#6529, #5686, #15589, nextcloud/llm2#52, mozilla-ai/llamafile#434"},
    {.name = "amd-gpu",
     .code = "FF828",
     .title = "a GPU of AMD",
     .nature = Nature::kOutOfScope,
     .patterns = {{"hipErrorNoBinaryForGpu", R"(hipErrorNoBinaryForGpu)"},
                  {"TensileLibrary", R"(rocBLAS error: Cannot read \S*TensileLibrary\S*(?:.*(?P<arch>gfx\w+))?)"},
                  {"HIP error: ", R"(HIP error: (?P<what>[\w ]+))"}},
     .concluded =
         "the program runs on ROCm, AMD's counterpart of CUDA[, for a GPU of {arch}]: this doctor knows GPUs of NVIDIA "
         "alone",
     .unknown = "whether a package was compiled for this GPU: rocminfo shows its gfx name",
     .mend = "for a GPU beside one that is served, many set HSA_OVERRIDE_GFX_VERSION to that one's number, such as "
             "10.3.0 for "
             "gfx1030: AMD does not vouch for it",
     .source = "ROCm/tensorflow-upstream#1106, #1800, ROCm/rocBLAS#1339, #1331"},
    {.name = "tensorrt-refuses-gpu",
     .code = "FF819",
     .title = "this TensorRT does not serve the GPU",
     .patterns = {{"is not supported by this TensorRT release",
                   R"((?i)Target GPU SM (?P<capability>\d+) is not supported by this TensorRT release)"},
                  {"Unsupported SM", R"(Unsupported SM: 0x(?P<sm_major>\d)0(?P<sm_minor>\d))"},
                  {"Unsupported SM", R"(Unsupported SM\b)"}},
     .concluded =
         "TensorRT has no kernels for the GPU[ ({capability})]: each release drops the oldest GPUs and knows none that "
         "came after it. Its engine builder stops before anything is launched",
     .unknown =
         "which side of its list the GPU is on, where the text does not name it: 8.6 was the first release without "
         "5.x, 10 without 6.x; 8.5 the first with 8.9, 10.8 with 12.0",
     .mend =
         "a TensorRT that serves the GPU: its support matrix lists them by release; engines must then be built again",
     .explained_by = {"FF101", "FF106"},
     .subject = "tensorrt",
     .source = "NVIDIA/TensorRT#2727, #3826, #2332, #3589, DDTRobot/tita_rl_sim2sim2real#7"},
    {.name = "cufft-before-ada",
     .code = "FF819",
     .title = "cuFFT cannot run its kernels",
     .proof = Proof::kFiles,
     .patterns = {{"CUFFT_INTERNAL_ERROR", R"((?P<library>CUFFT)_INTERNAL_ERROR)"}},
     .concluded =
         "cuFFT could not prepare a transform. The cuFFT of CUDA 11.7 and older says so on every GPU of 8.9 (RTX 40, "
         "L4, L40), which came after it",
     .unknown = "whether that is it: on other GPUs the memory is mostly full",
     .mend = "for a GPU of 8.9: a PyTorch of CUDA 11.8 or later; else nvidia-smi (is the memory full?)",
     .ask = "python -c 'import torch; print(torch.version.cuda, torch.cuda.get_device_name())'; nvidia-smi",
     .explained_by = {"FF704", "FF101", "FF102", "FF605", "FF606"},
     .source = "pytorch/pytorch#88038, #89556, haoheliu/AudioLDM#49"},
    {.name = "cudnn-has-no-plan",
     .code = "FF819",
     .title = "cuDNN has no kernel for this operation on this GPU",
     .proof = Proof::kFiles,
     .patterns = {{"No execution plans", R"(No execution plans (?:support the graph|built successfully))"},
                  {"No valid engine configs", R"(No valid engine configs(?: for (?P<op>\w+))?)"},
                  {"unable to find an engine to execute", R"(unable to find an engine to execute this computation)"}},
     .concluded =
         "cuDNN was asked for[ {op}|an operation] and offers no kernel for its types and shapes on this GPU. For "
         "attention it has none before 8.0; PyTorch 2.5.0 chose it for shapes that it does not take",
     .unknown = "whether the GPU, the shapes or the copy of cuDNN is at fault: the memory may be full, too",
     .mend =
         "torch.backends.cuda.enable_cudnn_sdp(False) where attention is asked for, or PyTorch 2.5.1 or later; else "
         "torch.backends.cudnn.enabled = False shows whether the rest is right",
     .ask = "nvidia-smi (the GPU, the memory); python -c 'import torch; print(torch.__version__, "
            "torch.backends.cudnn.version())'",
     .explained_by = {"FF603", "FF605", "FF606", "FF101", "FF704"},
     .subject = "cudnn",
     .source = "karpathy/llm.c#761, ostris/ai-toolkit#203, bytedance/UNO#56, NVIDIA/cudnn-frontend#75"},
    {.name = "instruction-of-another-architecture",
     .code = "FF818",
     .title = "sources use an instruction that this target does not have",
     .patterns = {{"not supported on .target",
                   R"(Instruction '(?P<what>[^']+)' not supported on \.target '(?P<arch>sm_\w+)')"}},
     .concluded =
         "ptxas was told to make code for {arch}, and {what} is not there: it belongs to another architecture, or to a "
         "target with a letter, as sm_90a and sm_120a have instructions that sm_90 and sm_120 lack",
     .unknown = "which of the two: PTX ISA's page of the instruction lists its targets",
     .mend = "that source left out for {arch} (the package's list of architectures: TORCH_CUDA_ARCH_LIST, "
             "CMAKE_CUDA_ARCHITECTURES), or the target with its letter",
     .explained_by = {"FF101"},
     .source = "InternLM/lmdeploy#3806"},
    {.name = "cutlass-without-feature",
     .code = "FF818",
     .title = "a kernel was compiled for the GPU's number, without the features of its architecture",
     .patterns = {{"Arch conditional MMA instruction used without",
                   R"(Arch conditional MMA instruction used without targeting appropriate compute capability)"}},
     .concluded =
         "a kernel of CUTLASS uses instructions that exist for one architecture alone (9.0a, 10.0a, 12.0a), and was "
         "compiled for the plain target, sm_120: it starts and stops at the first such instruction",
     .mend =
         "the package compiled again with the letter: TORCH_CUDA_ARCH_LIST=12.0a (9.0a on Hopper, 10.0a on B200), or "
         "-arch=sm_120a",
     .explained_by = {"FF101", "FF102"},
     .source = "NVIDIA/cutlass#3174, mit-han-lab/fouroversix#13, meta-pytorch/tritonbench#691"},
    {.name = "library-refuses-gpu",
     .code = "FF819",
     .title = "a library of NVIDIA's has no code for the GPU",
     .patterns = {{"_STATUS_ARCH_MISMATCH", R"((?P<library>CUBLAS|CUDNN|CUSPARSE|CUSOLVER)_STATUS_ARCH_MISMATCH)"},
                  {"ArchMismatch", R"((?P<library>cudnn|cublas)StatusArchMismatch)"},
                  // cublasGetStatusString() and its like
                  {"architectural feature absent from the device",
                   R"(the function requires an architectural feature absent from the device)"}},
     .concluded = "[{library}|cuBLAS or another library of NVIDIA's] answered that this GPU's architecture is beneath "
                  "what it serves: each of its releases drops the "
                  "oldest GPUs (CUDA 12 those before 5.0, CUDA 13 those before 7.5)",
     .mend = "packages built for an older CUDA, with that CUDA's [{library}|libraries]",
     .explained_by = {"FF101", "FF704", "FF106"},
     .source =
         "NVIDIA/FasterTransformer#25, NVIDIA/DeepLearningExamples#147, CMU-Perceptual-Computing-Lab/openpose#681, "
         "ollama/ollama#12584"},
    {.name = "cublas-invalid-value",
     .code = "FF835",
     .title = "cuBLAS does not take its own other half's arguments",
     .proof = Proof::kFiles,
     .asynchronous = true,
     .patterns = {{"CUBLAS_STATUS_INVALID_VALUE",
                   R"((?P<library>CUBLAS)_STATUS_INVALID_VALUE(?: when calling `(?P<call>cublas\w+))?)"}},
     .concluded =
         "PyTorch checks its shapes before it calls[ {call}|cuBLAS], so that wrong arguments are rare: mostly "
         "libcublas is PyTorch's and libcublasLt, which it opens, a toolkit's from LD_LIBRARY_PATH, of another release",
     .unknown = "whether that is it: an index outside a table in an earlier kernel may end so, too",
     .mend = "unset LD_LIBRARY_PATH, then the program again",
     .ask = "LD_DEBUG=libs python PROGRAM 2>&1 | grep -E 'calling init.*cublas' (a folder outside site-packages is the "
            "culprit); "
            "if there is none: the program with CUDA_LAUNCH_BLOCKING=1",
     .explained_by = {"FF603", "FF604", "FF605", "FF606"},
     .subject = "{library}",
     .source = "vllm-project/vllm#35608, Fictionarry/TalkingGaussian#14, pytorch/pytorch#91067, "
               "huggingface/transformers#21663"},
    {.name = "library-cannot-start",
     .code = "FF819",
     .title = "a library of NVIDIA's cannot start",
     .proof = Proof::kFiles,
     .asynchronous = true,
     .patterns = {{"_STATUS_NOT_INITIALIZED", R"((?P<library>CUBLAS|CUDNN|CUSPARSE|CUSOLVER)_STATUS_NOT_INITIALIZED)"},
                  {"_STATUS_EXECUTION_FAILED",
                   R"((?P<library>CUBLAS|CUDNN|CUSPARSE|CUSOLVER)_STATUS_EXECUTION_FAILED)"},
                  {"_STATUS_ALLOC_FAILED", R"((?P<library>CUBLAS|CUDNN)_STATUS_ALLOC_FAILED)"},
                  {"_STATUS_INTERNAL_ERROR",
                   R"((?P<library>CUBLAS|CUDNN|CUSPARSE|CUSOLVER|CURAND)_STATUS_INTERNAL_ERROR)"},
                  {"_STATUS_MAPPING_ERROR", R"((?P<library>CUBLAS|CUDNN|CUSPARSE)_STATUS_MAPPING_ERROR)"},
                  {"CURAND_STATUS_INITIALIZATION_FAILED", R"((?P<library>CURAND)_STATUS_INITIALIZATION_FAILED)"},
                  {"DNN library initialization failed", R"((?P<library>DNN) library initialization failed)"},
                  {"_STATUS_NOT_SUPPORTED", R"((?P<library>CUBLAS|CUDNN)_STATUS_NOT_SUPPORTED)"},
                  {"cublasLt ran into an error", R"((?P<library>cublasLt) ran into an error)"}},
     .concluded = "{library} could not make its handle or run a call: mostly the GPU's memory is full, an earlier "
                  "kernel failed, "
                  "or the copy that was loaded is of another release than the program was built with",
     .unknown = "which of these: nvidia-smi shows the memory, CUDA_LAUNCH_BLOCKING=1 an earlier failure, LD_DEBUG=libs "
                "the copy",
     .ask = "LD_DEBUG=libs python PROGRAM 2>&1 | grep -E 'calling init.*(cublas|cudnn)' (a folder outside "
            "site-packages is "
            "the culprit); nvidia-smi (is the memory full?)",
     .explained_by = {"FF605", "FF606", "FF607", "FF603", "FF604", "FF101", "FF704"},
     .subject = "{library}",
     .source = "OpenNMT/CTranslate2#780, opencv/opencv#16074, jax-ml/jax#24180"},
    {.name = "gpu-not-in-pytorch",
     .code = "FF818",
     .title = "this PyTorch has no code for the GPU",
     .patterns =
         {{"is not compatible with the current PyTorch installation",
           R"((?P<gpu>[\w .()-]+?) with CUDA capability sm_(?P<arch>\d+[af]?) is not compatible)"},
          {"PyTorch install supports CUDA capabilities",
           R"(supports CUDA capabilities (?P<carried>(?:(?:sm|compute)_\d+[af]? ?)+))"},
          {"which is of c",
           R"(Found GPU\d+ (?P<gpu>.+?) which is of (?:compute|cuda) capability (?:\(CC\) )?(?P<capability>\d+\.\d+))"},
          {") - (", R"(^\s*\((?P<lowest>\d+\.\d+)\) - \((?P<highest>\d+\.\d+)\))", true},
          {"capability supported by this library is", R"(supported by this library is (?P<lowest>\d+\.\d+))", true}},
     .concluded = "PyTorch itself says that it was not compiled for [{gpu}|this GPU][ (sm_{arch})][ ({capability})][: "
                  "it has {carried}][: it has {lowest} to {highest}]. torch.cuda.is_available() is True all the same: "
                  "it asks the driver alone",
     .unknown = "which other packages lack code for it",
     .explained_by = {"FF704", "FF101", "FF102", "FF103"},
     .source = "unslothai/unsloth#5876, Kaggle/kaggle-cli#1151"},
    {.name = "no-kernel-image",
     .code = "FF810",
     .title = "a library has no code for the GPU",
     .proof = Proof::kFiles,
     .asynchronous = true,
     .patterns = {{"CUDA_ERROR_NO_BINARY_FOR_GPU",
                   R"(\b(?P<call>cu(?:Link|Module|Library)\w+)\b.*CUDA_ERROR_NO_BINARY_FOR_GPU)"},
                  {"no kernel image is available",
                   R"(\b(?P<call>cu(?:Link|Module|Library)\w+)\b.*no kernel image is available)"},
                  {"no kernel image is available", R"(\((?P<file>[^\s:()]+):\d+\): no kernel image is available)"},
                  {"no kernel image is available",
                   R"(no kernel image is available(?:.* \(at (?P<file>[^\s:)]+):\d+\))?)"},
                  {"cudaErrorNoKernelImageForDevice", R"(cudaErrorNoKernelImageForDevice)"},
                  {"CUDA_ERROR_NO_BINARY_FOR_GPU", R"(CUDA_ERROR_NO_BINARY_FOR_GPU)"}},
     .concluded = "some library launched a kernel and carries neither machine code nor usable PTX of it for this GPU[; "
                  "the check that saw it was written in {file}]",
     .unknown =
         "[which library gave the driver that code: {call} loads code there and then, and the frame above it is its "
         "caller|which library: a launch that nobody checked is reported by the next call that looks, so that the "
         "line in the traceback need not be the culprit's. Every library with GPU code must be looked at]",
     .explained_by = {"FF101", "FF102", "FF103", "FF104", "FF106", "FF704"},
     .source =
         "facebookresearch/xformers#1329, unslothai/unsloth#5876; CUDA Runtime API, cudaErrorNoKernelImageForDevice"},
    {.name = "invalid-device-function",
     .code = "FF811",
     .title = "a kernel is not in the code that was loaded",
     .proof = Proof::kFiles,
     .asynchronous = true,
     .patterns = {{"invalid device function", R"((?i)invalid device function)"},
                  {"cudaErrorInvalidDeviceFunction", R"(cudaErrorInvalidDeviceFunction)"}},
     .concluded = "a kernel was asked for that the loaded image of its library does not hold: mostly a library that "
                  "was compiled for other GPUs alone, or was mixed from two builds",
     .unknown = "which library, and which of the two",
     .explained_by = {"FF101", "FF102", "FF103"},
     .source = "CUDA Runtime API, cudaErrorInvalidDeviceFunction"},
    {.name = "assembler-older-than-ptx",
     .code = "FF860",
     .title = "ptxas is older than the PTX that it was given",
     .patterns =
         {{"Unsupported .version",
           R"(ptxas (?P<ptx_file>\S.*\.\w+), line \d+; fatal *: +Unsupported \.version (?P<ptx>\d+\.\d+); current version is '(?P<known>\d+\.\d+)')"},
          {"ptxas", R"('(?P<file>[^']*ptxas(?:\.exe)?)')", true}},
     .concluded = "the PTX {ptx} was written on this machine (by Triton, nvcc or a program's own generator), and the "
                  "ptxas that was taken[, {file},] reads up to {known}: it is of an older toolkit. The driver plays no "
                  "part",
     .unknown = "who chose that ptxas: TRITON_PTXAS_PATH, CUDA_PATH or PATH; Triton's own lies in its package",
     .mend =
         "TRITON_PTXAS_PATH unset, or set to the ptxas of a toolkit that knows PTX {ptx}; for others a newer toolkit "
         "first in PATH",
     .explained_by = {"FF705", "FF706"},
     .source = "triton-lang/triton#5929, #4576, #5385"},
    {.name = "ptx-too-new",
     .code = "FF812",
     .title = "PTX newer than the driver",
     .proof = Proof::kFiles,
     .patterns = {{"unsupported toolchain", R"(unsupported toolchain)"},
                  {"CUDA_ERROR_UNSUPPORTED_PTX_VERSION", R"(CUDA_ERROR_UNSUPPORTED_PTX_VERSION)"},
                  {"CUDA_ERROR_INVALID_PTX", R"(CUDA_ERROR_INVALID_PTX)"},
                  {"a PTX JIT compilation failed", R"(a PTX JIT compilation failed)"},
                  {"cudaErrorUnsupportedPtxVersion", R"(cudaErrorUnsupportedPtxVersion)"},
                  {"Unsupported .version",
                   R"(Unsupported \.version (?P<ptx>\d+\.\d+); current version is '(?P<known>\d+\.\d+)')"}},
     .concluded = "a library has no machine code for this GPU, and its PTX[ {ptx}] was made by a CUDA toolkit newer "
                  "than the driver[, which knows PTX up to {known}]. Minor-version compatibility does not cover PTX",
     .unknown = "which library, if several carry PTX",
     .explained_by = {"FF103", "FF703"},
     .source = "NVIDIA/nvbandwidth#61"},
    {.name = "invalid-image",
     .code = "FF814",
     .title = "the driver cannot read the GPU code",
     .proof = Proof::kFiles,
     .patterns = {{"device kernel image is invalid", R"(device kernel image is invalid)"},
                  {"CUDA_ERROR_INVALID_IMAGE", R"(CUDA_ERROR_INVALID_IMAGE)"},
                  {"cudaErrorInvalidKernelImage", R"(cudaErrorInvalidKernelImage)"}},
     .concluded = "the driver refused an image as unreadable: mostly entries compressed in a way that it does not know "
                  "(ZSTD under a driver before 550), or a damaged file",
     .unknown = "which library",
     .explained_by = {"FF104", "FF703", "FF901"},
     .source = "ml-explore/mlx#2407, ollama/ollama#16449"},
    {.name = "symbol-not-found-on-device",
     .code = "FF813",
     .title = "a kernel's name is not in its image",
     .proof = Proof::kFiles,
     .patterns = {{"named symbol not found", R"((?P<library>NCCL) WARN Cuda failure '?named symbol not found)"},
                  {"named symbol not found", R"(named symbol not found)"},
                  {"CUDA_ERROR_NOT_FOUND", R"(CUDA_ERROR_NOT_FOUND)"},
                  {"cudaErrorSymbolNotFound", R"(cudaErrorSymbolNotFound)"}},
     .concluded = "the driver loaded an image that lacks a kernel or a variable which the host code names: host code "
                  "and image are of two builds, or the image of this GPU was compiled without that kernel[. The "
                  "library that said so is {library}, which "
                  "asks for its own kernels: compiled here, it was compiled for other GPUs (NVCC_GENCODE)]",
     .unknown = "[which copy of {library} was loaded|which library]",
     .explained_by = {"FF101", "FF102"},
     .source = "CUDA Driver API, CUDA_ERROR_NOT_FOUND; NVIDIA/nccl#1372"},
    {.name = "kernel-module-missing",
     .code = "FF817",
     .title = "a module with kernels is absent, or its import failed unseen",
     .proof = Proof::kFiles,
     .consequence = true,
     .patterns = {{"kernel is not available", R"((?i)SM(?P<arch>\d+) kernel is not available)"}},
     .concluded = "the package looked for its module with kernels for sm_{arch} and has none that imports. The message "
                  "speaks of the GPU, but what failed is the import: the module is absent from this build, or raised "
                  "an error that the package swallowed",
     .unknown = "whether the module is there, and what its import raised",
     .ask = "python -c 'import sageattention._qattn_sm{arch}' (what that import raises is the error to ask about)",
     .explained_by = {"FF708", "FF101", "FF102", "FF320", "FF322", "FF330", "FF401", "FF402", "FF222", "FF601", "FF602",
                      "FF603", "FF604", "FF608"},
     .subject = "sm{arch}",
     .source = "thu-ml/SageAttention#173, woct0rdho/SageAttention#50"},
    {.name = "gate-in-host-code",
     .code = "FF816",
     .title = "the library refuses the GPU by its own check",
     .patterns = {{"only supports Ampere GPUs or newer", R"(only supports (?P<wants>Ampere GPUs or newer))"},
                  {"only supports Hopper", R"(only supports (?P<wants>Hopper[\w /]*))"},
                  {"requires Hopper", R"(requires (?P<wants>Hopper(?: \(SM\d+\))?(?: or Blackwell(?: \(SM\d+\))?)?))"},
                  {"requires Blackwell", R"(requires (?P<wants>Blackwell(?: \(SM\d+\))?))"},
                  {"requires GPUs with", R"((?P<library>\w+) requires GPUs with (?P<wants>sm_?\d+ or higher))"},
                  {"requires sm75+", R"((?P<library>\w+) requires (?P<wants>sm75\+))"},
                  {"only supports Turing", R"(only supports (?P<wants>Turing[\w ,/]* or newer))"}},
     .concluded = "host code compared the GPU with a list and refused it (it wants {wants}); no kernel was launched. A "
                  "GPU newer than the library's list is refused as well, though its images might run",
     .unknown = "whether the library's images would run on this GPU, and which version of it knows the GPU",
     .explained_by = {"FF710"},
     .subject = "{wants}",
     .source = "Dao-AILab/flash-attention#1540, lldacing/ComfyUI_PuLID_Flux_ll#61, flashinfer-ai/flashinfer#3675, "
               "huggingface/transformers#47154"},
};

}  // namespace

std::span<const ErrorClass> gpu_code_errors() { return kClasses; }

}  // namespace flashfit::doctor::pasted
