// What the figures of a message mean. One function a kind of error that has figures.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <optional>
#include <utility>

#include "core/base/ascii.hpp"
#include "core/base/printable.hpp"
#include "core/gpu/driver_versions.hpp"
#include "core/gpu/limits.hpp"
#include "doctor/facts/torch_facts.hpp"
#include "doctor/facts/torch_symbols.hpp"
#include "doctor/gpu_code/what_runs_where.hpp"
#include "doctor/knowledge/cuda_library_rows.hpp"
#include "doctor/knowledge/torch_names.hpp"
#include "doctor/knowledge/torch_releases.hpp"
#include "doctor/pasted/evidence.hpp"
#include "doctor/pasted/regex.hpp"
#include "doctor/pasted/requested_torch.hpp"
#include "doctor/pasted/symbol_owner.hpp"
#include "doctor/rules/torch_requirement.hpp"

namespace flashfit::doctor::pasted {
namespace {

using Lines = std::vector<std::string>;

constexpr int kCapabilities[] = {70, 75, 80, 86, 87, 89, 90, 100, 103, 110, 120, 121};
constexpr std::int64_t kKilobyte = 1024;

std::string capability(int decimal) { return fmt::format("{}.{}", decimal / 10, decimal % 10); }

std::string field(const Diagnosis& diagnosis, const char* name) {
  const auto found = diagnosis.error.fields.find(name);
  return found == diagnosis.error.fields.end() ? "" : found->second;
}

/// -1: no such number.
std::int64_t number(const std::string& text) {
  std::int64_t value = 0;
  const char* const end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, value);
  return error == std::errc{} && stop == end && !text.empty() ? value : -1;
}

std::string kilobytes(std::int64_t bytes) {
  return bytes % kKilobyte == 0 ? fmt::format("{} KB", bytes / kKilobyte)
                                : fmt::format("{:.1f} KB", static_cast<double>(bytes) / kKilobyte);
}

/// "8.0, 8.7, 9.0": those whose blocks can opt in to this much.
std::string capabilities_with(std::int64_t bytes) {
  Lines all;
  for (const int cc : kCapabilities)
    if (max_shared_bytes(cc) >= bytes) all.push_back(capability(cc));
  return fmt::format("{}", fmt::join(all, ", "));
}

/// What mends a kernel whose static shared memory is above every GPU's limit of that, for GPUs whose blocks may opt in
/// to `most`.
std::string mend_of_static(std::int64_t bytes, std::int64_t most) {
  const std::string opt_in =
      "dynamic shared memory instead of static, with cudaFuncAttributeMaxDynamicSharedMemorySize";
  if (bytes <= most) return fmt::format("{} set to {}", opt_in, bytes);
  return fmt::format("a smaller tile or fewer stages: {} at most as static shared memory; {} at most as {}",
                     kilobytes(kStaticSharedBytes), kilobytes(most), opt_in);
}

Remarks shared_memory(const Diagnosis& diagnosis, const Question& question) {
  const std::int64_t bytes = number(field(diagnosis, "bytes")), limit = number(field(diagnosis, "limit"));
  if (bytes < 0 || limit < 0) return {};
  Lines lines;
  if (limit == kStaticSharedBytes)
    lines.push_back(
        fmt::format("{} is the limit of static shared memory on every GPU, not what this GPU has: as "
                    "dynamic shared memory a block may opt in to more",
                    kilobytes(limit)));
  std::int64_t least = 0;
  for (const doctor::AskedGpu& gpu : question.gpus) {
    const std::int64_t most = max_shared_bytes(gpu.gpu.cc.decimal());
    if (most == 0) continue;
    least = least == 0 ? most : std::min(least, most);
    lines.push_back(fmt::format("{} ({}): {} a block by opting in; {} {}", gpu.gpu.name, gpu.gpu.cc.str(),
                                kilobytes(most), kilobytes(bytes), bytes <= most ? "fit" : "do not fit"));
  }
  const std::string fitting = capabilities_with(bytes);
  lines.push_back(fitting.empty() ? fmt::format("{} fit no GPU's block", kilobytes(bytes))
                                  : fmt::format("{} fit a block of compute capability {}", kilobytes(bytes), fitting));
  const bool is_static = limit == kStaticSharedBytes && least != 0;
  return {.lines = std::move(lines), .mend = is_static ? mend_of_static(bytes, least) : ""};
}

/// "; torch 2.10 and later have it".
std::string having(const std::string& symbol) {
  const std::string releases = doctor::releases_with(symbol);
  if (releases.empty()) return "";
  const bool one = releases.find(' ') == std::string::npos;  // "2.10", and not "2.10 and later"
  return fmt::format("; torch {} {} it", releases, one ? "has" : "have");
}

bool is_ffmpeg_symbol(std::string_view symbol) {
  constexpr std::string_view kStarts[] = {"av_",       "avcodec_", "avdevice_", "avfilter_",
                                          "avformat_", "avio_",    "swr_",      "sws_"};
  return std::any_of(std::begin(kStarts), std::end(kStarts), [&](auto start) { return symbol.starts_with(start); });
}

/// "libavutil.so.56 is of FFmpeg 4: ..."; nothing of another library. Source: FFmpeg's releases 4.0 to 8.0.
Lines of_ffmpeg(const std::string& name) {
  constexpr std::pair<std::string_view, int> kBefore[] = {{"libavutil", 52},   {"libavcodec", 54}, {"libavformat", 54},
                                                          {"libavdevice", 54}, {"libavfilter", 3}, {"libswscale", 1}};
  static const Regex kName(R"(^(?P<library>lib(?:av|sw)\w+)\.so\.(?P<release>\d+))");
  Fields fields;
  if (!kName.finds(name, fields)) return {};
  for (const auto& [library, before] : kBefore)
    if (const auto release = number(fields["release"]) - before; library == fields["library"] && release > 0)
      return {
          fmt::format("{} is of FFmpeg {}: the system's packages, or conda's ffmpeg, bring it as a shared library; "
                      "a static ffmpeg program does not",
                      printable(name), release)};
  return {};
}

/// Names of what stands under every compiled file: the C++ library, nvcc's registration, the CUDA runtime, OpenMP.
Lines missing_runtime(const std::string& symbol) {
  static const Regex kCxx(R"(^(?:_ZN?K?S[tabsiod]|_ZT[VIS]N?S[tabsiod]|__cxa_|__gxx_))");
  static const Regex kOpenMp(R"(^(?:GOMP_|omp_[a-z]|__kmpc_))");
  Fields fields;
  if (symbol.find("St10filesystem") != std::string::npos)
    return {
        "the name is the C++ library's: std::filesystem is in libstdc++ from GCC 9 on; of GCC 8 it is in "
        "libstdc++fs.a, "
        "which the build did not link. Built again by GCC 9 or later (or with -lstdc++fs), the file loads; PyTorch and "
        "CUDA have no part in it"};
  if (kCxx.finds(symbol, fields))
    return {
        "the name is the C++ library's: the libstdc++ that was loaded first is older than the one that the file was "
        "built with (conda's and the system's are two; conda install -c conda-forge libstdcxx-ng, or LD_PRELOAD of the "
        "newer), or the file was linked by a C compiler, without it. PyTorch and CUDA have no part in it"};
  if (symbol.starts_with("__cudaRegisterLinkedBinary"))
    return {
        "the name is nvcc's, of device code that is put together in a second step (-rdc=true): the build left that "
        "step "
        "out (nvcc -dlink, with the static libraries that have device code), so that the file was never whole. Built "
        "again from a clean folder; PyTorch has no part in it"};
  if (symbol.starts_with("cuda") || symbol.starts_with("__cuda"))
    return {
        "the name is the CUDA runtime's (libcudart): the libcudart that was loaded is older than the one that the file "
        "was built with, or the file does not name it among what it needs and nothing loaded it before"};
  if (kOpenMp.finds(symbol, fields))
    return {
        "the name is of OpenMP's runtime (libgomp, libomp or libiomp5): the file was linked without it and no module "
        "loaded it before, or an older one was loaded"};
  return {};
}

/// A name of a library that is none of PyTorch's: the two are of different releases, or nothing loaded the second.
Lines owned_by_another(const std::string& symbol) {
  if (const std::string_view glibc = first_glibc_with(symbol); !glibc.empty())
    return {
        fmt::format("the name is the C library's, of glibc {} and later: the file was built on a newer system than "
                    "this one, and no package changes that. An older release of the package, or a newer system or "
                    "base image",
                    glibc)};
  const std::string_view owner = owner_of(symbol);
  if (owner.empty()) return {};
  Lines lines = {
      fmt::format("the name is {}: another release of it was loaded than the one that the file was built "
                  "for, or nothing loaded it before. PyTorch and the GPU have no part in it",
                  owner)};
  if (doctor::string_abi_of(symbol) == doctor::TorchAbi::kCxx11)
    lines.emplace_back(
        "it has a std::string of the new C++ ABI: a build of that library with the old one lacks every such name");
  return lines;
}

/// Functions that were taken out of a library of NVIDIA's. Source: cuSPARSE's release notes of CUDA 11.0 and 12.0.
Lines removed_function(const Diagnosis& diagnosis, const Question&) {
  static const Regex kIn11(R"(^cusparse[SDCZ](?:csrmv(?:_mp)?|csrmm2?|hybmv|doti|dotci|csr2hyb|hyb2csr|cscmm)$)");
  static const Regex kIn12(
      R"(^cusparse[SDCZ](?:gthrz?|sctr|axpyi|roti|csrsv2_\w+|csrsm2_\w+|csrgemm2|csrgemm2_\w+|csr2csc)$)");
  const std::string symbol = field(diagnosis, "symbol");
  Fields fields;
  const int cuda = kIn11.finds(symbol, fields) ? 11 : kIn12.finds(symbol, fields) ? 12 : 0;
  if (cuda == 0) return {};
  return {
      fmt::format("CUDA {} has {} no more: the file was built with an older CUDA, and the copy that was loaded is "
                  "the newer of the two; built again, from sources that know CUDA {}, it would load",
                  cuda, symbol, cuda)};
}

Lines missing_symbol(const Diagnosis& diagnosis, const Question&) {
  const std::string symbol = field(diagnosis, "symbol");
  if (symbol.starts_with("Py") || symbol.starts_with("_Py"))
    return {"the name is Python's: the file was built for another Python"};
  if (doctor::is_stable_torch_symbol(symbol))
    return {"the name is of PyTorch's stable ABI: the PyTorch that was loaded is older than the one it was built for" +
            having(symbol)};
  if (doctor::is_torch_python_symbol(symbol))
    return {
        "the name is of PyTorch's own Python module: `import torch` goes before the import of the file that asks for "
        "it; if it did, that file was built for another PyTorch"};
  if (is_ffmpeg_symbol(symbol))
    return {"the name is FFmpeg's: another release of FFmpeg was loaded than the one that the file was built for"};
  if (!doctor::is_torch_symbol(symbol)) {
    if (Lines lines = missing_runtime(symbol); !lines.empty()) return lines;
    const std::string own = namespace_of(symbol), file = field(diagnosis, "file");
    if (!own.empty() && file.find("/" + own + "/") != std::string::npos)
      return {
          fmt::format("the name is {0}'s own, as the file is: the files of {0} are of two releases or builds (one "
                      "was copied in, or left by an earlier installation), or the part with it was left out of the "
                      "build; installed anew, it is whole",
                      own)};
    if (Lines lines = owned_by_another(symbol); !lines.empty()) return lines;
    // A function of nobody's namespace that takes PyTorch's types.
    if (symbol.find("N2at") == std::string::npos && symbol.find("N3c10") == std::string::npos) return {};
    return {
        "the name is none of PyTorch's and takes its types: it is a function of the package itself, whose source was "
        "left out of the build (kernels for GPUs that the build did not name, or that its nvcc did not know), or is "
        "of another revision: built again from a clean folder"};
  }
  Lines lines = {"the name is PyTorch's: the file was built for another version or another build of PyTorch" +
                 having(symbol)};
  const doctor::TorchAbi abi = doctor::string_abi_of(symbol);
  if (abi == doctor::TorchAbi::kCxx11)
    lines.emplace_back(
        "it has a std::string of the new C++ ABI (cxx11abiTRUE): a PyTorch of the old one lacks every "
        "such name");
  if (abi == doctor::TorchAbi::kPreCxx11)
    lines.emplace_back(
        "it has a std::string of the old C++ ABI (cxx11abiFALSE): PyTorch's wheels have the new one "
        "from 2.7 on, those of CUDA 12.6 from 2.6 on");
  if (abi == doctor::TorchAbi::kEither)
    lines.emplace_back("it has no std::string: the C++ ABI is not what it is about, the version is");
  return lines;
}

Lines old_driver(const Diagnosis& diagnosis, const Question&) {
  const std::int64_t found = number(field(diagnosis, "found"));
  if (found < 1000 || found > 100'000) return {};
  Lines lines = {fmt::format("found version {} is CUDA {}, the newest that this driver serves", found,
                             field(diagnosis, "found_cuda"))};
  if (found < 13000)
    lines.emplace_back(
        "PyTorch made with CUDA 13 needs driver 580 or later, with CUDA 12 driver 525 or later; its own "
        "index has builds of older ones under their names (cu126, cu128)");
  return lines;
}

/// The CUDA toolkits whose compilers know a target. Source: the toolkits' release notes; PTX ISA, "Release Notes".
Lines known_to_toolkits(const Diagnosis& diagnosis, const Question&) {
  const auto target = doctor::parse_gpu_target(field(diagnosis, "arch"));
  if (!target) return {};
  const int cc = target->architecture;
  const bool family = target->scope == TargetScope::kFamily;
  // What is dropped is asked for by lists of architectures that are older than the toolkit.
  const char* const last = cc == 0 || cc >= 75 ? "" : cc < 30 ? "8.0" : cc < 35 ? "10.2" : cc < 50 ? "11.8" : "12.9";
  if (*last != '\0')
    return {
        fmt::format("{} is known to CUDA's compilers up to {}: a newer toolkit has dropped it, and a list of "
                    "architectures without it is what mends the build (TORCH_CUDA_ARCH_LIST, "
                    "CMAKE_CUDA_ARCHITECTURES, the package's setup.py); for such a GPU that older toolkit",
                    field(diagnosis, "arch"), last)};
  const char* toolkit = "";
  if (cc == 89 || cc == 90) toolkit = target->scope == TargetScope::kPlain ? "11.8" : "12.0";
  if (cc == 100 || cc == 101 || cc == 120) toolkit = family ? "12.9" : "12.8";
  if (cc == 103 || cc == 121) toolkit = "12.9";
  if (cc == 88 || cc == 110) toolkit = "13.0";
  if (*toolkit == '\0') return {};
  return {fmt::format("{} is known to CUDA's compilers from {} on", field(diagnosis, "arch"), toolkit)};
}

/// What PyTorch says that it has: each target, or the first and the last.
std::vector<doctor::CodeEntry> code_said(const Diagnosis& diagnosis) {
  std::vector<doctor::CodeEntry> entries;
  const std::string carried = field(diagnosis, "carried");
  for (const std::string_view word : split(carried, ' ')) {
    const auto target = doctor::parse_gpu_target(word);
    if (!target) continue;
    const auto kind = word.starts_with("compute_") ? doctor::CodeEntry::Kind::kPtx : doctor::CodeEntry::Kind::kSass;
    entries.push_back({.kind = kind, .target = *target});
  }
  for (const char* bound : {"lowest", "highest"})
    if (const auto gpu = name_gpu(field(diagnosis, bound)))
      entries.push_back({.target = {.architecture = gpu->cc.decimal()}});
  return entries;
}

/// PyTorch's own list against the GPU, by the doctor's rules: it warns of GPUs that run the code of a lower minor.
Remarks carried_list(const Diagnosis& diagnosis, const Question& question) {
  const auto entries = code_said(diagnosis);
  if (question.gpus.size() != 1 || entries.empty()) return {};
  const NamedGpu& gpu = question.gpus.front().gpu;
  const doctor::Answer answer = doctor::best_of(entries, {gpu.name, gpu.cc, question.driver});
  if (answer.best == doctor::Best::kNo) return {{answer.reason}};
  return {{fmt::format("by what PyTorch says that it has it runs on {} ({}): the warning is mistaken, and an error has "
                       "another cause",
                       gpu.name, gpu.cc.str())},
          true};
}

/// "12" of cublas64_12.dll, "11" of cudart64_110.dll, "10.2" of libcudart.so.10.2: of libraries that are numbered as
/// their toolkits are; "" of others.
std::string toolkit_in_name(const std::string& name) {
  static const Regex kSo(R"(^lib(?:cudart|cublas|cublasLt|nvrtc)\.so\.(?P<cuda>\d{1,2}(?:\.\d)?))");
  static const Regex kDll(R"((?i)^(?:cudart|cublas|cublasLt|nvrtc)64_(?P<cuda>\d{2})(?P<minor>\d?)(?:_\d+)?\.dll$)");
  Fields fields;
  if (kSo.finds(name, fields)) return fields["cuda"];
  if (!kDll.finds(name, fields)) return "";
  // cublas64_10.dll, cudart64_101.dll, cudart64_12.dll.
  const auto minor = fields.find("minor");
  return minor == fields.end() || minor->second == "0" ? fields["cuda"] : fields["cuda"] + "." + minor->second;
}

/// "8" of cudnn_ops_infer64_8.dll; "" of others.
std::string cudnn_in_name(const std::string& name) {
  static const Regex kDll(R"((?i)^cudnn\w*64_(?P<release>\d)\.dll$)");
  Fields fields;
  return kDll.finds(name, fields) ? fields["release"] : "";
}

/// Rows for "libnvJitLink.so", as programs open it that take any release; none of a name with a number.
std::vector<const doctor::CudaLibrary*> libraries_without_number(const std::string& name) {
  std::vector<const doctor::CudaLibrary*> found;
  if (!name.ends_with(".so")) return found;
  for (const char* const number : {".13", ".12", ".11", ".9", ".10", ".2", ".1", ".0"})
    for (const doctor::CudaLibrary* const library : doctor::cuda_libraries_named(name + number))
      if (library->cuda >= 12) found.push_back(library);
  return found;
}

/// The main version of CUDA that the text's PyTorch is built for; 0: not known.
int cuda_of_named_torch(const Diagnosis& diagnosis) {
  const auto version = doctor::parse_version(diagnosis.named.torch);
  if (!version) return 0;
  static const Regex kLabel(R"(^cu(?P<main>\d{2})\d$)");
  Fields fields;
  if (kLabel.finds(version->local, fields)) return static_cast<int>(number(fields["main"]));
  const doctor::TorchRelease* const release = doctor::torch_release_of(*version);
  return version->local.empty() && release != nullptr ? release->cuda.front() / 1000 : 0;
}

/// A library of CUDA `cuda`, and a PyTorch in the text that is built for another.
void add_other_cuda(const Diagnosis& diagnosis, int cuda, Lines& lines) {
  const int torch = cuda_of_named_torch(diagnosis);
  if (torch == 0 || cuda == 0 || torch == cuda) return;
  lines.push_back(
      fmt::format("torch {} in the text is built for CUDA {}: the package that asks for a library of CUDA "
                  "{} was built for another PyTorch's CUDA. Its build for CUDA {}, or a PyTorch of CUDA {}",
                  printable(diagnosis.named.torch), torch, cuda, torch, cuda));
}

/// "libcudnn_ops.so.9" of "libcudnn_ops.so.9.1.0"; "" of what has no number.
std::string name_with_one_number(const std::string& name) {
  static const Regex kName(R"(^(?P<name>lib[\w+-]+\.so\.\d+)(?:\.\d+)*$)");
  Fields fields;
  return kName.finds(name, fields) ? fields["name"] : "";
}

Lines missing_library(const Diagnosis& diagnosis, const Question&) {
  const std::string path = field(diagnosis, "library");
  const std::size_t slash = path.find_last_of("/\\");
  const std::string name = path.substr(slash == std::string::npos ? 0 : slash + 1);
  if (Lines lines = of_ffmpeg(name); !lines.empty()) return lines;
  if (name.starts_with("libpython"))
    return {
        fmt::format("{} is Python itself as a shared library: a module was linked with it, which modules need not "
                    "be. This Python is built without it, or has it in a folder that the loader does not search: "
                    "the folder that python -c 'import sysconfig; print(sysconfig.get_config_var(\"LIBDIR\"))' "
                    "prints goes into LD_LIBRARY_PATH, or the system's package (libpython3.x) brings it",
                    printable(name))};
  auto libraries = doctor::cuda_libraries_named(name);
  // "libcudnn_ops.so.9.1.0": the name of the file, of which "libcudnn_ops.so.9" is what loaders ask for.
  if (libraries.empty()) libraries = doctor::cuda_libraries_named(name_with_one_number(name));
  if (libraries.empty()) libraries = libraries_without_number(name);
  if (libraries.empty()) {
    const std::string cuda = toolkit_in_name(name);
    if (const std::string cudnn = cudnn_in_name(name); !cudnn.empty())
      return {
          fmt::format("{} is of cuDNN {}: the package nvidia-cudnn-cu12 (or -cu11, -cu13) of that main version brings "
                      "it, in nvidia\\cudnn\\bin, which must be in PATH; another main version has no such file",
                      printable(name), cudnn),
          "the GPU code is not at fault: it was not reached"};
    if (cuda.empty()) return {};
    Lines lines = {
        fmt::format("{} is of CUDA {}: the program was built for that CUDA, and its toolkit, or NVIDIA's packages of "
                    "it, bring the library",
                    printable(name), cuda),
        "the GPU code is not at fault: it was not reached"};
    add_other_cuda(diagnosis, static_cast<int>(number(cuda.substr(0, cuda.find('.')))), lines);
    return lines;
  }
  Lines lines;
  for (const doctor::CudaLibrary* const library : libraries)
    lines.push_back(fmt::format("{} is of CUDA {}: the package {} brings it, in {}", name, library->cuda,
                                library->package, library->folder));
  lines.emplace_back("the GPU code is not at fault: it was not reached");
  if (libraries.size() == 1) add_other_cuda(diagnosis, libraries.front()->cuda, lines);
  return lines;
}

/// The compute capability that a host gate asks for, in any of its words; nothing where it gives none.
std::optional<int> wanted_capability(const std::string& text) {
  static const Regex kNumbers(R"((?P<major>\d{1,2})\.(?P<minor>\d)|sm_?(?P<decimal>\d{2,3})|is_sm(?P<flag>\d{2,3}))");
  constexpr std::pair<std::string_view, int> kNames[] = {{"Volta", 70}, {"Turing", 75},    {"Ampere", 80},
                                                         {"A100", 80},  {"Ada", 89},       {"Hopper", 90},
                                                         {"H100", 90},  {"Blackwell", 100}};
  Fields fields;
  if (kNumbers.finds(text, fields)) {
    for (const char* const whole : {"decimal", "flag"})
      if (fields.contains(whole)) return static_cast<int>(number(fields[whole]));
    constexpr int kTen = 10;
    return static_cast<int>(number(fields["major"])) * kTen + static_cast<int>(number(fields["minor"]));
  }
  for (const auto& [name, capability] : kNames)
    if (text.find(name) != std::string::npos) return capability;
  return std::nullopt;
}

/// Whether the GPU is beneath what the check wants, or later than its list.
Lines refused_gpu(const Diagnosis& diagnosis, const Question& question) {
  const auto wanted = wanted_capability(field(diagnosis, "wants"));
  Lines lines;
  if (!wanted) return lines;
  for (const doctor::AskedGpu& gpu : question.gpus) {
    const std::string name = fmt::format("{} ({})", gpu.gpu.name, gpu.gpu.cc.str());
    lines.push_back(
        gpu.gpu.cc.decimal() < *wanted
            ? fmt::format("{} is before {}: the check is right about it", name, capability(*wanted))
            : fmt::format("{} is not before {}: the check does not know it, and a later release of the library "
                          "may",
                          name, capability(*wanted)));
  }
  return lines;
}

/// Which release of the package is for the PyTorch that was installed beside it.
Lines other_release(const Diagnosis& diagnosis, const Question&) {
  const std::string library = field(diagnosis, "library"), here = field(diagnosis, "here");
  doctor::TorchFacts torch;
  if (auto version = doctor::parse_version(here)) torch.version = std::move(*version);
  const std::string release = doctor::release_for(library, torch);
  if (release.empty()) return {};
  return {fmt::format("{} {} is the release for torch {}", printable(library), release, printable(here))};
}

struct OfKind {
  std::string_view kind;
  Lines (*lines)(const Diagnosis&, const Question&);
};
constexpr OfKind kRemarks[] = {
    {"undefined-symbol", missing_symbol},
    {"nvidia-library-versions", removed_function},
    {"driver-too-old", old_driver},
    {"requirement-of-another-torch", other_release},
    {"torchao-other-torch", other_release},
    {"architecture-unknown-to-tool", known_to_toolkits},
    {"assembler-failed", known_to_toolkits},
    {"jit-compiler-without-gpu", known_to_toolkits},
    {"library-not-found", missing_library},
    {"falls-back-to-cpu", missing_library},
    {"nvrtc-builtins-absent", missing_library},
};

}  // namespace

Remarks remarks(const Diagnosis& diagnosis, const doctor::Question& question) {
  if (diagnosis.error.kind == nullptr) return {};
  if (diagnosis.error.kind->name == "too-much-shared-memory") return shared_memory(diagnosis, question);
  if (diagnosis.error.kind->name == "gpu-not-in-pytorch") return carried_list(diagnosis, question);
  if (diagnosis.error.kind->name == "no-matching-distribution") return requested_torch(diagnosis, question);
  if (diagnosis.error.kind->code == "FF816") return {refused_gpu(diagnosis, question)};
  for (const OfKind& one : kRemarks)
    if (one.kind == diagnosis.error.kind->name) return {one.lines(diagnosis, question)};
  return {};
}

}  // namespace flashfit::doctor::pasted
