// Checks in host code that refuse a GPU: no kernel was launched.
#include "doctor/pasted/tables.hpp"

namespace flashfit::doctor::pasted {
namespace {

constexpr std::string_view kNoOtherPackage =
    "whether a version of the library without this check, or another way of computing the same, runs on this GPU";

const ErrorClass kClasses[] = {
    {.name = "gate-bfloat16",
     .code = "FF816",
     .title = "bfloat16 is refused on this GPU",
     .patterns =
         {{"Bfloat16 is only supported on GPUs",
           R"(Bfloat16 is only supported on GPUs with compute capability of at least (?P<wants>\d+\.\d+)(?:\. Your (?P<gpu>.+?) GPU has compute capability (?P<capability>\d+\.\d+))?)"},
          {"support bf16/gpu", R"(Your setup doesn't support bf16/gpu)"},
          {"doesn't support bfloat16", R"((?P<gpu>[\w .-]+?) doesn't support bfloat16)"}},
     .concluded = "bfloat16 has instructions from compute capability 8.0 on[, and the {gpu} is {capability}]: the "
                  "library refuses it before any kernel runs. Every file may fit",
     .mend = "float16 instead: dtype float16 or half in the program or on the command line (--dtype half), fp16 for "
             "trainers",
     .explained_by = {"FF710"},
     .subject = "bfloat16",
     .source = "vllm-project/vllm#1157, #946"},
    {.name = "gate-quantization",
     .code = "FF816",
     .title = "the quantisation is refused on this GPU",
     .patterns =
         {{"is not supported for the current GPU",
           R"(quantization method (?P<method>[\w-]+) is not supported for the current GPU\. Minimum capability: (?P<wants>\d+)\. Current capability: (?P<capability>\d+))"},
          {"Quantization scheme is not supported",
           R"(Quantization scheme is not supported.*[Mm]in(?:imum)? capability: (?P<wants>\d+)\D+Current capability: (?P<capability>\d+))"},
          {"Quantization scheme is not supported", R"(Quantization scheme is not supported)"},
          {"not supported for this architecture",
           R"((?P<method>(?i:int8|fp8|nvfp4|fp4)) not supported for this architecture)"},
          {"for a compute capability less than",
           R"(No compiled (?P<method>\w+) for a compute capability less than CUDA device capability: (?P<capability>\d+))"},
          {" not supported on ", R"((?P<method>(?i:int8|fp8|nvfp4|fp4)) not supported on (?i:sm)_?\d+)"}},
     .concluded =
         "the kernels of this quantisation[ ({method})] are for [compute capability {wants} and "
         "later|certain GPUs, older or newer than this one][, and this GPU is {capability}]: no installation of "
         "the same release changes that",
     .unknown = "whether another backend of the library has kernels of the same quantisation for this GPU",
     .mend = "the model in another quantisation, or unquantised in float16; or a GPU of compute capability "
             "[{wants}|that is asked for] or later",
     .explained_by = {"FF710"},
     .subject = "{method}",
     .source = "vllm-project/vllm#4202, #1282, #20216, #9419"},
    {.name = "kernel-not-in-this-build",
     .code = "FF816",
     .title = "the package was compiled without this kernel for the GPU",
     .patterns =
         {{"No compiled ",
           R"(No compiled (?P<method>\w+)(?:: no \w+ kernel)? for CUDA device capability: (?P<capability>\d+)(?:\. Required capability: (?P<only>\d+(?: or \d+)*))?)"}},
     .concluded =
         "{method} is chosen by the GPU's capability when the program runs, and this build has none for {capability}[; "
         "it names {only}]: its sources were compiled without that GPU in their list of architectures, or by an nvcc "
         "that does not know it, or this release has no such kernel for it",
     .unknown = "which of these",
     .mend = "a later release, or the sources compiled with {capability} in TORCH_CUDA_ARCH_LIST by an nvcc that knows "
             "it; else the model in another quantisation",
     .explained_by = {"FF710"},
     .subject = "{method}",
     .source = "vllm-project/vllm#32109, #24921"},
    {.name = "gate-architecture-list",
     .code = "FF816",
     .title = "the library has this kernel for other architectures alone",
     .patterns = {{"Unsupported arch",
                   R"(Assertion error \([^\s()]*?(?P<library>deep_?gemm)[^\s()]*\): Unsupported arch)"},
                  {"expects arch to be one of",
                   R"(expects arch to be one of \[(?P<wants>[\w., ]+)\], but got (?:Arch\.)?(?P<arch>sm_\w+))"}},
     .concluded =
         "host code chooses a kernel by the GPU's architecture[, {arch},] and has one for [{wants} alone|others "
         "alone (DeepGEMM: 9.0 and 10.0)]. Another compiler or list of architectures does not change that: a "
         "letter as in sm_100a means that very architecture, which later GPUs do not run",
     .unknown = kNoOtherPackage,
     .mend = "a later release that has the kernel for this GPU, or the program's other kernels in place of it (vLLM: "
             "VLLM_USE_DEEP_GEMM=0)",
     .explained_by = {"FF710", "FF101"},
     .subject = "{library}",
     .source = "sgl-project/sglang#25877, deepseek-ai/DeepGEMM#236, NVIDIA/cutlass#2800, #3100"},
    {.name = "gate-unknown-architecture",
     .code = "FF816",
     .title = "the library has no kernels under this architecture's name",
     .patterns = {{"Unsupported CUDA architecture", R"(Unsupported CUDA architecture:? '?(?P<arch>sm_?\d+\w?)\b)"},
                  {"could not determine CUDA architecture",
                   R"((?P<library>\w+) is not new enough version or could not determine CUDA architecture)"},
                  {"Unsupported GPU architecture", R"(Unsupported GPU architecture:? '?(?P<arch>sm_?\d+\w?)\b)"}},
     .concluded =
         "[{library}'s Python code|host code] chooses a kernel by the GPU's architecture[, {arch},] and has no "
         "branch for it[: that release of {library} is older than what asks it, or its compiled part is not "
         "of this GPU]. No kernel was launched; a GPU that is later than the release is refused like one that "
         "is too old",
     .unknown = kNoOtherPackage,
     .mend =
         "a later release of the package that has the check, for a GPU that is later than it; for an older GPU: the "
         "program without that package",
     .explained_by = {"FF710", "FF708", "FF101"},
     .subject = "[{library}|{arch}]",
     .source = "Comfy-Org/ComfyUI#7494, kijai/ComfyUI-KJNodes#302, #709, lllyasviel/FramePack#676"},
    {.name = "gate-triton",
     .code = "FF816",
     .title = "Triton does not compile for this GPU",
     .patterns =
         {{"too old to be supported by the triton",
           R"(Found (?P<gpu>.+?) which is too old to be supported by the triton GPU compiler.*CUDA Capability >= (?P<wants>\d+\.\d+), but your device is of CUDA capability (?P<capability>\d+\.\d+))"},
          {"too old to be supported by the triton",
           R"(Found (?P<gpu>.+?) which is too old to be supported by the triton)"}},
     .concluded =
         "torch.compile and its kernels go through Triton, which compiles for compute capability [{wants}|7.0] "
         "and later; the {gpu} is [{capability}|older]",
     .mend = "without torch.compile: compile=False in the program, or TORCHDYNAMO_DISABLE=1",
     .explained_by = {"FF710", "FF705"},
     .subject = "triton",
     .source = "vllm-project/vllm#14547, karpathy/nanoGPT#157"},
    {.name = "gate-float8",
     .code = "FF816",
     .title = "FP8 is refused on this GPU",
     .patterns =
         {{"required for FP8 execution",
           R"((?:Device )?compute capability (?P<wants>\d+\.[\dx]+)(?: or higher)? required for FP8 execution)"},
          {"higher required for FP8",
           R"((?P<library>CublasLt|Cuda) version (?P<version>[\d.]+x?) or higher required for FP8)"},
          {"torch._scaled_mm is only supported",
           R"(torch\._scaled_mm is only supported on (?:CUDA )?devices with compute capability >= (?P<wants>\d+\.\d+)(?: or (?P<also>\d+\.\d+))?)"},
          {"only supported on compute capability",
           R"((?P<type>\w*f(?:p)?8\w*) is only supported on compute capability >= (?P<wants>\d+))"},
          {"not supported in this architecture", R"(type (?P<type>fp8\w+) not supported in this architecture)"},
          {"not supported in this architecture",
           R"(conversion from \w+ to (?P<type>fp8\w+) not supported in this architecture)"},
          {"data type is not supported on CUDA arch",
           R"((?P<type>fp8\w+) data type is not supported on CUDA arch < (?P<wants>\d+))"},
          {"FP8 is only supported", R"((?i)fp8 (?:quantization |training )?is only supported on (?P<wants>.+))"}},
     .concluded =
         "[the installed {library} is older than {version}, which FP8 needs on this GPU: an older copy may go before "
         "the "
         "one that was installed|the type {type} is refused: the library wants compute capability {wants}|FP8 is "
         "refused: "
         "the library wants compute capability {wants} or {also}|FP8 is refused: the library wants compute capability "
         "{wants}|the type {type} has no instructions on this GPU that the library would use|FP8 is refused on this "
         "GPU]. "
         "Tensor cores compute FP8 from 8.9 on",
     .unknown = kNoOtherPackage,
     .mend = "the same without FP8 (bfloat16, float16), or a GPU of compute capability 8.9 or later and a release of "
             "the library that takes it",
     .explained_by = {"FF710", "FF603", "FF605"},
     .subject = "fp8",
     .source = "NVIDIA/TransformerEngine#1159, #15, kijai/ComfyUI-HunyuanVideoWrapper#98, triton-lang/triton#4319"},
    {.name = "gate-attention-backward",
     .code = "FF816",
     .title = "this head dimension is refused on this GPU",
     .patterns = {{"FlashAttention backward for head dim",
                   R"(FlashAttention (?:backward|forward) for head dim > (?P<dim>\d+) requires (?P<wants>.+))"},
                  {"Expected is_sm", R"(Expected (?P<wants>is_sm\d+(?: \|\| is_sm\w+)*) to be true, but got false)"},
                  {"to be true, but got false", R"((?P<wants>is_sm\w+(?: \|\| is_sm\w+)*) to be true, but got false)"}},
     .concluded = "flash-attention asked the GPU for {wants} and got no[: head dimensions above {dim} need the shared "
                  "memory of those GPUs]. Its images may fit: the check is about this shape",
     .mend = "pip install -U flash-attn (later releases take more shapes on more GPUs), a smaller head dimension, or "
             "PyTorch's scaled_dot_product_attention",
     .explained_by = {"FF710", "FF501"},
     .subject = "flash",
     .source = "Dao-AILab/flash-attention#190, #51, #579"},
    {.name = "no-attention-kernel",
     .code = "FF816",
     .title = "PyTorch has no attention kernel for this call on this GPU",
     .patterns = {{"No available kernel", R"(No available kernel\.\s+Aborting execution)"},
                  {"Flash attention only supports gpu architectures",
                   R"(Flash [Aa]ttention only supports gpu architectures in the range \[(?P<wants>sm\d+, sm\d+)\])"},
                  {"Flash attention kernel not used", R"(Flash attention kernel not used because)", true}},
     .concluded =
         "scaled_dot_product_attention may use some of its kernels here, and none of those takes this GPU, type "
         "or shape[ (flash attention: {wants})]. Flash attention wants compute capability 8.0 and fp16 or bf16; "
         "the warnings before the error name each kernel's reason",
     .unknown = "which of GPU, type and shape, unless the warnings are in the text",
     .mend =
         "the other kernels allowed too: torch.nn.attention.sdpa_kernel with SDPBackend.MATH, or the program's option "
         "against flash attention",
     .explained_by = {"FF704", "FF101"},
     .source = "facebookresearch/sam2#57, lucidrains/x-transformers#143"},
    {.name = "tensor-core-code-refused",
     .code = "FF816",
     .title = "a compiler makes tensor-core code that this GPU does not have",
     .patterns = {{"mma16816 data type not supported", R"((?P<what>mma16816) data type not supported)"},
                  {"Cannot select: intrinsic %llvm.nvvm", R"(Cannot select: intrinsic %(?P<what>llvm\.nvvm[\w.]+))"},
                  {"not supported on .target",
                   R"(Feature '(?P<what>[^']+)' not supported on \.target '(?P<arch>sm_\w+)')"},
                  {"requires .target", R"('(?P<what>[^']+)' requires \.target (?P<arch>sm_\w+) or higher)"}},
     .concluded = "a kernel was compiled when the program ran, with {what}[, which {arch} bounds|, which the "
                  "instructions of this "
                  "GPU do not have]: the compiler was told of another GPU, or does not serve this one (Triton serves "
                  "7.5 in part, "
                  "7.0 and later with limits)",
     .unknown = kNoOtherPackage,
     .mend = "float16 instead of bfloat16 or float32 in that call, or without torch.compile; XLA: "
             "XLA_FLAGS=--xla_gpu_enable_"
             "triton_gemm=false",
     .explained_by = {"FF705", "FF710"},
     .source = "kmheckel/spyx#31"},
    {.name = "gate-runtime-too-old-gpu",
     .code = "FF816",
     .title = "the program takes no GPU that old",
     .patterns = {{"CUDA GPU is too old",
                   R"(CUDA GPU is too old\..*Compute Capability detected: (?P<capability>\d+\.\d+))"},
                  {"compute capability below",
                   R"(GPUs? with (?:CUDA )?compute capability below (?P<wants>\d+\.\d+) (?:are|is) not supported)"},
                  {"compute capability less than",
                   R"(GPUs? with (?:CUDA )?compute capability less than (?P<wants>\d+\.\d+) (?:are|is) not supported)"},
                  {"only supports sm",
                   R"((?P<library>SGLang|sglang|\w+) only supports (?P<wants>sm_?\d+ and (?:above|later)))"},
                  {"is not supported on compute capability",
                   R"((?P<library>[\w-]+) is not supported on compute capability (?P<capability>\d+\.?\d*))"}},
     .concluded = "host code asked for the GPU's compute capability[, {capability},][ and takes {wants} or later], and "
                  "does without the GPU or ends: no kernel was launched",
     .unknown = kNoOtherPackage,
     .mend = "an older release of the program that takes this GPU, or its sources compiled for it",
     .explained_by = {"FF710", "FF101"},
     .subject = "{library}",
     .source = "ollama/ollama#1992, vllm-project/vllm#1284, #463"},
    {.name = "gate-float16-ctranslate2",
     .code = "FF816",
     .title = "CTranslate2 refuses float16 on this device",
     .proof = Proof::kFiles,
     .patterns =
         {{"do not support efficient",
           R"(Requested (?P<type>\w+) compute type, but the target device or backend do not support efficient)"}},
     .concluded = "CTranslate2 (faster-whisper, WhisperX) was asked for {type} and found it slow or absent on the "
                  "device that it "
                  "took: the CPU, or a GPU without fast half precision (5.2, 6.1 and older)",
     .unknown = "which device it took: where the GPU is newer, it took the CPU, as it saw no GPU",
     .mend = "compute_type='int8' or 'float32'; on a GPU of 7.0 or later first find out why it is not seen",
     .ask = "python -c 'import ctranslate2; print(ctranslate2.get_cuda_device_count(), "
            "ctranslate2.get_supported_compute_types(\"cuda\"))'",
     .explained_by = {"FF712", "FF701", "FF703", "FF601", "FF330"},
     .source = "m-bain/whisperX#878, #612, MahmoudAshraf97/whisper-diarization#216, SYSTRAN/faster-whisper#14"},
    {.name = "gate-compute-capability",
     .code = "FF816",
     .title = "the library wants another compute capability",
     .patterns =
         {{"ompute capability",
           R"((?i)(?:requires?|needs?|must have|only (?:supported|works|available) (?:on|with|for))[\w ,/()-]*? (?:cuda )?compute capability(?: of)?(?: at least| of at least|:)? ?(?:>=?|≥)? ?(?P<wants>\d+\.\d+)(?:.*?(?:capability is|actual =|current|found|got) `?(?P<capability>\d+\.\d+))?)"},
          {"ompute Capability",
           R"((?i)(?:requires?|needs?|must have|only (?:supported|works|available) (?:on|with|for))[\w ,/()-]*? (?:cuda )?compute capability(?: of)?(?: at least| of at least|:)? ?(?:>=?|≥)? ?(?P<wants>\d+\.\d+)(?:.*?(?:capability is|actual =|current|found|got) `?(?P<capability>\d+\.\d+))?)"},
          {"ompute capability",
           R"((?i)compute capability (?:of )?(?:at least |>=? ?)?(?P<wants>\d+\.\d+)(?: or (?:higher|above|later|newer|greater)|\+)? (?:is|are) required)"},
          {"ompute Capability", R"(\(Compute Capability (?P<wants>\d+\.\d+)\) or newer architecture is required)"},
          {"Detected Compute Capability", R"(Detected Compute Capability: (?P<capability>\d+\.\d+))", true},
          {"ompute capability", R"((?i)(?:cuda )?compute capability (?P<capability>\d+\.\d+) is not supported)"}},
     .concluded = "host code compared the GPU's compute capability[, {capability},] with what it wants[: {wants}] and "
                  "refused it; no kernel was launched",
     .unknown = kNoOtherPackage,
     .explained_by = {"FF710", "FF101"},
     .subject = "{wants}",
     .source = "vllm-project/vllm#1153, microsoft/onnxruntime#24915, NVIDIA/cudf#15053, 1038lab/ComfyUI-QwenVL#28"},
};

}  // namespace

std::span<const ErrorClass> host_gate_errors() { return kClasses; }

}  // namespace flashfit::doctor::pasted
