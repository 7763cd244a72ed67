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
