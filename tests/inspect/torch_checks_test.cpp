#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "inspect/all_checks.hpp"
#include "inspect/judged.hpp"
#include "inspect/origin_folder.hpp"
#include "inspect/read_target.hpp"
#include "inspect/torch_facts.hpp"

namespace flashfit::inspect {
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

TEST(Torch, CudaOfTheRuntime) {
  Target target = extension(TorchAbi::kCxx11, {});
  target.binaries[0].needed = {"libcudart.so.12"};
  EXPECT_THAT(
      judged(check_torch, target, under(release("2.9.0+cu130"))),
      ElementsAre(
          "FF405 misfit needs the runtime of CUDA 12 (libcudart.so.12); torch 2.9.0+cu130 brings that of CUDA 13"));
  EXPECT_THAT(judged(check_torch, target, under(release("2.9.0+cu128"))), IsEmpty());
  EXPECT_THAT(judged(check_torch, target, under(release("2.9.0"))), IsEmpty()) << "not said";
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
}  // namespace flashfit::inspect
