// Environments that work, of which the doctor must not speak ill.
#include <gmock/gmock.h>

#include <atomic>

#include "doctor/environment/made_environment.hpp"
#include "doctor/made/pe.hpp"

namespace flashfit::doctor::environment::test {
namespace {

using doctor::Verdict;
using testing::Contains;
using testing::ElementsAre;
using testing::IsEmpty;

class Healthy : public MadeEnvironment {
 protected:
  void expect_fits(const std::vector<std::string>& gpus, const std::string& driver = "") const {
    const Environment found = look(gpus, driver);
    EXPECT_EQ(found.verdict, Verdict::kFits);
    for (const std::string& name : culprits_of(found)) EXPECT_THAT(lines_of(found, name), IsEmpty()) << name;
  }
};

const std::string kModule = ".cpython-311-x86_64-linux-gnu.so";

TEST_F(Healthy, PackagesOfPurePythonCostNoWord) {
  install({"requests", "2.32.0", {{"requests/api.py", {}}}});
  const Environment found = look({"L40"});
  EXPECT_EQ(found.verdict, Verdict::kFits);
  EXPECT_THAT(found.packages, IsEmpty());
  EXPECT_EQ(found.installed, 1U);
}

TEST_F(Healthy, CodeForOneGpuBesideCodeForOthersIsOnPurpose) {
  MadePackage torch = make_torch("2.9.1+cu128");
  MadeLibrary cuda{.soname = "libtorch_cuda.so"};
  cuda.gpu_code =
      doctor::test::make_containers({{.targets = {"8.0", "9.0"}}, {.targets = {"9.0a"}}, {.targets = {"10.0a"}}});
  torch.files["torch/lib/libtorch_cuda.so"] = cuda.bytes();
  install(torch);
  expect_fits({"L40"}, "580");
  expect_fits({"H100"}, "580");
}

TEST_F(Healthy, NvidiasLibrariesLackSomeContainersForMostGpus) {
  install({"nvidia_cublas_cu12",
           "12.8.4",
           {{"nvidia/cublas/lib/libcublasLt.so.12",
             make_module({{"8.0"}, {"9.0"}, {"7.5"}}, {.soname = "libcublasLt.so.12"})}}});
  expect_fits({"L40", "H100"}, "580");
}

TEST_F(Healthy, NvidiasLibrariesAreThatInEveryPackage) {
  MadePackage torch = make_torch("2.4.1+cu121");
  torch.files["torch/lib/libcusparseLt-f80c68d1.so.0"] =
      make_module({{"8.6"}, {"8.6"}, {"9.0"}}, {.soname = "libcusparseLt-f80c68d1.so.0"});
  install(torch);
  expect_fits({"H100"}, "535");
  torch.files["torch/lib/libmine-f80c68d1.so.0"] =
      make_module({{"8.6"}, {"8.6"}, {"9.0"}}, {.soname = "libmine-f80c68d1.so.0"});
  install(torch);
  EXPECT_EQ(look({"H100"}, "535").verdict, Verdict::kDegraded) << "another one's library";
}

TEST_F(Healthy, CodeForNewerGpusAloneIsOnPurpose) {
  install({"ext", "1.0", {{"ext" + kModule, make_module({{"8.0", "9.0", "10.0"}, {"10.0"}, {"9.0a", "10.0a"}})}}});
  expect_fits({"L40", "H100"});
  expect_fits({"B200"});
  install({"ext", "1.0", {{"ext" + kModule, make_module({{"7.5", "8.0"}, {"7.5"}})}}});
  EXPECT_EQ(look({"A100"}).verdict, Verdict::kDegraded) << "for an older one alone: forgotten";
}

TEST_F(Healthy, WhatIsForOtherGpusNeedNotImport) {
  const MadePackage package{"ext",
                            "1.0",
                            {{"ext/_C.abi3.so", make_module({{"8.0"}})},
                             {"ext/_D.cpython-310-x86_64-linux-gnu.so", make_module({{"10.0"}})}}};
  install(package);
  expect_fits({"A100"});
  EXPECT_EQ(look({"B200"}).verdict, Verdict::kDegraded) << "there it is what serves";
}

TEST_F(Healthy, AVariantByNameIsForItsGpuAlone) {
  install({"kernels",
           "1.0",
           {{"kernels/_ops_sm80.abi3.so", make_module({{"8.0"}})},
            {"kernels/_ops_sm90.abi3.so", make_module({{"9.0a"}})}}});
  expect_fits({"L40"});
  expect_fits({"H100"});
  const Environment found = look({"RTX 5090"});
  EXPECT_EQ(found.verdict, Verdict::kMisfit) << "none of them serves it";
}

TEST_F(Healthy, LibrariesOfNewerGpusBesideOneForAllAreOnPurpose) {
  install({"torchao",
           "0.14.1",
           {{"torchao/_C.abi3.so", make_module({{"8.0"}})},
            {"torchao/_C_cutlass_90a.abi3.so", make_module({{"9.0a"}})},
            {"torchao/mxfp8.abi3.so", make_module({{"10.0"}})}}});
  expect_fits({"A100"});
  install(
      {"older", "1.0", {{"older/_C.abi3.so", make_module({{"8.0"}})}, {"older/_D.abi3.so", make_module({{"7.5"}})}}});
  EXPECT_EQ(look({"A100"}).verdict, Verdict::kDegraded);
}

TEST_F(Healthy, WhatOnlyHopperLoadsIsNotMissedElsewhere) {
  install({"vllm",
           "0.11.0",
           {{"vllm/_C.abi3.so", make_module({{"8.0", "9.0"}})},
            {"vllm/vllm_flash_attn/_vllm_fa3_C.abi3.so", make_module({{"9.0a"}})}}});
  expect_fits({"L40"});
}

TEST_F(Healthy, LaunchersForWindowsAndOtherMachinesHarmNobody) {
  doctor::test::MadeDll dll{.imports = {{"kernel32.dll", {"ExitProcess"}}}};
  MadeLibrary arm{.machine = doctor::kMachineAarch64};
  std::vector<std::byte> of_32_bits = dll.bytes();
  of_32_bits.resize(of_32_bits.size() / 2);  // as broken as a reader of 64-bit files finds it
  install({"setuptools",
           "65.5.0",
           {{"setuptools/cli-64.exe", dll.bytes()},
            {"setuptools/cli-32.exe", of_32_bits},
            {"setuptools/libother.so", arm.bytes()}}});
  expect_fits({"L40"});
  EXPECT_THAT(look({"L40"}).packages, IsEmpty());
}

TEST_F(Healthy, LibrariesThatTorchOrTheSystemBringsAreNotMissing) {
  install(make_torch("2.9.1+cu128"));
  install({"nvidia_cuda_runtime_cu12",
           "12.8.90",
           {{"nvidia/cuda_runtime/lib/libcudart.so.12", make_shared_library("libcudart.so.12")}}});
  write("usr/local/cuda/lib64/libcufft.so.11", make_shared_library("libcufft.so.11"));
  install(
      {"ext",
       "1.0",
       {{"ext" + kModule, make_module({{"8.0"}}, {.needed = {"libcudart.so.12", "libcufft.so.11", "libc10.so"}})}}});
  expect_fits({"A100"}, "580");
}

TEST_F(Healthy, WhatIsForPyTorchIsNotLoadedWithoutOne) {  // open3d/cuda/open3d_torch_ops.so
  MadeLibrary ops{.soname = "open3d_torch_ops.so", .needed = {"libtorch.so", "libc10.so", "libcudart.so.11.0"}};
  ops.gpu_code = doctor::test::make_containers({{.targets = {"8.0"}}});
  install({"open3d", "0.18.0", {{"open3d/cuda/open3d_torch_ops.so", ops.bytes()}}});
  expect_fits({"A100"}, "550");
  install(make_torch("2.9.1+cu128"));
  EXPECT_THAT(lines_of(look({"A100"}, "580"), "open3d"),
              Contains(testing::HasSubstr("FF330 degraded needs libcudart.so.11.0")));
}

TEST_F(Healthy, NoGpuIsAFact) {
  install(make_torch("2.9.1+cu128"));
  EnvironmentQuestion asked = question({});
  asked.driver = {.state = DriverAnswer::State::kNoLibrary, .why = "libcuda.so.1: cannot open shared object file"};
  const Environment found = look(asked);
  EXPECT_EQ(found.verdict, Verdict::kFits);
  EXPECT_THAT(found.assumed, Contains("no GPU was named and none is here: GPU code is not judged (--gpu)"));
}

TEST_F(Healthy, FilesOfNobodyAreJudgedByTheirFolder) {
  install({"loose", "", {{"myext/kernel.cpython-311-x86_64-linux-gnu.so", make_module({{"9.0"}})}}, {}, false});
  EXPECT_THAT(cleared_by(look({"H100"})), ElementsAre("myext"));
  EXPECT_THAT(culprits_of(look({"L40"})), ElementsAre("myext"));
}

/// A tree whose files were last changed long ago, as their times say, and that counts the libraries that are read.
class SettledTree final : public dynamic_loader::FileTree {
 public:
  explicit SettledTree(const std::string& root) : real_(root) {}
  dynamic_loader::Node look(const std::string& path) const override {
    dynamic_loader::Node node = real_.look(path);
    if (node.changed != 0) node.changed -= 3600;
    return node;
  }
  Result<std::vector<dynamic_loader::Entry>> list_here(const std::string& path) const override {
    return real_.list_here(path);
  }
  Result<std::unique_ptr<const doctor::Source>> open_here(const std::string& path) const override {
    read += path.ends_with(".so") ? 1 : 0;
    return real_.open_here(path);
  }
  mutable std::atomic<int> read{0};

