// Errors of installers, and of packages that pick one of several files.
#include "doctor/pasted/tables.hpp"

namespace flashfit::doctor::pasted {
namespace {

const ErrorClass kClasses[] = {
    {.name = "wheel-not-supported",
     .code = "FF850",
     .title = "the wheel's name is for another Python or system",
     .proof = Proof::kFiles,
     .patterns = {{"is not a supported wheel on this platform",
                   R"((?P<wheel>[^\s/\\'"]+\.whl) is not a supported wheel on this platform)"},
                  {"is not compatible with this Python",
                   R"((?P<wheel>[^\s/\\'"]+\.whl)[`'"]? is not compatible with this Python)"},
                  {"is not compatible with the current platform",
                   R"((?P<wheel>[^\s/\\'"]+\.whl).* is not compatible with the current platform)"},
                  {"has an invalid wheel", R"((?P<wheel>[^\s/\\'"]+\.whl).*has an invalid wheel)"}},
     .concluded = "the installer read the file name of {wheel}, and none of its tags is one that this Python on this "
                  "system asks for. No option bypasses that: --force-reinstall and --no-deps change nothing",
     .unknown = "which tag it is, without knowing the Python; and whether the wheel would load afterwards",
     .explained_by = {"FF201", "FF202", "FF203", "FF206"},
     .source = "PyPA, \"Platform compatibility tags\""},
    {.name = "no-matching-distribution",
     .code = "FF851",
     .title = "the index has no file of this package for this Python and system",
     .patterns =
         {{"No matching distribution found for", R"(No matching distribution found for (?P<requirement>[^\s]+))"},
          {"Could not find a version that satisfies",
           R"(Could not find a version that satisfies the requirement (?P<requirement>[^\s]+) \(from versions: (?:none|(?P<versions>[^)]*))\))"},
          {"can't be installed because it doesn't have",
           R"(Distribution `(?P<requirement>\S+?)(?: @ [^`]*)?` can't be installed because it doesn't have a source distribution or wheel)"},
          // uv's: "torch{sys_platform == 'win32'}==2.7.1+cu128"
          {"has no wheels with a matching",
           R"((?P<requirement>[\w.-]+)(?:\[[\w,-]+\])?(?:\{[^}]*\})?(?P<pin>[=<>!~]=?[^\s]+)? has no wheels with a matching (?P<what>Python \w+(?: \w+)? tag|platform tag|Python implementation))"},
          {" has no `",
           R"(ecause (?P<requirement>[\w.-]+)(?:\[[\w,-]+\])?(?:\{[^}]*\})?(?P<pin>[=<>!~]=?[^\s]+)? has no `)"},
          {"is unusable because no wheels are available",
           R"((?P<requirement>[\w.-]+)(?:\[[\w,-]+\])?(?:\{[^}]*\})?(?P<pin>[=<>!~]=?[^\s]+)? is unusable because no wheels are available(?: with a matching (?P<what>Python \w+|platform))?)"},
          {"heels ",
           R"((?:has wheels|heels are available|found wheels) (?:for `[^`]+`(?: \([^)]*\))? )?(?:on|for|with) the following (?:platforms?|(?:platform|Python (?:version|implementation|ABI)) tags?): (?P<versions>.+))",
           true}},
     .concluded = "of {requirement} the index has nothing that this Python on this system takes[ (no wheel has a "
                  "matching {what})][; for it there is: {versions}]",
     .unknown = "whether the version does not exist, or exists for another Python",
     .mend = "pip download --no-deps --only-binary :all: --python-version 3.12 '{requirement}' tells whether another "
             "Python is served",
     .explained_by = {"FF201", "FF202", "FF203"},
     .source = "pip, \"Finding packages\"; astral-sh/uv#10843, #622, #2538, gersteinlab/LocAgent#10"},
    {.name = "index-lacks-version",
     .code = "FF851",
     .title = "the index that was asked has no such release",
     .patterns =
         {{"no version of ",
           R"(there (?:is|are) no versions? of (?P<requirement>[\w.-]+)(?:\[[\w,-]+\])?(?:\{[^}]*\})?(?P<pin>[=<>!~]=?[^\s,]+)?)"},
          {"was not found in the ",
           R"((?P<requirement>[\w.-]+) was not found in the (?:package registry|provided package locations))"}},
     .concluded = "uv asks for a package the first index that has its name, and {requirement} is not there: it may be "
                  "on another index (PyTorch's builds with a label, as +cu128, are on PyTorch's own), or does not "
                  "exist. Python, GPU and driver were not asked",
     .unknown = "which of the two: the releases of each index stand on its own page",
     .mend = "--index-strategy unsafe-best-match, which asks every index for every package; or the package given its "
             "index by name in [[tool.uv.sources]]",
     .explained_by = {"FF755"},
     .source = "astral-sh/uv#10604, #9597"},
    {.name = "no-build-variant",
     .code = "FF852",
     .title = "the kernel hub has no build for this PyTorch",
     .patterns =
         {{"Cannot find a build variant for this system",
           R"(Cannot find a build variant for this system in (?P<package>[^\s(]+)(?:.*\(variant: (?P<wanted>[\w.-]+)\))?)"},
          {"does not have a build variant", R"((?P<package>[\w./-]+) .*does not have a build variant)"},
          {"does not match environment Torch version",
           R"(Torch version \((?P<carried>[\d.]+)\) does not match environment Torch version \((?P<torch>[\d.]+)\))",
           true}},
     .concluded = "{package} lists its builds by PyTorch, C++ ABI, CUDA and system, and none is for this one[: PyTorch "
                  "here is {torch}][, the newest build that it names is for {carried}][ ({wanted})]",
     .unknown = "whether a later version of it is built on PyTorch's stable ABI, which takes any newer PyTorch",
     .explained_by = {"FF711"},
     .subject = "{package}",
     .source = "huggingface/kernels-community#1082"},
    {.name = "cuda-binary-not-found",
     .code = "FF853",
     .title = "the package has no file for this PyTorch's CUDA",
     .patterns =
         {{"Configured CUDA binary not found",
           R"(Configured CUDA binary not found at (?P<file>\S*?libbitsandbytes_cuda(?P<cuda>\d+)\w*\.(?:so|dll)))"},
          {"Could not find the bitsandbytes CUDA binary",
           R"(Could not find the bitsandbytes CUDA binary at .*?(?P<file>[^\s'"(]*libbitsandbytes_cuda(?P<cuda>\d+)\w*\.(?:so|dll)))"},
          {"Required library version not found",
           R"(Required library version not found: (?P<file>libs?bitsandbytes_(?:cuda(?P<cuda>\d+)\w*|cpu)\.(?:so|dll)))"}},
     .concluded = "[bitsandbytes picks its library by PyTorch's CUDA version ({cuda}), or by BNB_CUDA_VERSION where "
                  "that is set, and this release carries none for it. GPU and driver have no part in it|bitsandbytes "
                  "found no CUDA in this environment and looked "
                  "for {file}, its library for CPUs, which this release does not carry either: releases before 0.43 "
                  "have none for Windows]",
     .unknown = "which versions it carries: the names of libbitsandbytes_cuda*.so beside it say",
     .explained_by = {"FF707"},
     .subject = "cuda{cuda}",
     .source = "bitsandbytes-foundation/bitsandbytes#1848, #138, #228, jllllll/bitsandbytes#4"},
    {.name = "built-for-another-python",
     .code = "FF842",
     .title = "a module for another Python",
     .proof = Proof::kFiles,
     .patterns =
         {{"Python version mismatch: module was compiled for",
           R"(module was compiled for Python (?P<built>[\d.]+), (?:but the interpreter version is incompatible: (?P<here>[\d.]+)|while the interpreter is running Python (?P<here2>[\d.]+)))"}},
     .concluded = "[{file}|an extension module] was compiled for another Python[: {built}][, and this one is {here}]",
     .explained_by = {"FF222", "FF201"},
     .source = "CPython, \"Stable Application Binary Interface\""},
    {.name = "no-such-module",
     .code = "FF842",
     .title = "a library was found under a module's name and is not that module",
     .proof = Proof::kFiles,
     .patterns = {{"dynamic module does not define module export function",
                   R"(dynamic module does not define module export function \(PyInit_(?P<module>\w+)\))"},
                  {"dynamic module does not define init function",
                   R"(dynamic module does not define init function \((?:PyInit_|init)(?P<module>\w+)\))"}},
     .concluded =
         "Python loaded a file named {module} and found no PyInit_{module} in it: the file is a library without a "
         "module (operators for torch.ops, which torch.ops.load_library opens), is a module that was compiled under "
         "another name or for Python 2, or is what an earlier or broken build left. A missing GPU or PyTorch would "
         "have said something else",
     .unknown = "which of these, and which file was loaded",
     .mend = "the file deleted, with the package's build folder and ~/.cache/torch_extensions, and the package built "
             "again in one go",
     .ask = "python -c 'import importlib.util as u; print(u.find_spec(\"{module}\"))' (the file; within a package with "
            "the package's name before it), then nm -D FILE | grep PyInit",
     .explained_by = {"FF222", "FF201", "FF713"},
     .source = "nerfstudio-project/gsplat#583, Evan-sudo/Swift_WRF#2"},
};

}  // namespace

std::span<const ErrorClass> install_errors() { return kClasses; }

}  // namespace flashfit::doctor::pasted
