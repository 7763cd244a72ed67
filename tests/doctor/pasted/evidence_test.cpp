// Files held against errors: which of them explain one, which are cleared.
#include "doctor/pasted/evidence.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "doctor/examine/examine.hpp"
#include "doctor/facts/torch_facts.hpp"
#include "doctor/rules/origin_folder.hpp"

namespace flashfit::doctor::pasted {
namespace {

using doctor::Question;
using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;

constexpr char kNoImage[] = "RuntimeError: CUDA error: no kernel image is available for execution on the device\n";
constexpr char kOldSymbol[] =
    "ImportError: /v/site-packages/flash_attn_2_cuda.cpython-311-x86_64-linux-gnu.so: undefined symbol: "
    "_ZN3c105ErrorC2ENS_14SourceLocationESs\n";

class EvidenceOfFiles : public doctor::test::OriginFolder {
 protected:
  EvidenceOfFiles() {
    question_.gpus.push_back({"L40", name_gpu("L40").value()});
    question_.python = doctor::parse_python("3.11").value();
    question_.platform = doctor::parse_platform("manylinux_2_35_x86_64").value();
  }
  Evidence weighed(const char* text, const std::vector<std::string>& parts) {
    std::vector<std::string> paths;
    for (const std::string& part : parts) paths.push_back(path(part));
    reports_ = doctor::examine(paths, question_, {});
    return weigh(diagnose(text), reports_, question_);
  }

