// The table of PyTorch's releases is whole: torch_releases_test.py holds it against the wheels.
#include "doctor/knowledge/torch_releases.hpp"

#include <gtest/gtest.h>

#include "doctor/facts/torch_facts.hpp"
#include "doctor/gpu_code/toolkit_gpus.hpp"
#include "doctor/gpu_code/what_runs_where.hpp"

namespace flashfit::doctor {
namespace {

TEST(TorchReleases, FollowEachOther) {
  const TorchRelease* before = nullptr;
  for (const TorchRelease& release : torch_releases()) {
    if (before != nullptr && before->major == release.major) {
      EXPECT_EQ(release.minor, before->minor + 1);
      EXPECT_GE(release.first_python, before->first_python) << release.str();
      EXPECT_GE(release.last_python, before->last_python) << release.str();
    }
    before = &release;
    const auto version = parse_version(release.str());
    ASSERT_TRUE(version);
    EXPECT_EQ(torch_release_of(*version), &release);
    EXPECT_EQ(no_torch_release(*version), "");
    EXPECT_TRUE(read_torch_release(release.str()));
  }
  EXPECT_EQ(torch_release_of(parse_version("2.99").value()), nullptr);
  EXPECT_EQ(torch_release_of(parse_version("1!2.9.1").value()), nullptr);
}

TEST(TorchReleases, EveryBuildHasCodeThatItsCompilerKnows) {
  for (const TorchRelease& release : torch_releases()) {
    if (release.major < 2) continue;
    EXPECT_TRUE(release.has_build(release.cuda[0])) << release.str();
    EXPECT_LT(release.first_python, release.last_python);
    for (const CudaVersion cuda : release.cuda) {
      const auto code = code_of_torch(release, cuda);
      EXPECT_EQ(code.empty(), cuda == 0) << release.str() << " " << cuda;
      for (const CodeEntry& entry : code) EXPECT_TRUE(toolkit_knows(cuda, entry.cc())) << entry.str() << " " << cuda;
    }
  }
}

TEST(TorchReleases, SayWhichGpusABuildServes) {
  const auto serves = [](const char* version, CudaVersion cuda, ComputeCapability gpu) {
    const TorchRelease* const release = torch_release_of(parse_version(version).value());
    return best_of(code_of_torch(*release, cuda), {"", gpu, 0}).best;
  };
  EXPECT_EQ(serves("2.7.1", 12080, {7, 0}), Best::kNo);
  EXPECT_EQ(serves("2.8.0", 12080, {7, 0}), Best::kSass);
  EXPECT_EQ(serves("2.9.1", 12080, {8, 9}), Best::kSass) << "8.6 runs there";
  EXPECT_EQ(serves("2.13.0", 13000, {12, 1}), Best::kSass);
  EXPECT_EQ(serves("2.0.1", 11070, {9, 0}), Best::kNo);
  EXPECT_TRUE(code_of_torch(*torch_release_of(parse_version("2.9").value()), 12090).empty()) << "no such build";
  EXPECT_EQ(targets_of_torch(*torch_release_of(parse_version("2.13").value()), 13000), "7.5 8.0 8.6 9.0 10.0 12.0");
  EXPECT_EQ(targets_of_torch(*torch_release_of(parse_version("2.7").value()), 12080), "7.5 8.0 8.6 9.0 10.0 12.0+PTX");
}

}  // namespace
}  // namespace flashfit::doctor
