#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdio>
#include <fstream>

#include "doctor/facts/read_target.hpp"
#include "doctor/facts/torch_facts.hpp"
#include "doctor/rules/all_checks.hpp"
#include "doctor/rules/judged.hpp"
#include "doctor/rules/origin_folder.hpp"

namespace flashfit::doctor {
namespace {

using test::judged;
using test::wheel_target;
using testing::ElementsAre;
using testing::IsEmpty;
using testing::StartsWith;

constexpr const char* kOldError = "_ZN3c105ErrorC2ENS_14SourceLocationESs";
constexpr const char* kStream = "_ZN3c104cuda20getCurrentCUDAStreamEa";

Question under(TorchFacts torch) {
  Question question;
  question.torch = std::make_shared<const TorchFacts>(std::move(torch));
  return question;
}

TorchFacts release(const std::string& version) { return *read_torch(version).value(); }

Target extension(TorchAbi abi, std::vector<std::string> names, const std::string& label = "") {
  Target target = wheel_target("a-1" + label + "-cp311-cp311-linux_x86_64.whl", {{.path = "a/_C.so"}});
  target.binaries[0].extension.torch = std::move(names);
  target.binaries[0].extension.torch_abi = abi;
  return target;
}

TEST(Torch, ReleasesHaveTheAbiOfTheirTime) {
  for (const auto& [version, abi] : {std::pair{"2.5.1+cu124", false},
                                     {"2.6.0", false},
                                     {"2.6.0+cu124", false},
                                     {"2.6.0+cu126", true},
                                     {"2.7.0", true},
                                     {"2.13.0+cpu", true},
                                     {"1.13.1", false}})
    EXPECT_EQ(release(version).cxx11_abi, abi) << version;
  EXPECT_THAT(read_torch("two").error().message, StartsWith("two: neither a version of PyTorch"));
  EXPECT_THAT(read_torch("/").error().message, StartsWith("/: no libc10.so in it"));
  const std::string empty = testing::TempDir() + "empty-" + std::to_string(getpid()) + ".whl";
  {
    const std::ofstream made(empty);
  }
  EXPECT_EQ(read_torch(empty).error().message, empty + ": malformed: zip without an end record at 0");
  std::remove(empty.c_str());
}

TEST(Torch, VersionsThatAreNoReleasesAreRefused) {
  for (const char* version : {"1.0", "1.8.2", "2.15.3", "2.16.0.dev20261101+cu130", "2.9.1rc2", "2.6.0.post1"})
    EXPECT_TRUE(read_torch(version).has_value()) << version;
  for (const char* version : {"99", "0.4.1", "2.16", "2.17.0.dev20261101", "1.14", "1!2.6", "2.1.3", "2.6.5+cu124"})
    EXPECT_THAT(read_torch(version).error().message, testing::HasSubstr("no such release")) << version;
}

TEST(Torch, TheOtherAbiIsAMisfit) {
  EXPECT_THAT(judged(check_torch, extension(TorchAbi::kPreCxx11, {kOldError}), under(release("2.7.1+cu126"))),
              ElementsAre("FF401 misfit needs the old C++ ABI (pre-cxx11); torch 2.7.1+cu126 has the new one"));
  EXPECT_THAT(judged(check_torch, extension(TorchAbi::kCxx11, {}), under(release("2.5.1"))),
              ElementsAre("FF401 misfit needs the new C++ ABI (cxx11); torch 2.5.1 has the old one"));
  for (const TorchAbi abi : {TorchAbi::kCxx11, TorchAbi::kEither, TorchAbi::kStable, TorchAbi::kNone})
    EXPECT_THAT(judged(check_torch, extension(abi, {}), under(release("2.7.1"))), IsEmpty());
}

TEST(Torch, MissingSymbolsAreNamed) {
  TorchFacts torch = release("2.9.0");
  torch.exports = {kStream};
  EXPECT_THAT(judged(check_torch, extension(TorchAbi::kEither, {kStream}), under(torch)), IsEmpty());
  torch.exports = {"_ZN3c106sym_neERKNS_6SymIntEi"};
  Target target = extension(TorchAbi::kEither, {kStream});
  EXPECT_THAT(
      judged(check_torch, target, under(torch)),
      ElementsAre(
          "FF402 misfit built for another PyTorch: torch 2.9.0 lacks c10::cuda::getCurrentCUDAStream(signed char)"));
  EXPECT_THAT(judged(check_torch, extension(TorchAbi::kStable, {"torch_call_dispatcher"}), under(torch)),
              ElementsAre("FF402 misfit built for another PyTorch: torch 2.9.0 lacks torch_call_dispatcher"));
  target.binaries.push_back({.path = "a/libhelp.so"});
  target.binaries[1].extension.torch_defined = {kStream};
  EXPECT_THAT(judged(check_torch, target, under(torch)), IsEmpty()) << "a library beside it has it";
}

/// Bindings that return a tensor ask for THPVariable_Wrap(), whose argument 2.6 and 2.10 have changed.
TEST(Torch, TheWrapOfAnotherReleaseIsMissing) {
  constexpr const char *kByValue = "_Z16THPVariable_WrapN2at10TensorBaseE",
                       *kByReference = "_Z16THPVariable_WrapRKN2at10TensorBaseE",
                       *kMoved = "_Z16THPVariable_WrapON2at10TensorBaseE";
  const auto lines = [](const char* name, const TorchFacts& torch) {
    return judged(check_torch, extension(TorchAbi::kEither, {name}), under(torch));
  };
  EXPECT_THAT(lines(kByValue, release("2.6.0")),
              ElementsAre("FF402 misfit built for another PyTorch: torch 2.6.0 lacks THPVariable_Wrap(at::TensorBase) "
                          "(until torch 2.5)"));
  EXPECT_THAT(lines(kByReference, release("2.5.1")), ElementsAre(testing::HasSubstr("(of torch 2.6)")));
  EXPECT_THAT(lines(kMoved, release("2.9.1")), ElementsAre(testing::HasSubstr("(of torch 2.10)")));
  EXPECT_THAT(lines(kByValue, release("2.5.1")), IsEmpty());
  EXPECT_THAT(lines(kByReference, release("2.9.1")), IsEmpty());
  EXPECT_THAT(lines(kMoved, release("2.10.0")), IsEmpty());
  TorchFacts torch = release("2.9.0");
  torch.exports = {kStream};
  EXPECT_THAT(lines(kByReference, torch), IsEmpty()) << "its Python module lies elsewhere";
  torch.libraries = {"libtorch_python.so"};
  EXPECT_THAT(lines(kByReference, torch), ElementsAre(StartsWith("FF402 misfit ")));
}

TEST(Torch, ALibraryThatItLacksIsMissing) {
  TorchFacts torch = release("2.9.0");
  torch.exports = {kStream};
  torch.libraries = {"libc10.so", "libtorch_cpu.so", "libtorch_python.so"};
  Target target = extension(TorchAbi::kEither, {kStream});
  target.binaries[0].needed = {"libc10.so", "libfancy.so.1", "libtorch_cuda_cu.so"};
  EXPECT_THAT(judged(check_torch, target, under(torch)),
              ElementsAre("FF402 misfit built for another PyTorch: torch 2.9.0 has no libtorch_cuda_cu.so"));
  target.kind = TargetKind::kDistribution;
  EXPECT_THAT(judged(check_torch, target, under(torch)), IsEmpty()) << "the loader's model judges it";
  target.kind = TargetKind::kWheel;
  torch.libraries.insert("libtorch_cuda_cu.so");
  EXPECT_THAT(judged(check_torch, target, under(torch)), IsEmpty());
  torch.libraries = {"libc10.so"};
  EXPECT_THAT(judged(check_torch, target, under(torch)), IsEmpty()) << "its others lie elsewhere";
}

TEST(Torch, VersionsOfTheNameAndOfTheRequirement) {
  EXPECT_THAT(judged(check_torch, extension(TorchAbi::kCxx11, {}, "+pt27cu128"), under(release("2.9.0"))),
              ElementsAre(StartsWith("FF404 unknown the file name says PyTorch 2.7; yours is 2.9.0")));
  EXPECT_THAT(judged(check_torch, extension(TorchAbi::kCxx11, {}, "+pt29cu128"), under(release("2.9.0"))), IsEmpty());
  EXPECT_THAT(judged(check_torch, extension(TorchAbi::kStable, {}, "+pt27cu128"), under(release("2.9.0"))), IsEmpty());
  Target pinned = extension(TorchAbi::kCxx11, {});
  pinned.metadata = "Name: a\nVersion: 1\nRequires-Dist: torch==2.7.1\nRequires-Dist: torch<1; extra == 'old'\n";
  EXPECT_THAT(judged(check_torch, pinned, under(release("2.9.0"))),
              ElementsAre("FF406 misfit requires torch ==2.7.1; yours is 2.9.0"));
  EXPECT_THAT(judged(check_torch, pinned, under(release("2.7.1+cu128"))), IsEmpty());
  pinned.metadata = "Name: a\nVersion: 1\nRequires-Dist: torch==2.7.1; sys_platform == 'win32'\n";
  Question linux = under(release("2.9.0"));
  EXPECT_EQ(judged(check_torch, pinned, linux).size(), 1U) << "it may be Windows";
  linux.platform = parse_platform("linux_x86_64").value();
  EXPECT_THAT(judged(check_torch, pinned, linux), IsEmpty());
}

TEST(Torch, RequirementsCountWhateverTheLibrariesAskFor) {
  Target pinned = extension(TorchAbi::kNone, {});
  pinned.metadata = "Name: a\nVersion: 1\nRequires-Dist: torch==2.9.1\n";
  EXPECT_THAT(judged(check_torch, pinned, under(release("2.6.0"))),
              ElementsAre("FF406 misfit requires torch ==2.9.1; yours is 2.6.0"));
  EXPECT_THAT(judged(check_torch, pinned, under(release("2.9.1+cu128"))), IsEmpty());
}

TEST(Torch, ReleasesThatAreKnownToBeBuiltForOnePyTorch) {
  const auto by_name = [](const std::string& name, const std::string& torch) {
    const Target target{.target = name, .file_name = name, .kind = TargetKind::kName};
    return judged(check_torch, target, under(release(torch)));
  };
  const std::string tags = "-cp311-cp311-manylinux_2_28_x86_64.whl";
  EXPECT_THAT(by_name("torchvision-0.23.0" + tags, "2.9.1+cu128"),
              ElementsAre("FF406 misfit is built for torch ==2.8.0; yours is 2.9.1+cu128"));
  EXPECT_THAT(by_name("torchcodec-0.7.0" + tags, "2.9.1"),
              ElementsAre("FF406 misfit is built for torch ==2.8.*; yours is 2.9.1"));
  for (const auto& [name, torch] :
       {std::pair{"torchvision-0.24.0", "2.9.1"}, std::pair{"torchvision-0.24.1+cu130", "2.9.0+cu130"},
        std::pair{"torchvision-0.29.2", "2.15.0"}, std::pair{"torchaudio-2.9.1", "2.9.1"},
        std::pair{"torchcodec-0.15.0", "2.13.0"}, std::pair{"xformers-0.0.33.post1", "2.9.0"},
        std::pair{"xformers-99.0", "2.9.0"}, std::pair{"torchvision-0.14.0", "2.9.0"}})
    EXPECT_THAT(by_name(name + tags, torch), IsEmpty()) << name;
}

TEST(Torch, MetadataGoesBeforeWhatIsKnownOfTheRelease) {
  Target target = wheel_target("torchvision-0.23.0-cp311-cp311-linux_x86_64.whl", {});
  target.metadata = "Name: torchvision\nVersion: 0.23.0\nRequires-Dist: torch>=2.8\n";
  EXPECT_THAT(judged(check_torch, target, under(release("2.9.1"))), IsEmpty());
}

TEST(Torch, AnAddressInMetadataNamesItsVersion) {
  Target target = wheel_target("a-1-py3-none-any.whl", {});
  target.metadata =
      "Name: a\nVersion: 1\nRequires-Dist: torch @ "
      "https://x.invalid/cu128/torch-2.8.0%2Bcu128-cp312-cp312-linux_x86_64.whl\n";
  EXPECT_THAT(judged(check_torch, target, under(release("2.9.1"))),
              ElementsAre("FF406 misfit requires torch ==2.8.0; yours is 2.9.1"));
  EXPECT_THAT(judged(check_torch, target, under(release("2.8.0+cu129"))), IsEmpty());
  target.metadata = "Name: a\nVersion: 1\nRequires-Dist: torch @ git+https://x.invalid/torch\n";
  EXPECT_THAT(judged(check_torch, target, under(release("2.9.1"))), IsEmpty());
}

TEST(Torch, StableFunctionsOfALaterReleaseAreMissingWhereAVersionAloneIsKnown) {
  const Target target = extension(TorchAbi::kStable, {"aoti_torch_get_dim", "torch_list_size", "torch_from_blob"});
  EXPECT_THAT(judged(check_torch, target, under(release("2.9.1"))),
              ElementsAre("FF402 misfit built for another PyTorch: torch 2.9.1 lacks torch_list_size (of torch 2.10), "
                          "torch_from_blob (of torch 2.11)"));
  EXPECT_THAT(judged(check_torch, target, under(release("2.11.0+cu130"))), IsEmpty());
}

TEST(Torch, ReleasesAreToldApartByTheNamesThatTheyHaveWhereAVersionAloneIsKnown) {
  // auto-gptq 0.7.1 asks for these; its METADATA takes any torch from 1.13 on.
  const Target old = extension(TorchAbi::kPreCxx11, {kStream, "_ZN3c104cuda9SetDeviceEi"});
  const std::string lacks = "FF402 misfit built for another PyTorch: torch ";
  EXPECT_THAT(judged(check_torch, old, under(release("2.6.0"))),
              ElementsAre(lacks + "2.6.0 lacks c10::cuda::SetDevice(int) (until torch 2.2)"));
  EXPECT_THAT(judged(check_torch, old, under(release("2.3.0+cu118"))), testing::SizeIs(1));
  for (const char* const version : {"2.2.1", "2.2.0+cu121", "2.1.2", "2.3.0a0+git1"})
    EXPECT_THAT(judged(check_torch, old, under(release(version))), IsEmpty()) << version;
  const Target newer = extension(TorchAbi::kEither, {"_ZN3c104cuda29c10_cuda_check_implementationEiPKcS2_jb"});
  EXPECT_THAT(judged(check_torch, newer, under(release("2.9.1"))),
              ElementsAre(lacks + "2.9.1 lacks c10::cuda::c10_cuda_check_implementation(int, char const*, char const*, "
                                  "unsigned int, bool) (of torch 2.10)"));
  EXPECT_THAT(judged(check_torch, newer, under(release("2.10.0"))), IsEmpty());
  Target beside = old;
  beside.binaries.push_back({.path = "a/libhelp.so"});
  beside.binaries[1].extension.torch_defined = {"_ZN3c104cuda9SetDeviceEi"};
  EXPECT_THAT(judged(check_torch, beside, under(release("2.6.0"))), IsEmpty()) << "a library beside it has it";
}

TEST(Torch, OperatorsAreToldApartByTheClassesOfTheirArguments) {
  const auto lacking = [](const char* name, const char* version) {
    return judged(check_torch, extension(TorchAbi::kEither, {name}), under(release(version))).size();
  };
  const char* const own = "_ZN2at4_ops3sum4callERKNS_6TensorEN3c108optionalINS5_10ScalarTypeEEE";
  const char* const of_library = "_ZN2at4_ops3sum4callERKNS_6TensorESt8optionalIN3c1010ScalarTypeEE";
  EXPECT_EQ(lacking(own, "2.1.2") + lacking(of_library, "2.2.2") + lacking(of_library, "2.15.0"), 0U);
  EXPECT_EQ(lacking(own, "2.2.2") + lacking(own, "2.15.0") + lacking(of_library, "2.1.2"), 3U);
  const char* const view = "_ZN2at4_ops4gelu4callERKNS_6TensorEN3c1017basic_string_viewIcEE";
  const char* const std_view = "_ZN2at4_ops4gelu4callERKNS_6TensorESt17basic_string_viewIcSt11char_traitsIcEE";
  EXPECT_EQ(lacking(view, "2.5.1") + lacking(std_view, "2.6.0"), 0U);
  EXPECT_EQ(lacking(view, "2.6.0") + lacking(std_view, "2.5.1"), 2U);
}

TEST(Torch, AFunctionThatIsThereWithTheOtherStringIsAboutTheAbi) {
  TorchFacts torch = release("2.9.0");
  const std::string old = "_ZNK5torch5thing4nameEv";
  torch.exports = {"_ZNK5torch5thing4nameB5cxx11Ev"};
  EXPECT_THAT(judged(check_torch, extension(TorchAbi::kEither, {old}), under(torch)),
              ElementsAre("FF401 misfit needs the old C++ ABI (pre-cxx11); torch 2.9.0 has the new one. Missing: "
                          "torch::thing::name() const"));
  torch.exports = {kStream};
  EXPECT_THAT(judged(check_torch, extension(TorchAbi::kEither, {old}), under(torch)),
              ElementsAre(StartsWith("FF402 misfit")));
}

TEST(Torch, CudaOfTheRuntime) {
  Target target = extension(TorchAbi::kCxx11, {});
  target.binaries[0].needed = {"libcudart.so.12"};
  EXPECT_THAT(
      judged(check_torch, target, under(release("2.9.0+cu130"))),
      ElementsAre(
          "FF405 misfit needs the runtime of CUDA 12 (libcudart.so.12); torch 2.9.0+cu130 brings that of CUDA 13"));
  EXPECT_THAT(judged(check_torch, target, under(release("2.9.0+cu128"))), IsEmpty());
  EXPECT_THAT(judged(check_torch, target, under(release("2.11.0"))), IsEmpty()) << "not of x86-64";
  target.binaries[0].machine = "x86_64";
  EXPECT_THAT(judged(check_torch, target, under(release("2.9.0"))), IsEmpty()) << "the index's is of CUDA 12.8";
  EXPECT_THAT(judged(check_torch, target, under(release("2.11.0"))),
              ElementsAre("FF405 misfit needs the runtime of CUDA 12 (libcudart.so.12); torch 2.11.0 brings that of "
                          "CUDA 13"))
      << "the index's is of CUDA 13";
  target.metadata = "Name: a\nVersion: 1\nRequires-Dist: nvidia-cuda-runtime-cu12\n";
  EXPECT_THAT(judged(check_torch, target, under(release("2.11.0"))), IsEmpty()) << "it brings its own";
  target.binaries[0].needed = {"libtorch_cuda.so"};
  EXPECT_THAT(judged(check_torch, target, under(release("2.9.0+cpu"))),
              ElementsAre("FF405 misfit needs libtorch_cuda.so; torch 2.9.0+cpu is built for the CPU alone"));
}

TEST(Torch, LabelsOfTheOtherAbiAreLies) {
  EXPECT_THAT(
      judged(check_torch, extension(TorchAbi::kCxx11, {}, "+cu12torch2.7cxx11abiFALSE")),
      ElementsAre(
          "FF403 degraded mislabelled: the file name says cxx11abiFALSE, the code has the new C++ ABI (cxx11)"));
  EXPECT_THAT(judged(check_torch, extension(TorchAbi::kPreCxx11, {}, "+cu12torch2.7cxx11abiFALSE")), IsEmpty());
}

TEST(Torch, AbiThatNoReleaseOfTheNamedVersionHas) {
  Target target = extension(TorchAbi::kPreCxx11, {}, "+cu12torch2.7cxx11abiFALSE");
  target.binaries[0].machine = "x86_64";
  EXPECT_THAT(judged(check_torch, target),
              ElementsAre("FF401 unknown needs the old C++ ABI (pre-cxx11); the file name says PyTorch 2.7, and every "
                          "release of that has the new one: only a PyTorch of another maker could load it"));
  target.binaries[0].extension.torch_abi = TorchAbi::kEither;
  EXPECT_THAT(judged(check_torch, target), IsEmpty());
  for (const auto& [label, abi] : {std::pair{"+cu12torch2.6cxx11abiFALSE", TorchAbi::kPreCxx11},
                                   std::pair{"+cu12torch2.6cxx11abiTRUE", TorchAbi::kCxx11},
                                   std::pair{"+cu12torch2.7cxx11abiTRUE", TorchAbi::kCxx11},
                                   std::pair{"+cu12torch99.7cxx11abiFALSE", TorchAbi::kPreCxx11}}) {
    Target other = extension(abi, {}, label);
    other.binaries[0].machine = "x86_64";
    EXPECT_THAT(judged(check_torch, other), IsEmpty()) << label;
  }
}

using OriginCases = test::OriginFolder;

TEST_F(OriginCases, AWheelOfTorchHasItsSymbolsVersionAndAbi) {
  const auto torch = read_torch(path("torch-2.7.1"));
  ASSERT_TRUE(torch.has_value()) << torch.error().message;
  EXPECT_EQ((*torch)->version->text, "2.7.1+cu126");
  EXPECT_EQ((*torch)->cxx11_abi, true);
  EXPECT_TRUE((*torch)->exports.contains(kStream));
  EXPECT_TRUE((*torch)->libraries.contains("libtorch_cuda.so"));
  EXPECT_EQ((*read_torch(path("torch-2.5.1")))->cxx11_abi, false);
}

TEST_F(OriginCases, TheOldAbiUnderATorchOfTheNewIsNamedWithItsSymbols) {
  const Target wheel = read_file(path("cxx11abiFALSE-cp311"));
  ASSERT_EQ(wheel.binaries.size(), 1U);
  EXPECT_EQ(wheel.binaries[0].extension.torch_abi, TorchAbi::kPreCxx11);
  Question question;
  question.torch = read_torch(path("torch-2.7.1")).value();
  EXPECT_THAT(
      judged(check_torch, wheel, question),
      ElementsAre("FF401 misfit needs the old C++ ABI (pre-cxx11); torch 2.7.1+cu126 has the new one. Missing: "
                  "c10::Error::Error(c10::SourceLocation, std::string), c10::detail::torchCheckFail(char const*, char "
                  "const*, unsigned int, std::string const&)"));
  EXPECT_THAT(judged(check_torch, read_file(path("cxx11abiTRUE-cp311")), question), IsEmpty());
  question.torch = read_torch(path("torch-2.5.1")).value();
  EXPECT_THAT(judged(check_torch, wheel, question), IsEmpty());
}

}  // namespace
}  // namespace flashfit::doctor
