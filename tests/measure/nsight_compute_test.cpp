// Nsight Compute in a test's hands: a script named ncu, first in the PATH, that answers as ncu 2025 does.
#include "measure/nsight_compute.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

namespace flashfit::measure {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;
using testing::StartsWith;

constexpr char kCsv[] =
    "==PROF== Connected to process 7\n"
    "case  median us\n"
    "\"ID\",\"Kernel Name\",\"dram__bytes.sum\",\"gpu__time_duration.sum\",\"launch__waves\"\n"
    "\"\",\"\",\"Mbyte\",\"ns\",\"\"\n"
    "\"0\",\"entry(ForwardKernel<1, 2>)\",\"2.5\",\"1,035,744\",\"3\"\n";

TEST(Metrics, NumbersOfTheFirstKernelWithTheirUnits) {
  const auto found = metrics_of(kCsv);
  ASSERT_TRUE(found) << found.error().message;
  EXPECT_EQ((*found)["gpu__time_duration.sum"]["value"], 1035744);
  EXPECT_EQ((*found)["gpu__time_duration.sum"]["unit"], "ns");
  EXPECT_EQ((*found)["dram__bytes.sum"]["value"], 2.5);
  EXPECT_EQ(found->size(), 2) << "what was not asked for stays out";
}

TEST(Metrics, NoKernelIsAnError) {
  const auto none = metrics_of("==PROF== No kernels were profiled.\n");
  ASSERT_FALSE(none);
  EXPECT_EQ(none.error().message, "ncu counted nothing of the kernel");
}

/// A folder that is the whole PATH, with a made-up ncu in it whose runs, but for --version, do `body`.
class MadeUpNcu : public testing::Test {
 protected:
  MadeUpNcu() : folder_(fs::path(testing::TempDir()) / ("ncu-" + std::to_string(getpid()))) {
    fs::create_directories(folder_);
    setenv("PATH", folder_.c_str(), 1);
  }
  ~MadeUpNcu() override {
    setenv("PATH", path_.c_str(), 1);
    fs::remove_all(folder_);
  }
  void install(const std::string& body,
               const std::string& version = "echo 'Version 2025.3.1.0 (build 36398880) (public-release)'") {
    std::ofstream(folder_ / "ncu") << "#!/bin/sh\nif [ \"$1\" = --version ]; then echo 'NVIDIA (R) Nsight Compute'\n"
                                   << version << "\nexit\nfi\necho \"$@\" >>" << (folder_ / "asked") << "\n"
                                   << body << "\n";
    fs::permissions(folder_ / "ncu", fs::perms::owner_all);
  }
  /// The runs that were asked for, a line each.
  std::string asked() const {
    std::ostringstream text;
    text << std::ifstream(folder_ / "asked").rdbuf();
    return text.str();
  }
  static Result<nlohmann::ordered_json> count() {
    const Result<NsightCompute> ncu = NsightCompute::find();
    return ncu ? ncu->count("ForwardKernel", {"/bin/sleep", "0"}) : tl::unexpected(ncu.error());
  }
  const fs::path folder_;
  const std::string path_ = std::getenv("PATH");
};

std::string says(const std::string& text) { return "/bin/cat <<'END'\n" + text + "END"; }

TEST_F(MadeUpNcu, CountsTheKernelByItsWholeNameAndLeavesTheClocksAlone) {
  install(says(kCsv));
  const auto found = count();
  ASSERT_TRUE(found) << found.error().message;
  EXPECT_EQ((*found)["dram__bytes.sum"]["value"], 2.5);
  EXPECT_EQ(NsightCompute::find()->version(), "2025.3.1.0");
  EXPECT_THAT(asked(), HasSubstr("--kernel-name-base demangled --kernel-name regex:ForwardKernel --launch-count 1"));
  EXPECT_THAT(asked(), HasSubstr("--clock-control none"));
  EXPECT_THAT(asked(), testing::EndsWith("/bin/sleep 0\n"));
}

TEST_F(MadeUpNcu, ACommandThatFailsAfterItsKernelWasCountedIsCountedAllTheSame) {
  install(says(std::string(kCsv) + "==ERROR== The application returned an error code (1).\n") + "\nexit 1");
  EXPECT_TRUE(count());
}

TEST_F(MadeUpNcu, AMetricThatThisGpuLacksIsLeftOut) {
  install(
      "case \"$*\" in *sm__pipe_tensor*) echo '==ERROR== Failed to find metric "
      "sm__pipe_tensor_cycles_active.avg.pct_of_peak_sustained_elapsed' >&2; exit 1;; esac\n" +
      says(kCsv));
  const auto found = count();
  ASSERT_TRUE(found) << found.error().message;
  EXPECT_EQ((*found)["gpu__time_duration.sum"]["value"], 1035744);
  const std::string runs = asked();
  EXPECT_EQ(std::count(runs.begin(), runs.end(), '\n'), 2);
}

TEST_F(MadeUpNcu, WhereCountersMayNotBeReadALineSaysWhatHelps) {
  install(
      says("==PROF== Connected to process 7\n==ERROR== ERR_NVGPUCTRPERM - The user does not have permission to "
           "access NVIDIA GPU Performance Counters on the target device 0.\n==WARNING== No kernels were profiled.\n"));
  const auto found = count();
  ASSERT_FALSE(found);
  EXPECT_EQ(found.error().code, Code::kMisfit);
  EXPECT_THAT(found.error().message,
              StartsWith("ncu may not read this GPU's counters (ERR_NVGPUCTRPERM): run as root"));
}

TEST_F(MadeUpNcu, OtherErrorsAreItsOwnWords) {
  install(says("==ERROR== Failed to initialize the profiler: LibraryNotLoaded\n") + "\nexit 1");
  const auto found = count();
  ASSERT_FALSE(found);
  EXPECT_EQ(found.error().code, Code::kMisfit);
  EXPECT_EQ(found.error().message, "ncu cannot count here: Failed to initialize the profiler: LibraryNotLoaded");
}

TEST_F(MadeUpNcu, ACommandWithoutTheKernelIsNoFaultOfTheMachine) {
  install(says("==WARNING== No kernels were profiled.\n==ERROR== The application returned an error code (1).\n"));
  const auto found = count();
  ASSERT_FALSE(found);
  EXPECT_EQ(found.error().code, Code::kInternal);
}

TEST_F(MadeUpNcu, OneThatDoesNotRunSaysSo) {
  install("", "exit 3");
  const auto found = count();
  ASSERT_FALSE(found);
  EXPECT_EQ(found.error().message, "ncu --version ended with status 3 and says no version");
}

TEST_F(MadeUpNcu, NoneAtAllSaysWhereItWasLookedFor) {
  if (fs::exists("/usr/local/cuda/bin/ncu")) GTEST_SKIP() << "the toolkit's is here";
  const auto found = NsightCompute::find();
  ASSERT_FALSE(found);
  EXPECT_EQ(found.error().code, Code::kMisfit);
  EXPECT_EQ(found.error().message, "no ncu in the PATH, and no /usr/local/cuda/bin/ncu");
}

}  // namespace
}  // namespace flashfit::measure