  Question question_;
  std::vector<doctor::TargetReport> reports_;
};

TEST_F(EvidenceOfFiles, TheLibraryWithoutAnImageIsTheCulpritAndTheOtherIsCleared) {
  const Evidence evidence = weighed(kNoImage, {"cxx11abiTRUE-cp311", "apex"});
  ASSERT_THAT(evidence.culprits, SizeIs(1));
  EXPECT_EQ(evidence.culprits[0].report, 1U);
  EXPECT_EQ(evidence.culprits[0].problems[0].code, "FF101");
  EXPECT_THAT(evidence.cleared, ElementsAre(0));
}

TEST_F(EvidenceOfFiles, WithoutAGpuNobodyIsBlamedOrCleared) {
  question_.gpus.clear();
  const Evidence evidence = weighed(kNoImage, {"cxx11abiTRUE-cp311", "apex"});
  EXPECT_THAT(evidence.culprits, IsEmpty());
  EXPECT_THAT(evidence.cleared, IsEmpty());
  EXPECT_THAT(evidence.silent, ElementsAre(0, 1));
}

TEST_F(EvidenceOfFiles, ProblemsOfAnotherKindExplainNothing) {
  // For another Python, which makes no launch fail.
  const Evidence evidence = weighed(kNoImage, {"torch2.7cxx11abiFALSE-cp310"});
  EXPECT_THAT(evidence.culprits, IsEmpty());
  EXPECT_THAT(evidence.cleared, ElementsAre(0));
}

TEST_F(EvidenceOfFiles, AMissingSymbolIsExplainedByTheOtherAbi) {
  question_.torch = doctor::read_torch(path("torch-2.7.1")).value();
  const Evidence evidence = weighed(kOldSymbol, {"cxx11abiTRUE-cp311", "cxx11abiFALSE-cp311"});
  ASSERT_THAT(evidence.culprits, SizeIs(1));
  EXPECT_EQ(evidence.culprits[0].report, 1U);
  EXPECT_EQ(evidence.culprits[0].problems[0].code, "FF401");
  EXPECT_THAT(evidence.cleared, ElementsAre(0));
}

TEST_F(EvidenceOfFiles, TheFileThatTheLoaderNamedDecides) {
  question_.torch = doctor::read_torch(path("torch-2.7.1")).value();
  // Of the two only flash-attn's holds the file named; apex has the new ABI anyway.
  const Evidence evidence = weighed(kOldSymbol, {"apex", "cxx11abiFALSE-cp311"});
  ASSERT_THAT(evidence.culprits, SizeIs(1));
  EXPECT_EQ(evidence.culprits[0].report, 1U);
}

doctor::TargetReport package(const char* name, const char* file, std::vector<doctor::Problem> problems) {
  doctor::TargetReport report;
  report.target.target = name;
  report.target.kind = doctor::TargetKind::kDistribution;
  report.target.binaries.resize(1);
  report.target.binaries[0].path = file;
  report.verdict = doctor::Verdict::kMisfit;
  report.problems = std::move(problems);
  return report;
}

TEST(EvidenceOfPackages, WhatIsWrongWithAnotherPackageDoesNotExplainTheFileThatTheLoaderNamed) {
  const std::vector<doctor::TargetReport> reports = {
      package("torchcodec==0.9.1", "torchcodec/libtorchcodec_core7.so", {{"FF406", doctor::Severity::kMisfit, "x"}}),
      package("torchaudio==2.10.0", "torchaudio/lib/libtorchaudio.so",
              {{"FF402", doctor::Severity::kMisfit, "x", "torchaudio/lib/libtorchaudio.so"},
               {"FF406", doctor::Severity::kMisfit, "x"}})};
  const Evidence evidence =
      weigh(diagnose("OSError: /v/site-packages/torchaudio/lib/libtorchaudio.so: undefined symbol: torch_list_size\n"),
            reports, {});
  ASSERT_THAT(evidence.culprits, SizeIs(1));
  EXPECT_EQ(evidence.culprits[0].report, 1U);
  EXPECT_THAT(evidence.culprits[0].problems, SizeIs(2));
  EXPECT_THAT(evidence.cleared, ElementsAre(0));
}

TEST(EvidenceOfPackages, AnAbsentModuleIsNotExplainedByAPackageThatHasNothingToDoWithIt) {
  const std::vector<doctor::TargetReport> reports = {
      package("xformers==0.0.35", "xformers/_C.so", {{"FF402", doctor::Severity::kMisfit, "x", "xformers/_C.so"}}),
      package("flash-attn==2.8.3", "flash_attn/x.so", {{"FF222", doctor::Severity::kMisfit, "x"}}),
      package("mamba-ssm==2.2.4", "mamba_ssm/x.so", {{"FF402", doctor::Severity::kMisfit, "x"}})};
  const auto weighed = [&](const char* text) { return weigh(diagnose(text), reports, {}); };
  const Evidence flash = weighed("ModuleNotFoundError: No module named 'flash_attn_2_cuda'\n");
  ASSERT_THAT(flash.culprits, SizeIs(1));
  EXPECT_EQ(flash.culprits[0].report, 1U);
  EXPECT_THAT(flash.cleared, IsEmpty());
  EXPECT_THAT(flash.silent, ElementsAre(0, 2));
  // Named by the kind of error.
  const Evidence mamba = weighed("NameError: name 'selective_scan_cuda' is not defined\n");
  ASSERT_THAT(mamba.culprits, SizeIs(1));
  EXPECT_EQ(mamba.culprits[0].report, 2U);
  // A name that says nothing, and frames that do.
  EXPECT_THAT(weighed("ModuleNotFoundError: No module named '_C'\n").culprits, SizeIs(3));
  EXPECT_THAT(weighed("  File \"/v/site-packages/xformers/ops/fmha/flash.py\", line 1, in <module>\n"
                      "ModuleNotFoundError: No module named 'flash_attn_2_cuda'\n")
                  .culprits,
              SizeIs(2));
}

// What the rules have nothing against is no proof that the refusal was wrong: it was of another machine.
TEST(EvidenceOfPackages, TheWheelThatAnInstallerRefusedIsNotCleared) {
  doctor::TargetReport wheel;
  wheel.target.target = wheel.target.file_name = "x-1.0-cp311-cp311-linux_x86_64.whl";
  wheel.verdict = doctor::Verdict::kFits;
  const Evidence evidence = weigh(
      diagnose("ERROR: x-1.0-cp311-cp311-linux_x86_64.whl is not a supported wheel on this platform.\n"), {wheel}, {});
  EXPECT_THAT(evidence.culprits, IsEmpty());
  EXPECT_THAT(evidence.cleared, IsEmpty());
  EXPECT_THAT(evidence.silent, ElementsAre(0));
}

TEST(EvidenceOfPackages, TheFileThatTheLoaderRefusedIsNotCleared) {
  std::vector<doctor::TargetReport> reports = {package("torchaudio==2.10.0", "torchaudio/lib/libtorchaudio.so", {}),
                                               package("torchvision==0.24.1", "torchvision/_C.so", {})};
  for (auto& report : reports) report.verdict = doctor::Verdict::kFits;
  const Evidence evidence =
      weigh(diagnose("OSError: /v/site-packages/torchaudio/lib/libtorchaudio.so: undefined symbol: torch_list_size\n"),
            reports, {});
  EXPECT_THAT(evidence.silent, ElementsAre(0));
  EXPECT_THAT(evidence.cleared, ElementsAre(1));
}

TEST(EvidenceOfPackages, OfFilesOfOneNameTheOneInTheNamedFolderIsMeant) {
  const std::vector<doctor::TargetReport> reports = {
      package("torchvision==0.24.1", "torchvision/_C.so",
              {{"FF402", doctor::Severity::kMisfit, "x", "torchvision/_C.so"}}),
      package("pytorch3d==0.7.8", "pytorch3d/_C.so", {{"FF402", doctor::Severity::kMisfit, "x", "pytorch3d/_C.so"}})};
  const auto culprits = [&](const char* text) {
    std::vector<std::size_t> found;
    for (const Culprit& culprit : weigh(diagnose(text), reports, {}).culprits) found.push_back(culprit.report);
    return found;
  };
  EXPECT_THAT(culprits("ImportError: /v/site-packages/pytorch3d/_C.so: undefined symbol: _ZN2at4_ops3fooE\n"),
              ElementsAre(1));
  EXPECT_THAT(culprits("ImportError: C:\\v\\pytorch3d\\_C.so: undefined symbol: _ZN2at4_ops3fooE\n"), ElementsAre(1));
  // The name alone, and a folder of another kind: both may be meant.
  EXPECT_THAT(culprits("ImportError: _C.so: undefined symbol: _ZN2at4_ops3fooE\n"), ElementsAre(0, 1));
  EXPECT_THAT(culprits("ImportError: /build/x/_C.so: undefined symbol: _ZN2at4_ops3fooE\n"), ElementsAre(0, 1));
}

TEST_F(EvidenceOfFiles, APyTorchForTheCpuAloneHasLaunchedNoKernel) {
  const auto blamed = [](doctor::Severity severity) {
    doctor::TargetReport torch;
    torch.target.target = "torch==2.13.0";
    torch.problems = {{"FF704", severity, "x", ""}};
    return !weigh(diagnose(kNoImage), {torch}, {}).culprits.empty();
  };
  EXPECT_TRUE(blamed(doctor::Severity::kMisfit)) << "a build for CUDA without code for this GPU";
  EXPECT_FALSE(blamed(doctor::Severity::kDegrades)) << "a build without CUDA";
}

TEST_F(EvidenceOfFiles, OfAnUnknownErrorEveryMisfitIsShownAndNobodyIsCleared) {
  const Evidence evidence = weighed("KeyError: 'x'\n", {"cxx11abiTRUE-cp311", "apex"});
  ASSERT_THAT(evidence.culprits, SizeIs(1));
  EXPECT_EQ(evidence.culprits[0].report, 1U);
  EXPECT_EQ(evidence.culprits[0].problems[0].code, "FF101");
  EXPECT_THAT(evidence.cleared, IsEmpty());
  EXPECT_THAT(evidence.silent, ElementsAre(0));
}

}  // namespace
}  // namespace flashfit::doctor::pasted
