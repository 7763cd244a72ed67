// Errors of compilers, at installation and at run time.
#include "doctor/pasted/tables.hpp"

namespace flashfit::doctor::pasted {
namespace {

const ErrorClass kClasses[] = {
    {.name = "architecture-unknown-to-tool",
     .code = "FF860",
     .title = "the compiler does not know the GPU",
     .patterns =
         {{"is not defined for option 'gpu-name'",
           R"((?:(?P<tool>ptxas)[\w .]*: )?Value '(?P<arch>sm_\w+)' is not defined for option 'gpu-name')"},
          {"is not defined for option", R"(Value '(?P<arch>(?:sm|compute)_\w+)' is not defined for option)"},
          {"Unsupported gpu architecture",
           R"((?:(?P<tool>nvcc) fatal *: )?Unsupported gpu architecture '(?P<arch>(?:sm|compute)_\w+)')"},
          {" is supported by CUDA versions ",
           R"(GPU arch (?P<arch>sm_\w+) is supported by CUDA versions (?P<versions>.+?), but installation at (?P<file>\S+) is)"},
          {"ptxas", R"((?P<file>\S*[/\\]ptxas\S*) )", true},
          {"--gpu-name=", R"(--gpu-name=(?P<arch>sm_\w+))", true},
          {"--gpu-architecture=", R"(--gpu-architecture=(?P<arch>(?:sm|compute)_\w+))", true}},
     .concluded =
         "[{tool}|the compiler] that ran[ ({file})] does not know [{arch}|this GPU]: code is compiled on this "
         "machine, by a compiler older than the GPU, or by one so new that it has dropped it. The driver and PyTorch "
         "may well know it",
     .unknown = "which ptxas, NVRTC or nvcc ran, unless its path is in the text: packages bring their own",
     .mend = "TRITON_PTXAS_PATH=/usr/local/cuda/bin/ptxas (of a CUDA toolkit that knows the GPU) for Triton; for "
             "others a newer nvcc first in PATH, with CUDA_HOME",
     .explained_by = {"FF705", "FF706"},
     .source = "triton-lang/triton#8539, lisa-analysis-tools/GBGPU#7, minhhn2910/cuda-half2#5"},
    {.name = "architecture-unknown-to-nvrtc",
     .code = "FF860",
     .title = "NVRTC does not know the GPU",
     .patterns = {{"invalid value for --gpu-architecture",
                   R"((?P<tool>nvrtc): error: invalid value for --gpu-architecture(?: \(-arch\))?)"},
                  {"NVRTC_ERROR_INVALID_OPTION", R"(NVRTC_ERROR_INVALID_OPTION)"},
                  {"-arch=compute_", R"(-arch=(?P<arch>compute_\w+))", true},
                  {"--gpu-architecture=", R"(--gpu-architecture=(?P<arch>(?:sm|compute)_\w+))", true}},
     .concluded =
         "PyTorch, CuPy and others compile some kernels when they run, by a library of CUDA (NVRTC) that comes with "
         "them: it is older than [{arch}|this GPU], or so new that it has dropped it. Driver and machine code may "
         "well serve the GPU",
     .unknown = "which NVRTC was loaded: a copy in LD_LIBRARY_PATH goes before the package's own",
     .mend = "a build of the package for a CUDA that knows the GPU: of PyTorch a later +cuNNN (the GPU is newer), "
             "CuPy's cupy-cuda11x or -12x (it is older than 7.5)",
     .explained_by = {"FF704", "FF705", "FF706", "FF603", "FF604"},
     .subject = "nvrtc",
     .source = "cupy/cupy#9475, #1651, pytorch/pytorch#47658, #87595"},
    {.name = "assembler-failed",
     .code = "FF860",
     .title = "ptxas failed, and its own words are not in the text",
     .proof = Proof::kFiles,
     .consequence = true,
     .patterns = {{"returned non-zero exit status",
                   R"('(?P<file>[^']*ptxas(?:\.exe)?)'.*--gpu-name=(?P<arch>sm_\w+).*returned non-zero exit status)"},
                  {"ptxas` failed with error code", R"(`ptxas` failed with error code (?P<status>\d+))"},
                  {"Repro command: ", R"(Repro command: (?P<file>.*?ptxas(?:\.exe)?) .*--gpu-name=(?P<arch>sm_\w+))",
                   true}},
     .concluded =
         "code was compiled on this machine[ for {arch}] by [{file}|ptxas], which failed[ (status {status})]: where "
         "the GPU is newer than that ptxas, it does not know it",
     .unknown = "what ptxas said: its lines stand before, or the command run by hand shows them",
     .ask = "[{file}|ptxas] --version (and the newest GPU that it knows: [{file}|ptxas] --help | grep -A9 gpu-name)",
     .explained_by = {"FF705", "FF706"},
     .source = "fishaudio/fish-speech#907, triton-lang/triton#5929, unslothai/unsloth#1237, "
               "woct0rdho/triton-windows#66"},
    {.name = "jit-compiler-without-gpu",
     .code = "FF860",
     .title = "the compiler inside a package does not know the GPU",
     .patterns = {{"computeCapability not supported", R"(computeCapability not supported)"},
                  {"is not a recognized processor",
                   R"('(?P<arch>sm_\w+)' is not a recognized processor for this target)"}},
     .concluded = "kernels are compiled when the program runs, by a compiler (LLVM, in Triton, XLA or Numba) that "
                  "was made before [{arch}|this GPU], or no longer has it",
     .unknown = "which package's, where the text names none",
     .mend = "a later release of the package that compiles (Triton comes with PyTorch: a later PyTorch)",
     .explained_by = {"FF705", "FF704"},
     .source = "triton-lang/triton#6859"},
    {.name = "needs-newer-nvcc",
     .code = "FF861",
     .title = "a package compiles here, with a CUDA toolkit that is too old",
     .patterns =
         {{"requires CUDA >=", R"(SM ?(?P<arch>[\dx.]+) requires CUDA >= (?P<wanted>[\d.]+))"},
          {" CUDA ",
           R"(\b(?:[Rr]equires|[Nn]eeds) (?:NVIDIA )?CUDA (?:[Tt]oolkit )?(?:[Vv]ersion )?(?:>= ?)?v?(?P<wanted>\d+\.\d+)(?: or (?:newer|later|higher|above)|\+| and above))"},
          {"nly supported on CUDA", R"([Oo]nly supported on CUDA (?P<wanted>\d+\.\d+) and above)"},
          {"CUDA ", R"(CUDA (?:[Vv]ersion )?(?P<wanted>\d+\.\d+) or (?:newer|later|higher|above) is required)"},
          {"NVCC version should be", R"(NVCC version should be >= (?P<wanted>\d+\.\d+))"},
          {"compress-mode", R"((?i)unknown option '-{1,2}compress-mode)"},
          {"No supported CUDA architectures found for major versions",
           R"(No supported CUDA architectures found for major versions \[(?P<arch>[\d, ]+)\])"}},
     .concluded = "code is compiled on this machine, and the nvcc in use is too old for it[: SM {arch} needs CUDA "
                  "{wanted} or later|: it needs CUDA {wanted} or later|]",
     .unknown = "which nvcc was taken: CUDA_HOME, PATH and packages may each have one",
     .mend = "nvcc --version; then a newer toolkit with CUDA_HOME set, or the package's wheel with code made ahead "
             "(flashinfer-cubin, flashinfer-jit-cache)",
     .explained_by = {"FF706"},
     .source = "vllm-project/vllm#49497, #50705, flashinfer-ai/flashinfer#5479, nvidia-cosmos/cosmos-transfer1#208"},
    {.name = "no-nvcc",
     .code = "FF862",
     .title = "a package compiles here and finds no CUDA toolkit",
     .patterns = {{"CUDA_HOME environment variable is not set", R"(CUDA_HOME environment variable is not set)"},
                  {"CUDA_HOME does not exist", R"(CUDA_HOME does not exist, unable to compile)"},
                  {"Could not find nvcc", R"(Could not find nvcc)"},
                  {"nvcc was not found", R"(nvcc was not found)"},
                  {"nvcc: not found", R"(nvcc: not found)"},
                  {"nvcc: No such file or directory", R"(nvcc: No such file or directory)"},
                  {"No such file or directory: '", R"(No such file or directory: '(?P<tool>[^']*\bnvcc)')"},
                  {"Failed to find nvcc", R"(Failed to find nvcc)"},
                  {"Could not find the CUDA compiler", R"(Could not find the CUDA compiler)"}},
     .concluded = "code is to be compiled on this machine, and there is no nvcc[ ({tool})]: PyTorch's packages bring "
                  "CUDA's libraries, not its compiler",
     .unknown = "whether a wheel with code made ahead exists for this Python, PyTorch and system",
     .mend = "a wheel instead of sources (flashfit choose *.whl), or a CUDA toolkit of PyTorch's CUDA version with "
             "CUDA_HOME set to it",
     .explained_by = {"FF706"},
     .source = "vllm-project/vllm#49497; PyTorch, torch.utils.cpp_extension"},
    {.name = "toolkit-differs-from-pytorch",
     .code = "FF863",
     .title = "the CUDA toolkit is not of PyTorch's CUDA",
     .patterns =
         {{"mismatches the version that was used to compile",
           R"(detected CUDA version \((?P<found>[\d.]+)\) mismatches the version that was used to compile(?: PyTorch \((?P<wanted>[\d.]+)\))?)"},
          {"mismatches the version that was used to compile",
           R"(mismatches the version that was used to compile.*'(?P<found>\d+\.\d+)', '(?P<wanted>\d+\.\d+)')"},
          {"PyTorch (", R"(PyTorch \((?P<wanted>[\d.]+)\)\. Please make sure)", true}},
     .concluded = "the nvcc that was found is of CUDA {found}[, PyTorch was made with {wanted}]: another major "
                  "version, which PyTorch refuses to build with",
     .mend = "[a toolkit of CUDA {wanted} with CUDA_HOME set to it, or a PyTorch made with CUDA {found}]",
     .source = "PyTorch, torch.utils.cpp_extension._check_cuda_version"},
    {.name = "build-isolation",
     .code = "FF864",
     .title = "a source build that does not see PyTorch",
     .patterns = {{"No module named 'torch'", R"(ModuleNotFoundError: No module named 'torch')"}},
     .concluded = "a build that needs PyTorch did not see one: pip builds sources in an environment of their own; or "
                  "this environment has no PyTorch",
     .unknown = "which of the two, unless the lines before speak of a build",
     .mend = "pip install torch, then the package with --no-build-isolation; or its wheel",
     .source = "Dao-AILab/flash-attention, README; pip, \"Build isolation\""},
};

}  // namespace

std::span<const ErrorClass> build_errors() { return kClasses; }

}  // namespace flashfit::doctor::pasted
