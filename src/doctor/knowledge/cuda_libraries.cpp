#include "doctor/knowledge/cuda_libraries.hpp"

#include <algorithm>
#include <string>

#include "doctor/knowledge/cuda_library_rows.hpp"

namespace flashfit::doctor {
namespace {

// Source: the files in NVIDIA's own wheels, CUDA 11.8, 12.8 and 13.0.
constexpr CudaLibrary kLibraries[] = {
    {"libcudart.so.12", 12, "nvidia-cuda-runtime-cu12", "nvidia/cuda_runtime/lib"},
    {"libcublas.so.12", 12, "nvidia-cublas-cu12", "nvidia/cublas/lib"},
    {"libcublasLt.so.12", 12, "nvidia-cublas-cu12", "nvidia/cublas/lib"},
    {"libnvrtc.so.12", 12, "nvidia-cuda-nvrtc-cu12", "nvidia/cuda_nvrtc/lib"},
    {"libcupti.so.12", 12, "nvidia-cuda-cupti-cu12", "nvidia/cuda_cupti/lib"},
    {"libcudnn.so.9", 12, "nvidia-cudnn-cu12", "nvidia/cudnn/lib"},
    {"libcudnn.so.8", 12, "nvidia-cudnn-cu12<9", "nvidia/cudnn/lib"},
    {"libcufft.so.11", 12, "nvidia-cufft-cu12", "nvidia/cufft/lib"},
    {"libcufile.so.0", 12, "nvidia-cufile-cu12", "nvidia/cufile/lib"},
    {"libcurand.so.10", 12, "nvidia-curand-cu12", "nvidia/curand/lib"},
    {"libcusolver.so.11", 12, "nvidia-cusolver-cu12", "nvidia/cusolver/lib"},
    {"libcusparse.so.12", 12, "nvidia-cusparse-cu12", "nvidia/cusparse/lib"},
    {"libcudss.so.0", 12, "nvidia-cudss-cu12<1", "nvidia/cu12/lib"},
    {"libcudss.so.1", 12, "nvidia-cudss-cu12", "nvidia/cu12/lib"},
    {"libcutensor.so.2", 12, "cutensor-cu12", "cutensor/lib"},
    {"libcusparseLt.so.0", 12, "nvidia-cusparselt-cu12", "nvidia/cusparselt/lib"},
    {"libnccl.so.2", 12, "nvidia-nccl-cu12", "nvidia/nccl/lib"},
    {"libnvJitLink.so.12", 12, "nvidia-nvjitlink-cu12", "nvidia/nvjitlink/lib"},
    {"libnvshmem_host.so.3", 12, "nvidia-nvshmem-cu12", "nvidia/nvshmem/lib"},
    {"libnvToolsExt.so.1", 12, "nvidia-nvtx-cu12", "nvidia/nvtx/lib"},
    {"libcudart.so.13", 13, "nvidia-cuda-runtime", "nvidia/cu13/lib"},
    {"libcublas.so.13", 13, "nvidia-cublas", "nvidia/cu13/lib"},
    {"libcublasLt.so.13", 13, "nvidia-cublas", "nvidia/cu13/lib"},
    {"libnvrtc.so.13", 13, "nvidia-cuda-nvrtc", "nvidia/cu13/lib"},
    {"libcupti.so.13", 13, "nvidia-cuda-cupti", "nvidia/cu13/lib"},
    {"libcudnn.so.9", 13, "nvidia-cudnn-cu13", "nvidia/cudnn/lib"},
    {"libcufft.so.12", 13, "nvidia-cufft", "nvidia/cu13/lib"},
    {"libcufile.so.0", 13, "nvidia-cufile", "nvidia/cu13/lib"},
    {"libcurand.so.10", 13, "nvidia-curand", "nvidia/cu13/lib"},
    {"libcusolver.so.12", 13, "nvidia-cusolver", "nvidia/cu13/lib"},
    {"libcusparse.so.12", 13, "nvidia-cusparse", "nvidia/cu13/lib"},
    {"libcudss.so.0", 13, "nvidia-cudss-cu13<1", "nvidia/cu13/lib"},
    {"libcudss.so.1", 13, "nvidia-cudss-cu13", "nvidia/cu13/lib"},
    {"libcutensor.so.2", 13, "cutensor-cu13", "cutensor/lib"},
    {"libcusparseLt.so.0", 13, "nvidia-cusparselt-cu13", "nvidia/cusparselt/lib"},
    {"libnccl.so.2", 13, "nvidia-nccl-cu13", "nvidia/nccl/lib"},
    {"libnvJitLink.so.13", 13, "nvidia-nvjitlink", "nvidia/cu13/lib"},
    {"libnvshmem_host.so.3", 13, "nvidia-nvshmem-cu13", "nvidia/nvshmem/lib"},
    {"libcudart.so.11.0", 11, "nvidia-cuda-runtime-cu11", "nvidia/cuda_runtime/lib"},
    {"libcublas.so.11", 11, "nvidia-cublas-cu11", "nvidia/cublas/lib"},
    {"libcublasLt.so.11", 11, "nvidia-cublas-cu11", "nvidia/cublas/lib"},
    {"libnvrtc.so.11.2", 11, "nvidia-cuda-nvrtc-cu11", "nvidia/cuda_nvrtc/lib"},
    {"libcupti.so.11.8", 11, "nvidia-cuda-cupti-cu11", "nvidia/cuda_cupti/lib"},
    {"libcudnn.so.8", 11, "nvidia-cudnn-cu11<9", "nvidia/cudnn/lib"},
    {"libcudnn.so.9", 11, "nvidia-cudnn-cu11", "nvidia/cudnn/lib"},
    {"libcufft.so.10", 11, "nvidia-cufft-cu11", "nvidia/cufft/lib"},
    {"libcurand.so.10", 11, "nvidia-curand-cu11", "nvidia/curand/lib"},
    {"libcusolver.so.11", 11, "nvidia-cusolver-cu11", "nvidia/cusolver/lib"},
    {"libcusparse.so.11", 11, "nvidia-cusparse-cu11", "nvidia/cusparse/lib"},
    {"libnccl.so.2", 11, "nvidia-nccl-cu11", "nvidia/nccl/lib"},
    {"libnvToolsExt.so.1", 11, "nvidia-nvtx-cu11", "nvidia/nvtx/lib"},
};

/// "libcudnn.so.9" of "libcudnn_adv.so.9": the package brings the parts with the library that opens them.
std::string main_library(std::string_view soname) {
  constexpr std::string_view kPart = "libcudnn_";
  const std::size_t so = soname.find(".so.");
  if (!soname.starts_with(kPart) || so == std::string_view::npos) return std::string(soname);
  return "libcudnn" + std::string(soname.substr(so));
}

}  // namespace

const CudaLibrary* find_cuda_library(std::string_view soname, int cuda) {
  const CudaLibrary* found = nullptr;
  const std::string name = main_library(soname);
  for (const CudaLibrary& library : kLibraries)
    if (library.soname == name && (found == nullptr || library.cuda == cuda)) found = &library;
  return found;
}

std::vector<const CudaLibrary*> cuda_libraries_named(std::string_view soname) {
  std::vector<const CudaLibrary*> found;
  const std::string name = main_library(soname);
  for (const CudaLibrary& library : kLibraries)
    if (library.soname == name) found.push_back(&library);
  std::sort(found.begin(), found.end(), [](const auto* a, const auto* b) { return a->cuda < b->cuda; });
  return found;
}

std::string_view project_of(const CudaLibrary& library) { return library.package.substr(0, library.package.find('<')); }

std::string name_before_repair(const std::string& file) {
  constexpr std::size_t kDigits = 8;
  const std::size_t so = file.find(".so"), dash = file.rfind('-', so);
  if (so == std::string::npos || dash == std::string::npos || so - dash != kDigits + 1) return file;
  const std::string_view hash = std::string_view(file).substr(dash + 1, kDigits);
  if (hash.find_first_not_of("0123456789abcdef") != std::string_view::npos) return file;
  return file.substr(0, dash) + file.substr(so);
}

}  // namespace flashfit::doctor
