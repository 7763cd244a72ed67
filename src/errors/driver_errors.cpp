// Errors of the driver and of the machine.
#include "errors/tables.hpp"

namespace flashfit::errors {
namespace {

const ErrorClass kClasses[] = {
    {.name = "system-not-ready",
     .code = "FF802",
     .title = "the machine's GPUs are not ready (error 802)",
     .nature = Nature::kHost,
     .patterns = {{"system not yet initialized", R"((?i)system not yet initialized)"},
                  {"cudaErrorSystemNotReady", R"(cudaErrorSystemNotReady)"},
                  {"CUDA_ERROR_SYSTEM_NOT_READY", R"(CUDA_ERROR_SYSTEM_NOT_READY)"}},
     .concluded =
         "the driver answered 802: on machines with NVSwitch the fabric manager has not brought the links up. Every "
         "program on this machine fails so: nothing that you installed is at fault, and nothing in an image helps",
     .mend =
         "systemctl status nvidia-fabricmanager (as root on the host; on a rented machine: return it and take another)",
     .explained_by = {"FF701"},
     .subject = "802",
     .source = "huggingface/huggingface_hub#4128, #4134; CUDA Driver API, CUDA_ERROR_SYSTEM_NOT_READY"},
    {.name = "driver-mismatch",
     .code = "FF803",
     .title = "libcuda and the kernel's driver are of two versions (error 803)",
     .nature = Nature::kHost,
     .patterns = {{"system has unsupported display driver / cuda driver combination",
                   R"(system has unsupported display driver / cuda driver combination)"},
                  {"cudaErrorSystemDriverMismatch", R"(cudaErrorSystemDriverMismatch)"},
                  {"CUDA_ERROR_SYSTEM_DRIVER_MISMATCH", R"(CUDA_ERROR_SYSTEM_DRIVER_MISMATCH)"},
                  {"Driver/library version mismatch", R"(Driver/library version mismatch)"}},
     .concluded =
         "the libcuda.so.1 that was loaded does not belong to the driver in the kernel: a compat or packed-along "
         "libcuda goes before the driver's own, or the driver was updated and the machine was not started anew",
     .unknown = "which libcuda was loaded, and from which folder",
     .mend = "ldconfig -p | grep libcuda.so.1; echo $LD_LIBRARY_PATH (then take compat and stub folders out of it; "
             "after an update of the driver: reboot)",
     .explained_by = {"FF701", "FF702", "FF331"},
     .source = "CUDA Driver API, CUDA_ERROR_SYSTEM_DRIVER_MISMATCH; CUDA Compatibility"},
    {.name = "compat-not-supported",
     .code = "FF804",
     .title = "cuda-compat does not serve this GPU (error 804)",
     .nature = Nature::kHost,
     .patterns = {{"forward compatibility was attempted on non supported HW",
                   R"(forward compatibility was attempted on non supported HW)"},
                  {"cudaErrorCompatNotSupportedOnDevice", R"(cudaErrorCompatNotSupportedOnDevice)"},
                  {"CUDA_ERROR_COMPAT_NOT_SUPPORTED_ON_DEVICE", R"(CUDA_ERROR_COMPAT_NOT_SUPPORTED_ON_DEVICE)"}},
     .concluded = "libcuda comes from a cuda-compat folder, which serves data-centre GPUs alone: with another GPU the "
                  "driver's own libcuda must be loaded",
     .mend = "LD_LIBRARY_PATH without /usr/local/cuda/compat (or a newer driver on the host)",
     .explained_by = {"FF701", "FF702", "FF331"},
     .source = "CUDA Compatibility, \"Forward Compatibility\"; CUDA Driver API"},
    {.name = "driver-too-old",
     .code = "FF815",
     .title = "the driver is older than the CUDA that was installed",
     .patterns = {{"driver on your system is too old",
                   R"(driver on your system is too old \(found version (?P<found>\d+)\))"},
                  {"CUDA driver version is insufficient",
                   R"(CUDA driver version is insufficient for CUDA runtime version)"},
                  {"cudaErrorInsufficientDriver", R"(cudaErrorInsufficientDriver)"},
                  {"unsatisfied condition: cuda>=", R"(unsatisfied condition: cuda>=(?P<wanted>\d+\.\d+))"}},
     .concluded = "the CUDA runtime that the package brings wants a newer driver than this machine has[: the driver "
                  "serves CUDA up to {found_cuda}][: the image wants CUDA {wanted}]",
     .unknown = "[which build was installed: {found} is the driver's version, not the package's]",
     .explained_by = {"FF703", "FF105", "FF106"},
     .source = "rapidsai/cugraph-gnn#410, Nerogar/OneTrainer#1572; CUDA Toolkit release notes, minimum drivers"},
    {.name = "no-gpu",
     .code = "FF806",
     .title = "no GPU is seen",
     .nature = Nature::kHost,
     .patterns = {{"no CUDA-capable device is detected", R"(no CUDA-capable device is detected)"},
                  {"Found no NVIDIA driver on your system", R"(Found no NVIDIA driver on your system)"},
                  {"libcuda.so.1: cannot open shared object file",
                   R"((?P<library>libcuda\.so\.1): cannot open shared object file)"},
                  {"libnvidia-ml.so.1: cannot open",
                   R"((?P<library>libnvidia-ml\.so\.1): cannot open shared object file)"},
                  {"No CUDA GPUs are available", R"(No CUDA GPUs are available)"}},
     .concluded = "no driver or no GPU is there for this process[ ({library} is the driver's own)]: a container that "
                  "was given none, CUDA_VISIBLE_DEVICES that hides all, or a machine without one",
     .unknown = "which of these",
     .mend = "nvidia-smi; echo $CUDA_VISIBLE_DEVICES (a container: start it with --gpus all)",
     .explained_by = {"FF701"},
     .source = "NVIDIA/nvidia-docker#400; CUDA Runtime API, cudaErrorNoDevice"},
    {.name = "cpu-build",
     .code = "FF807",
     .title = "a PyTorch without CUDA",
     .patterns = {{"Torch not compiled with CUDA enabled", R"(Torch not compiled with CUDA enabled)"}},
     .concluded = "the PyTorch that is installed is a build for CPUs: GPU and driver were not asked",
     .unknown = "why that build was taken: its index, or a package that asked for it",
     .explained_by = {"FF704", "FF211"},
     .subject = "built for the CPU",
     .source = "PyTorch, torch.cuda._lazy_init"},
    {.name = "falls-back-to-cpu",
     .code = "FF808",
     .title = "it runs, but on the CPU",
     .proof = Proof::kFiles,
     .patterns =
         {{"Failed to create CUDAExecutionProvider", R"(Failed to create CUDAExecutionProvider)"},
          {"Failed to load library",
           R"(Failed to load library (?P<file>\S*(?:libonnxruntime_providers_cuda\.so|onnxruntime_providers_cuda\.dll)) with error: (?P<library>[^\s:]+): cannot open shared object file)"},
          {"onnxruntime_providers_cuda",
           R"re(LoadLibrary failed with error (?P<error>\d+) .*"(?P<file>[^"]*onnxruntime_providers_cuda\.dll)\\?")re"},
          {"which is missing", R"re(depends on "(?P<library>[\w.-]+\.dll)" which is missing)re"},
          {"'CUDAExecutionProvider' is not in available provider names",
           R"('CUDAExecutionProvider' is not in available provider names)"}},
     .concluded = "the CUDA provider[ {file}] could not be loaded[: {library} is not there], and the program goes on "
                  "with the CPU's: it works, slowly, and says so nowhere else",
     .unknown = "which CUDA the provider was built for, unless the library's name says so",
     .explained_by = {"FF712", "FF713", "FF330", "FF332", "FF405"},
     .subject = "{library}",
     .source = "danielgatis/rembg#841, dudarenok-maker/Castwright#2534"},
    {.name = "unknown-driver-error",
     .code = "FF805",
     .title = "the driver does not know what went wrong (error 999)",
     .nature = Nature::kHost,
     .patterns = {{"cudaErrorUnknown", R"(cudaErrorUnknown)"},
                  {"CUDA unknown error", R"(CUDA unknown error)"},
                  {"CUDA_ERROR_UNKNOWN", R"(CUDA_ERROR_UNKNOWN)"},
                  {"CUDA error: unknown error", R"(CUDA error: unknown error)"}},
     .concluded = "the driver answered 999 at its start or after a kernel; no file is known to be at fault",
     .unknown = "the cause: the module nvidia_uvm that is not loaded, a machine that slept, or an environment changed "
                "after the start are the usual ones",
     .mend = "modprobe nvidia_uvm (as root on the host), or reboot",
     .explained_by = {"FF701"},
     .subject = "999",
     .source = "PyTorch, torch.cuda._lazy_init; CUDA Driver API, CUDA_ERROR_UNKNOWN"},
};

}  // namespace

std::span<const ErrorClass> driver_errors() { return kClasses; }

}  // namespace flashfit::errors
