// Errors of packages that open a library themselves, by a name that fits PyTorch, FFmpeg or CUDA: what they say where
// none opens.
#include "doctor/pasted/tables.hpp"

namespace flashfit::doctor::pasted {
namespace {

const ErrorClass kClasses[] = {
    {.name = "torchcodec-not-loaded",
     .code = "FF831",
     .title = "none of torchcodec's libraries loads",
     .proof = Proof::kFiles,
     .patterns = {{"Could not load libtorchcodec", R"(Could not load (?P<library>libtorchcodec))"},
                  {"The PyTorch version (", R"(The PyTorch version \((?P<here>[\w.+]+)\) is not compatible)", true}},
     .concluded =
         "torchcodec has a library for each FFmpeg, from 8 down to 4, and tried all: five errors of which four "
         "mean nothing. Either no shared FFmpeg is on the loader's path, or torchcodec is not of this "
         "PyTorch[, {here}]",
     .unknown =
         "which of the two: the error of the FFmpeg that is installed says. \"undefined symbol\" there is PyTorch's, "
         "\"cannot open shared object file\" is FFmpeg's",
     .ask =
         "pip list | grep -i -E 'torch|torchcodec'; ffmpeg -version (a static ffmpeg has no libavutil.so to load; on "
         "Windows the full-shared build has the DLLs)",
     .explained_by = {"FF402", "FF406", "FF401", "FF405", "FF404", "FF601", "FF330"},
     .subject = "torchcodec",
     .source = "meta-pytorch/torchcodec#998, #1023, #1131, #1180"},
    {.name = "operator-library-not-loaded",
     .code = "FF841",
     .title = "the library of a package's operators does not load",
     .proof = Proof::kFiles,
     .consequence = true,
     .patterns = {{"Could not load this library: ",
                   R"(Could not load this library: (?P<file>\S+\.(?:so|dll|pyd|dylib)))"},
                  {"Could not load the library '", R"(Could not load the library '(?P<file>[^']+)')"},
                  {"fbgemm_gpu_py.so not found", R"(File (?P<file>fbgemm_gpu_py\.so) not found)"}},
     .concluded =
         "PyTorch was asked to load {file}, and the loader refused it: these words hide the loader's own, which "
         "stand above them, or nowhere",
     .unknown = "what the loader said: a name that this PyTorch does not have, or a library that is missing",
     .ask = "python -c 'import torch, ctypes; ctypes.CDLL(\"{file}\")' (its error is the one to ask about)",
     .explained_by = {"FF402", "FF401", "FF406", "FF404", "FF405", "FF601", "FF603", "FF330", "FF332"},
     .source = "pytorch/FBGEMM#4754, #1235, meta-pytorch/torchrec#557"},
    {.name = "dgl-no-library",
     .code = "FF853",
     .title = "DGL has no library for this PyTorch",
     .patterns =
         {{"Cannot find DGL C++ ",
           R"(Cannot find DGL C\+\+ (?P<library>\w+) library at .*?(?P<file>lib\w+_pytorch_(?P<here>[\d.]+?\d)(?:\.post\d+)?\.(?:so|dll|dylib)))"},
          {"Cannot find DGL C++ ", R"(Cannot find DGL C\+\+ (?P<library>\w+) library)"},
          {"Cannot load Graphbolt C++ library", R"(Cannot load (?P<library>Graphbolt) C\+\+ library)"}},
     .concluded =
         "DGL picks its {library} library by PyTorch's whole version[, {here}], and this release of DGL carries "
         "none for it, or that one does not load. GPU and driver have no part in it",
     .unknown = "which versions it carries: the names of libgraphbolt_pytorch_*.so in its folder say",
     .mend = "a PyTorch that DGL names for its release, or a DGL from its index for this PyTorch "
             "(data.dgl.ai/wheels/torch-MAJOR.MINOR/cuVERSION/repo.html)",
     .explained_by = {"FF707", "FF402", "FF601"},
     .subject = "dgl",
     .source = "dmlc/dgl#7822, #7835, #7247, #7450"},
    {.name = "jax-cannot-load-library",
     .code = "FF835",
     .title = "JAX cannot load one of NVIDIA's libraries",
     .proof = Proof::kFiles,
     .patterns =
         {{"Unable to load cu", R"(Unable to load (?P<library>cu\w+)\. Is it installed\?)"},
          {"versions_helpers.cc",
           R"(versions_helpers\.cc:\d+: operation (?P<library>cu(?:sparse|solver|fft|blas|dnn|pti))\w+\(.*failed)"}},
     .concluded =
         "JAX's plug-in asks each of NVIDIA's libraries for its version, and {library} gave none: mostly a copy of "
         "a toolkit in LD_LIBRARY_PATH goes before the one that JAX's packages brought",
     .unknown = "which copy was loaded",
     .mend = "unset LD_LIBRARY_PATH, then the program again; if the error stays: pip install -U 'jax[[cuda12]]'",
     .ask = "LD_DEBUG=libs python -c 'import jax; jax.devices()' 2>&1 | grep -E 'calling init.*libcu'",
     .explained_by = {"FF603", "FF604", "FF601", "FF605", "FF330"},
     .subject = "{library}",
     .source = "jax-ml/jax#28929, #29843, #30050, conda-forge/jaxlib-feedstock#285"},
    {.name = "tensorflow-without-cudnn",
     .code = "FF819",
     .title = "TensorFlow or JAX could not start cuDNN",
     .proof = Proof::kFiles,
     .consequence = true,
     .patterns = {{"DNN library is not found", R"(DNN library is not found)"},
                  {"No DNN in stream executor", R"(No DNN in stream executor)"},
                  {"because cuDNN failed to initialize", R"(because cuDNN failed to initialize)"}},
     .concluded = "TensorFlow or JAX tried to start cuDNN before and failed; this is what a layer says of it later",
     .unknown = "why: a line above this one says (\"Loaded runtime CuDNN library: ... but source was compiled with\", "
                "\"Could not create cudnn handle\"); without such a line mostly the GPU's memory is full",
     .ask = "the log from its beginning, as TF_CPP_MIN_LOG_LEVEL=0 writes it; nvidia-smi (is the memory full?)",
     .explained_by = {"FF603", "FF604", "FF605", "FF606", "FF601"},
     .subject = "cudnn",
     .source = "tensorflow/tensorflow#55309, stardist/stardist#228, leondgarse/Keras_insightface#130"},
    {.name = "pyg-library-absent",
     .code = "FF817",
     .title = "a library of PyTorch Geometric's packages is not there",
     .proof = Proof::kFiles,
     .patterns = {{"'NoneType' object has no attribute 'origin'", R"('NoneType' object has no attribute 'origin')"},
                  {"Could not find module '_version", R"(Could not find module '(?P<module>_version\w*)')"}},
     .concluded =
         "torch_scatter, torch_sparse and their like look for their compiled library when they are imported, and "
         "it is not in the package: it was installed without being compiled, or its sources are in the "
         "folder where Python was started",
     .mend = "pip install --force-reinstall --no-index PACKAGE -f the page of data.pyg.org for this PyTorch and CUDA",
     .explained_by = {"FF402", "FF222", "FF406", "FF404"},
     .source = "rusty1s/pytorch_scatter#205, #170"},
    {.name = "own-library-absent",
     .code = "FF817",
     .title = "a package does not find a library of its own",
     .proof = Proof::kFiles,
     .patterns = {{"hared object file",
                   R"((?i)could not find (?:the )?shared object files?(?: for)?:? +(?P<library>.+?)\.?$)"},
                  {"Shared library with base name",
                   R"(Shared library with base name '(?P<library>[\w.+-]+)' not found)"},
                  // Transformer Engine's own search, which ends in a bare StopIteration.
                  {"next(so_dir.glob(", R"(next\((?P<search>so_dir\.glob)\()"},
                  {"AssertionError: Could not find lib",
                   R"(AssertionError: Could not find (?P<library>lib[\w.+-]+\.(?:so|dll|dylib)\b[\w.]*))"}},
     .concluded =
         "[{library}|its compiled part] is what the package looks for among its own files, by their names, and it is "
         "not there: that part "
         "is compiled at installation, or is a package of its own, and was left out; or a folder of its sources goes "
         "before what was installed. GPU and driver were not asked",
     .unknown = "which of these: what the installation said, and where the package was imported from",
     .ask = "pip install --no-build-isolation --no-cache-dir --force-reinstall --no-deps -v PACKAGE, from a folder "
            "without its sources (its last lines say what was not compiled, and why)",
     .explained_by = {"FF222", "FF201", "FF402", "FF601", "FF708"},
     .subject = "{library}",
     .source = "NVIDIA/TransformerEngine#1981, #2505, #1109, #1541, nvidia-cosmos/cosmos-transfer1#208, "
               "abetlen/llama-cpp-python#1764"},
    {.name = "mamba-extension-absent",
     .code = "FF817",
     .title = "Mamba's compiled scan is not there",
     .proof = Proof::kFiles,
     .patterns = {{"selective_scan", R"(name '(?P<module>selective_scan_(?:cuda\w*|fn))' is not defined)"},
                  {"causal_conv1d", R"(name '(?P<module>causal_conv1d_(?:cuda\w*|fn))' is not defined)"},
                  // What is None is the module whose import was passed over.
                  {"'NoneType' object has no attribute 'causal_conv1d",
                   R"('NoneType' object has no attribute '(?P<module>causal_conv1d)_\w+')"}},
     .concluded =
         "the import of {module} failed, the package went on without saying so, and now it is called: the module "
         "is another package's (mamba-ssm, causal-conv1d or a kernels/selective_scan folder of the model's "
         "own), is not compiled, or is built for another PyTorch",
     .unknown = "which of these",
     .ask = "python -c 'import torch, {module}' (what that import raises is the error to ask about)",
     .explained_by = {"FF402", "FF401", "FF403", "FF404", "FF406", "FF222", "FF201"},
     .subject = "{module}",
     .source = "state-spaces/mamba#753, #467, MzeroMiko/VMamba#313, #124"},
};

}  // namespace

std::span<const ErrorClass> plugin_errors() { return kClasses; }

}  // namespace flashfit::doctor::pasted