 private:
  dynamic_loader::RealTree real_;
};

TEST_F(Healthy, TheCacheIsReadAndFollowsChanges) {
  const std::string path = "ext" + kModule;
  install({"ext", "1.0", {{path, make_module({{"9.0"}})}}});
  const SettledTree tree(root_.string());
  EnvironmentQuestion asked = question({"L40"});
  asked.cache = (root_ / "cache").string();
  EXPECT_EQ(look_at(tree, asked).verdict, Verdict::kMisfit);
  EXPECT_EQ(tree.read, 1);
  EXPECT_EQ(look_at(tree, asked).verdict, Verdict::kMisfit);
  EXPECT_EQ(tree.read, 1);
  write(site_ + "/" + path, make_module({{"8.9"}}));
  EXPECT_EQ(look_at(tree, asked).verdict, Verdict::kFits);
  EXPECT_EQ(tree.read, 2);
}

TEST_F(Healthy, WhatChangedAMomentAgoIsNotKept) {
  install({"ext", "1.0", {{"ext" + kModule, make_module({{"9.0"}})}}});
  EnvironmentQuestion asked = question({"L40"});
  asked.cache = (root_ / "cache").string();
  look(asked);
  const SettledTree tree(root_.string());
  look_at(tree, asked);
  EXPECT_EQ(tree.read, 1);
}

TEST_F(Healthy, BrokenFilesAndNamesAreSaidAndHarmNobody) {
  install({"data",
           "1.0",
           {{"data/sample.bin",
             doctor::test::MadeBytes()
                 .add(std::string_view("\x7f"
                                       "ELF broken, and long enough to be looked at as a library by its magic alone"))
                 .bytes()}}});
  write(site_ + "/bad-1.0.dist-info/METADATA", "no headers at all");
  write(site_ + "/evil\x1b[31m-1.0.dist-info/METADATA", "Metadata-Version: 2.1\nName: evil\nVersion: x\n");
  const Environment found = look({"L40"});
  EXPECT_EQ(found.verdict, Verdict::kFits);
  EXPECT_EQ(found.unread.size(), 2U);
  for (const std::string& line : found.unread) EXPECT_EQ(line.find('\x1b'), std::string::npos);
}

}  // namespace
}  // namespace flashfit::doctor::environment::test
