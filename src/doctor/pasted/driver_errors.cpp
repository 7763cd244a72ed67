// Errors of the driver and of the machine.
#include "doctor/pasted/tables.hpp"

namespace flashfit::doctor::pasted {
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
                  {"Driver/library version mismatch", R"(Driver/library version mismatch)"},
                  {"driver/library version mismatch", R"(driver/library version mismatch)"},
                  {"NVML/RM version mismatch", R"(NVML/RM version mismatch)"},
                  {"LibRmVersionMismatch", R"(NVMLError_LibRmVersionMismatch)"},
                  {"LIB_RM_VERSION_MISMATCH", R"(NVML_ERROR_LIB_RM_VERSION_MISMATCH)"},
                  {"Mismatch in versions between nvidia-smi", R"(Mismatch in versions between nvidia-smi and NVML)"},
                  {"NVRM: API mismatch", R"(NVRM: API mismatch: the client)"},
                  {"has the version", R"(has the version (?P<client>[\d.]+\d))", true},
                  {"kernel module has", R"(kernel module has the version (?P<module>[\d.]+\d))", true}},
     .concluded =
         "the libcuda.so.1 that was loaded[, of {client},] does not belong to the driver in the kernel[, {module}]: a "
         "compat or packed-along "
         "libcuda goes before the driver's own, or the driver was updated and the machine was not started anew",
     .unknown = "which libcuda was loaded, and from which folder",
     .mend = "ldconfig -p | grep libcuda.so.1; echo $LD_LIBRARY_PATH (then take compat and stub folders out of it; "
             "after an update of the driver: reboot)",
     .explained_by = {"FF701", "FF702", "FF331"},
     .source = "CUDA Driver API, CUDA_ERROR_SYSTEM_DRIVER_MISMATCH; CUDA Compatibility; rapidsai/dask-cuda#949, "
               "XuehaiPan/nvitop#41, tensorpack/tensorpack#1244, Bruce-Lee-LY/cuda_hook#15"},
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
                  {"cuCtxCreate_v3", R"(symbol lookup for (?P<symbol>cuCtxCreate_v3) failed)"},
                  {"nvidia driver is too old", R"((?i)nvidia driver is too old)"},
                  {"NVIDIA driver too old", R"((?i)nvidia driver (?:is )?too old)"},
                  {"cudaErrorInsufficientDriver", R"(cudaErrorInsufficientDriver)"},
                  {"insufficient driver version", R"(Possibly insufficient driver version: (?P<driver>[\d.]+\d))"},
                  {"installed CUDA driver version is",
                   R"(but the installed CUDA driver version is (?P<found_cuda>[1-9]\d*\.\d+))"},
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
                  {"Could not open libcuda.so", R"(CUDA error: Could not open (?P<library>libcuda\.so))"},
                  {"installed CUDA driver version is 0.0", R"(installed CUDA driver version is 0\.0)"},
                  {"No CUDA GPUs are available", R"(No CUDA GPUs are available)"},
                  {"The NVIDIA Driver was not detected", R"(The NVIDIA Driver was not detected)"},
                  {"no CUDA devices found", R"(no CUDA devices found)"},
                  {"you might not have a CUDA gpu",
                   R"(CUDA driver initialization failed, you might not have a CUDA gpu)"}},
     .concluded = "no driver or no GPU is there for this process[ ({library} is the driver's own)]: a container that "
                  "was given none, CUDA_VISIBLE_DEVICES that hides all, or a machine without one",
     .unknown = "which of these",
     .mend = "nvidia-smi; echo $CUDA_VISIBLE_DEVICES (a container: start it with --gpus all)",
     .explained_by = {"FF701"},
     .source = "NVIDIA/nvidia-docker#400, ggml-org/llama.cpp#6184, coder-wangzhen/AIC22-MCVT#2; CUDA Runtime API, "
               "cudaErrorNoDevice"},
    {.name = "cpu-build",
     .code = "FF807",
     .title = "a PyTorch without CUDA",
     .patterns = {{"Torch not compiled with CUDA enabled", R"(Torch not compiled with CUDA enabled)"},
                  {"has no attribute '_cuda_", R"(has no attribute '(?P<op>_cuda_\w+)')"}},
     .concluded = "the PyTorch that is installed is a build for CPUs: GPU and driver were not asked",
     .unknown = "why that build was taken: its index, or a package that asked for it",
     .explained_by = {"FF704", "FF211"},
     .subject = "built for the CPU",
     .source = "PyTorch, torch.cuda._lazy_init; NVIDIA/pix2pixHD#325, ShomyLiu/pytorch-relation-extraction#58, "
               "junyanz/pytorch-CycleGAN-and-pix2pix#900"},
    {.name = "provider-not-in-build",
     .code = "FF808",
     .title = "it runs, but on the CPU: this onnxruntime is the build for CPUs",
     .patterns = {{"'CUDAExecutionProvider' is not in available provider names",
                   R"('CUDAExecutionProvider' is not in available provider names)"}},
     .concluded = "the onnxruntime that was imported has no CUDA provider at all, so that none was tried: the package "
                  "for CPUs is installed, alone, or over onnxruntime-gpu, whose files have the same names",
     .unknown = "which package asked for the one for CPUs",
     .mend = "pip uninstall -y onnxruntime onnxruntime-gpu && pip install onnxruntime-gpu",
     .explained_by = {"FF713", "FF712", "FF211"},
     .subject = "onnxruntime",
     .source = "microsoft/onnxruntime#23736, #16931"},
    {.name = "falls-back-to-cpu",
     .code = "FF808",
     .title = "it runs, but on the CPU",
     .proof = Proof::kFiles,
     .patterns =
         {{"Failed to create CUDAExecutionProvider", R"(Failed to create CUDAExecutionProvider)"},
          {"Failed to load library",
           R"(Failed to load library (?P<file>\S*(?:libonnxruntime_providers_cuda\.so|onnxruntime_providers_cuda\.dll)) with error: (?P<library>[^\s:]+): cannot open shared object file)"},
          {"onnxruntime_providers_cuda",
           R"re(LoadLibrary failed with error (?P<error>\d+) .*"(?P<file>[^"]*onnxruntime_providers_cuda\.dll))re"},
          {"but CUDA was", R"(CUDA_PATH is set but CUDA wasn'?t able to be loaded)"},
          {"which is missing", R"re(depends on "(?P<library>[\w.-]+\.dll)" which is missing)re"}},
     .concluded = "the CUDA provider[ {file}] could not be loaded[: {library} is not there|: Windows' error {error}; "
                  "126 is a DLL that it needs and that is missing, 127 one that is of another release]. Where no "
                  "exception follows, the program goes on with the CPU's: it works, slowly, and nothing else says so",
     .unknown =
         "which CUDA the provider was built for, unless the library's name says so (onnxruntime-gpu wants CUDA 12 "
         "and cuDNN 9 from 1.19 on; import torch before it lends it PyTorch's own, of the same main versions)",
     .explained_by = {"FF712", "FF713", "FF330", "FF332", "FF405"},
     .subject = "{library}",
     .source = "danielgatis/rembg#841, dudarenok-maker/Castwright#2534, cubiq/ComfyUI_InstantID#151, "
               "microsoft/onnxruntime#11562, #21684"},
    {.name = "unknown-driver-error",
     .code = "FF805",
     .title = "the driver does not know what went wrong (error 999)",
     .nature = Nature::kHost,
     .patterns = {{"cudaErrorUnknown", R"(cudaErrorUnknown)"},
                  {"CUDA unknown error", R"(CUDA unknown error)"},
                  {"CUDA_ERROR_UNKNOWN", R"(CUDA_ERROR_UNKNOWN)"},
                  {"CUDA error: unknown error", R"(CUDA error: unknown error)"},
                  {"Error 999: unknown error", R"(Error 999: unknown error)"},
                  {"cuda driver library", R"(cuda driver library (?:init failure:|failed to [\w ]+?) 999)"}},
     .concluded = "the driver answered 999 at its start or after a kernel; no file is known to be at fault",
     .unknown = "the cause: the module nvidia_uvm that is not loaded, a machine that slept, or an environment changed "
                "after the start are the usual ones",
     .mend = "modprobe nvidia_uvm (as root on the host), or reboot",
     .explained_by = {"FF701"},
     .subject = "999",
     .source = "PyTorch, torch.cuda._lazy_init; CUDA Driver API, CUDA_ERROR_UNKNOWN"},
    {.name = "driver-start-lacks-symbol",
     .code = "FF805",
     .title = "the driver's parts in a container do not go together (error 500)",
     .nature = Nature::kHost,
     .patterns = {{"named symbol not found",
                   R"(Unexpected error from cudaGetDeviceCount\(\).* Error 500: named symbol not found)"},
                  {"named symbol not found", R"(failed to initialize CUDA: named symbol not found)"},
                  {"driver library init failure: 500", R"(driver library init failure: 500)"},
                  {"CUDA_ERROR_NOT_FOUND", R"(failed call to cuInit: CUDA_ERROR_NOT_FOUND)"}},
     .concluded =
         "the driver's own start did not find a function in one of its parts: what the container runtime "
         "brought in is of another release than the driver of the host. It is seen where Docker Desktop or "
         "the NVIDIA Container Toolkit under WSL is older than the Windows driver (from 555 on). No package is "
         "at fault",
     .mend = "Docker Desktop and the NVIDIA Container Toolkit updated on the host, then a new container",
     .explained_by = {"FF701", "FF702"},
     .source = "jhj0517/Whisper-WebUI#279, YanWenKun/ComfyUI-Docker#74, tensorflow/tensorflow#68711, "
               "AbdBarho/stable-diffusion-webui-docker#694"},
    {.name = "driver-start-failed",
     .code = "FF805",
     .title = "the driver's start failed",
     .nature = Nature::kHost,
     .patterns =
         {{"cuInit", R"(Call to cuInit results in (?P<error>CUDA_ERROR_\w+))"},
          {"cuInit",
           R"(failed call to cuInit: (?:\w+: CUDA error: Failed call to cuInit: )?(?P<error>CUDA_ERROR_\w+|UNKNOWN ERROR(?: \(\d+\))?))"},
          {"failed to initialize CUDA: ", R"(failed to initialize CUDA: (?P<error>initialization error))"},
          {"CUDA_ERROR_OPERATING_SYSTEM", R"((?P<error>CUDA_ERROR_OPERATING_SYSTEM))"}},
     .concluded =
         "the driver could not start in this process ({error}): its device files or its service are not there for it, "
         "as in a container or a job without the GPU, or its parts are of two versions. No file of a package is at "
         "fault",
     .mend = "nvidia-smi in the same place; ls -l /dev/nvidia* (a container: --gpus all; a cluster: a job that asks "
             "for a GPU)",
     .explained_by = {"FF701", "FF702"},
     .source = "numba/numba#9134, meta-llama/llama3#215"},
    {.name = "stub-library",
     .code = "FF801",
     .title = "a toolkit's stub was loaded instead of the driver (error 34)",
     .patterns = {{"CUDA driver is a stub library", R"(CUDA driver is a stub library)"},
                  {"cudaErrorStubLibrary", R"(cudaErrorStubLibrary)"},
                  {"CUDA_ERROR_STUB_LIBRARY", R"(CUDA_ERROR_STUB_LIBRARY)"}},
     .concluded = "the libcuda.so.1 that was loaded is a stub: toolkits bring it to link against where there is no "
                  "driver, and it can do nothing else",
     .unknown = "from which folder it came",
     .mend = "LD_LIBRARY_PATH without the folders that end in stubs, such as /usr/local/cuda/lib64/stubs",
     .explained_by = {"FF701", "FF702", "FF331"},
     .source = "CUDA Runtime API, cudaErrorStubLibrary"},
    {.name = "gpu-busy",
     .code = "FF809",
     .title = "the GPU takes no further program (error 46)",
     .nature = Nature::kHost,
     .patterns = {{"busy or unavailable",
                   R"((?i)CUDA-capable devices?(?:\(s\))? (?:is/are|are|is) busy or unavailable)"},
                  {"cudaErrorDevicesUnavailable", R"(cudaErrorDevicesUnavailable)"},
                  {"CUDA_ERROR_DEVICE_UNAVAILABLE", R"(CUDA_ERROR_DEVICE_UNAVAILABLE)"}},
     .concluded = "the driver knows the GPU and refused a context on it: its compute mode lets one program in, or "
                  "none, or it is in a state that only its host can mend. No file has a part in it",
     .unknown = "which of these: another program that has it, or the compute mode",
     .mend = "nvidia-smi -q -d COMPUTE,PIDS (who has it, and whether its compute mode is Default)",
     .explained_by = {"FF701"},
     .subject = "compute mode",
     .source = "CUDA Runtime API, cudaErrorDevicesUnavailable"},
    {.name = "driver-newer-than-package",
     .code = "FF815",
     .title = "the driver is newer than the package that asks it for a function",
     .patterns =
         {{"Failed to get driver entry point",
           R"((?P<library>\w+) CUDA error: Failed to get driver entry point '(?P<symbol>cu\w+)' \(CUDA error 1\))"}},
     .concluded = "{library} asks the driver for its functions by name and version, and the driver refused the way in "
                  "which it asked for {symbol} (error 1, an invalid value): drivers for CUDA 13 do so to releases that "
                  "were made before them. The driver is not too old, and error 36 in later lines follows from this",
     .unknown = "from which release of {library} on it asks otherwise: 1.7.1 of Warp does not",
     .mend = "a later release of {library} (of Warp: pip install -U warp-lang)",
     .source = "escontra/gauss_gym#16, NVIDIA/warp#940"},
    {.name = "driver-lacks-call",
     .code = "FF815",
     .title = "the driver does not have what the CUDA runtime asks for (error 36)",
     .asynchronous = false,
     .patterns = {{"API call is not supported in the installed CUDA driver",
                   R"(API call is not supported in the installed CUDA driver)"},
                  {"cudaErrorCallRequiresNewerDriver", R"(cudaErrorCallRequiresNewerDriver)"}},
     .concluded =
         "the driver is of the same major CUDA version as the package and older: most of it works, and a call that "
         "came later does not. The first such call is mostly an allocation from a pool (cudaMallocAsync)",
     .unknown = "which call; a program that traces CUDA, or a virtual GPU's driver, may lack it, too",
     .mend = "a newer driver; or a build for the CUDA that nvidia-smi shows; PyTorch: PYTORCH_CUDA_ALLOC_CONF without "
             "backend:cudaMallocAsync",
     .explained_by = {"FF703", "FF105", "FF106"},
     .source = "NVIDIA/nccl#955, lllyasviel/Fooocus#95, InternLM/lmdeploy#2311, NVIDIA/FasterTransformer#406"},
    {.name = "ecc-error",
     .code = "FF805",
     .title = "the GPU's memory is faulty (error 214)",
     .nature = Nature::kHost,
     .asynchronous = true,
     .patterns = {{"uncorrectable ECC error encountered", R"(uncorrectable ECC error encountered)"},
                  {"CUDA_ERROR_ECC_UNCORRECTABLE", R"(CUDA_ERROR_ECC_UNCORRECTABLE)"},
                  {"cudaErrorECCUncorrectable", R"(cudaErrorECCUncorrectable)"}},
     .concluded =
         "the GPU found bits of its memory wrong that it could not correct. It is hardware: programs and packages "
         "have no part in it",
     .unknown = "whether it stays: a page that was retired at a restart may be the end of it",
     .mend =
         "nvidia-smi -q -d ECC,PAGE_RETIREMENT,ROW_REMAPPER; then the GPU reset or the machine restarted, and a rented "
         "machine given back",
     .explained_by = {"FF701"},
     .source = "vllm-project/vllm#5222, sgl-project/sglang#3204, nagadit/DeepFaceLab_Linux#89"},
};

}  // namespace

std::span<const ErrorClass> driver_errors() { return kClasses; }

}  // namespace flashfit::doctor::pasted
