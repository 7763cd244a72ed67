// Errors of the loader: a library that cannot be loaded as it is, here.
#include "doctor/pasted/tables.hpp"

namespace flashfit::doctor::pasted {
namespace {

// Windows' texts of ERROR_PROC_NOT_FOUND and ERROR_DLL_INIT_FAILED in its languages, by what no other of its texts has.
// English, German, French, Italian, Spanish, Portuguese, Polish, Russian, Turkish, Chinese, Japanese, Korean.
constexpr const char* kNoProcedure =
    R"re(DLL load failed(?: while importing (?P<module>[\w.]+))?: )re"
    R"re((?P<why>.*(?i:specified procedure|angegebene prozedur|procédure spécifiée|procedura specificata|proceso especificado|procedimento especificado|określonej procedury|указанная процедура|belirtilen yordam|指定的程序|指定されたプロシージャ|지정된 프로시저).*))re";
constexpr const char* kNoStart =
    R"re(DLL load failed(?: while importing (?P<module>[\w.]+))?: )re"
    R"re((?P<why>.*(?i:initiali[sz]ation routine failed|initialisierungsroutine|routine d.{1,3}initialisation|routine di inizializzazione|rutina de inicialización|rotina de inicialização|inicjowania|инициализации библиотеки|başlatma yordamı|初始化|初期化|초기화).*))re";

const ErrorClass kClasses[] = {
    {.name = "nvidia-library-versions",
     .code = "FF835",
     .title = "two versions of NVIDIA's libraries are mixed",
     .proof = Proof::kFiles,
     .patterns =
         {{" not defined in file lib",
           R"((?P<file>[^\s:]+): symbol (?P<symbol>\w+),? version [\w.]+ not defined in file (?P<library>lib(?:nv|cu|nccl)[\w.]+))"},
          {"undefined symbol: ncc", R"((?P<file>[^\s:]+): +undefined symbol: (?P<symbol>p?nccl[A-Z]\w+))"},
          {"undefined symbol: nvshmem", R"((?P<file>[^\s:]+): +undefined symbol: (?P<symbol>nvshmem\w+))"},
          {"undefined symbol: __nvJitLink",
           R"((?P<file>[^\s:]+): +undefined symbol: (?P<symbol>__nvJitLink\w+)(?:, version (?P<library>[\w.]+))?)"},
          {"undefined symbol: __nv",
           R"((?P<file>[^\s:]+): +undefined symbol: (?P<symbol>__nv\w+)(?:, version (?P<library>[\w.]+))?)"},
          {", version lib",
           R"((?P<file>[^\s:]+): +undefined symbol: (?P<symbol>[\w@.]+), version (?P<library>lib(?:nv|cu)[\w.]+))"},
          {"undefined symbol: cu",
           R"((?P<file>[^\s:]+): +undefined symbol: (?P<symbol>cu(?:blas|blasLt|dnn|sparse|solver|fft|rand|Fft|File|pti|dss|tensor)\w+)(?:, version (?P<library>[\w.]+))?)"}},
     .concluded = "{file} needs {symbol}[ of {library}], and the copy of [{library}|that library of NVIDIA's] that was "
                  "loaded lacks it: the two are of different releases",
     .unknown = "where that copy lies: in a folder of LD_LIBRARY_PATH or of the system, which go before what pip "
                "installed, or in an NVIDIA package of another release than PyTorch asks for",
     .mend = "unset LD_LIBRARY_PATH, then the program again; if the error stays, `pip check` names the NVIDIA packages "
             "that PyTorch wants in another version: those installed anew",
     .ask = "LD_DEBUG=libs python -c 'import torch' 2>&1 | grep -E 'calling init.*(libnv|libcu)' (a folder outside "
            "site-packages is the culprit; LD_LIBRARY_PATH names it)",
     .explained_by = {"FF604", "FF603", "FF330"},
     .source = "pytorch/pytorch#140797, #144244, #134929, #119932, deepmodeling/deepmd-kit#2241"},
    {.name = "procedure-not-found",
     .code = "FF830",
     .title = "a DLL lacks a function that another one asks for",
     .proof = Proof::kFiles,
     .patterns = {{"[WinError 127]", R"re(\[WinError 127\](?:.*Error loading "(?P<library>[^"]+)")?)re"},
                  {"DLL load failed", kNoProcedure},
                  {"0xc0000139", R"((?P<status>0xc0000139))"}},
     .concluded =
         "[{library}|the module {module}|a program] and a DLL that it needs were both found, and are of two "
         "versions: a function is missing in the second. PyTorch's own DLLs, CUDA's or the C++ runtime's come from "
         "another folder or release",
     .unknown = "which function: Windows does not say",
     .mend =
         "pip install --force-reinstall --no-deps of PyTorch and of the package, for one another; then PATH without "
         "folders of another CUDA",
     .explained_by = {"FF402", "FF401", "FF406", "FF405", "FF620", "FF332"},
     .source = "ollama/ollama#6604"},
    {.name = "dll-initialisation-failed",
     .code = "FF838",
     .title = "a DLL was found, and its start failed",
     .patterns = {{"[WinError 1114]", R"re(\[WinError 1114\](?:.*Error loading "(?P<library>[^"]+)")?)re"},
                  {"DLL load failed", kNoStart},
                  {"0xc0000142", R"((?P<status>0xc0000142))"}},
     .concluded =
         "[{library}|a DLL of {module}|a DLL] and all that it needs were found; its own start-up code failed. No file "
         "is missing: mostly the Visual C++ runtime is older than PyTorch's builds want (from 2.9 on), another "
         "program's DLLs were loaded before (a GUI toolkit imported first), or the processor lacks instructions",
     .unknown = "[which of these|{library}: which of these]",
     .mend =
         "the newest Visual C++ redistributable (vc_redist.x64.exe) installed; then import torch before other packages",
     .explained_by = {"FF324"},
     .source = "nagadomi/nunif#701, shiyu-coder/Kronos#166, pytorch/pytorch#20408, vladmandic/sdnext#598"},
    {.name = "jit-extension-absent",
     .code = "FF817",
     .title = "an extension that is compiled at its first use is not there",
     .consequence = true,
     .patterns = {{"torch_extensions",
                   R"((?P<file>\S*torch_extensions\S*[/\\](?P<module>\w+)\.(?:so|pyd)): cannot open)"},
                  // In a traceback: the module's own fault, if it has one, is another kind and goes before.
                  {"_import_module_from_library", R"(in _import_module_from_library)"},
                  {"No module named '", R"(No module named '(?P<module>\w+)')", true}},
     .concluded =
         "PyTorch compiles [{module}|the module] at its first use and keeps it in [{file}|~/.cache/torch_extensions]: "
         "that was not written, as the compiler failed before, or another process has left a half-made folder",
     .unknown = "the compiler's own error, which stands before this line or in an earlier run",
     .mend =
         "rm -rf ~/.cache/torch_extensions, then the program again: what the compiler says is the error to ask about",
     .explained_by = {"FF706", "FF405"},
     .source = "databrickslabs/dolly#119, deepspeedai/DeepSpeed#5277, NVlabs/nvdiffrast#46"},
    {.name = "driver-lacks-function",
     .code = "FF815",
     .title = "the driver lacks a function that a library asks for",
     .proof = Proof::kFiles,
     .patterns = {{"undefined symbol: cu", R"((?:(?P<file>[^\s:'"]+): )?undefined symbol: (?P<symbol>cu[A-Z]\w+)\b)"},
                  {"undefined symbol: nvml", R"((?P<file>[^\s:'"]+): undefined symbol: (?P<symbol>nvml[A-Z]\w+)\b)"},
                  {"NVMLError_FunctionNotFound", R"(NVMLError_FunctionNotFound)"},
                  {"load_function@", R"(DynamicLoader::load_function@\d+\] Function (?P<symbol>cu[A-Z]\w+) not found)"},
                  {"Failed to get function cu", R"(CUDA error: Failed to get function (?P<symbol>cu[A-Z]\w+))"}},
     .concluded = "[{symbol}|a function of NVML that was asked for] is the driver's own function. The driver that was "
                  "loaded is older than it, or a toolkit's stub "
                  "stands for it, or [{file}|the library] does not name the driver among what it needs",
     .unknown =
         "which of these: nvidia-smi shows the driver's CUDA, and NVIDIA's page of the function says since which "
         "CUDA it is there",
     .mend = "a newer driver; if that one is there: LD_PRELOAD=libcuda.so.1 for the program, or a later release of the "
             "package, which links with it",
     .ask = "nvidia-smi; ldconfig -p | grep libcuda.so.1; echo $LD_LIBRARY_PATH",
     .explained_by = {"FF703", "FF702", "FF105", "FF106", "FF331"},
     .source = "NVIDIA/cutlass#1624, tile-ai/tilelang#182, pegainfer-project/pegainfer#263, taichi-dev/taichi#7826, "
               "NVIDIA/warp#164"},
    {.name = "library-not-mapped",
     .code = "FF844",
     .title = "the system refuses to map a library",
     .nature = Nature::kHost,
     .patterns = {{"failed to map segment from shared object",
                   R"((?P<file>[^\s:'"]+): (?P<why>failed to map segment from shared object))"},
                  {"cannot restore segment prot after reloc",
                   R"((?P<file>[^\s:'"]+): (?P<why>cannot restore segment prot after reloc))"},
                  {"cannot apply additional memory protection",
                   R"((?P<file>[^\s:'"]+): (?P<why>cannot apply additional memory protection after relocation))"}},
     .concluded = "{file} was found and is for this machine; the kernel refused to map it ({why})",
     .unknown = "which of these: a limit of the address space (ulimit -v, a batch system's), a folder that is mounted "
                "without the right to execute, or a policy such as SELinux's",
     .mend = "ulimit -v unlimited; findmnt -T {file} (it must not say noexec); TMPDIR in another folder where the file "
             "lies "
             "in /tmp",
     .source = "pytorch/pytorch#16558, brannondorsey/PassGAN#26"},
    {.name = "library-not-aligned",
     .code = "FF839",
     .title = "a library's segments are not aligned as the loader wants them",
     .patterns =
         {{"ELF load command a",
           R"((?P<file>[^\s:'"]+): ELF load command (?:address/offset|alignment) not (?:properly |page-)aligned)"}},
     .concluded =
         "{file} was changed after it was linked, by strip or an old patchelf, or is linked for smaller pages of "
         "memory than this kernel has (getconf PAGESIZE)",
     .unknown = "which of the two",
     .mend = "pip install --force-reinstall --no-deps of the package that it is from, without a program that packs or "
             "strips "
             "it; where pages are of 16 or 64 KB: a build for them",
     .explained_by = {"FF901", "FF602"},
     .source = "pytorch/pytorch#97266, Nuitka/Nuitka#2592, LorenEteval/Furious#49"},
    {.name = "torch-library-not-found",
     .code = "FF831",
     .title = "a library of another PyTorch is asked for",
     .patterns = {{"libtorch_cuda_c", R"((?P<library>libtorch_cuda_c(?:u|pp)\.so): cannot open)"},
                  {"libc10_cuda.so: cannot open", R"((?P<library>libc10_cuda\.so): cannot open)"},
                  {"libtorch_cuda.so: cannot open", R"((?P<library>libtorch_cuda\.so): cannot open)"},
                  {"libtorch", R"((?P<library>libtorch(?:_cpu|_python)?\.so): cannot open)"},
                  {"libc10.so", R"((?P<library>libc10\.so): cannot open)"}},
     .concluded =
         "{library} is PyTorch's own: libtorch_cuda_cu and _cpp were in 1.10 to 1.13 alone, libtorch_cuda and "
         "libc10_cuda are in builds with CUDA. The extension was built against such a PyTorch, and another is here, "
         "or torch was not imported before it",
     .unknown = "which of these",
     .mend = "the extension built for the PyTorch that is installed: its wheel for it, or its sources with "
             "--no-build-isolation",
     .explained_by = {"FF402", "FF404", "FF406", "FF332", "FF211", "FF704"},
     .subject = "{library}",
     .source = "open-mmlab/mmsegmentation#911, facebookresearch/pytorch3d#923, pytorch/pytorch#54827"},
    {.name = "undefined-symbol",
     .code = "FF830",
     .title = "a library asks for a name that nothing loaded has",
     .proof = Proof::kFiles,
     .patterns =
         {{"undefined symbol: ",
           R"((?P<file>[^\s:'"]+\.so[\w.]*|[^\s:'"]+): +undefined symbol: (?P<symbol>[^\s,;'")]+)(?:, version (?P<library>[\w.]+))?)"},
          {"Symbol not found: ", R"((?:dlopen\((?P<file>[^,)]+).*)?Symbol not found: \(?_(?P<symbol>\w+))"},
          {"symbol not found in flat namespace", R"(symbol not found in flat namespace '?(?P<symbol>[^\s']+))"}},
     .concluded = "[{file}|a library] asks for {name}, and no library that was loaded has it",
     .explained_by = {"FF401", "FF402", "FF403", "FF404", "FF405", "FF406", "FF221", "FF222", "FF332", "FF604"},
     .source = "Dao-AILab/flash-attention#2361"},
    {.name = "library-not-found",
     .code = "FF831",
     .title = "a library is not there",
     .proof = Proof::kFiles,
     .patterns =
         {{"cannot open shared object file",
           R"((?:^|[\s'"(])(?P<library>[\w./+-]*lib[\w.+-]+\.so[\w.]*): cannot open shared object file)"},
          {"cannot open shared object file", R"((?P<library>[\w./+-]+\.so[\w.]*): cannot open shared object file)"},
          {"Could not load library", R"(Could not load library (?P<library>[\w./\\:+-]+\.(?:so[\w.]*|dll)))"},
          {"Invalid handle. Cannot load symbol", R"(Invalid handle\. Cannot load symbol (?P<library>cudnn|cublas)\w+)"},
          {"Error loading shared library",
           R"(Error loading shared library (?P<library>[\w./+-]+\.so[\w.]*): No such file)"},
          {"Unable to load any of", R"(Unable to load any of \{(?P<library>lib[\w.+-]+))"},
          {"is not found or cannot be loaded", R"(Library (?P<library>[\w.+-]+) is not found or cannot be loaded)"},
          {"Could not load dynamic library", R"(Could not load dynamic library '(?P<library>[^']+)'; dlerror)"},
          {"not found in the system path", R"((?P<library>lib[\w.+-]+\.so)[\w.*\[\]-]* not found in the system path)"},
          {" library not found", R"(\w+Error: (?P<library>(?:cu|nv)\w+) library not found)"},
          {" shared library. Cannot invoke method", R"(Cannot load (?P<library>(?:cu|nv)\w+) shared library)"},
          {"CuPy failed to load", R"(CuPy failed to load (?P<library>[\w.+-]+))"},
          {"Could not locate", R"(Could not locate (?P<library>[\w.+-]+\.dll))"},
          // Windows says so of the file that was asked for, whichever of those that it needs is missing.
          {"(or one of its dependencies)",
           R"(Could not find module '(?P<file>[^']*[/\\][^'/\\]+\.(?:dll|pyd))' \(or one of its dependencies)"},
          {"Could not find module '", R"(Could not find module '(?P<library>[^']+\.dll)')"},
          {"DLL load failed", R"(DLL load failed(?: while importing (?P<module>[\w.]+))?: (?P<why>.+))"},
          {"[WinError 126]", R"re(\[WinError 126\](?:.*Error loading "(?P<file>[^"]+)")?)re"}},
     .concluded =
         "[{library} was looked for and not found|the module {module}, or a DLL that it needs, was not found "
         "({why})|{file} was asked for, and it or a DLL that it needs was not found: where that file is there, "
         "what it needs is not (CUDA's DLLs of its own main version, cuDNN's, the Visual C++ runtime's)|a DLL "
         "was not found]",
     .unknown = "[whether another folder has {library}|which DLL it is: Windows does not say]",
     .explained_by = {"FF330", "FF332", "FF601", "FF602", "FF620"},
     .subject = "{library}",
     .source =
         "aws/deep-learning-containers#6770, OpenNMT/CTranslate2#1250, cupy/cupy#9318, tensorflow/tensorflow#45930, "
         "zh-plus/openlrc#18, lebedov/scikit-cuda#179, PaddlePaddle/PaddleOCR#7300"},
    {.name = "glibc-too-old",
     .code = "FF832",
     .title = "the system's C library is too old",
     .patterns =
         {{"version `GLIBC_",
           R"((?P<found_in>[^\s:'"]+): version `(?P<version>GLIBC_[\d.]+)' not found \(required by (?P<file>[^)]+)\))"},
          {"version 'GLIBC_",
           R"((?P<found_in>[^\s:'"]+): version '(?P<version>GLIBC_[\d.]+)' not found \(required by (?P<file>[^)]+)\))"},
          {"GLIBC_", R"(version [`'](?P<version>GLIBC_[\d.]+)' not found)"}},
     .concluded = "[{file}|a library] needs {version}, and this system's C library[ ({found_in})] is older. Installing "
                  "packages does not change it",
     .mend = "a system or base image with that glibc or a later one; or a build of the package for an older one",
     .explained_by = {"FF320", "FF321", "FF603"},
     .subject = "{family}",
     .source = "Dao-AILab/flash-attention#1708, #1762"},
    {.name = "libstdcxx-too-old",
     .code = "FF833",
     .title = "the C++ library that was loaded is too old",
     .patterns =
         {{"GLIBCXX_",
           R"((?:(?P<found_in>[^\s:'"]+): )?version [`'](?P<version>GLIBCXX_[\d.]+)' not found(?: \(required by (?P<file>[^)]+)\))?)"},
          {"CXXABI_",
           R"((?:(?P<found_in>[^\s:'"]+): )?version [`'](?P<version>CXXABI_[\d.]+)' not found(?: \(required by (?P<file>[^)]+)\))?)"}},
     .concluded = "[{file}|a library] needs {version}[, and {found_in} is the C++ library that was loaded first and is "
                  "older]. The first libstdc++ that a process loads serves all of it",
     .unknown = "whether a newer libstdc++ lies elsewhere on this machine: conda and the system each have one",
     .explained_by = {"FF322", "FF603"},
     .subject = "{family}",
     .source = "llm-d/llm-d-kv-cache#445, kvcache-ai/ktransformers#439"},
    {.name = "executable-stack",
     .code = "FF834",
     .title = "a library asks for an executable stack, which glibc 2.41 refuses",
     .patterns =
         {{"cannot enable executable stack",
           R"((?P<file>[^\s:'"]+): cannot enable executable stack as shared object requires(?:: (?P<why>.+))?)"},
          {"cannot enable executable stack", R"(cannot enable executable stack)"}},
     .concluded = "[{file}|a library] is marked as needing an executable stack (PT_GNU_STACK), mostly by an oversight "
                  "of its build; glibc from 2.41 on, or a hardened system, does not give it one",
     .mend = "GLIBC_TUNABLES=glibc.rtld.execstack=2 in the environment of the program, or: patchelf --clear-execstack "
             "[{file}|FILE]",
     .explained_by = {"FF323", "FF608"},
     .source = "conda-forge/pytorch-cpu-feedstock#350, OpenNMT/CTranslate2#1849"},
    {.name = "cudnn-mismatch",
     .code = "FF836",
     .title = "parts of two cuDNNs are mixed",
     .proof = Proof::kFiles,
     .patterns =
         {{"CUDNN_STATUS_SUBLIBRARY_VERSION_MISMATCH", R"(CUDNN_STATUS_SUBLIBRARY_VERSION_MISMATCH)"},
          {"CUDNN_STATUS_VERSION_MISMATCH", R"(CUDNN_STATUS_VERSION_MISMATCH)"},
          {"cuDNN version incompatibility",
           R"(cuDNN version incompatibility: .*compiled\s+against \(?(?P<wanted>[\d, .]+)\)?.*found runtime version \(?(?P<found>[\d, .]+)\)?)"},
          {"CUDNN_STATUS_SUBLIBRARY_LOADING_FAILED", R"(CUDNN_STATUS_SUBLIBRARY_LOADING_FAILED)"}},
     .concluded = "cuDNN opens its parts (libcudnn_graph, _ops, _cnn, _engines_...) by name when they are needed, "
                  "and the loader found some of another version: two cuDNNs are visible, mostly pip's and the system's",
     .unknown = "which part came from which folder: LD_DEBUG=libs says",
     .ask = "LD_DEBUG=libs python PROGRAM 2>&1 | grep 'calling init.*cudnn' (two folders: the one outside "
            "site-packages is the culprit)",
     .explained_by = {"FF606", "FF607"},
     .subject = "libcudnn",
     .source = "pytorch/pytorch#188892, #185512"},
    {.name = "static-tls",
     .code = "FF837",
     .title = "no room is left for a library's thread-local data",
     .patterns = {{"cannot allocate memory in static TLS block",
                   R"((?P<file>[^\s:'"]+): cannot allocate memory in static TLS block)"}},
     .concluded = "{file} wants static thread-local storage and was loaded after others had taken the room: the order "
                  "of loading decides",
     .mend = "LD_PRELOAD={file}, or import that package first",
     .explained_by = {"FF609"},
     .source = "glibc manual, glibc.rtld.optional_static_tls"},
    {.name = "other-machine",
     .code = "FF839",
     .title = "a library for another machine, or a damaged one",
     .patterns =
         {{"invalid ELF header", R"((?P<file>[^\s:'"]+): invalid ELF header)"},
          {"wrong ELF class", R"((?P<file>[^\s:'"]+): wrong ELF class)"},
          {": file too short", R"((?P<file>[^\s:'"]+\.so[\w.]*): file too short)"},
          {"cannot open shared object file: No such file or directory (wrong", R"((?P<file>[^\s:'"]+))"},
          {"is not a valid Win32 application", R"(is not a valid Win32 application)"},
          {"is an incompatible architecture",
           R"('(?P<file>[^']+)' \(.*incompatible architecture \(have \(?'?(?P<built>\w+)'?\)?, need \(?'?(?P<here>\w+))"},
          {"skipping incompatible ", R"(skipping incompatible (?P<file>\S+) when searching for)"}},
     .concluded = "[{file}|a file] is no library of this machine and system[ (it is for {built}, and the program is "
                  "{here})], or was cut short when it was downloaded",
     .explained_by = {"FF310", "FF901", "FF602"},
     .source = "glibc, elf/dl-load.c; LaurentMazare/tch-rs#963, vscodenpa/testissues#6139"},
    {.name = "illegal-instruction",
     .code = "FF840",
     .title = "code for another processor",
     .proof = Proof::kFiles,
     .patterns = {{"Illegal instruction", R"(Illegal instruction)"},
                  {"SIGILL", R"(\bSIGILL\b)"},
                  {"exit code 132", R"(exit code 132\b)"},
                  {"exitcode: -4", R"(exitcode\s*: -4\b)"},
                  {"requires AVX", R"(requires (?P<wants>AVX[\w-]*))"},
                  {"compiled to use ", R"(compiled to use (?P<wants>AVX\w*) instructions, but these aren't available)"},
                  {"trap invalid opcode", R"(trap invalid opcode .*in (?P<file>[^\s\[]+)\[)"}},
     .concluded = "the processor met an instruction that it does not have, mostly AVX-512 or AVX2 in code that was "
                  "compiled for another one[; it was executed in {file}]. It is no error of the GPU",
     .unknown = "which library: a core dump or the kernel's log (dmesg) names it",
     .ask = "dmesg | grep 'invalid opcode' | tail -1 (it names the library; give that file to flashfit doctor)",
     .explained_by = {"FF324"},
     .source = "Infini-AI-Lab/MagicPIG#16"},
};

}  // namespace

std::span<const ErrorClass> loader_errors() { return kClasses; }

}  // namespace flashfit::doctor::pasted
