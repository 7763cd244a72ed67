// What code that is compiled here needs beside nvcc: host compilers, headers, and the parts of the toolkit that are
// opened when programs run.
#include "doctor/pasted/tables.hpp"

namespace flashfit::doctor::pasted {
namespace {

const ErrorClass kClasses[] = {
    {.name = "no-host-compiler",
     .code = "FF865",
     .title = "code is compiled here, and there is no C or C++ compiler",
     .patterns = {{"Failed to find C compiler", R"(Failed to find C compiler\. Please specify via (?P<variable>CC))"},
                  {"Cannot find compiler 'cl.exe'", R"(Cannot find compiler '(?P<tool>cl\.exe)' in PATH)"},
                  {"Microsoft Visual C++ 14.0",
                   R"((?P<tool>Microsoft Visual C\+\+ 14\.0)(?: or greater)? is required)"},
                  {"Error checking compiler version for",
                   R"(Error checking compiler version for (?P<tool>[\w.+-]+): \[WinError 2\])"},
                  {"No such file or directory: '",
                   R"(No such file or directory: '(?P<tool>gcc|g\+\+|cc|c\+\+|x86_64-linux-gnu-g\+\+|cl)')"},
                  {"error: command '",
                   R"(error: command '(?P<tool>gcc|g\+\+|x86_64-linux-gnu-gcc)' failed: No such file)"},
                  {"cl is not recognized", R"((?P<tool>cl)(?:\.exe)?'? is not recognized)"}},
     .concluded = "Triton compiles a small module in C at its first kernel, nvcc and PyTorch's extensions want a C++ "
                  "compiler, and none was found[ ({tool})]. GPU and driver are not at fault",
     .mend = "apt-get install build-essential (or gcc of the distribution); on Windows: Visual Studio's build tools, "
             "and the "
             "command run in its \"x64 Native Tools\" prompt, or triton-windows, which brings a compiler",
     .explained_by = {"FF706"},
     .source =
         "apple/ml-cross-entropy#5, kijai/ComfyUI-HunyuanVideoWrapper#23, AlexeyAB/darknet#8584, NVIDIA/apex#938"},
    {.name = "host-compiler-refused",
     .code = "FF865",
     .title = "nvcc refuses the host's compiler",
     .patterns = {{"unsupported GNU version",
                   R"(unsupported GNU version! gcc versions later than (?P<gcc>\d+) are not supported)"},
                  {"unsupported Microsoft Visual Studio",
                   R"(unsupported Microsoft Visual Studio version! Only the versions (?P<wanted>[^!]+) are supported)"},
                  {"unsupported clang version",
                   R"(unsupported clang version! clang version must be (?P<wanted>[^!.]+))"}},
     .concluded =
         "each CUDA toolkit takes the compilers of its time: this one takes[ gcc up to {gcc}| {wanted}], and the "
         "one found is newer",
     .mend = "[an older gcc beside it, named to the build: CUDAHOSTCXX=g++-{gcc} NVCC_PREPEND_FLAGS=-ccbin=g++-{gcc}; "
             "or a newer "
             "toolkit|an older compiler named to the build by -ccbin, or a newer toolkit]",
     .source = "ceccocats/tkDNN#134, NVIDIA/cccl#10, flexflow/flexflow-train#263"},
    {.name = "host-headers-refused",
     .code = "FF865",
     .title = "nvcc cannot read the headers of the host's compiler",
     .patterns =
         {{"parameter packs not expanded with",
           R"((?P<file>\S*/include/c\+\+/(?P<gcc>\d+)\S*?):\d+(?::\d+)?: error: parameter packs not expanded with)"},
          {"parameter packs not expanded with", R"(error: parameter packs not expanded with)"}},
     .concluded = "nvcc reads the C++ library of the host's compiler[, gcc {gcc}], and this nvcc cannot read one that "
                  "new: CUDA 11.5 and 11.6 fail on gcc 11 so, CUDA 8 on gcc 6. The sources are not at fault",
     .unknown = "which nvcc was taken: Ubuntu 22.04's own package is CUDA 11.5 with gcc 11",
     .mend = "an older gcc named to the build: CUDAHOSTCXX=g++-10 NVCC_PREPEND_FLAGS=-ccbin=g++-10; or a newer toolkit "
             "with CUDA_HOME set to it",
     .source = "NVIDIA/nccl#102, #650, NVIDIA/FasterTransformer#314, NVlabs/tiny-cuda-nn#427"},
    {.name = "host-compiler-too-old",
     .code = "FF865",
     .title = "the host's compiler is older than PyTorch's headers",
     .patterns = {{"or later compatible compiler is required",
                   R"((?P<wanted>C\+\+\d\d) or later compatible compiler is required)"},
                  {"requires GCC", R"(PyTorch requires (?P<wanted>GCC \d+[\d.]*))"},
                  {"You need C++17", R"(You need (?P<wanted>C\+\+17) to compile PyTorch)"}},
     .concluded =
         "PyTorch's headers want {wanted}, and the compiler, or the -std option of an old setup.py, gives less",
     .mend = "gcc 9 or later; and a release of the package that names no older standard (-std=c++14 in its setup.py "
             "changed to "
             "c++17)",
     .source = "open-mmlab/mmcv#3001"},
    {.name = "no-gpu-at-build",
     .code = "FF865",
     .title = "a build asks the machine's GPU for its architecture, and there is none",
     .patterns = {{"Unknown compute capability", R"(Unknown compute capability\. (?P<why>[\w ]+))"},
                  {"compute_No CUDA devices found", R"(compute_(?P<why>No CUDA devices found))"},
                  {"Unsupported gpu architecture '", R"(Unsupported gpu architecture '(?P<why>compute_|sm_)')"},
                  {"arch_list[-1]", R"(arch_list\[-1\] \+= '\+PTX')"}},
     .concluded =
         "the build compiles for the GPU of the machine and found none[: {why}]: a docker build, a login node, or a "
         "PyTorch without CUDA",
     .mend = "the architecture named: TORCH_CUDA_ARCH_LIST=8.6 (PyTorch's extensions), TCNN_CUDA_ARCHITECTURES=86 "
             "(tiny-cuda-nn), CMAKE_CUDA_ARCHITECTURES=86 (CMake)",
     .explained_by = {"FF704", "FF211", "FF701"},
     .source = "nerfstudio-project/nerfstudio#1177, #980, ggml-org/llama.cpp#18430, #13893"},
    {.name = "sources-newer-than-toolkit",
     .code = "FF861",
     .title = "the sources want a newer CUDA toolkit",
     .patterns =
         {{"has no member",
           R"re(error: namespace "(?P<space>cooperative_groups|cuda|cub|thrust|cuda::std)\w*" has no member "(?P<what>\w+)")re"},
          {"is undefined",
           R"re(error: identifier "(?P<what>__nv_\w+|cuda\w+|cublas\w+|CUBLAS_\w+|CUDA_R_8F_\w+)" is undefined)re"}},
     .concluded =
         "the sources use {what}, which this toolkit's headers do not have: the nvcc that was found is older than "
         "they want, whatever PyTorch was made with",
     .unknown = "which nvcc was taken: CUDA_HOME, PATH and packages may each have one",
     .mend = "nvcc --version; then a newer toolkit with CUDA_HOME set to it",
     .explained_by = {"FF706"},
     .source = "nerfstudio-project/gsplat#226"},
    {.name = "standard-unknown-to-nvcc",
     .code = "FF861",
     .title = "the sources want a C++ standard that this nvcc does not know",
     .patterns = {{"is not defined for option 'std'",
                   R"(nvcc fatal *: Value '(?P<standard>(?:c|gnu)\+\+\w+)' is not defined for option 'std')"}},
     .concluded = "the nvcc that was found is too old for {standard}: C++14 came with CUDA 9, C++17 with 11.0, C++20 "
                  "with 12.0 (of gnu++ standards it takes none)",
     .unknown = "which nvcc was taken: /usr/bin/nvcc of the distribution is often older than /usr/local/cuda/bin/nvcc",
     .mend = "nvcc --version; then a newer toolkit with CUDA_HOME set to it, and its bin first in PATH",
     .explained_by = {"FF706"},
     .source = "levihsu/OOTDiffusion#64, lbin/DCNv2#17, LizardByte/Sunshine#229"},
    {.name = "half-not-for-this-target",
     .code = "FF818",
     .title = "sources compute in half precision for a target that has none",
     .patterns =
         {{"is undefined",
           R"re(error: identifier "(?P<what>half2?|__half\w*|__float2half\w*|__float22half2\w*|__h(?:add|mul|fma|sub)2?|__nv_bfloat162?|__float2bfloat16\w*)" is undefined)re"}},
     .concluded =
         "the sources use {what}, which CUDA's headers have for some targets alone: half's arithmetic from 5.3 "
         "on, bfloat16's from 8.0 on, and all of it only where cuda_fp16.h or cuda_bf16.h is included. The "
         "list of architectures has an older one, or the toolkit is older than the type",
     .unknown = "which of these: the target stands behind -gencode or in the name of the temporary file",
     .mend = "a list of architectures that begins with the GPU that is here (TORCH_CUDA_ARCH_LIST, "
             "CMAKE_CUDA_ARCHITECTURES, ARCH= in a Makefile); or the build's option without half precision",
     .explained_by = {"FF706"},
     .source = "AlexeyAB/darknet#3009, NVIDIA/nccl#9, LatticeQCD/SIMULATeQCD#124"},
    {.name = "wheel-build-failed",
     .code = "FF865",
     .title = "pip compiled a package here, and that failed",
     .consequence = true,
     .patterns = {{"Could not build wheels for ",
                   R"(Could not build wheels for (?P<library>[\w.,\s-]+?)(?:, which|$))"},
                  {"Failed building wheel for ", R"(Failed building wheel for (?P<library>[\w.-]+))"},
                  {"Failed to build installable wheels", R"(Failed to build installable wheels)"},
                  {"Failed to build `", R"(Failed to build `(?P<library>[\w.-]+)(?:==|@| )?)"}},
     .concluded = "the index has no wheel of [{library}|the package] for this Python and system, so that its sources "
                  "were compiled here, and that failed: the error of the compiler or of setup.py stands above, and is "
                  "the one to ask about",
     .unknown = "that error, where the text begins after it",
     .mend = "a wheel instead: the maker's page of releases often has more than the index (flashfit choose *.whl picks "
             "the one for this Python and PyTorch)",
     .explained_by = {"FF706"},
     .source = "Dao-AILab/flash-attention#933, facebookresearch/xformers#800"},
    {.name = "toolkit-damaged",
     .code = "FF862",
     .title = "the CUDA toolkit is not whole, or CUDA_HOME is no folder",
     .patterns = {{"cicc: not found", R"((?P<tool>cicc): (?:command )?not found)"},
                  {":/bin/nvcc", R"((?P<tool>\S+:/bin/nvcc))"}},
     .concluded = "nvcc started and did not find its own parts ({tool}): CUDA_HOME ends in a colon or is a list as "
                  "PATH is, or a "
                  "part of the toolkit was not installed",
     .mend = "export CUDA_HOME=/usr/local/cuda (one folder, no colon)",
     .explained_by = {"FF706"},
     .source = "open-mmlab/mmcv#693"},
    {.name = "device-link-failed",
     .code = "FF865",
     .title = "the link of device code lacks a part",
     .patterns = {{"nvlink error",
                   R"(nvlink error +: Undefined reference to '(?P<symbol>[^']+)' in '(?P<file>[^']+)')"}},
     .concluded = "nvlink puts the device code of several files together, and {name}, which {file} uses, is in none of "
                  "them: a static library with device code (libnvshmem_device.a, libcudadevrt.a, or a part of the "
                  "package) is not in the link, is of another release, or was built without that part",
     .unknown = "which library should have it",
     .mend = "the library named to the build's device link, or that library built with the part (NVSHMEM for DeepEP: "
             "with NVSHMEM_IBGDA_SUPPORT=1)",
     .explained_by = {"FF706"},
     .source = "deepseek-ai/DeepEP#55"},
    {.name = "compiler-killed",
     .code = "FF865",
     .title = "the system ended the compiler: the machine's memory is full",
     .nature = Nature::kNoMisfit,
     .patterns = {{"died due to signal 9", R"('(?P<tool>\w+)' died due to signal 9)"},
                  {"Killed signal terminated program", R"(Killed signal terminated program (?P<tool>[\w+]+))"},
                  {"virtual memory exhausted", R"(virtual memory exhausted)"}},
     .concluded = "[{tool}|the compiler] was killed while it compiled: kernels take gigabytes each, and as many are "
                  "compiled at once as there are processors. Nothing in the sources or the toolkit is at fault",
     .mend = "MAX_JOBS=1 before the command (PyTorch's builds; NVCC_THREADS=1, too), or a machine with more memory",
     .source = "Dao-AILab/flash-attention, README; PyTorch, torch.utils.cpp_extension, MAX_JOBS"},
    {.name = "no-ninja",
     .code = "FF865",
     .title = "extensions are compiled here, and ninja is missing",
     .patterns = {{"Ninja is required to load C++ extensions", R"(Ninja is required to load C\+\+ extensions)"},
                  {"No such file or directory: 'ninja'", R"(No such file or directory: 'ninja')"},
                  {"ninja: not found", R"(ninja: (?:command )?not found)"}},
     .concluded =
         "PyTorch runs ninja to compile extensions and found none in PATH: a package in the environment counts "
         "only where its bin folder is in PATH",
     .mend = "pip install ninja, and the environment activated (or its bin folder in PATH)",
     .explained_by = {"FF706"},
     .source = "BradMcDanel/column-combine#2"},
    {.name = "no-headers",
     .code = "FF865",
     .title = "headers that a build wants are not installed",
     .patterns =
         {{"fatal error: ", R"(fatal error: (?P<header>Python\.h|pyconfig\.h): No such file)"},
          {"fatal error: ",
           R"(fatal error: (?P<header>(?:cuda|cublas|cusparse|cusolver|cudnn|curand|nv|thrust|cub|crt)\w*(?:/[\w./]+)?\.(?:h|cuh|hpp)|torch/\S+\.h): No such file)"},
          {"Failed to find CUDA headers", R"((?P<header>Failed to find CUDA headers))"},
          {"Cannot open include file: '",
           R"(Cannot open include file: '(?P<header>Python\.h|cuda\w*\.h|crtdefs\.h|stddef\.h)')"}},
     .concluded = "code is compiled on this machine, and {header} is in no folder that the compiler searches: Python's "
                  "headers are a package of their own, and PyTorch's wheels bring none of CUDA's",
     .mend = "Python.h: apt-get install python3-dev (of the same Python); CUDA's: a toolkit of PyTorch's CUDA with "
             "CUDA_HOME "
             "set to it",
     .explained_by = {"FF706"},
     .source = "deepspeedai/DeepSpeed#3223, pytorch/pytorch#5964"},
    {.name = "sources-older-than-pytorch",
     .code = "FF843",
     .title = "the sources are older than this PyTorch",
     .patterns = {{"fatal error: ", R"(fatal error: '?(?P<what>THC?/\w+\.(?:h|hpp|cuh))'?(?::| file not found))"},
                  {"DeprecatedTypeProperties",
                   R"re(no suitable conversion function from "const (?P<what>at::DeprecatedTypeProperties)" to)re"},
                  {"DeprecatedTypeProperties", R"(cannot convert\W+const (?P<what>at::DeprecatedTypeProperties)\W+to)"},
                  {"AT_CHECK", R"((?P<what>AT_CHECK)\W+was not declared in this scope)"},
                  {"AT_CHECK", R"re(identifier "(?P<what>AT_CHECK)" is undefined)re"}},
     .concluded =
         "the sources use {what}, which PyTorch took out: AT_CHECK in 1.5, THC's headers in 1.11, tensor.type() as a "
         "scalar type in later 2.x. Compiler, toolkit and GPU are not at fault",
     .mend = "a later revision of the sources; or in them tensor.scalar_type() for tensor.type(), TORCH_CHECK for "
             "AT_CHECK, and no #include of THC; or the PyTorch of their time",
     .explained_by = {"FF406"},
     .source = "pytorch/pytorch#73520, open-mmlab/mmdeploy#492, PKU-VCL-3DV/SLAM3R#45, "
               "IDEA-Research/GroundingDINO#405, zeliu98/CloserLook3D#16"},
    {.name = "nvtools-absent",
     .code = "FF865",
     .title = "CMake finds no nvToolsExt",
     .patterns = {{"nvToolsExt", R"(^\s*(?P<library>CUDA::nvToolsExt)\s*$)"},
                  {"nvToolsExt", R"(Failed to find (?P<library>nvToolsExt))"},
                  {"nvToolsExt", R"(cannot find -l(?P<library>CUDA::nvToolsExt))"}},
     .concluded =
         "older CMake files of PyTorch link with {library}, a library that newer CUDA toolkits no longer have: "
         "headers (nvtx3) took its place",
     .mend = "the CUDA toolkit that this PyTorch was made with; or a newer PyTorch; or, before find_package(Torch), "
             "find_package(CUDAToolkit) and add_library(CUDA::nvToolsExt ALIAS CUDA::nvtx3)",
     .source = "conda-forge/pytorch-cpu-feedstock#375, pytorch/pytorch#116242, tatsy/torchmcubes#23, "
               "DrTimothyAldenDavis/SuiteSparse#530"},
    {.name = "cmake-finds-no-cuda",
     .code = "FF862",
     .title = "CMake cannot use nvcc",
     .patterns = {{"a default CUDA architecture", R"((?P<what>Failed to detect a default CUDA architecture))"},
                  {"CMAKE_CUDA_ARCHITECTURES must be", R"((?P<what>CMAKE_CUDA_ARCHITECTURES must be [\w-]+ if set))"},
                  {"CUDA_ARCHITECTURES is empty", R"((?P<what>CUDA_ARCHITECTURES is empty for target))"},
                  {"No CMAKE_CUDA_COMPILER could be found", R"((?P<what>No CMAKE_CUDA_COMPILER could be found))"},
                  {"Could NOT find CUDA", R"((?P<what>Could NOT find CUDA(?:Toolkit)?) \(missing)"}},
     .concluded =
         "CMake found no nvcc, or one that could not compile a test of a few lines ({what}): mostly PATH lacks "
         "the toolkit, or nvcc refuses the host's compiler. The architecture is not what it is about",
     .unknown = "which of the two: CMakeFiles/CMakeError.log or CMakeConfigureLog.yaml has nvcc's own words",
     .mend = "cmake -DCMAKE_CUDA_COMPILER=/usr/local/cuda/bin/nvcc in an empty build folder; where nvcc refuses the "
             "compiler: -DCMAKE_CUDA_HOST_COMPILER=g++-VERSION, too",
     .source = "NVlabs/instant-ngp#1044, #707, #1320, NVIDIA/nvbandwidth#3, #21"},
    {.name = "triton-finds-no-libcuda",
     .code = "FF865",
     .title = "Triton finds no libcuda.so to link with",
     .patterns = {{"libcuda.so cannot found", R"((?P<library>libcuda\.so) cannot found)"},
                  {"Possible files are located at", R"(Possible files are located at \['(?P<found>[^']+)')", true}},
     .concluded = "Triton 2.x links a small module with {library}, without a number: drivers bring libcuda.so.1[ "
                  "({found} is there)], and the name without a number is a link that only some installers make",
     .unknown =
         "[whether the driver is there: {library}.1 would be named|whether the driver is there, as in a container "
         "or a notebook that was given none]",
     .mend =
         "ldconfig; if that does not help: ln -s libcuda.so.1 libcuda.so in a folder of one's own, with that folder "
         "in TRITON_LIBCUDA_PATH and LIBRARY_PATH; or a newer PyTorch with its Triton",
     .explained_by = {"FF701"},
     .source = "jianfch/stable-ts#259, state-spaces/mamba#14, unslothai/unsloth#679, triton-lang/triton#2507"},
    {.name = "linker-lacks-cuda",
     .code = "FF865",
     .title = "the linker finds no library of CUDA",
     .patterns = {{"cannot find -l",
                   R"(cannot find -l(?P<library>cuda|cudart|cublas|cublasLt|nvrtc|cudnn|nvToolsExt|nvidia-ml)\b)"}},
     .concluded =
         "a build links with {library}, and no folder of the linker has it: libcuda.so without a number is in the "
         "toolkit's stubs folder alone, or in WSL's own",
     .mend = "LIBRARY_PATH=$CUDA_HOME/lib64:$CUDA_HOME/lib64/stubs for the build (never LD_LIBRARY_PATH: programs "
             "would load "
             "the stub)",
     .explained_by = {"FF706"},
     .source = "microsoft/WSL#8587"},
    {.name = "linker-lacks-cuda-on-windows",
     .code = "FF865",
     .title = "Microsoft's linker finds no library of CUDA",
     .patterns =
         {{"cannot open input file '",
           R"(cannot open input file '(?P<library>(?:cuda\w*|cublas\w*|cudnn\w*|nvrtc\w*|curand|cusparse|cusolver)\.lib)')"}},
     .concluded =
         "a build links with {library}, and no folder of the linker has it: it is in lib\\x64 of a CUDA toolkit, "
         "and none is installed, or CUDA_PATH does not name it. PyTorch brings no such file",
     .mend = "CUDA_PATH set to a toolkit of PyTorch's CUDA; for Triton: pip install -U triton-windows of the release "
             "for this PyTorch, which brings the part that it needs",
     .explained_by = {"FF706"},
     .source = "woct0rdho/triton-windows#60"},
    {.name = "triton-older-than-ptxas",
     .code = "FF860",
     .title = "Triton is older than the ptxas that it found",
     .patterns = {{"Triton only support CUDA",
                   R"(Triton only supports? CUDA [\d.]+ or higher, but got CUDA version: (?P<cuda>[\d.]+\d))"}},
     .concluded =
         "Triton has a list of toolkits by which it chooses its PTX, and CUDA {cuda}, whose ptxas it found, is "
         "newer than the list: the words \"or higher\" are about the oldest. The driver plays no part",
     .unknown = "who chose that ptxas: TRITON_PTXAS_PATH, CUDA_PATH or PATH; Triton's own lies in its package",
     .mend = "the newest Triton that goes with this PyTorch (on Windows: triton-windows); or TRITON_PTXAS_PATH set to "
             "the ptxas of an older toolkit that knows the GPU",
     .explained_by = {"FF705"},
     .subject = "triton",
     .source = "woct0rdho/triton-windows#49"},
    {.name = "nvjitlink-older-than-compiler",
     .code = "FF860",
     .title = "nvJitLink is older than the compiler whose code it links",
     .patterns = {{"may need newer version of nvJitLink",
                   R"(ERROR (?P<status>\d+) in (?P<call>nvvm\w+), may need newer version of nvJitLink library)"},
                  {"may need newer version of nvJitLink", R"(may need newer version of nvJitLink library)"}},
     .concluded =
         "code was compiled to NVVM's form for link-time optimisation, and the nvJitLink that was loaded is of "
         "an older CUDA than the compiler: each reads what its own release and older ones wrote",
     .unknown = "which copies were loaded: pip's, conda's or a toolkit's",
     .mend = "one CUDA for both: pip install -U nvidia-nvjitlink-cu12 nvidia-cuda-nvcc-cu12 nvidia-cuda-nvrtc-cu12 (of "
             "CUDA 13 the same names without -cu12), and LD_LIBRARY_PATH without a toolkit's folder",
     .explained_by = {"FF603", "FF604", "FF605", "FF705"},
     .subject = "nvjitlink",
     .source = "numba/numba#10353"},
    {.name = "nvvm-of-another-time",
     .code = "FF860",
     .title = "Numba and the CUDA toolkit are too far apart",
     .patterns = {{"No supported GPU compute capabilities found",
                   R"((?P<why>No supported GPU compute capabilities found))"}},
     .concluded = "Numba found a CUDA toolkit that it does not serve: each release has a list of toolkits with the "
                  "GPUs that they "
                  "compile for, and this toolkit is older than all of them, or newer",
     .unknown = "which toolkit it found: numba -s names it (CUDA_HOME, conda's cudatoolkit, pip's nvidia-cuda-nvcc)",
     .mend =
         "a toolkit that this Numba serves (from 0.58 on CUDA 11.2 or later), or the Numba that serves this toolkit",
     .explained_by = {"FF706", "FF705"},
     .subject = "nvvm",
     .source = "zhangyp15/MonoFlex#52, flatironinstitute/finufft#356, numba/numba#6227"},
    {.name = "nvvm-absent",
     .code = "FF866",
     .title = "Numba finds no compiler of CUDA",
     .patterns = {{"libNVVM cannot be found", R"((?P<library>libNVVM) cannot be found)"},
                  {"NvvmSupportError", R"(NvvmSupportError: (?P<why>.+))"},
                  {"requires ptxcompiler and cubinlinker", R"(requires (?P<library>ptxcompiler and cubinlinker))"}},
     .concluded =
         "Numba compiles kernels with NVVM, which is part of the CUDA toolkit and of no PyTorch: none was found[: "
         "{why}]",
     .mend = "pip install 'numba-cuda[[cu12]]' (it brings NVVM), conda install -c conda-forge cuda-nvcc, or CUDA_HOME "
             "set to a "
             "toolkit",
     .explained_by = {"FF706", "FF705"},
     .subject = "nvvm",
     .source = "xinzhuma/monodle#23, NVIDIA/cudf#1992, sshaoshuai/PointRCNN#208"},
    {.name = "libdevice-absent",
     .code = "FF866",
     .title = "XLA finds no libdevice",
     .patterns = {{"libdevice not found", R"(libdevice not found at (?P<file>\S+))"},
                  {"find libdevice directory", R"(Can't find libdevice directory (?P<file>\S+))"},
                  {"libdevice is required by this HLO",
                   R"(libdevice is required by this HLO module but was not found(?: at (?P<file>\S+))?)"}},
     .concluded =
         "TensorFlow and JAX compile with CUDA's libdevice, a file of the toolkit's folder nvvm/libdevice: it is not "
         "where they look",
     .mend = "XLA_FLAGS=--xla_gpu_cuda_data_dir=FOLDER, where FOLDER/nvvm/libdevice has it (pip install "
             "nvidia-cuda-nvcc-cu12 "
             "brings site-packages/nvidia/cuda_nvcc)",
     .explained_by = {"FF706"},
     .source = "tensorflow/tensorflow#35423, jax-ml/jax#6583"},
    {.name = "ptxas-absent",
     .code = "FF866",
     .title = "XLA finds no ptxas",
     .patterns = {{"find a suitable version of ptxas", R"(Couldn't find a suitable version of (?P<tool>ptxas))"},
                  {"No PTX compilation provider", R"(No PTX compilation provider is available)"},
                  {"ptxas not found", R"((?P<tool>\S*ptxas) not found)"},
                  {"find ptxas binary", R"(Can't find (?P<tool>ptxas) binary)"},
                  {"get ptxas version", R"(Couldn't get (?P<tool>ptxas) version)"}},
     .concluded =
         "TensorFlow and JAX make machine code with ptxas, a program of the CUDA toolkit that the driver does not "
         "bring, and found none",
     .mend =
         "pip install -U 'tensorflow[[and-cuda]]' or 'jax[[cuda12]]' (both bring ptxas), or a toolkit's bin folder in "
         "PATH; "
         "XLA_FLAGS=--xla_gpu_unsafe_fallback_to_driver_on_ptxas_not_found leaves it to the driver",
     .explained_by = {"FF706"},
     .subject = "ptxas",
     .source = "wutzebaer/tensorflow-5090#3, tensorflow/tensorflow#35423, #33375"},
    {.name = "ptxas-too-old-for-xla",
     .code = "FF860",
     .title = "XLA's ptxas is older than the GPU",
     .patterns = {{"ptxas does not support CC", R"((?P<tool>ptxas) does not support CC (?P<capability>\d+\.\d+))"},
                  {"ptxas too old", R"((?P<tool>ptxas) too old\. Falling back to the driver)"},
                  {"does not support target '",
                   R"(PTX version (?P<ptx>\d+\.\d+) does not support target '(?P<arch>sm_\w+)')"}},
     .concluded =
         "the [PTX {ptx} that this build of XLA writes|ptxas that was found] does not know [{capability}|{arch}|this "
         "GPU]: [PTX {ptx} is of the CUDA that JAX's packages were made for, whatever toolkit lies beside them, and "
         "the "
         "program ends|the first in PATH may be an old toolkit's. The driver compiles instead, or the program ends]",
     .mend = "[JAX's packages for a newer CUDA (cuda13 in place of cuda12), whose PTX is later than {ptx}|a newer CUDA "
             "toolkit first in PATH, or pip install -U nvidia-cuda-nvcc-cu12]",
     .explained_by = {"FF705", "FF706"},
     .source = "openxla/xla#5932, #47982, google-deepmind/alphafold#953"},
    {.name = "nvrtc-builtins-absent",
     .code = "FF866",
     .title = "NVRTC does not find its second library",
     .patterns = {{"libnvrtc-builtins",
                   R"(failed to open (?P<library>libnvrtc-builtins\.(?:alt\.)?so[\d.]*\d|libnvrtc-builtins\.so))"},
                  {"libnvrtc-builtins", R"(Make sure that (?P<library>libnvrtc-builtins\.so[\d.]*\d) is installed)"},
                  {"nvrtc-builtins64_", R"((?P<library>nvrtc-builtins64_\d+\.dll))"},
                  {"NVRTC_ERROR_BUILTIN_OPERATION_FAILURE", R"(NVRTC_ERROR_BUILTIN_OPERATION_FAILURE)"},
                  {"failed to load builtins", R"(nvrtc: error: failed to load builtins)"}},
     .concluded =
         "kernels are compiled when the program runs: NVRTC opens [{library}|libnvrtc-builtins] by its exact version, "
         "and no folder of the loader has that one. An NVRTC of another version, from LD_LIBRARY_PATH or another "
         "package, was loaded first, or the file lies in a folder that is not searched",
     .unknown = "which NVRTC was loaded: LD_DEBUG=libs says",
     .mend =
         "LD_LIBRARY_PATH with the folder of that very version (site-packages/nvidia/cuda_nvrtc/lib, or the toolkit's "
         "lib64), and without another toolkit's",
     .explained_by = {"FF607", "FF605", "FF606", "FF601"},
     .subject = "nvrtc",
     .source = "WisconsinAIVision/yolact_edge#186, lfranke/TRIPS#13, pytorch/TensorRT#3893, NVIDIA/cutile-python#57"},
    {.name = "no-triton",
     .code = "FF866",
     .title = "Triton is not installed",
     .patterns = {{"Cannot find a working triton", R"(Cannot find a working triton installation)"},
                  {"No module named 'triton'", R"(No module named '(?P<module>triton)')"},
                  {"triton is not available", R"(\btriton is not available)"}},
     .concluded =
         "torch.compile or a package with kernels in Triton was asked for, and no Triton is here: PyTorch's wheels "
         "for Windows bring none",
     .mend = "Windows: pip install triton-windows of the release that goes with PyTorch (3.5 with 2.9, 3.4 with 2.8, "
             "3.3 with "
             "2.7); Linux: pip install --force-reinstall torch; or without torch.compile",
     .source = "kijai/ComfyUI-MochiWrapper#91, kijai/ComfyUI-WanVideoWrapper#655"},
};

}  // namespace

std::span<const ErrorClass> toolchain_errors() { return kClasses; }

}  // namespace flashfit::doctor::pasted
