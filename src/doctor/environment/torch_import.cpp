#include "doctor/environment/torch_import.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "core/base/ascii.hpp"

namespace flashfit::doctor::environment {
namespace {

using dynamic_loader::FileTree;
using dynamic_loader::kNobody;
using dynamic_loader::Process;

constexpr std::uint64_t kMostText = std::uint64_t{1} << 20;

/// What it looks for in nvidia/FOLDER/lib, and from CUDA 13 on in nvidia/cu13/lib; in its order.
struct Preload {
  std::string_view folder, library;
};
constexpr Preload kPreloads[] = {
    {"cublas", "libcublas.so."},
    {"cudnn", "libcudnn.so."},
    {"cuda_nvrtc", "libnvrtc.so."},
    {"cuda_nvrtc", "libnvrtc-builtins.so."},
    {"cuda_runtime", "libcudart.so."},
    {"cuda_cupti", "libcupti.so."},
    {"cufft", "libcufft.so."},
    {"curand", "libcurand.so."},
    {"nvjitlink", "libnvJitLink.so."},
    {"cusparse", "libcusparse.so."},
    {"cusparselt", "libcusparseLt.so."},
    {"cusolver", "libcusolver.so."},
    {"nccl", "libnccl.so."},
    {"nvshmem", "libnvshmem_host.so."},
    {"nvtx", "libnvToolsExt.so."},
    {"cufile", "libcufile.so."},
};

/// The first file of a folder of NVIDIA's that is the library; "".
std::string find_library(const FileTree& tree, const std::vector<std::string>& sites, const Preload& wanted) {
  for (const std::string& site : sites)
    for (const std::string& folder : {std::string(wanted.folder), std::string("cu13"), std::string("cu12")}) {
      const std::string path = fmt::format("{}/nvidia/{}/lib", site, folder);
      const auto entries = tree.list(path);
      if (!entries) continue;
      for (const dynamic_loader::Entry& entry : *entries)
        if (entry.name.starts_with(wanted.library) && is_digit(entry.name.back())) return path + "/" + entry.name;
    }
  return "";
}

}  // namespace

void import_torch(const FileTree& tree, const std::string& torch, const std::string& module,
                  const std::vector<std::string>& sites, Process& process) {
  const std::string dependencies = torch + "/lib/libtorch_global_deps.so";
  if (is_file(tree, dependencies)) {
    const std::string text = dynamic_loader::read_text(tree, torch + "/__init__.py", kMostText).value_or("");
    // What fails at first and is found by the preloads is no misfit: tried apart.
    Process trial = process;
    const bool loads = trial.open(dependencies) != kNobody;
    const bool has_runtime = loads && std::any_of(trial.plan().objects.begin(), trial.plan().objects.end(),
                                                  [](const dynamic_loader::LoadedObject& object) {
                                                    return object.found.object->dynamic.soname.starts_with("libcudart");
                                                  });
    if (loads) process = std::move(trial);
    const auto is_preloaded = [&](const Preload& one) {
      if (!loads) return true;
      if (!has_runtime || text.find("/proc/self/maps") == std::string::npos) return false;
      return text.find("_preload_cuda_deps()") != std::string::npos ||
             text.find("_preload_cuda_deps(\"" + std::string(one.folder) + "\"") != std::string::npos;
    };
    for (const Preload& one : kPreloads)
      if (is_preloaded(one))
        if (const std::string path = find_library(tree, sites, one); !path.empty()) process.open(path);
    if (!loads) process.open(dependencies);
  }
  if (!module.empty()) process.open(module);
}

}  // namespace flashfit::doctor::environment
