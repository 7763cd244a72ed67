#include "doctor/made/cases.hpp"
#include "doctor/made/code.hpp"
#include "doctor/made/library.hpp"
#include "doctor/made/wheel.hpp"

namespace flashfit::doctor::test {
namespace {

// Names as PyTorch's own libraries have them: c10::Error's constructor and torchCheckFail with std::string of either
// ABI.
const char* const kOldError = "_ZN3c105ErrorC2ENS_14SourceLocationESs";
const char* const kNewError =
    "_ZN3c105ErrorC2ENS_14SourceLocationENSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEEE";
const char* const kOldFail = "_ZN3c106detail14torchCheckFailEPKcS2_jRKSs";
const char* const kNewFail =
    "_ZN3c106detail14torchCheckFailEPKcS2_jRKNSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEEE";
const char* const kOfEitherAbi = "_ZN3c104cuda20getCurrentCUDAStreamEa";
const char* const kEmpty = "_ZN2at4_ops11empty_like4callERKNS_6TensorE";

MadeCase wheel_case(const MadeWheel& wheel) { return {wheel.file_name(), wheel.bytes()}; }

std::vector<MadeImport> system_imports() {
  return {{"memcpy", "libc.so.6", "GLIBC_2.14"}, {"_ZSt9terminatev", "libstdc++.so.6", "GLIBCXX_3.4"}};
}

MadeLibrary extension(bool new_abi, const std::vector<MadeCode>& code) {
  MadeLibrary library{.needed = {"libc10.so", "libtorch_cpu.so", "libtorch_python.so", "libcudart.so.12",
                                 "libstdc++.so.6", "libc.so.6"},
                      .imports = system_imports(),
                      .exports = {"PyInit_extension"}};
  for (const char* name : {new_abi ? kNewError : kOldError, new_abi ? kNewFail : kOldFail, kOfEitherAbi, kEmpty})
    library.imports.push_back({.name = name});
  library.imports.push_back({.name = "PyModule_Create2"});
  library.imports.push_back({"cudaLaunchKernel", "libcudart.so.12", "libcudart.so.12"});
  library.gpu_code = make_containers(code);
  return library;
}

MadeCase torch_wheel(const std::string& version, bool new_abi) {
  MadeWheel wheel{.name = "torch", .version = version, .tag = "cp311-cp311-manylinux_2_28_x86_64"};
  wheel.requires_python = ">=3.9.0";
  MadeLibrary c10{.soname = "libc10.so", .needed = {"libstdc++.so.6", "libc.so.6"}, .imports = system_imports()};
  c10.exports = {new_abi ? kNewError : kOldError, new_abi ? kNewFail : kOldFail};
  MadeLibrary c10_cuda{
      .soname = "libc10_cuda.so", .needed = {"libc10.so", "libcudart.so.12"}, .exports = {kOfEitherAbi}};
  MadeLibrary cpu{.soname = "libtorch_cpu.so", .needed = {"libc10.so", "libstdc++.so.6"}, .exports = {kEmpty}};
  MadeLibrary cuda{.soname = "libtorch_cuda.so", .needed = {"libc10_cuda.so", "libtorch_cpu.so"}};
  cuda.gpu_code = make_containers({{.targets = {"5.0", "6.0", "7.0", "7.5", "8.0", "8.6", "9.0"}}});
  const MadeLibrary python{.soname = "libtorch_python.so", .needed = {"libtorch_cpu.so"}};
  wheel.add("torch/lib/libc10.so", c10.bytes()).add("torch/lib/libc10_cuda.so", c10_cuda.bytes());
  wheel.add("torch/lib/libtorch_cpu.so", cpu.bytes()).add("torch/lib/libtorch_cuda.so", cuda.bytes());
  wheel.add("torch/lib/libtorch_python.so", python.bytes());
  wheel.members.push_back({.name = "torch/version.py", .content = "__version__ = '" + version + "'\n"});
  return wheel_case(wheel);
}

MadeCase flash_attn(const std::string& python, bool new_abi, const std::string& made_for = "cu12torch2.7") {
  MadeWheel wheel{.name = "flash_attn",
                  .version = "2.8.3+" + made_for + "cxx11abi" + (new_abi ? "TRUE" : "FALSE"),
                  .tag = "cp" + python + "-cp" + python + "-linux_x86_64",
                  .requires_python = ">=3.9",
                  .requirements = {"torch", "einops"}};
  // One source of 8.0 and 9.0 a container, as the real one has.
  const MadeCode forward{.targets = {"8.0", "9.0"},
                         .kernels = {{.name = "_ZN5flash16flash_fwd_kernelEi", .registers = 168}}};
  const MadeCode backward{.targets = {"8.0", "9.0"},
                          .kernels = {{.name = "_ZN5flash16flash_bwd_kernelEi", .registers = 255}}};
  wheel.add("flash_attn_2_cuda.cpython-" + python + "-x86_64-linux-gnu.so",
            extension(new_abi, {forward, backward}).bytes());
  wheel.members.push_back({.name = "flash_attn/__init__.py", .content = "__version__ = \"2.8.3\"\n"});
  return wheel_case(wheel);
}

}  // namespace

std::vector<MadeCase> origin_cases() {
  MadeWheel apex{.name = "apex", .version = "0.1", .tag = "cp311-cp311-linux_x86_64"};
  apex.add("fused_layer_norm_cuda.cpython-311-x86_64-linux-gnu.so",
           extension(true, {{.targets = {"9.0a"}, .kernels = {{.name = "_Z23cuApplyRMSNorm_kernelPfi"}}}}).bytes());
  return {
      flash_attn("310", false),  // on 3.11: another Python's
      flash_attn("311", false),  // under a torch of the new ABI: symbols that it lacks
      flash_attn("310", false,
                 "cu124torch2.6"),  // on 3.11 and under such a torch: wrong in both, and named what is right
      flash_attn("311", true),      // 8.0 and 9.0 on an L40: fits
      torch_wheel("2.7.1+cu126", true),
      torch_wheel("2.5.1+cu124", false),
      wheel_case(apex),  // 9.0a alone: the culprit on an L40, wherever the error shows
  };
}

}  // namespace flashfit::doctor::test
