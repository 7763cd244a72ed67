// Packages of releases that do not go together, by what they say of themselves.
#include "doctor/pasted/tables.hpp"

namespace flashfit::doctor::pasted {
namespace {

const ErrorClass kClasses[] = {
    {.name = "companion-of-another-cuda",
     .code = "FF843",
     .title = "PyTorch and its companion are built for two CUDAs",
     .patterns =
         {{"were compiled with different CUDA",
           R"(Detected that PyTorch and (?P<library>\w+) were compiled with different\s+CUDA(?: major)? ?versions?(?:\.\s+PyTorch has CUDA [Vv]ersion ?=? ?(?P<torch_cuda>[\d.]+\d) (?:and|whereas) \w+ has CUDA\s+[Vv]ersion ?=? ?(?P<library_cuda>[\d.]+\d))?)"},
          {"were compiled with different",
           R"(Detected that PyTorch and (?P<library>\w+) were compiled with different)"},
          {"PyTorch has CUDA", R"(PyTorch has CUDA [Vv]ersion ?=? ?(?P<torch_cuda>[\d.]+\d))", true}},
     .concluded =
         "{library} is[ built for CUDA {library_cuda},] not of the CUDA that PyTorch is built for[ ({torch_cuda})]: "
         "one of the two was installed from another index",
     .mend = "pip install --force-reinstall torch {library} from one index in one command",
     .explained_by = {"FF405", "FF223", "FF406"},
     .subject = "{library}",
     .source = "geocine/sd-easy-mode#18, m-bain/whisperX#320, mli/autocut#106"},
    {.name = "cudnn-older-than-built-for",
     .code = "FF836",
     .title = "cuDNN is older than the one that the program was built with",
     .patterns =
         {{"Loaded runtime CuDNN library",
           R"(Loaded runtime CuDNN library: (?P<found>[\d.]+) but source was compiled with: (?P<wanted>[\d.]+\d))"},
          {"but JAX was built against version",
           R"(Found (?P<library>\w+) version (?P<found>\d+), but JAX was built against version (?P<wanted>\d+))"},
          {"Outdated cuDNN installation", R"(Outdated (?P<library>\w+) installation found)"},
          {"Outdated cu", R"(Outdated (?P<library>\w+) installation found)"},
          {"Minimum supported", R"(Minimum supported: (?P<wanted>\d+))", true},
          {"Installed version", R"(Installed version: (?P<found>\d+))", true}},
     .concluded =
         "[{library}|cuDNN][ {found}] was loaded, and the program was built with[ {wanted}|a newer one]: an older "
         "copy of the system or of another package went before the one that belongs to it, or none belongs to it",
     .unknown = "which copy was loaded: LD_DEBUG=libs says",
     .mend = "pip install -U 'jax[[cuda12]]' or 'tensorflow[[and-cuda]]' (they bring the cuDNN that they want), and "
             "LD_LIBRARY_PATH without folders that hold another",
     .explained_by = {"FF603", "FF604", "FF605", "FF606"},
     .subject = "cudnn",
     .source = "jax-ml/jax#15268, #29315, MIT-REALM/gcbfplus#1, conda-forge/jaxlib-feedstock#329"},
    {.name = "jax-plugin-other-release",
     .code = "FF843",
     .title = "JAX's CUDA plug-in is of another release than jaxlib",
     .patterns =
         {{"Mismatched PJRT plugin",
           R"(Mismatched PJRT plugin PJRT API version \((?P<built>[\d.]+)\) and framework PJRT API version (?P<here>[\d.]+))"},
          {"PJRT_Client_Create_Args",
           R"(Unexpected PJRT_\w+ size: expected \d+, got \d+\. The plugin is likely built with a (?P<order>later|earlier) version than the framework\.(?: This plugin is built with PJRT API version (?P<built>[\d.]+\d))?)"},
          {"not compatible with the installed jaxlib",
           R"((?P<library>jax_\w+|jax-\S+) version (?P<built>[\d.]+) is installed, but it is not compatible with the installed jaxlib version (?P<here>[\d.]+\d))"},
          {"generate_pjrt_gpu_plugin_options",
           R"(module 'jaxlib\.xla_client' has no attribute '(?P<op>generate_pjrt_gpu_plugin_options)')"},
          {"No FFI handler registered", R"(No FFI handler registered for (?P<op>\w+))"},
          {"not compatible with the installed", R"(but it is not compatible with the installed jaxlib)"}},
     .concluded =
         "the plug-in jax-cuda12-plugin or jax-cuda12-pjrt[ ({built})] and jaxlib[ ({here})] are of two releases: "
         "pip leaves one behind when the other changes, as neither pins the other. GPU and driver were not asked",
     .mend = "pip install 'jax[[cuda12]]==VERSION' with jax's own version: it brings jaxlib, jax-cuda12-plugin and "
             "jax-cuda12-pjrt of one release",
     .explained_by = {"FF406", "FF713"},
     .subject = "jax",
     .source = "jax-ml/jax#22416, #24901, #28229, ma-gilles/recovar#64"},
    {.name = "jaxlib-other-release",
     .code = "FF843",
     .title = "jax and jaxlib are of two releases",
     .patterns =
         {{"this version of jax requires version",
           R"(jaxlib is version (?P<here>[\d.]+), but this version of jax requires version (?P<wanted>\S+?)\.?$)"},
          {"incompatible with jax version",
           R"(jaxlib version (?P<here>\S+) is newer than and incompatible with jax version (?P<wanted>[\d.]+\d))"}},
     .concluded =
         "jaxlib[ {here}] does not go with jax[, which wants {wanted}]: an old release of jax was pinned, and pip "
         "brought a jaxlib of its own choice",
     .mend = "pip install 'jax[[cuda12]]==VERSION' with the version of jax that is wanted",
     .explained_by = {"FF406"},
     .subject = "jax",
     .source = "jax-ml/jax#28229, PlasmaControl/DESC#1534"},
    {.name = "triton-other-release",
     .code = "FF843",
     .title = "Triton is not the one of this PyTorch",
     .patterns = {{"cannot import name '",
                   R"(cannot import name '(?P<op>AttrsDescriptor|triton_key|\w+)' from '(?P<module>triton\.[\w.]+)')"},
                  {"module 'triton", R"(module '(?P<module>triton(?:\.\w+)*)' has no attribute '(?P<op>\w+)')"},
                  {"No module named 'triton.", R"(No module named '(?P<module>triton\.\w+(?:\.\w+)*)')"}},
     .concluded =
         "PyTorch's compiler, or a package with kernels in Triton, asks {module}[ for {op}], which this Triton "
         "does not have: each PyTorch goes with one Triton, and another was installed after it",
     .mend =
         "pip install --force-reinstall torch (it brings its own Triton); on Windows: triton-windows of the release "
         "that goes with this PyTorch",
     .explained_by = {"FF406", "FF713"},
     .subject = "triton",
     .source = "Comfy-Org/ComfyUI#7106, deepbeepmeep/Wan2GP#1263, lshqqytiger/triton#1"},
    {.name = "numpy-abi",
     .code = "FF843",
     .title = "an extension was compiled against another NumPy",
     .warning = true,
     .patterns = {{"was compiled using NumPy 1.x cannot be run",
                   R"(was compiled using NumPy (?P<built>1\.x) cannot be run)"},
                  {"NumPy ", R"(^NumPy (?P<here>\d\.\d+\.\d+) as it may crash)", true},
                  {"size changed, may indicate binary incompatibility",
                   R"((?P<op>numpy\.\w+) size changed, may indicate binary incompatibility)"},
                  {"numpy.core.multiarray failed to import", R"(numpy\.core\.multiarray failed to import)"},
                  {"_ARRAY_API not found", R"(_ARRAY_API not found)"},
                  {"Numba needs NumPy", R"(Numba needs NumPy (?P<wanted>[\d.]+) or (?:less|greater))"}},
     .concluded =
         "a compiled module was built against NumPy[ {built}|of another main release], and NumPy[ {here}|of the "
         "other] is installed: 1 and 2 have different binary interfaces. GPU, driver and CUDA have no part in it",
     .unknown = "which module, unless the traceback names it",
     .mend = "pip install 'numpy<2' (or the module's own newer release, which takes both)",
     .explained_by = {"FF406"},
     .subject = "numpy",
     .source = "ai2cm/ace#378, Cornell-RelaxML/qtip#25, geopm/geopm#3519"},
    {.name = "torch-lacks-name",
     .code = "FF843",
     .title = "a package wants a newer PyTorch",
     .patterns = {{"module 'torch", R"(module '(?P<module>torch(?:\.\w+)*)' has no attribute '(?P<op>\w+)')"},
                  {"cannot import name '", R"(cannot import name '(?P<op>\w+)' from '(?P<module>torch(?:\.\w+)*)')"}},
     .concluded =
         "a package asks {module} for {op}, which this PyTorch does not have: the package is of a later release "
         "than the PyTorch that is installed (or a file named torch.py goes before it)",
     .unknown = "from which PyTorch on it is there",
     .mend = "a newer PyTorch, or an older release of the package in the frame above the error",
     .explained_by = {"FF406", "FF404"},
     .subject = "{op}",
     .source = "pytorch/vision#9020, huggingface/diffusers#8958, Comfy-Org/ComfyUI#4297, pytorch/ao#2783"},
    {.name = "torch-kernel-lacks-type",
     .code = "FF843",
     .title = "a kernel of this PyTorch has no such type",
     .patterns = {{" not implemented for '", R"re("(?P<op>\w*cuda\w*)" not implemented for '(?P<type>\w+)')re"}},
     .concluded =
         "PyTorch's {op} for GPUs was not compiled for {type} in this release; later releases have more types. The "
         "GPU is not at fault",
     .mend =
         "a newer PyTorch (triu and tril take bfloat16 from 2.1 on), or the tensor in float16 or float32 for this call",
     .explained_by = {"FF406"},
     .source = "meta-llama/llama3#80, deepseek-ai/DeepSeek-VL#52, pytorch/pytorch#101932"},
    {.name = "torchvision-lacks-module",
     .code = "FF843",
     .title = "a package wants an older torchvision",
     .patterns = {{"torchvision.transforms.functional_tensor",
                   R"(No module named '(?P<module>torchvision\.transforms\.functional_tensor)')"}},
     .concluded = "{module} was taken out in torchvision 0.17: the package that imports it (mostly basicsr) is older",
     .mend =
         "the import changed to torchvision.transforms.functional in that package's file, or a torchvision before 0.17 "
         "with its PyTorch",
     .explained_by = {"FF406"},
     .subject = "torchvision",
     .source = "XPixelGroup/BasicSR#533, #663"},
    {.name = "torchao-other-torch",
     .code = "FF843",
     .title = "torchao's compiled part is not of this PyTorch",
     .warning = true,
     .patterns =
         {{"Skipping import of cpp extensions",
           R"(Skipping import of cpp extensions due to incompatible torch version(?: (?P<here>\S+) for torchao version (?P<built>[\d.]+))?)"}},
     .concluded =
         "torchao[ {built}] was built against another PyTorch than[ {here}|the one here] and leaves its compiled "
         "kernels out: its Python code works without them",
     .mend = "pip install the torchao of this PyTorch (0.13 with 2.8, 0.14 with 2.9; pytorch/ao#2919 has the table)",
     .explained_by = {"FF406", "FF404"},
     .subject = "torchao",
     .source = "pytorch/ao#2919, #3817, axolotl-ai-cloud/axolotl#3432"},
    {.name = "mmcv-other-release",
     .code = "FF843",
     .title = "mmcv is not of the release that the package above it wants",
     .patterns =
         {{"is used but incompatible",
           R"((?P<library>[A-Z]\w+)==(?P<here>\S+) is used but incompatible\. Please install (?P<wanted>.+?)\.?$)"}},
     .concluded = "the package checks the release of {library}: {here} is installed, and it wants {wanted}",
     .mend = "mim install '{wanted}'",
     .explained_by = {"FF406"},
     .subject = "{library}",
     .source = "open-mmlab/mmcv#3071"},
    {.name = "toolkit-differs-deepspeed",
     .code = "FF863",
     .title = "DeepSpeed finds a CUDA toolkit of another main version than PyTorch's",
     .patterns =
         {{"does not match the version torch was compiled with",
           R"(Installed CUDA version (?P<found>[\d.]+) does not match the version torch was compiled with (?P<wanted>[\d.]+\d))"},
          {"Cuda extensions are being compiled with a version of Cuda",
           R"(Cuda extensions are being compiled with a version of Cuda that does not match)"},
          {"Pytorch binaries were compiled with Cuda",
           R"(Pytorch binaries were compiled with Cuda (?P<wanted>[\d.]+\d))", true}},
     .concluded =
         "an operator is compiled here at its first use, or at installation, and the nvcc that was found is of "
         "CUDA[ {found}|of another version][, PyTorch is made with {wanted}]",
     .mend = "[CUDA_HOME set to a toolkit of CUDA {wanted}, or a PyTorch made with CUDA {found}|a toolkit of PyTorch's "
             "CUDA "
             "with CUDA_HOME set to it]; where only the minor version differs: DS_SKIP_CUDA_CHECK=1",
     .explained_by = {"FF405"},
     .source =
         "deepspeedai/DeepSpeed#2902, deepspeedai/DeepSpeedExamples#370, JIA-Lab-research/MGM#91, NVIDIA/apex#323"},
    {.name = "tensorrt-engine-other-release",
     .code = "FF854",
     .title = "a TensorRT engine of another release",
     .patterns =
         {{"engine plan file is not compatible with this version",
           R"(engine plan file is not compatible with this version of TensorRT, expecting library version (?P<wanted>[\d.]+) got (?P<found>[\d.]+\d))"},
          {"stdVersionRead == ", R"(Assertion stdVersionRead == \w+ failed)"},
          {"Version tag does not match", R"(Version tag does not match)"},
          {"Magic tag does not match", R"(Magic tag does not match)"}},
     .concluded = "an engine is a program for one release of TensorRT: this one was written by[ {found}|another], and[ "
                  "{wanted}|the one here] reads it. (0.0.0 or a wrong magic tag: the file was cut or opened as text.)",
     .mend =
         "build the engine again with the TensorRT that loads it (trtexec --onnx=MODEL --saveEngine=FILE), or delete "
         "the cached file; Python and C++ may each have a TensorRT of their own",
     .source = "NVIDIA/TensorRT#574, wang-xinyu/tensorrtx#664, triton-inference-server/server#317"},
    {.name = "tensorrt-engine-other-gpu",
     .code = "FF854",
     .title = "a TensorRT engine that was built on another GPU",
     .patterns =
         {{"generated on an incompatible device",
           R"(generated on an incompatible device, expecting compute (?P<capability>[\d.]+) got compute (?P<built>[\d.]+\d))"},
          {"generated on an incompatible device", R"(generated on an incompatible device)"},
          {"engine plan file across different models",
           R"(Using an engine plan file across different models of devices is not (?P<what>recommended))"}},
     .concluded =
         "an engine is machine code for the GPU that it was built on[: this one for {built}, and {capability} is "
         "here]",
     .mend = "build the engine again on this GPU (CUDA_VISIBLE_DEVICES chooses it where there are several)",
     .explained_by = {"FF101"},
     .source = "NVIDIA/TensorRT#2176, #2177, #2900"},
};

}  // namespace

std::span<const ErrorClass> release_errors() { return kClasses; }

}  // namespace flashfit::doctor::pasted
