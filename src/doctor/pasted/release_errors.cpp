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
     .title = "a library such as cuDNN is older than the one that the program was built with",
     .patterns =
         {{"Loaded runtime CuDNN library",
           R"(Loaded runtime (?P<library>CuDNN) library: (?P<found>[\d.]+)(?: \(compatibility version \d+\))? but source was compiled with:? (?P<wanted>[\d.]*\d))"},
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
     .mend = "pip install -U 'jax[[cuda12]]' or 'tensorflow[[and-cuda]]' (they bring the libraries that they "
             "want), and LD_LIBRARY_PATH without folders that hold others",
     .explained_by = {"FF603", "FF604", "FF605", "FF606"},
     .subject = "{library}",
     .source = "KosinskiLab/AlphaPulldown#237, jax-ml/jax#15268, #29315, MIT-REALM/gcbfplus#1, "
               "conda-forge/jaxlib-feedstock#329, carpedm20/DCGAN-tensorflow#242"},
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
    {.name = "requirement-of-another-torch",
     .code = "FF843",
     .title = "a package that is installed wants another PyTorch",
     .warning = true,
     .patterns =
         {{"which is incompatible",
           R"((?P<library>[\w.-]+) (?P<built>[\w.+!-]+) (?:requires|has requirement) torch(?P<wanted>[=<>!~][^;]*?), but you(?:'ll)? have (?:torch )?(?P<here>[\w.+!-]+) which is incompatible)"}},
     .concluded = "{library} {built} is built for torch{wanted}, and torch {here} was installed beside it: pip "
                  "installs it all the "
                  "same, and the next import of {library} fails or crashes",
     .mend =
         "pip install --upgrade {library} in the release for torch {here}; both in one command, so that pip chooses",
     .explained_by = {"FF406", "FF402", "FF401"},
     .subject = "{library}",
     .source = "torch/torch7#1249, 2kpr/ComfyUI-PMRF#11, ali-vilab/ACE_plus#138, hollowstrawberry/kohya-colab#32"},
    {.name = "companion-of-another-release",
     .code = "FF843",
     .title = "two packages of one maker are of releases that do not go together",
     .patterns =
         {{" is not compatible with ",
           R"((?P<library>[\w.-]*[A-Za-z][\w.-]*) v?(?P<built>\d[\w.+]*) is not compatible with (?P<other>[\w.-]*[A-Za-z][\w.-]*) v?(?P<here>\d[\w.+]*\w)\. Please (?:update|upgrade|downgrade))"},
          {" does not match ",
           R"((?P<library>[\w.-]*[A-Za-z][\w.-]*) version \(?v?(?P<built>\d[\w.+!-]*)\)? does not match (?P<other>[\w.-]*[A-Za-z][\w.-]*) version \(?v?(?P<same>\d[\w.+!-]*\w))"}},
     .concluded =
         "{library} {built} says itself that it does not work with {other} [{same}|{here}], which is installed beside "
         "it. GPU and driver were not asked",
     .mend = "[pip install '{library}=={same}': the two are of one release|the release of {other} that the message "
             "names, or of {library} that goes with {other} {here}]",
     .explained_by = {"FF406", "FF712"},
     .subject = "{other}",
     .source = "nunchux-ai/nunchaku#551, nunchux-ai/ComfyUI-nunchaku#449, vllm-project/vllm#49804, "
               "pipecat-ai/nemotron-january-2026#6"},
    {.name = "companion-not-installed",
     .code = "FF817",
     .title = "the package that a plug-in is for is not installed",
     .proof = Proof::kFiles,
     .patterns =
         {{"is not compatible with ",
           R"((?P<library>[\w.-]*[A-Za-z][\w.-]*) v?(?P<built>\d[\w.+]*) is not compatible with (?P<other>[\w.-]*[A-Za-z][\w.-]*) Package '(?P<module>[\w.-]+)' not found)"},
          {" version: Package '", R"((?P<other>[\w.-]+) version: Package '(?P<module>[\w.-]+)' not found)"}},
     .concluded = "the Python code of[ {library} {built}| a plug-in] is there, and {module}, whose compiled kernels it "
                  "calls, is not: words of compatibility compare with nothing. Its wheel was not installed, or is for "
                  "another Python, system or PyTorch and was refused",
     .unknown = "why: what the installer said of {module}",
     .ask = "pip install {module} (its own words are the error to ask about; a project of the package index may have "
            "the same name and be another: take the wheel from the maker's releases, for this Python and PyTorch)",
     .explained_by = {"FF201", "FF202", "FF206"},
     .subject = "{module}",
     .source = "nunchux-ai/nunchaku#605, nunchux-ai/ComfyUI-nunchaku#5"},
    {.name = "compiled-call-of-another-release",
     .code = "FF843",
     .title = "a compiled function takes other arguments than the Python code gives it",
     .proof = Proof::kFiles,
     .patterns = {{"incompatible function arguments",
                   R"((?P<op>\w*(?:fwd|bwd|forward|backward|update)\w*)\(\): incompatible function arguments)"},
                  {"() expected at most",
                   R"((?P<op>\w+::\w+)\(\) expected at most (?P<wanted>\d+) arguments?.* but received (?P<here>\d+))"},
                  {"() is missing value for argument",
                   R"((?P<op>\w+::\w+)\(\) is missing value for argument '(?P<argument>\w+)')"}},
     .concluded = "{op} is a compiled function, and[ it takes {wanted} arguments, not {here}| it wants one more, "
                  "{argument}| what it was given is not what it takes]: mostly the module and the Python code that "
                  "calls it are of two releases (mamba-ssm and causal-conv1d, a model's own copy of the code, a "
                  "module left by an earlier installation). GPU and driver were not asked",
     .unknown = "whether that is it: a None or a tensor of another type in place of an argument is refused in the same "
                "words",
     .ask =
         "pip list (of the package that has {op} and of the one in the frame above: their releases must go together)",
     .explained_by = {"FF406", "FF712", "FF713"},
     .source = "state-spaces/mamba#169"},
    {.name = "torch-older-than-wanted",
     .code = "FF843",
     .title = "a package refuses this PyTorch as too old",
     .patterns =
         {{"is required but found",
           R"((?i)(?:Disabling PyTorch because )?PyTorch ?>= ?(?P<wanted>[\d.]+\d) is required but found (?P<here>[\w.+]+\w))"},
          {"upgrade torch to at least", R"(upgrade torch to at least v?(?P<wanted>[\d.]+\d))"},
          {"torch version",
           R"((?i)requires (?:a )?(?:py)?torch version (?:of )?(?:at least |>= ?)(?P<wanted>[\d.]+\d))"}},
     .concluded =
         "the package wants PyTorch {wanted} or later[, and {here} is installed]: it says so itself, and goes on "
         "without PyTorch or ends. No kernel was asked for",
     .mend =
         "a PyTorch of {wanted} or later with the companions of its release (torchvision, torchaudio, xformers), or an "
         "older release of the package",
     .explained_by = {"FF406", "FF402"},
     .subject = "torch",
     .source = "huggingface/transformers, src/transformers/utils/import_utils.py"},
    {.name = "requirements-conflict",
     .code = "FF851",
     .title = "no releases serve all that was asked for",
     .patterns =
         {{"have conflicting dependencies",
           R"(Cannot install (?P<requirement>.+?) because these package versions have conflicting dependencies)"},
          {"ResolutionImpossible", R"(ResolutionImpossible)"}},
     .concluded = "the packages[ {requirement}| that were asked for] want releases of another one that exclude each "
                  "other: nothing was installed. Neither GPU nor driver was asked",
     .unknown = "which of them may change: the lines behind \"The conflict is caused by\" name each one's wish",
     .mend = "fewer pins: of torch, torchvision and torchaudio pin torch alone",
     .explained_by = {"FF406"},
     .source = "microsoft/onnxruntime-inference-examples#184"},
    {.name = "resolver-without-solution",
     .code = "FF851",
     .title = "uv found no releases that serve all that was asked for",
     .consequence = true,
     .patterns =
         {{"No solution found when resolving", R"(No solution found when resolving dependencies)"},
          {" depends on ",
           R"([Bb]ecause (?P<requirement>[\w.\[\]-]+(?:[=<>!~]=?[^\s,]+)?) depends on (?P<wanted>[\w.\[\]-]+[=<>!~]=?[^\s,]+))",
           true}},
     .concluded = "nothing was installed: no set of releases serves all requests[; {requirement} depends on {wanted}]. "
                  "Neither GPU nor driver was asked",
     .unknown = "which of them may change: the lines from \"Because\" on name each one's wish",
     .mend = "fewer pins: of torch, torchvision and torchaudio pin torch alone",
     .explained_by = {"FF406"},
     .source = "astral-sh/uv#622, #10604"},
    {.name = "conda-without-provider",
     .code = "FF851",
     .title = "conda has no builds that serve all that was asked for",
     .patterns =
         {{"but none of the providers can be installed",
           R"(package (?P<requirement>\S+) requires (?P<wanted>.+?), but none of the providers can be installed)"}},
     .concluded = "the build {requirement} wants {wanted}, and no build of that goes with the other requests: nothing "
                  "was installed. The CUDA of a build stands in its name, and all builds must have one",
     .unknown = "which of the other requests excludes it: the tree below the message ends with it",
     .mend = "one CUDA for all (pytorch-cuda and the releases that were built for it), or fewer pins: the release of "
             "{requirement} that goes with the PyTorch asked for",
     .explained_by = {"FF406"},
     .source = "mhpi/hydroDL#24, computational-imaging/diffusion-in-the-dark#2"},
    {.name = "conda-sees-no-driver",
     .code = "FF851",
     .title = "conda sees no NVIDIA driver, or an older one",
     .patterns =
         {{"nothing provides __cuda",
           R"(nothing provides __cuda(?: (?P<wanted>[<>=]\S+))? needed by (?P<requirement>\S+))"},
          {"conflicting with __cuda-",
           R"(package (?P<requirement>\S+) has constraint __cuda (?P<wanted>[<>=]\S+) conflicting with __cuda-(?P<found_by_conda>[\d.]+\d))"},
          {"::__cuda==", R"(feature:\S*::__cuda==(?P<found_by_conda>[\d.]+\d))"}},
     .concluded =
         "__cuda is the newest CUDA that the driver serves, as conda found it[: {found_by_conda}, and {requirement} "
         "wants {wanted}|: {found_by_conda}|: it found none, and {requirement} wants one]. A build for CUDA is "
         "installed only where it is there and new enough",
     .unknown = "[whether that machine can have a driver of CUDA {wanted}, where it has one of {found_by_conda}|what "
                "conflicts: conda lists __cuda={found_by_conda} and __glibc of this machine with "
                "every conflict, "
                "also where "
                "another package is the cause|whether this is the machine on which it will run]",
     .mend =
         "[a build for CUDA {found_by_conda} or earlier in place of {requirement}, or a driver of CUDA {wanted} on the "
         "machine where it runs|where __cuda {wanted} or newer is known to be there at run time: "
         "CONDA_OVERRIDE_CUDA=12.4 before conda|where the GPU is there at run time alone, as in a build of an "
         "image: CONDA_OVERRIDE_CUDA=12.4 before conda; for a conflict: a new environment, with PyTorch asked for "
         "first]",
     .explained_by = {"FF701", "FF703"},
     .source = "volkamerlab/teachopencadd#390, pyg-team/pytorch_geometric#8161, facebookresearch/pytorch3d#1586, "
               "mamba-org/mamba#969"},
    {.name = "compile-on-this-python",
     .code = "FF843",
     .title = "this PyTorch does not compile on this Python",
     .patterns = {{"Dynamo is not supported on Python", R"(Dynamo is not supported on Python (?P<python>3\.\d+)\+)"},
                  {"not yet supported for torch.compile",
                   R"(Python (?P<python>3\.\d+)\+ not yet supported for torch\.compile)"}},
     .concluded =
         "torch.compile reads Python's bytecode, which each Python changes: this PyTorch is older than its support of "
         "Python {python}, and works without torch.compile",
     .mend = "a newer PyTorch (3.12 from 2.4 on, 3.13 from 2.6 on), or an older Python; or TORCHDYNAMO_DISABLE=1",
     .explained_by = {"FF406", "FF755"},
     .source = "pytorch/pytorch#120233, #144048, instructlab/instructlab#1491, kyutai-labs/moshi#156"},
    {.name = "cupy-twice",
     .code = "FF843",
     .title = "CuPy is installed several times",
     .warning = true,
     .patterns = {{"multiple CuPy packages are installed", R"(multiple CuPy packages are installed)"},
                  {"cupy-cuda",
                   R"(^\s*(?P<packages>cupy(?:-cuda\w+|-rocm[\w-]+)?(?:, cupy(?:-cuda\w+|-rocm[\w-]+)?)+)\s*$)", true},
                  {"module 'cupy' has no attribute", R"(module 'cupy' has no attribute '(?P<op>\w+)')"}},
     .concluded = "cupy and each cupy-cuda are one package under several names: [{packages} are|more than one is] "
                  "here, their files "
                  "overwrote each other's, and which CUDA is loaded is chance",
     .mend = "pip uninstall -y all of them, then pip install the one of this CUDA",
     .explained_by = {"FF713"},
     .subject = "cupy",
     .source = "gpustack/gpustack#5459, cupy/cupy#3541, #3552"},
    {.name = "tensorrt-other-library",
     .code = "FF836",
     .title = "TensorRT loaded a library of another release than it was linked with",
     .warning = true,
     .patterns =
         {{"TensorRT was linked against ",
           R"(TensorRT was linked against (?P<library>cu\w+)(?:/cuBLAS ?L[Tt])? (?P<built>[\d.]+) but loaded cu\w+(?:/cuBLAS ?L[Tt])? (?P<here>[\d.]+\d))"}},
     .concluded = "{library} {here} was loaded, and TensorRT was built with {built}: within one major version that is "
                  "a remark, and "
                  "NVIDIA says that it may be ignored",
     .unknown = "whether an error behind it comes of it",
     .mend = "nothing, if it works; else {library} {built} or later, before older copies in the loader's path",
     .explained_by = {"FF605", "FF606", "FF603"},
     .subject = "{library}",
     .source = "NVIDIA/TensorRT#3534, #317, #3634"},
    {.name = "tensorrt-myelin-mismatch",
     .code = "FF836",
     .title = "TensorRT's compiler and the library that it loaded are of two releases",
     .patterns =
         {{"but running against ",
           R"((?:Myelin|myelinVersionMismatch).*Compiled against (?P<library>cu\w+) (?P<built>[\d.]+) but running against cu\w+ (?P<here>[\d.]+\d))"}},
     .concluded =
         "the engine's part for {library} was compiled against {built}, and {here} answers: its numbers are cuBLAS's, "
         "whatever the text calls it",
     .unknown = "which copy was loaded: PyTorch's packages bring one, the toolkit another",
     .mend = "one CUDA for TensorRT and all beside it: import tensorrt before torch, or LD_LIBRARY_PATH with the "
             "toolkit that "
             "TensorRT was made for first; then build the engine again",
     .explained_by = {"FF603", "FF605", "FF606", "FF405"},
     .subject = "cublas",
     .source = "NVIDIA/TensorRT#1292, open-mmlab/mmdeploy#266"},
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
    {.name = "numpy-too-old",
     .code = "FF843",
     .title = "NumPy is older than the one that an extension was compiled against",
     .warning = true,
     .patterns =
         {{"numpy.dtype size changed",
           R"(numpy\.dtype size changed.* Expected 88 from C header, got 96 from PyObject)"},
          {"numpy.ndarray size changed",
           R"(numpy\.ndarray size changed.* Expected (?:96 from C header, got 8[08]|88 from C header, got 80) from PyObject)"},
          {"module compiled against API version",
           R"(module compiled against API version (?P<built>0x\w+) but this version of numpy is (?P<here>0x\w+))"}},
     .concluded = "a compiled module was built against a newer NumPy than the one that is installed[ (its C API is "
                  "{built}, here is {here})]: an older NumPy does not have all that it asks for. GPU, driver and CUDA "
                  "have no part in it",
     .unknown = "which module, unless the traceback names it; and what holds NumPy back",
     .mend = "pip install -U numpy; where another package holds it back: an older release of the module",
     .explained_by = {"FF406"},
     .subject = "numpy",
     .source = "ibarrond/Pyfhel#103, jdtuck/fdasrsf_python#22, 0xCoto/Virgo#25, zju3dv/NeuralRecon#147"},
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
                  {"module compiled against ABI version", R"(module compiled against (?:API|ABI) version 0x)"},
                  {"Numpy is not available", R"(RuntimeError: Numpy is not available)"},
                  {"Numba needs NumPy", R"(Numba needs NumPy (?P<wanted>[\d.]+) or (?:less|greater))"}},
     .concluded =
         "a compiled module was built against NumPy [{built}|of another main release], and NumPy [{here}|of the "
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
           R"(Skipping import of cpp extensions due to incompatible torch version(?: (?P<here>\S+) for (?P<library>torchao) version (?P<built>[\d.]+))?)"}},
     .concluded =
         "torchao[ {built}] was built against another PyTorch than[ {here}|the one here] and leaves its compiled "
         "kernels out: its Python code works without them",
     .mend = "pip install the torchao of this PyTorch (pytorch/ao#2919 has the table)",
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
    {.name = "tensorrt-plugin-absent",
     .code = "FF854",
     .title = "a TensorRT engine uses a plug-in that is not loaded",
     .patterns = {{"could not find plugin", R"(getPluginCreator could not find plugin:? (?P<op>\w+))"},
                  {"IPluginCreator not found in Plugin Registry", R"(IPluginCreator not found in Plugin Registry)"}},
     .concluded = "the engine calls the plug-in[ {op}], and no library that registers it was loaded into this process "
                  "before the engine was read: NVIDIA's own are in libnvinfer_plugin, a project's in a library of its "
                  "own (TensorRT-LLM's in that of the release which built the engine). GPU and driver were not asked",
     .unknown = "which library has it: the project that built the engine says",
     .mend = "before the engine is read: trt.init_libnvinfer_plugins(logger, '') for NVIDIA's, "
             "ctypes.CDLL('PLUGIN.so') for a project's (trtexec --plugins=PLUGIN.so; import tensorrt_llm)",
     .explained_by = {"FF330", "FF601"},
     .source = "NVIDIA/TensorRT#955, #263, #1913, NVIDIA/TensorRT-LLM#1584, open-mmlab/mmdeploy#2747"},
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
