// Packages without GPU code, and programs that go on with the CPU.
#include "doctor/pasted/tables.hpp"

namespace flashfit::doctor::pasted {
namespace {

constexpr std::string_view kWhy =
    "why that build was taken: its index, its extra, or a build here without a CUDA toolkit";

const ErrorClass kClasses[] = {
    {.name = "bitsandbytes-cpu-library",
     .code = "FF807",
     .title = "bitsandbytes took its library for CPUs",
     .proof = Proof::kFiles,
     .patterns =
         {{"cadam32bit_grad_fp32", R"(cadam32bit_grad_fp32)"},
          {"libbitsandbytes_cpu.", R"(libbitsandbytes_cpu\.(?:so|dll): undefined symbol: (?P<symbol>\w+))"},
          {"undefined symbol: cget_col_row_stats", R"(undefined symbol: (?P<symbol>cget_col_row_stats))"},
          // Of a DLL, and where no library was loaded at all.
          {" not found",
           R"(function '(?P<symbol>c(?:de)?quantize_\w+|cget_\w+|cadam\w+|cgem[mv]\w+|cprefetch)' not found)"},
          {"object has no attribute 'c",
           R"('NoneType' object has no attribute '(?P<symbol>c(?:de)?quantize_\w+|cget_\w+|cadam\w+|cgem[mv]\w+|cprefetch)')"},
          {"bitsandbytes was compiled without GPU support", R"(bitsandbytes was compiled without GPU support)"},
          {"CUDA Setup failed despite GPU being available", R"(CUDA Setup failed despite GPU being available)"},
          {"Required library not pre-compiled", R"(Required library not pre-compiled for this bitsandbytes release)"}},
     .concluded =
         "bitsandbytes looked for a CUDA runtime and for its own library of that CUDA version, found one of them "
         "missing, and loaded libbitsandbytes_cpu, which has no such function. The missing name is a consequence",
     .unknown =
         "which was missing: PyTorch without CUDA, libcudart outside of the loader's folders, or no file of this "
         "release for PyTorch's CUDA",
     .explained_by = {"FF707", "FF704", "FF601", "FF330", "FF211"},
     .source = "bitsandbytes-foundation/bitsandbytes#680, #1056, #305, #1208, #693, meta-llama/llama-cookbook#159"},
    {.name = "boosting-cpu-build",
     .code = "FF807",
     .title = "a library of trees was compiled without GPUs",
     .patterns = {{"GPU Tree Learner was not enabled",
                   R"((?P<library>GPU Tree Learner) was not enabled in this build)"},
                  {"CUDA Tree Learner was not enabled",
                   R"((?P<library>CUDA Tree Learner) was not enabled in this build)"},
                  {"XGBoost version not compiled", R"((?P<library>XGBoost) version not compiled with GPU support)"}},
     .concluded = "this build of the library has no GPU code ({library}): the driver and the GPU were not asked",
     .unknown = kWhy,
     .mend =
         "LightGBM: pip install --no-binary lightgbm --config-settings=cmake.define.USE_CUDA=ON lightgbm; XGBoost: its "
         "wheel from PyPI for x86-64 Linux or Windows, which has CUDA",
     .explained_by = {"FF211"},
     .source = "lightgbm-org/LightGBM#3696, #5928, dmlc/xgboost#7765"},
    {.name = "detectron2-cpu-build",
     .code = "FF807",
     .title = "the extension was compiled without CUDA",
     .patterns = {{"ot compiled with GPU support",
                   R"((?:(?P<library>[\w.-]+) is )?[Nn]ot compiled with GPU support(?: \((?P<op>\w+))?)"},
                  {"ot compiled with CUDA support", R"(\bNot compiled with CUDA support)"}},
     .concluded =
         "[{library}|the extension (torchvision, detectron2, pytorch3d and their kin)] was compiled where no CUDA "
         "toolkit was found, or is a wheel for CPUs: its functions for the GPU[, {op} among them,] are stubs. "
         "PyTorch and the driver have no part in it",
     .unknown = kWhy,
     .mend =
         "the package compiled again with FORCE_CUDA=1 and a CUDA toolkit of PyTorch's CUDA version (CUDA_HOME), or "
         "its wheel for that CUDA",
     .explained_by = {"FF211", "FF101"},
     .source = "facebookresearch/detectron2#1406, #2501, #55"},
    {.name = "mmcv-cpu-build",
     .code = "FF807",
     .title = "mmcv has the operator for CPUs alone",
     .patterns = {{"implementation for device",
                   R"((?P<op>\w+): implementation for device (?P<device>[\w:]+) not found)"}},
     .concluded =
         "mmcv registered {op} for CPUs and not for {device}: it was compiled without CUDA, or another mmcv goes "
         "before the one with CUDA",
     .unknown = kWhy,
     .mend =
         "mim install mmcv after pip uninstall mmcv mmcv-full (it takes the wheel of PyTorch's version and CUDA); or "
         "its sources with MMCV_WITH_OPS=1 FORCE_CUDA=1",
     .explained_by = {"FF211", "FF101", "FF713"},
     .source = "modelscope/facechain#18, vision-workshop/Track2#5"},
    {.name = "ctranslate2-cpu-build",
     .code = "FF807",
     .title = "CTranslate2 was compiled without CUDA",
     .patterns = {{"package was not compiled with CUDA support",
                   R"(This CTranslate2 package was not compiled with CUDA support)"}},
     .concluded =
         "this file of CTranslate2 has no code for GPUs: its wheels for macOS and for ARM have none, those for "
         "x86-64 do",
     .unknown = kWhy,
     .mend = "device=\"cpu\", or CTranslate2 compiled here with -DWITH_CUDA=ON",
     .explained_by = {"FF211"},
     .source = "OpenNMT/CTranslate2#760"},
    {.name = "llama-cpp-cpu-build",
     .code = "FF807",
     .title = "llama.cpp was compiled without a GPU",
     .warning = true,
     .patterns = {{"not compiled with GPU offload support", R"(not compiled with GPU offload support)"},
                  {"no usable GPU found", R"(no usable GPU found, --gpu-layers option will be ignored)"},
                  {"compiled without support for GPU offload", R"(compiled without support for GPU offload)"}},
     .concluded =
         "this build of llama.cpp has no backend for the GPU, and layers stay on the CPU: pip's llama-cpp-python "
         "compiles one for CPUs unless it is told otherwise",
     .mend = "CMAKE_ARGS=-DGGML_CUDA=on pip install --force-reinstall --no-cache-dir --no-binary llama-cpp-python "
             "llama-cpp-python (with a CUDA toolkit here)",
     .explained_by = {"FF211", "FF712"},
     .source = "abetlen/llama-cpp-python#509"},
    {.name = "dgl-cpu-build",
     .code = "FF807",
     .title = "a DGL without CUDA",
     .patterns = {{"Please install the cuda version of dgl",
                   R"(Device API (?P<device>\w+) is not enabled\. Please install the cuda version of dgl)"}},
     .concluded = "the DGL that is installed is the index's, which is built for CPUs alone: PyTorch, GPU and driver "
                  "were not asked",
     .mend = "pip uninstall -y dgl, then dgl from its own index for this PyTorch and CUDA: -f "
             "https://data.dgl.ai/wheels/torch-MAJOR.MINOR/cuVERSION/repo.html",
     .explained_by = {"FF211"},
     .subject = "dgl",
     .source = "dmlc/dgl#5427, #6078, #3932, THUDM/GraphMAE#9"},
    {.name = "not-compiled-with-cuda",
     .code = "FF807",
     .title = "a package without CUDA",
     .patterns =
         {{"CUDA support",
           R"((?i)(?P<library>[\w.-]+)?(?: library| package| version)? (?:was|is|were|has)(?: been)?(?: not|n't) (?:been )?(?:compiled|built) with (?:cuda|gpu) support)"},
          {"compiled without CUDA",
           R"((?P<library>[\w.-]+)?(?: library)?(?: is| was)? compiled without (?:CUDA|GPU)(?: support)?)"},
          {"compiled without GPU", R"((?P<library>[\w.-]+)?(?: is| was)? compiled without GPU(?: support)?)"},
          {"built without CUDA", R"((?P<library>[\w.-]+)?(?: is| was)? built without CUDA(?: support)?)"}},
     .concluded = "this build[ ({library})] says that it has no GPU code: the driver and the GPU were not asked",
     .unknown = kWhy,
     .mend =
         "the package's build for CUDA: another wheel, another extra of its name, or its sources with a CUDA toolkit",
     .explained_by = {"FF211", "FF712"},
     .source = "lightgbm-org/LightGBM#2070, facebookresearch/xformers#800"},
    {.name = "operator-of-torch-without-cuda",
     .code = "FF807",
     .title = "a PyTorch without CUDA was asked for the GPU",
     .patterns = {{"with arguments from the 'CUDA' backend",
                   R"(Could not run '(?P<op>aten::[\w.]+)' with arguments from the 'CUDA' backend)"}},
     .concluded = "{op} is PyTorch's own, and this PyTorch has it for CPUs alone: it is a build without CUDA",
     .unknown = "why that build was taken: its index, or a package that asked for it",
     .explained_by = {"FF704", "FF211"},
     .subject = "built for the CPU",
     .source = "pytorch/vision#3058"},
    {.name = "cpu-lacks-half",
     .code = "FF808",
     .title = "float16 on the CPU: the GPU is not used",
     .patterns =
         {{"not implemented for 'Half'",
           R"re("(?P<op>\w*(?:_cpu\w*|KernelImpl|kernel_impl|baddbmm_with_gemm|_channels_last|_indices_weights\w*))" not implemented for 'Half')re"},
          {"not implemented for 'BFloat16'",
           R"re("(?P<op>\w*(?:_cpu\w*|KernelImpl|kernel_impl|baddbmm_with_gemm|_channels_last|_indices_weights\w*))" not implemented for 'BFloat16')re"}},
     .concluded = "PyTorch's {op} for CPUs has no such type: the model or its data lies on the CPU. Mostly no GPU was "
                  "found (torch.cuda.is_available() is False) and the program went on in half precision",
     .unknown = "why the GPU is not used: a PyTorch without CUDA, no driver, or a device that the program chose",
     .mend =
         "python -c 'import torch; print(torch.__version__, torch.cuda.is_available())' first: +cpu is a build without "
         "CUDA; for the CPU itself: float32 (--no-half)",
     .explained_by = {"FF704", "FF211", "FF701", "FF703", "FF712"},
     .source = "AUTOMATIC1111/stable-diffusion-webui#1349, vladmandic/sdnext#579"},
    {.name = "jax-without-cuda",
     .code = "FF808",
     .title = "JAX runs on the CPU: its CUDA plug-in is not installed",
     .warning = true,
     .patterns = {{"CUDA-enabled jaxlib is not installed", R"(a CUDA-enabled jaxlib is not installed)"},
                  {"No GPU/TPU found, falling back to CPU", R"(No GPU/TPU found, falling back to CPU)"}},
     .concluded =
         "JAX sees a GPU's device file, and no package with its code for CUDA: it goes on with the CPU, slowly",
     .mend = "pip install -U 'jax[[cuda12]]' (with driver 580 or later 'jax[[cuda13]]')",
     .explained_by = {"FF712", "FF713"},
     .source = "jax-ml/jax#29068, JeffSHF/ColabDock#28"},
    {.name = "tensorflow-without-libraries",
     .code = "FF808",
     .title = "TensorFlow runs on the CPU: libraries of CUDA are missing",
     .proof = Proof::kFiles,
     .consequence = true,
     .patterns = {{"Cannot dlopen some GPU libraries", R"(Cannot dlopen some GPU libraries)"},
                  {"Could not find cuda drivers on your machine", R"(Could not find cuda drivers on your machine)"}},
     .concluded =
         "TensorFlow opens CUDA's libraries by name, and at least one did not load: it goes on with the CPU. The "
         "lines before name it",
     .unknown = "which, unless those lines are in the text",
     .explained_by = {"FF330", "FF601", "FF602", "FF607", "FF712"},
     .source = "NVIDIA/tensorflow#110, tensorflow/tensorflow#45930"},
    {.name = "falls-back-in-words",
     .code = "FF808",
     .title = "it runs, but on the CPU",
     .proof = Proof::kFiles,
     .warning = true,
     .patterns = {{"roll back to CPU", R"((?P<what>[\w ]+) is not supported on current platform, roll back to CPU)"},
                  {"alling back to CPU", R"((?i)falling back to CPU)"},
                  {"alling back to cpu", R"((?i)falling back to CPU)"},
                  {"no compatible GPUs were discovered", R"(no compatible GPUs were discovered)"}},
     .concluded = "the program found no GPU that it takes and goes on with the CPU: it works, slowly",
     .unknown =
         "why: a build without CUDA, a driver too old or absent, or a GPU that the program refuses; lines before "
         "this one may say",
     .explained_by = {"FF712", "FF704", "FF703", "FF701", "FF710", "FF330"},
     .source = "sgl-project/sglang#25549, ollama/ollama#17290"},
    {.name = "checkpoint-of-a-gpu",
     .code = "FF806",
     .title = "a checkpoint asks for a GPU, and PyTorch sees none",
     .proof = Proof::kFiles,
     .patterns =
         {{"Attempting to deserialize object on ",
           R"(Attempting to deserialize object on a CUDA device but torch\.cuda\.is_available\(\) is False)"},
          {"Attempting to deserialize object on ",
           R"(Attempting to deserialize object on CUDA device (?P<device>\d+) but torch\.cuda\.device_count\(\) is (?P<count>\d+))"}},
     .concluded = "the file was saved from [GPU number {device} of another machine, and {count} are here|a GPU, and "
                  "torch.cuda.is_available() is False here]: the file itself is right",
     .unknown =
         "[whether CUDA_VISIBLE_DEVICES hides others: {count} are counted|why PyTorch sees none: a build for CPUs, no "
         "driver, a container without the GPU, or CUDA_VISIBLE_DEVICES]",
     .mend = "torch.load(FILE, map_location=...) of the program, 'cpu' or 'cuda:0', if the machine is meant to be so",
     .ask = "python -c 'import torch; print(torch.__version__, torch.version.cuda, torch.cuda.is_available())'; "
            "nvidia-smi",
     .explained_by = {"FF704", "FF211", "FF701", "FF703"},
     .source = "hkchengrex/Cutie#37, kleinlee/DH_live#22, greatlog/SWAHR-HumanPose#12"},
    {.name = "gpu-number-absent",
     .code = "FF806",
     .title = "a GPU is asked for by a number that this process does not have",
     .nature = Nature::kNoMisfit,
     .patterns = {{"invalid device ordinal", R"(invalid device ordinal)"},
                  {"cudaErrorInvalidDevice", R"(cudaErrorInvalidDevice\b)"}},
     .concluded =
         "the program names a GPU by its number, and this process sees fewer: numbers begin at 0 and count what "
         "CUDA_VISIBLE_DEVICES, the container or the job leaves. Every file may fit",
     .unknown = "which number: the line that raised it names the device, or a launcher gave each process its own",
     .mend = "nvidia-smi -L; echo $CUDA_VISIBLE_DEVICES; then as many processes as GPUs, or the device cuda:0",
     .source = "CUDA Runtime API, cudaErrorInvalidDevice"},
    {.name = "no-device-for-program",
     .code = "FF806",
     .title = "the program finds no GPU",
     .proof = Proof::kFiles,
     .warning = true,
     .patterns = {{"Failed to infer device type", R"(Failed to infer device type)"},
                  {"No supported gpu backend found", R"(No supported gpu backend found)"},
                  {"No GPU found. A GPU is needed", R"(No GPU found\. A GPU is needed)"},
                  {"No CUDA runtime is found", R"(No CUDA runtime is found, using CUDA_HOME)"},
                  {"No visible GPU devices", R"(No visible GPU devices)"},
                  {"No visible GPU is found", R"(No visible GPU is found)"}},
     .concluded = "the program asked PyTorch or the driver for a GPU and got none",
     .unknown =
         "why: a PyTorch without CUDA, packages whose import failed unseen, no driver, or a container without the "
         "GPU",
     .explained_by = {"FF704", "FF211", "FF701", "FF703", "FF401", "FF402", "FF404", "FF601"},
     .source = "vllm-project/vllm#8863, #12847"},
};

}  // namespace

std::span<const ErrorClass> cpu_build_errors() { return kClasses; }

}  // namespace flashfit::doctor::pasted
