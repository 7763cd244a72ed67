// environment_make FOLDER: in an existing folder a root file system for each kind of misfit that people met, and for
// the field reports, with the environment in the very place that the pasted text of tests/doctor/pasted/cases names.
#include <iostream>

#include "doctor/environment/made_root.hpp"
#include "doctor/made/pe.hpp"

namespace flashfit::doctor::environment::test {
namespace {

using namespace std::string_view_literals;

class Root : public MadeRoot {
 public:
  /// `prefix` holds lib/pythonVERSION/PACKAGES; `kind` is "venv", "conda" or "system".
  Root(const std::filesystem::path& folder, const std::string& name, const std::string& prefix,
       const std::string& python, const std::string& kind = "venv", const std::string& packages = "site-packages")
      : MadeRoot(folder / name, prefix + "/lib/python" + python + "/" + packages),
        ending_(".cpython-3" + python.substr(2) + "-x86_64-linux-gnu.so") {
    make_system("2.36");
    write("etc/os-release", "PRETTY_NAME=\"Made Linux 1\"\n");
    write(site_ + "/README.txt", "");
    if (kind == "venv") {
      write(prefix + "/pyvenv.cfg", "home = /usr/bin\nversion = " + python + ".4\n");
      link(prefix + "/bin/python" + python, "/usr/bin/python3.11");
    } else if (kind == "conda") {
      write(prefix + "/conda-meta/history", "");
      write(
          prefix + "/bin/python" + python,
          MadeLibrary{.rpath = "$ORIGIN/../lib", .needed = {"libc.so.6"}, .interpreter = "/lib64/ld-linux-x86-64.so.2"}
              .bytes());
    }
  }
  std::string module(const std::string& name) const { return name + ending_; }

