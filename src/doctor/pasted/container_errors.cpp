// Errors of container runtimes, of WSL and of nvidia-smi: the machine does not give the GPU to this process.
#include "doctor/pasted/tables.hpp"

namespace flashfit::doctor::pasted {
namespace {

const ErrorClass kClasses[] = {
    {.name = "no-container-toolkit",
     .code = "FF870",
     .title = "the container runtime knows no NVIDIA GPUs",
     .nature = Nature::kHost,
     .patterns = {{"could not select device driver",
                   R"re(could not select device driver(?: "(?P<driver_name>\w*)")? with capabilities: \[\[)re"},
                  {"could not select device driver", R"(could not select device driver)"},
                  {"nknown runtime specified nvidia", R"((?i)unknown runtime specified nvidia)"},
                  {"nvidia-container-runtime",
                   R"(exec: "nvidia-container-runtime(?:-hook)?": executable file not found)"},
                  {"nvidia-container-runtime", R"(nvidia-container-runtime(?:-hook)?: (?:command )?not found)"}},
     .concluded =
         "docker was asked for GPUs and has nothing that could give them: the NVIDIA Container Toolkit is not "
         "installed on the host, docker was not told of it, or docker is a snap or a rootless one that does not "
         "see it. The image has no part in it",
     .mend = "nvidia-ctk runtime configure --runtime=docker && systemctl restart docker (as root on the host, after "
             "nvidia-container-toolkit was installed)",
     .source = "NVIDIA/nvidia-docker#1034, #1642, NVIDIA/dcgm-exporter#33"},
    {.name = "container-device-interface",
     .code = "FF870",
     .title = "the container runtime has no description of the GPU",
     .nature = Nature::kHost,
     .patterns = {{"unresolvable CDI devices", R"(unresolvable CDI devices (?P<device>\S+))"},
                  {"failed to stat CDI host device", R"re(failed to stat CDI host device "(?P<device>[^"]+)")re"},
                  {"CDI device injection failed", R"(CDI device injection failed)"}},
     .concluded =
         "the runtime looked for the GPU[ {device}] in the files of the Container Device Interface, and they are "
         "absent, of an earlier driver, or name a device that is gone",
     .mend =
         "nvidia-ctk cdi generate --output=/etc/cdi/nvidia.yaml (as root on the host; again after each change of the "
         "driver)",
     .source = "NVIDIA/nvidia-container-toolkit#146, #434, #885, NixOS/nixpkgs#420638"},
    {.name = "container-runtime-before-cdi",
     .code = "FF870",
     .title = "this container runtime is older than the names of GPUs that it was given",
     .nature = Nature::kHost,
     .patterns = {{"stat nvidia.com/gpu", R"(stat (?P<device>nvidia\.com/gpu=\S+?): no such file)"}},
     .concluded = "{device} is a name of the Container Device Interface, and the runtime took it for a file: Podman "
                  "knows such names from 4.1 on, Docker from 25 on where the daemon has the feature on. The image has "
                  "no part in it",
     .mend = "a newer Podman; or the older way: nvidia-ctk runtime configure, and the runtime nvidia with "
             "NVIDIA_VISIBLE_DEVICES=all",
     .source = "NVIDIA/nvidia-container-toolkit#63"},
    {.name = "container-hook-mount",
     .code = "FF870",
     .title = "the image brings the driver's own libraries",
     .patterns = {{"mount error: file creation failed",
                   R"(mount error: file creation failed: \S*?(?P<library>lib(?:nvidia|cuda)[\w.-]+): file exists)"},
                  {"nvidia-container-cli: mount error", R"(nvidia-container-cli: mount error: (?P<why>.+))"}},
     .concluded = "the toolkit puts the host's driver libraries into the container and could not[: {library} is there "
                  "already, as the image was made where a driver was installed|: {why}]",
     .mend = "the image without libcuda.so*, libnvidia-*.so*: delete them in its Dockerfile",
     .explained_by = {"FF331", "FF702"},
     .source = "NVIDIA/nvidia-docker#1551, NVIDIA/nvidia-container-toolkit#289"},
    {.name = "container-hook-no-driver",
     .code = "FF870",
     .title = "the container toolkit finds no driver",
     .nature = Nature::kHost,
     .patterns =
         {{"no adapters were found", R"(WSL environment detected but no adapters were found)"},
          {"nvidia-container-cli: initialization error",
           R"(initialization error: load library failed: (?P<library>[\w.-]+))"},
          {"driver not loaded", R"(nvml error: driver not loaded)"},
          {"nvidia-container-cli: device error", R"(nvidia-container-cli: device error: (?P<why>[^:]+))"},
          {"nvidia-container-cli: initialization error",
           R"(nvidia-container-cli: initialization error: (?P<why>cuda error[^:]*|driver error[^:]*|[^:]*not[^:]*))"}},
     .concluded =
         "the toolkit's hook asked the host's driver and got none[: {library} is not there][: {why}]: no driver "
         "is installed or loaded, docker runs as a snap, or WSL is version 1. The image has no part in it",
     .mend = "nvidia-smi on the host itself first: where that fails, the driver must be installed; on Windows: wsl "
             "--update, and WSL 2",
     .source = "NVIDIA/nvidia-container-toolkit#154, docker/for-win#13835, AbdBarho/stable-diffusion-webui-docker#117"},
    {.name = "container-lost-gpu",
     .code = "FF870",
     .title = "the container had the GPU and lost it",
     .nature = Nature::kHost,
     .patterns = {{"Failed to initialize NVML: Unknown Error", R"(Failed to initialize NVML: Unknown Error)"}},
     .concluded = "the container's access to the GPU was taken away while it ran: systemctl daemon-reload on the host "
                  "writes its device rules anew, without those of the toolkit",
     .mend = "docker restart CONTAINER; for good: \"exec-opts\": [[\"native.cgroupdriver=cgroupfs\"]] in "
             "/etc/docker/daemon.json, or the GPU's device files given by --device",
     .source = "NVIDIA/nvidia-docker#1730, NVIDIA/nvidia-container-toolkit#251"},
    {.name = "wsl-blocked",
     .code = "FF870",
     .title = "Windows does not give the GPU to WSL",
     .nature = Nature::kHost,
     .patterns = {{"GPU access blocked by the operating system", R"(GPU access blocked by the operating system)"}},
     .concluded =
         "the library in WSL found the GPU's adapter, and Windows refused it: a driver mode without WSL (TCC on "
         "servers), a Windows too old, or libraries that were copied from another driver",
     .mend = "wsl --update, and the newest Windows driver; in a container: the image without its own libcuda and "
             "libnvidia-ml",
     .explained_by = {"FF702", "FF331"},
     .source = "microsoft/WSL#9938, #9962, #11865"},
    {.name = "wsl-libcuda",
     .code = "FF870",
     .title = "WSL's libcuda is a copy where a link should be",
     .nature = Nature::kHost,
     .warning = true,
     .patterns = {{"libcuda.so.1 is not a symbolic link", R"((?P<file>\S*libcuda\.so\.1) is not a symbolic link)"}},
     .concluded =
         "ldconfig names a file that Windows put there as a copy. It is harmless: the library is loaded all the "
         "same",
     .source = "microsoft/WSL#5663, #5548"},
    {.name = "driver-not-running",
     .code = "FF806",
     .title = "the driver's kernel module does not answer",
     .nature = Nature::kHost,
     .patterns = {{"couldn't communicate with the NVIDIA driver", R"(couldn't communicate with the NVIDIA driver)"},
                  {"Failed to initialize NVML", R"(Failed to initialize NVML: Driver Not Loaded)"},
                  {"shut down NVML: Driver Not Loaded", R"(NVML: Driver Not Loaded)"},
                  {"could not load NVML library", R"(could not load NVML library)"}},
     .concluded =
         "nvidia-smi is installed and the module in the kernel is not loaded: a new kernel without the module, "
         "Secure Boot that refuses it, a failed DKMS build, or WSL 1",
     .mend = "dmesg | grep -i nvrm; dkms status (as root on the host; then the driver installed again, and a reboot)",
     .explained_by = {"FF701"},
     .source = "microsoft/WSL#9640, #3847, NVIDIA/k8s-device-plugin#207"},
    {.name = "gpu-lost",
     .code = "FF805",
     .title = "the GPU does not answer its driver",
     .nature = Nature::kHost,
     .patterns = {{"Unable to determine the device handle",
                   R"(Unable to determine the device handle for GPU ?(?P<device>[\dA-Fa-f:.]+[\dA-Fa-f])?)"},
                  {"fallen off the bus", R"(fallen off the bus)"},
                  {"GPU is lost", R"(GPU is lost)"},
                  {"Unable to load the kernel module", R"(Unable to load the kernel module 'nvidia\.ko')"}},
     .concluded =
         "the driver knows the GPU[ {device}] and no longer reaches it: power, heat, the slot, or a module that "
         "is not for it (the newest GPUs need the open kernel modules). No file of a package has a part in it",
     .mend = "dmesg | grep -iE 'nvrm|xid' (it has the number of the fault), then a reboot; a rented machine: return it",
     .explained_by = {"FF701"},
     .source = "NVIDIA/open-gpu-kernel-modules#259"},
    {.name = "image-for-another-machine",
     .code = "FF839",
     .title = "a program or an image for another kind of machine",
     .patterns =
         {{"exec format error", R"((?i)(?:exec (?P<file>/\S+): )?exec format error)"},
          {"image's platform (",
           R"(image's platform \((?P<built>[\w/]+)\) does not match the detected host platform \((?P<here>[\w/]+)\))"},
          {"no matching manifest for ", R"(no matching manifest for (?P<here>[\w/]+))"},
          {"the image's architecture (",
           R"(the image's architecture \((?P<built>\w+)\) could not run on the host's \((?P<here>\w+)\))"}},
     .concluded =
         "the file's machine code is for another processor[: {built}][, and this machine is {here}]: images and "
         "wheels for x86-64 do not run on Grace, Jetson and other arm64, nor the reverse. GPU and CUDA were not "
         "reached",
     .mend =
         "uname -m; then an image of that machine (docker pull --platform linux/arm64 or linux/amd64), built again if "
         "there is none; for Jetson one for its L4T release",
     .explained_by = {"FF310", "FF202"},
     .source = "NVIDIA/nvidia-docker#1116, OpenNMT/CTranslate2#1155, langfuse/langfuse#2556, "
               "AndreWeiner/ml-cfd-lecture#28"},
};

}  // namespace

std::span<const ErrorClass> container_errors() { return kClasses; }

}  // namespace flashfit::doctor::pasted
