// Operators and compiled modules that are not there: the library that has them was not loaded, or not built.
#include "doctor/pasted/tables.hpp"

namespace flashfit::doctor::pasted {
namespace {

constexpr std::string_view kUnseen =
    "whether the module was not built, or its import failed before and was passed over: an import by hand shows it";

const ErrorClass kClasses[] = {
    {.name = "torchvision-operator-absent",
     .code = "FF841",
     .title = "torchvision's compiled operators were not loaded",
     .patterns = {{"torchvision::", R"([Oo]perator (?P<op>torchvision::\w+) does not exist)"},
                  {"torchvision::", R"(No such operator (?P<op>torchvision::\w+))"},
                  {"Couldn't load custom C++ ops", R"(Couldn't load custom C\+\+ ops)"}},
     .concluded =
         "torchvision's Python code ran, and its library, which registers [{op}|the operators], did not load: it "
         "was built against another release of PyTorch, or for another CUDA. torchvision swallows that error",
     .unknown = "which releases of both are installed",
     .mend =
         "pip install --force-reinstall torch torchvision from one index in one command: each torchvision goes with "
         "one PyTorch (0.24 with 2.9, 0.23 with 2.8, 0.22 with 2.7)",
     .explained_by = {"FF405", "FF406", "FF402", "FF401", "FF404", "FF601", "FF332"},
     .subject = "torchvision",
     .source = "fudan-generative-vision/hallo#98, apple-aiml-research/ml-depth-pro#62, "
               "zylo117/Yet-Another-EfficientDet-Pytorch#129"},
    {.name = "operator-without-cuda",
     .code = "FF841",
     .title = "an operator has no kernel for CUDA",
     .patterns = {{"with arguments from the 'CUDA' backend",
                   R"(Could not run '(?P<op>(?P<library>\w+)::[\w.]+)' with arguments from the 'CUDA' backend)"}},
     .concluded =
         "{op} is registered for CPUs alone: the {library} that is installed is a build without CUDA, beside a "
         "PyTorch with it",
     .unknown = "why that build was taken: its index has both, and pip replaces none by the other of the same version",
     .mend = "pip install --force-reinstall --no-deps {library} from the index of PyTorch's own CUDA",
     .explained_by = {"FF405", "FF211", "FF406"},
     .subject = "{library}",
     .source = "pytorch/vision#3058, facebookresearch/sam2#220, ultralytics/ultralytics#8296"},
    {.name = "operator-namespace-empty",
     .code = "FF841",
     .title = "compiled operators of a package were not loaded",
     .patterns = {{"'_OpNamespace'", R"('_OpNamespace' '(?P<library>\w+)' object has no attribute '(?P<op>\w+)')"},
                  {"No such operator", R"(No such operator (?P<op>(?P<library>\w+)::\w+))"},
                  {"does not exist", R"([Oo]perator (?P<op>(?P<library>\w+)::[\w.]+) does not exist)"},
                  {"failed finding operator", R"((?P<op>(?P<library>\w+)::\w+))"}},
     .concluded =
         "{op} should have been registered in torch.ops.{library} by the library of the package, and was not: the "
         "library did not load (built against another PyTorch, or a library of CUDA is missing), or is of an "
         "earlier release than the Python code that calls it",
     .unknown = kUnseen,
     .explained_by = {"FF402", "FF401", "FF404", "FF406", "FF601", "FF330", "FF332", "FF713"},
     .source = "vllm-project/vllm#5454, #5461, #17526"},
    {.name = "operator-registered-twice",
     .code = "FF843",
     .title = "two copies of a package register the same operators",
     .patterns = {{"Only a single TORCH_LIBRARY can be used",
                   R"(Only a single TORCH_LIBRARY can be used to register the namespace (?P<library>\w+))"
                   R"((?:.*registered at (?P<first>[^;\s]+); latest registration was registered at (?P<second>\S+))?)"},
                  {"Tried to register an operator",
                   R"(Tried to register an operator \((?P<op>(?P<library>\w+)::[\w.]+))"
                   R"((?:.*registered at (?P<second>\S+)\. Original registration: registered at (?P<first>\S+))?)"}},
     .concluded = "a library that registers [{op}|the operators of {library}] was loaded[ ({first})], and a second one "
                  "registers "
                  "them again[ ({second})]: two copies of the package are in the process, an earlier release's file "
                  "that stayed, "
                  "one compiled here beside an installed one, or one file under two names",
     .unknown = "where the two files lie: the paths in the message are of the machines that compiled them",
     .mend = "pip uninstall of the package until none is left, what stays of its folder in site-packages removed, then "
             "one release of it installed; and no folder of its sources on sys.path",
     .ask = "LD_DEBUG=libs python -c 'import {library}' 2>&1 | grep 'calling init' (two files of one package)",
     .explained_by = {"FF713"},
     .source = "pytorch/pytorch#148148, #36505"},
    {.name = "xformers-no-operator",
     .code = "FF841",
     .title = "xFormers has no operator that takes this call",
     .patterns =
         {{"No operator found for", R"(No operator found for `?(?P<op>memory_efficient_attention_\w+))"},
          {"xFormers wasn't buil", R"((?P<unbuilt>xFormers wasn't buil[dt] with CUDA support))", true},
          {"bf16 is only supported on A100+", R"((?P<bf16>bf16 is only supported on A100\+ GPUs))", true},
          {"but your GPU has capability", R"(but your GPU has capability \((?P<major>\d+), ?(?P<minor>\d+)\))", true},
          {"requires device with capability", R"(requires device with capability (?P<wants>[<>]=? ?\(\d+, ?\d+\)))",
           true},
          {"requires device with capability",
           R"(requires device with capability (?P<wants>[<>]=? ?\(\d+, ?\d+\))(?: but your GPU has capability \((?P<major>\d+), ?(?P<minor>\d+)\))?)"},
          {"xFormers wasn't buil", R"((?P<unbuilt>xFormers wasn't buil[dt] with CUDA support))"}},
     .concluded =
         "[{unbuilt}: its compiled part was not loaded, as it was built for another PyTorch, Python or CUDA; what "
         "its other lines say of capabilities is beside the point|{bf16}: the call is in bfloat16, which this GPU "
         "({major}.{minor}) does not compute|{bf16}: the call is in bfloat16, which this GPU does not compute|none of "
         "its implementations takes this GPU, type and shape: the lines below the error have the reason of each]",
     .mend =
         "[pip install xformers of the release for this PyTorch, from the same index ({unbuilt})|float16 instead of "
         "bfloat16 ({bf16})|a type and shape that the lines below the error allow, or PyTorch's own attention]",
     .explained_by = {"FF710", "FF402", "FF401", "FF405", "FF406", "FF704"},
     .subject = "xformers",
     .source = "facebookresearch/xformers#800, camenduru/DeepCache-colab#2, DepthAnything/Depth-Anything-V2#274"},
    {.name = "xformers-other-release",
     .code = "FF843",
     .title = "xFormers was built for another PyTorch",
     .warning = true,
     .patterns = {{"xFormers was built for", R"(xFormers was built for)"},
                  {"with CUDA",
                   R"(PyTorch (?P<built>[\d.]+\S*) with CUDA (?P<cuda>\d+|None) \(you have (?P<here>[\w.+]+)\))", true},
                  {"you have", R"(Python +(?P<python>[\d.]+) \(you have (?P<python_here>[\d.]+)\))", true}},
     .concluded =
         "xFormers' compiled part was built for [PyTorch {built}, and {here} is installed|Python {python}, and this is "
         "{python_here}|another PyTorch or CUDA]: memory-efficient attention is not available, and programs go on "
         "without it or fail at its first "
         "call. The last number of Python's version does not matter",
     .mend = "[pip install xformers of the release for PyTorch {here}, from the same index as PyTorch; +cpu means that "
             "PyTorch itself must be installed again with CUDA|the wheel of xformers for Python {python_here}, or one "
             "for every "
             "Python (cp39-abi3)|pip install -U xformers from the index of PyTorch's CUDA]",
     .explained_by = {"FF402", "FF401", "FF404", "FF405", "FF406", "FF704"},
     .subject = "xformers",
     .source = "facebookresearch/xformers#982, dusty-nv/jetson-inference#1946, Comfy-Org/ComfyUI-Manager#926, "
               "camenduru/comfyui-colab#6"},
    {.name = "vllm-extension-absent",
     .code = "FF817",
     .title = "vLLM's compiled module is absent, or did not load",
     .proof = Proof::kFiles,
     .consequence = true,
     .patterns = {{"vllm._C", R"((?:No module named|Failed to import from|import of) ['"]?(?P<module>vllm\._\w+))"},
                  {"vllm._moe_C", R"((?P<module>vllm\._moe_C))"}},
     .concluded =
         "vLLM's Python code looks for {module} and has none that loads: its sources lie in the current folder "
         "and go before the installed package, it was built for CPUs, or the module was built against another "
         "PyTorch",
     .unknown = kUnseen,
     .ask = "cd / && python -c 'import vllm._C' (what that import raises is the error to ask about)",
     .explained_by = {"FF401", "FF402", "FF404", "FF406", "FF601", "FF330", "FF708"},
     .subject = "vllm",
     .source = "vllm-project/vllm#8863"},
    {.name = "sgl-kernel-no-library",
     .code = "FF817",
     .title = "sgl_kernel has no library that loads",
     .proof = Proof::kFiles,
     .consequence = true,
     .patterns = {{"Could not load any common_ops library", R"(Could not load any common_ops library)"},
                  {"Compute capability: ", R"(- Compute capability: (?P<capability>\d+))", true}},
     .concluded =
         "sgl_kernel picks a folder by the GPU's capability[ ({capability})], and no library of it loaded. What it "
         "says of the GPU misleads: the lines \"Error details\" at its end have the loader's own words",
     .unknown = "the loader's words, where the text ends before them",
     .ask = "python -c 'import sgl_kernel' 2>&1 | tail -4 (its last lines are the error to ask about)",
     .explained_by = {"FF401", "FF402", "FF404", "FF406", "FF601", "FF330", "FF332", "FF708", "FF101"},
     .subject = "sgl",
     .source = "sgl-project/sglang#18203, #29646, #29317"},
    {.name = "apex-without-extensions",
     .code = "FF817",
     .title = "apex was installed without its compiled modules",
     .patterns =
         {{"requires cuda extensions", R"((?P<module>apex\.[\w.]+) requires cuda extensions)"},
          {"No module named '",
           R"(No module named '(?P<module>amp_C|apex_C|fused_layer_norm_cuda|fused_weight_gradient_mlp_cuda|syncbn|scaled_\w+_softmax_cuda)')"},
          {"apex was installed without --c", R"(apex was installed without --c(?:uda|pp)_ext)"}},
     .concluded =
         "apex's Python code is there and {module} is not: pip install apex without options compiles none of its "
         "modules. (The apex of the package index is another project.)",
     .mend = "git clone https://github.com/NVIDIA/apex && cd apex && APEX_CPP_EXT=1 APEX_CUDA_EXT=1 pip install -v "
             "--no-build-isolation . (with a CUDA toolkit of PyTorch's CUDA)",
     .explained_by = {"FF708"},
     .subject = "apex",
     .source = "NVIDIA/apex#1840, #578, #86"},
    {.name = "awq-extension-absent",
     .code = "FF817",
     .title = "AutoAWQ's compiled kernels did not load",
     .proof = Proof::kFiles,
     .consequence = true,
     .patterns = {{"AutoAWQ could not load",
                   R"(AutoAWQ could not load (?P<module>\w+) kernels extension\. Details: (?P<why>.+))"},
                  {"awq_ext", R"(name '(?P<module>awq\w*_ext)' is not defined)"},
                  {"No module named 'awq", R"(No module named '(?P<module>awq_(?:ext|v2_ext|inference_engine))')"},
                  {"kernels are not installed. Please install",
                   R"(: (?P<module>[\w ]+ kernels) are not installed\. Please install)"}},
     .concluded =
         "AutoAWQ imports {module} and passes over the error[: {why}]; the first call of a kernel then fails on "
         "the absent name",
     .unknown = "[what the import raised|{why}: which build it is of]",
     .ask = "python -c 'import awq_ext' (what that import raises is the error to ask about)",
     .explained_by = {"FF401", "FF402", "FF404", "FF406", "FF601", "FF330", "FF708"},
     .subject = "awq",
     .source = "casper-hansen/AutoAWQ#579, casper-hansen/AutoAWQ_kernels#34, "
               "casper-hansen/AutoAWQ#370, hiyouga/LlamaFactory#3465"},
    {.name = "gptq-extension-absent",
     .code = "FF817",
     .title = "AutoGPTQ's compiled kernels did not load",
     .proof = Proof::kFiles,
     .warning = true,
     .patterns = {{"CUDA extension not installed", R"(CUDA extension not installed)"},
                  {"_kernels not installed", R"((?P<module>exllama(?:v2)?_kernels) not installed)"}},
     .concluded =
         "AutoGPTQ imports [{module}|its CUDA module] and passes over the error: it goes on with slow kernels, or "
         "fails at the first call",
     .unknown = kUnseen,
     .ask = "python -c 'import autogptq_cuda_64' (what that import raises is the error to ask about)",
     .explained_by = {"FF401", "FF402", "FF404", "FF406", "FF601", "FF330", "FF708", "FF620"},
     .subject = "gptq",
     .source = "AutoGPTQ/AutoGPTQ#402, PromtEngineer/localGPT#630"},
    {.name = "mmcv-extension-absent",
     .code = "FF817",
     .title = "mmcv without its compiled operators",
     .patterns = {{"mmcv._ext", R"(No module named '(?P<module>mmcv\._ext)')"}},
     .concluded =
         "mmcv 1 without operators (mmcv, not mmcv-full), mmcv-lite, or a build from sources without a compiler: "
         "{module} is in none of these",
     .mend =
         "pip uninstall mmcv mmcv-full mmcv-lite; then mim install mmcv (mmcv-full for projects of 2022 and before), "
         "which takes the wheel of PyTorch's version and CUDA",
     .explained_by = {"FF713"},
     .subject = "mmcv",
     .source = "open-mmlab/mmcv#2059, XLearning-SCU/2022-CVPR-AirNet#5"},
    {.name = "deepspeed-op-not-built",
     .code = "FF817",
     .title = "DeepSpeed could not build its operator",
     .consequence = true,
     .patterns = {{"Unable to JIT load the", R"(Unable to JIT load the (?P<module>\w+) op due to)"},
                  {"'ds_opt_adam'", R"(object has no attribute '(?P<module>ds_opt_adam)')"}},
     .concluded =
         "{module} is compiled at its first use, and that failed: the compiler's own error stands before this line",
     .unknown = "that error, where the text begins after it",
     .mend = "ds_report (it says for each operator what is missing)",
     .explained_by = {"FF706", "FF405"},
     .source = "deepspeedai/DeepSpeed#5277, #1846, #3808"},
    {.name = "extension-not-built",
     .code = "FF817",
     .title = "an extension could not be compiled at its first use",
     .consequence = true,
     .patterns = {{"Error building extension '", R"(Error building extension '(?P<module>\w+)')"},
                  {"Error compiling objects for extension", R"(Error compiling objects for extension)"}},
     .concluded =
         "[{module}|an extension] was compiled on this machine, and that failed: the compiler's own error stands "
         "before this line, or among the lines of ninja behind it",
     .unknown = "that error, where the text does not have it: lines with \"error:\", \"fatal\" or \"FAILED:\" do",
     .explained_by = {"FF706", "FF405"},
     .source = "nerfstudio-project/gsplat#461, NVIDIA/MinkowskiEngine#346, deepspeedai/DeepSpeed#1846"},
    {.name = "flash-attn-not-seen",
     .code = "FF817",
     .title = "Transformers was asked for flash-attn and does not see it",
     .proof = Proof::kFiles,
     .patterns =
         {{"cannot be used due to the following error",
           R"((?P<library>FlashAttention\d) has been toggled on, but it cannot be used due to the following error: (?P<why>.+))"}},
     .concluded =
         "Transformers looks whether the package of {library} is installed, PyTorch sees a GPU and the version is new "
         "enough, and one of these is not so[: {why}]. No kernel was asked for",
     .unknown =
         "which, where the text does not say: a package that was compiled for another Python counts as installed",
     .mend = "attn_implementation=\"sdpa\", which PyTorch brings; or flash-attn in the wheel for "
             "this "
             "Python, PyTorch and C++ ABI (flashfit choose tells it from its release page)",
     .ask = "python -c 'import torch, flash_attn; print(torch.cuda.is_available(), flash_attn.__version__)'",
     .explained_by = {"FF401", "FF402", "FF403", "FF404", "FF201", "FF222", "FF704"},
     .source = "hiyouga/EasyR1#384, kijai/ComfyUI-Florence2#17"},
    {.name = "flash-attn-3-absent",
     .code = "FF817",
     .title = "FlashAttention 3 is not installed",
     .patterns = {{"flash_attn_3", R"(No module named '(?P<module>flash_attn_3_cuda|flash_attn_3\._C)')"}},
     .concluded =
         "{module} is FlashAttention 3, which pip install flash-attn does not bring: it is compiled from the folder "
         "hopper of its sources, and is for compute capability 9.0 (H100, H200)",
     .mend = "on other GPUs: FlashAttention 2 (the module flash_attn, without the folder hopper first in the path)",
     .explained_by = {"FF708"},
     .subject = "flash",
     .source = "Dao-AILab/flash-attention#1633"},
    {.name = "extension-module-absent",
     .code = "FF817",
     .title = "a package's compiled module is not installed",
     .proof = Proof::kFiles,
     .patterns =
         {{"No module named '",
           R"(No module named '(?P<module>(?:[\w.]*\.)?(?:\w*_cuda\w*|\w*_ext|_C(?:_\w+)?|\w+_C|exllama\w*_kernels|grouped_gemm_backend|deep_(?:ep|gemm)_cpp|transformer_engine_(?:torch|jax|extensions)))')"},
          {"cannot import name '_C'", R"(cannot import name '(?P<module>_C\w*)' from '(?P<library>[\w.]+)')"},
          // What the package was built without, by an option of its build.
          {"kernels could not be imported", R"((?P<module>\w+)(?: LoRA)? kernels could not be imported)"}},
     .concluded =
         "{module} is a module that the package's build compiles, and none is there for this Python: the build was "
         "skipped or made for another Python, or a folder of sources goes before the installed package",
     .unknown = "which package brings it, where its name does not say (exllama_kernels are auto-gptq's): the frames "
                "above name who asked",
     .explained_by = {"FF222", "FF201", "FF708", "FF402"},
     .subject = "{module}",
     .source = "Dao-AILab/flash-attention#614, #933, #1499, vllm-project/vllm#3540, NVIDIA/TransformerEngine#856, "
               "fanshiqing/grouped_gemm#22"},
};

}  // namespace

std::span<const ErrorClass> operator_errors() { return kClasses; }

}  // namespace flashfit::doctor::pasted