 private:
  std::string ending_;
};

/// An extension of PyTorch that fits the made one.
MadeLibrary of_torch(const std::vector<std::string>& more = {}) {
  MadeLibrary library{.needed = {"libc10.so", "libc.so.6"}, .imports = {{.name = kTorchSymbol}}};
  for (const std::string& symbol : more) library.imports.push_back({.name = symbol});
  return library;
}

MadeLibrary as_module(MadeLibrary library) {
  library.imports.push_back({.name = "PyModule_Create2"});
  return library;
}

MadePackage flash_attn(const Root& root, const std::string& version, const std::vector<std::string>& targets,
                       const MadeLibrary& library) {
  return {"flash_attn", version, {{root.module("flash_attn_2_cuda"), make_module({targets}, library)}}};
}

/// PyTorch whose import opens libraries: its module needs `needs`, found by `rpath`.
MadePackage importable_torch(const Root& root, const std::string& version, std::vector<std::string> needs,
                             const std::string& rpath) {
  MadePackage torch = make_torch(version);
  torch.files["torch/lib/libtorch_global_deps.so"] =
      MadeLibrary{.soname = "libtorch_global_deps.so", .needed = {"libc.so.6"}}.bytes();
  needs.emplace_back("libtorch_cuda.so");
  torch.files[root.module("torch/_C")] =
      as_module({.rpath = "$ORIGIN/lib:" + rpath, .needed = std::move(needs)}).bytes();
  return torch;
}

void kind_01(const std::filesystem::path& folder) {
  const Root root(folder, "kind_01", "opt/venv", "3.12");
  root.install(make_torch("2.9.1+cu128"));
  root.install(flash_attn(root, "2.8.3+cu12torch2.8", {"8.0"}, of_torch({"_ZNK3c106SymInt6sym_neERKS0_"})));
  root.install({"apex", "0.1", {{root.module("apex_C"), make_module({{"8.0"}}, of_torch())}}});
}

void kind_02(const std::filesystem::path& folder) {
  const Root root(folder, "kind_02", "usr/local", "3.12", "system", "dist-packages");
  root.install(make_torch("2.9.1+cu130", {"8.0", "9.0"}, 130));
  MadeLibrary library = of_torch();
  library.needed.emplace_back("libcudart.so.12");
  root.install({"deep_ep", "1.2.1", {{root.module("deep_ep_cpp"), make_module({{"9.0"}}, library)}}});
}

void kind_03(const std::filesystem::path& folder) {
  const Root root(folder, "kind_03", "home/user/miniconda3/envs/debug", "3.10", "conda");
  root.install(importable_torch(root, "2.6.0+cu124", {"libcudnn.so.9"}, "$ORIGIN/../nvidia/cudnn/lib"));
  const MadeLibrary front{.soname = "libcudnn.so.9",
                          .runpath = "$ORIGIN",
                          .data = text_bytes("\0libcudnn_graph.so.9\0libcudnn_ops.so.9\0"sv)};
  MadePackage cudnn{"nvidia_cudnn_cu12", "9.1.0.70", {{"nvidia/cudnn/lib/libcudnn.so.9", front.bytes()}}};
  for (const std::string part : {"libcudnn_graph.so.9", "libcudnn_ops.so.9"}) {
    cudnn.files["nvidia/cudnn/lib/" + part] = make_shared_library(part);
    root.write("opt/cudnn/" + part, MadeLibrary{.soname = part, .exports = {"of_9_5"}}.bytes());
  }
  root.install(cudnn);
}

void kind_04(const std::filesystem::path& folder) {
  const Root root(folder, "kind_04", "usr/local", "3.10", "system", "dist-packages");
  root.install(importable_torch(root, "2.5.1+cu124", {"libcusparse.so.12"}, "$ORIGIN/../nvidia/cusparse/lib"));
  const auto link_library = [](const std::string& release) {
    return MadeLibrary{.soname = "libnvJitLink.so.12",
                       .exports = {"__nvJitLinkComplete_" + release},
                       .defines = {"libnvJitLink.so.12"}}
        .bytes();
  };
  const MadeLibrary cusparse{.soname = "libcusparse.so.12",
                             .runpath = "$ORIGIN/../../nvjitlink/lib",
                             .needed = {"libnvJitLink.so.12"},
                             .imports = {{"__nvJitLinkComplete_12_4", "libnvJitLink.so.12", "libnvJitLink.so.12"}}};
  root.install({"nvidia_cusparse_cu12", "12.3.1.170", {{"nvidia/cusparse/lib/libcusparse.so.12", cusparse.bytes()}}});
  root.install(
      {"nvidia_nvjitlink_cu12", "12.4.127", {{"nvidia/nvjitlink/lib/libnvJitLink.so.12", link_library("12_4")}}});
  root.write("usr/local/cuda/lib64/libnvJitLink.so.12", link_library("12_1"));
}

void kind_05(const std::filesystem::path& folder) {
  const Root root(folder, "kind_05", "opt/conda", "3.11", "conda");
  const auto standard = [](std::vector<std::string> versions) {
    return MadeLibrary{.soname = "libstdc++.so.6", .exports = {"x"}, .defines = std::move(versions)}.bytes();
  };
  root.write("opt/conda/lib/libstdc++.so.6", standard({"GLIBCXX_3.4", "GLIBCXX_3.4.29"}));
  root.write("usr/lib64/libstdc++.so.6", standard({"GLIBCXX_3.4", "GLIBCXX_3.4.29", "GLIBCXX_3.4.32"}));
  root.install(make_torch("2.6.0+cu124"));
  MadeLibrary library = of_torch();
  library.needed.emplace_back("libstdc++.so.6");
  library.imports.push_back({"x", "libstdc++.so.6", "GLIBCXX_3.4.32"});
  root.install({"ktransformers", "0.2.1", {{root.module("ktransformers_ext"), make_module({{"8.0"}}, library)}}});
  root.install(flash_attn(root, "2.7.4", {"8.0"}, of_torch()));
}

void kind_06(const std::filesystem::path& folder) {
  const Root root(folder, "kind_06", "home/user/.local", "3.12", "system");
  root.make_system("2.41");
  const std::string library = "libctranslate2-bc15bf3f.so.4.5.0";
  root.install({"ctranslate2",
                "4.5.0",
                {{root.module("ctranslate2/_ext"),
                  as_module({.runpath = "$ORIGIN/../ctranslate2.libs", .needed = {library}}).bytes()},
                 {"ctranslate2.libs/" + library, MadeLibrary{.soname = library, .executable_stack = true}.bytes()}}});
}

void kind_07(const std::filesystem::path& folder) {
  const Root root(folder, "kind_07", "venv", "3.12");
  root.install(make_torch("2.9.1+cu130", {"8.0", "9.0", "12.0"}, 130));
  root.install({"triton", "3.5.0", {{"triton/backends/nvidia/bin/ptxas", make_compiler("12.8")}}});
  root.write("usr/local/cuda-13.0/bin/ptxas", make_compiler("13.0"));
}

void kind_08(const std::filesystem::path& folder) {
  const Root root(folder, "kind_08", "opt/omni", "3.12");
  root.install(make_torch("2.9.1+cu128"));
  root.install({"flashinfer_python", "0.6.1"});
  root.write("usr/local/cuda/bin/nvcc", make_compiler("12.8"));
}

void kind_09(const std::filesystem::path& folder) {
  const Root root(folder, "kind_09", "home/user/anaconda3/envs/comfy", "3.12", "conda");
  root.install(make_torch("2.9.1+cu128"));
  root.install({"sageattention",
                "2.2.0",
                {{root.module("sageattention/_qattn_sm80"), make_module({{"8.0"}}, of_torch())},
                 {root.module("sageattention/_fused"), make_module({{"8.0", "12.0"}}, of_torch())}}});
}

void kind_10(const std::filesystem::path& folder) {
  const Root root(folder, "kind_10", "venv", "3.11");
  root.install(make_torch("2.8.0+cu128"));
  root.install({"xformers",
                "0.0.32.post2",
                {{"xformers/_C.so", make_module({{"8.0", "9.0", "12.0"}}, of_torch())},
                 {"xformers/flash_attn_3/_C.so", make_module({{"9.0a"}, {"8.0", "9.0a"}}, of_torch())}}});
  root.install(flash_attn(root, "2.8.3", {"8.0", "9.0", "12.0"}, of_torch()));
}

void kind_12(const std::filesystem::path& folder) {
  const Root root(folder, "kind_12", "usr/local", "3.12", "system", "dist-packages");
  root.install(make_torch("2.12.0+cu131"));
  MadePackage package{"bitsandbytes", "0.49.0"};
  for (const std::string cuda : {"118", "128", "129", "130"})
    package.files.emplace("bitsandbytes/libbitsandbytes_cuda" + cuda + ".so", make_module({{"8.0", "9.0"}}));
  root.install(package);
}

void kind_13(const std::filesystem::path& folder) {
  const Root root(folder, "kind_13", "venv", "3.11");
  const MadeLibrary provider{.needed = {"libcudart.so.12", "libcublasLt.so.12", "libcudnn.so.9", "libc.so.6"}};
  root.install({"onnxruntime_gpu",
                "1.23.2",
                {{"onnxruntime/capi/libonnxruntime_providers_cuda.so", make_module({{"8.0", "9.0"}}, provider, 128)},
                 {root.module("onnxruntime/capi/onnxruntime_pybind11_state"), as_module({}).bytes()}}});
}

void kind_13_windows(const std::filesystem::path& folder) {
  const Root root(folder, "kind_13_windows", "app/venv", "3.11");
  doctor::test::MadeDll provider{
      .imports = {
          {"KERNEL32.dll", {"f"}}, {"cublasLt64_13.dll", {"g"}}, {"cudart64_13.dll", {"i"}}, {"MSVCP140.dll", {"h"}}}};
  provider.gpu_code = doctor::test::make_containers({{.targets = {"8.0", "9.0"}, .toolkit = 130}});
  root.install({"onnxruntime_gpu", "1.23.2", {{"onnxruntime/capi/onnxruntime_providers_cuda.dll", provider.bytes()}}});
}

void kind_14(const std::filesystem::path& folder) {
  const Root root(folder, "kind_14", "opt/venv", "3.11");
  root.install(make_torch("2.9.1+cu130", {"7.5", "8.0", "9.0"}, 130));
}

void kind_15(const std::filesystem::path& folder) {
  const Root root(folder, "kind_15", "usr/local", "3.12", "system", "dist-packages");
  root.install(make_torch("2.9.1+cu130", {"7.5", "8.0", "8.6", "9.0", "10.0", "12.0"}, 130));
}

void kind_16(const std::filesystem::path& folder) {
  const Root root(folder, "kind_16", "venv", "3.11");
  root.install(make_torch("2.7.1+cu128"));
  root.install(flash_attn(root, "2.7.2.post1", {"8.0", "9.0", "12.0"}, of_torch()));
}

void kind_17(const std::filesystem::path& folder) {
  const Root root(folder, "kind_17", "ci/venv", "3.11");
  root.install(make_torch("2.13.0+cu130"));
  root.write(
      "home/ci/.cache/huggingface/hub/models--kernels-community--flash-attn2/snapshots/2fafa6a1/build/"
      "torch212-cxx11-cu126-x86_64-linux/flash_attn2/_flash_attn2.abi3.so",
      make_module({{"9.0"}}));
}

void kind_18(const std::filesystem::path& folder) {
  const Root root(folder, "kind_18", "venv", "3.11");
  root.write("proc/cpuinfo",
             "model name\t: AMD EPYC 7742 64-Core Processor\n"
             "flags\t\t: lm cx16 lahf_lm popcnt pni sse4_1 sse4_2 ssse3 abm avx avx2 bmi1 bmi2 f16c fma movbe xsave\n");
  root.install(
      {"sparse_attention", "0.1", {{root.module("sparse_attention_cpu"), as_module({.isa_needed = 8}).bytes()}}});
  root.install({"numpy", "2.1.0", {{root.module("numpy/_core"), as_module({.isa_needed = 2}).bytes()}}});
}

/// The L40: apex for Hopper alone, from its repository, and a flash-attn that fits.
void origin_1(const std::filesystem::path& folder) {
  const Root root(folder, "origin_1", "workspace/venv", "3.10");
  root.install(make_torch("2.7.1+cu126"));
  root.install({"flash_attn",
                "2.8.3",
                {{root.module("flash_attn_2_cuda"), make_module({{"8.0"}, {"8.0", "9.0"}}, of_torch())}}});
  root.install({"apex", "0.1", {{root.module("fused_layer_norm_cuda"), make_module({{"9.0"}, {"9.0"}}, of_torch())}}});
  root.write("workspace/venv/lib/python3.10/site-packages/apex-0.1.dist-info/direct_url.json",
             "{\"url\": \"https://github.com/NVIDIA/apex\", \"vcs_info\": {\"vcs\": \"git\", \"commit_id\": "
             "\"a1df80457ba67d60cbdb0d3ddfb08a2702c821a8\"}}\n");
}

/// The image of Python 3.11 that the wheel for 3.10 was forced into; PyTorch has the new C++ ABI.
void origin_2(const std::filesystem::path& folder) {
  const Root root(folder, "origin_2", "opt/hostedtoolcache/Python/3.11.13/x64", "3.11", "system");
  root.install(make_torch("2.7.1+cu126"));
  MadeLibrary library = of_torch();
  library.imports = {{.name = "_ZN3c105ErrorC2ENS_14SourceLocationESs"}};
  root.install(flash_attn(root, "2.8.3+cu12torch2.7cxx11abiFALSE", {"8.0", "9.0"}, library));
}

}  // namespace
}  // namespace flashfit::doctor::environment::test

// NOLINTNEXTLINE(bugprone-exception-escape): no files, no tests
int main(int argc, char** argv) {
  using namespace flashfit::doctor::environment::test;
  if (argc != 2 || !std::filesystem::is_directory(argv[1])) {
    std::cerr << "environment_make FOLDER, which is there\n";
    return 2;
  }
  for (const auto make :
       {kind_01, kind_02, kind_03,         kind_04, kind_05, kind_06, kind_07, kind_08, kind_09,  kind_10,
        kind_12, kind_13, kind_13_windows, kind_14, kind_15, kind_16, kind_17, kind_18, origin_1, origin_2})
    make(argv[1]);
}
