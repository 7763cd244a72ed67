// Errors of GPU code that does not fit the GPU or the driver.
#include "errors/tables.hpp"

namespace flashfit::errors {
namespace {

const ErrorClass kClasses[] = {
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
     .patterns = {{"no kernel image is available", R"(\((?P<file>[^\s:()]+):\d+\): no kernel image is available)"},
                  {"no kernel image is available",
                   R"(no kernel image is available(?:.* \(at (?P<file>[^\s:)]+):\d+\))?)"},
                  {"cudaErrorNoKernelImageForDevice", R"(cudaErrorNoKernelImageForDevice)"},
                  {"CUDA_ERROR_NO_BINARY_FOR_GPU", R"(CUDA_ERROR_NO_BINARY_FOR_GPU)"}},
     .concluded = "some library launched a kernel and carries neither machine code nor usable PTX of it for this GPU[; "
                  "the check that saw it was written in {file}]",
     .unknown = "which library: a launch that nobody checked is reported by the next call that looks, so that the line "
                "in the traceback need not be the culprit's. Every library with GPU code must be looked at",
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
    {.name = "ptx-too-new",
     .code = "FF812",
     .title = "PTX newer than the driver",
     .proof = Proof::kFiles,
     .patterns = {{"unsupported toolchain", R"(unsupported toolchain)"},
                  {"CUDA_ERROR_UNSUPPORTED_PTX_VERSION", R"(CUDA_ERROR_UNSUPPORTED_PTX_VERSION)"},
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
     .patterns = {{"named symbol not found", R"(named symbol not found)"},
                  {"CUDA_ERROR_NOT_FOUND", R"(CUDA_ERROR_NOT_FOUND)"},
                  {"cudaErrorSymbolNotFound", R"(cudaErrorSymbolNotFound)"}},
     .concluded = "the driver loaded an image that lacks a kernel or a variable which the host code names: host code "
                  "and image are of two builds, or the image of this GPU was compiled without that kernel",
     .unknown = "which library",
     .explained_by = {"FF101", "FF102"},
     .source = "CUDA Driver API, CUDA_ERROR_NOT_FOUND"},
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
                  {"requires GPUs with", R"((?P<library>\w+) requires GPUs with (?P<wants>sm_?\d+ or higher))"},
                  {"requires sm75+", R"((?P<library>\w+) requires (?P<wants>sm75\+))"},
                  {"requires device with capability",
                   R"(requires device with capability (?P<wants>[<>]=? ?\(\d+, ?\d+\)))"}},
     .concluded = "host code compared the GPU with a list and refused it (it wants {wants}); no kernel was launched. A "
                  "GPU newer than the library's list is refused as well, though its images might run",
     .unknown = "whether the library's images would run on this GPU, and which version of it knows the GPU",
     .explained_by = {"FF710"},
     .subject = "{wants}",
     .source = "Dao-AILab/flash-attention#1540, lldacing/ComfyUI_PuLID_Flux_ll#61, flashinfer-ai/flashinfer#3675"},
};

}  // namespace

std::span<const ErrorClass> gpu_code_errors() { return kClasses; }

}  // namespace flashfit::errors
