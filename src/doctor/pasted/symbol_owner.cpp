#include "doctor/pasted/symbol_owner.hpp"

#include <algorithm>
#include <charconv>
#include <iterator>

#include "core/base/ascii.hpp"

namespace flashfit::doctor::pasted {
namespace {

struct Owner {
  std::string_view start;  ///< of a C function's name, or a whole namespace
  std::string_view words;
};

constexpr Owner kOfCNames[] = {
    {"nvte_",
     "Transformer Engine's (libtransformer_engine, which `import transformer_engine` loads before its modules: the "
     "packages transformer-engine, transformer-engine-cu12 or -cu13 and transformer-engine-torch go together in one "
     "release)"},
    {"iJIT_",
     "Intel's tracing interface, which MKL had up to 2024.0 (conda install 'mkl<2024.1' where PyTorch asks "
     "for it)"},
    {"rmm", "RMM's (librmm, of RAPIDS)"},
    {"ggml_", "llama.cpp's (libggml)"},
    {"gguf_", "llama.cpp's (libggml)"},
    {"llama_", "llama.cpp's (libllama)"},
    {"ucp_", "UCX's (libucp)"},
    {"ucs_", "UCX's (libucs)"},
    {"uct_", "UCX's (libuct)"},
    {"ibv_", "rdma-core's (libibverbs)"},
    {"mlx5dv_", "rdma-core's (libmlx5)"},
    {"MPI_", "MPI's (libmpi)"},
    {"ompi_", "Open MPI's (libmpi)"},
    {"opal_", "Open MPI's (libopen-pal)"},
    {"mkl_", "MKL's (libmkl_rt, libmkl_core)"},
    {"cblas_", "BLAS's (OpenBLAS, MKL)"},
    {"jpeg_", "libjpeg's"},
    {"png_", "libpng's"},
    {"sox_", "SoX's (libsox)"},
    {"ZSTD_", "Zstandard's (libzstd)"},
    {"H5", "HDF5's (libhdf5)"},
};

constexpr Owner kOfNamespaces[] = {
    {"arrow", "Apache Arrow's (libarrow: pyarrow, or conda's libarrow, brings it)"},
    {"parquet", "Apache Arrow's (libparquet: pyarrow, or conda's libarrow, brings it)"},
    {"rmm", "RMM's (librmm, of RAPIDS, whose packages are all of one release)"},
    {"cudf", "cuDF's (libcudf, of RAPIDS, whose packages are all of one release)"},
    {"raft", "RAFT's (libraft, of RAPIDS, whose packages are all of one release)"},
    {"cuvs", "cuVS's (libcuvs, of RAPIDS, whose packages are all of one release)"},
    {"cugraph", "cuGraph's (libcugraph, of RAPIDS, whose packages are all of one release)"},
    {"nvinfer1", "TensorRT's (libnvinfer)"},
    {"nvonnxparser", "TensorRT's (libnvonnxparser)"},
    {"tensorrt_llm", "TensorRT-LLM's (libtensorrt_llm)"},
    {"transformer_engine", "Transformer Engine's (libtransformer_engine)"},
    {"cv", "OpenCV's (libopencv)"},
    {"google", "of Google's libraries (protobuf, glog)"},
    {"absl", "Abseil's (libabsl)"},
    {"fmt", "fmt's (libfmt)"},
    {"spdlog", "spdlog's (libspdlog)"},
    {"faiss", "Faiss's (libfaiss)"},
    {"tensorflow", "TensorFlow's (libtensorflow_framework)"},
    {"tsl", "TensorFlow's (libtensorflow_framework)"},
    {"xla", "XLA's (in TensorFlow or jaxlib)"},
    {"onnx", "ONNX's"},
    {"onnxruntime", "ONNX Runtime's (libonnxruntime)"},
    {"llvm", "LLVM's (Triton and Numba have their own)"},
    {"mlir", "LLVM's (Triton has its own)"},
    {"paddle", "PaddlePaddle's (libpaddle)"},
    {"phi", "PaddlePaddle's (libphi)"},
    {"dgl", "DGL's (libdgl)"},
    {"tvm", "TVM's (libtvm)"},
    {"ov", "OpenVINO's (libopenvino)"},
    {"tbb", "oneTBB's (libtbb)"},
    {"folly", "Folly's"},
};

struct OfGlibc {
  std::string_view name, release;
};
constexpr OfGlibc kOfGlibc[] = {
    {"__libc_single_threaded", "2.32"},
    {"_dl_find_object", "2.35"},
    {"pthread_cond_clockwait", "2.30"},
    {"arc4random", "2.36"},
    {"arc4random_buf", "2.36"},
    {"arc4random_uniform", "2.36"},
    {"pidfd_open", "2.36"},
    {"strlcpy", "2.38"},
    {"strlcat", "2.38"},
    {"closefrom", "2.34"},
    {"gettid", "2.30"},
    {"fcntl64", "2.28"},
    {"statx", "2.28"},
    {"memfd_create", "2.27"},
    {"copy_file_range", "2.27"},
    {"getrandom", "2.25"},
    {"getentropy", "2.25"},
};

}  // namespace

std::string namespace_of(std::string_view symbol) {
  for (const std::string_view start : {"_ZNK", "_ZN"}) {
    if (!symbol.starts_with(start) || symbol.size() == start.size() || !is_digit(symbol[start.size()])) continue;
    const std::string_view rest = symbol.substr(start.size());
    std::size_t length = 0;
    const auto [stop, error] = std::from_chars(rest.data(), rest.data() + rest.size(), length);
    const std::string_view name = rest.substr(static_cast<std::size_t>(stop - rest.data()));
    if (error == std::errc{} && length < name.size()) return std::string(name.substr(0, length));
  }
  return "";
}

std::string_view owner_of(std::string_view symbol) {
  if (symbol.starts_with("_Z")) {
    const std::string outermost = namespace_of(symbol);
    for (const Owner& owner : kOfNamespaces)
      if (owner.start == outermost) return owner.words;
    return "";
  }
  for (const Owner& owner : kOfCNames)
    if (symbol.starts_with(owner.start)) return owner.words;
  return "";
}

std::string_view first_glibc_with(std::string_view symbol) {
  if (symbol.starts_with("__isoc23_")) return "2.38";
  const auto* const found =
      std::find_if(std::begin(kOfGlibc), std::end(kOfGlibc), [&](const OfGlibc& one) { return one.name == symbol; });
  return found == std::end(kOfGlibc) ? "" : found->release;
}

}  // namespace flashfit::doctor::pasted
