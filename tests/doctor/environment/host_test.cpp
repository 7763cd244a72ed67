// What no package can help, and what is read of the machine.
#include <gmock/gmock.h>

#include "doctor/environment/host_checks.hpp"
#include "doctor/environment/made_environment.hpp"
#include "doctor/environment/system.hpp"
#include "doctor/environment/torch_builds.hpp"
#include "doctor/knowledge/package_rows.hpp"

namespace flashfit::doctor::environment::test {
namespace {

using doctor::Verdict;
using testing::ElementsAre;
using testing::HasSubstr;

class Host : public MadeEnvironment {};

DriverAnswer answer(int status) {
  return {.state = DriverAnswer::State::kAnswered, .status = status, .path = "/usr/lib/libcuda.so.580.95.05"};
}

TEST_F(Host, AFabricManagerThatIsNotReadyIsTheHosts) {  // kind 11
  install(make_torch("2.9.1+cu128"));
  EnvironmentQuestion asked = question({});
  asked.driver = answer(802);
  const Environment found = look(asked);
  EXPECT_EQ(found.verdict, Verdict::kHost);
  ASSERT_EQ(found.problems.size(), 1U);
  EXPECT_EQ(found.problems[0].code, "FF701");
  EXPECT_THAT(found.problems[0].message, HasSubstr("error 802: the GPUs are not ready"));
  EXPECT_THAT(found.problems[0].fix, HasSubstr("nvidia-fabricmanager"));
}

TEST(HostProblems, EachAnswerOfTheDriverIsToldApart) {
  const auto verdict = [](DriverAnswer driver) {
    return doctor::verdict_of(host_problems({.driver = std::move(driver)}, {}));
  };
  EXPECT_EQ(verdict(answer(0)), Verdict::kFits);
  EXPECT_EQ(verdict(answer(100)), Verdict::kFits) << "no GPU is a fact";
  EXPECT_EQ(verdict({.state = DriverAnswer::State::kNoLibrary, .why = "libcuda.so.1: not found"}), Verdict::kFits);
  EXPECT_EQ(verdict(answer(34)), Verdict::kMisfit);
  for (const int status : {802, 803, 804, 999, 46}) EXPECT_EQ(verdict(answer(status)), Verdict::kHost) << status;
  EXPECT_EQ(verdict({.state = DriverAnswer::State::kTimedOut, .why = "no answer within 20 seconds"}), Verdict::kHost);
  DriverAnswer prohibited = answer(0);
  prohibited.gpus = {{"NVIDIA H200", {9, 0}, 2}};
  EXPECT_EQ(verdict(prohibited), Verdict::kHost);
  DriverAnswer launch = answer(0);
  launch.launch_error = "GPU 0: cuLaunchKernel: CUDA_ERROR_ILLEGAL_STATE";
  EXPECT_EQ(verdict(launch), Verdict::kHost);
}

TEST_F(Host, WhereLibcudaComesFromIsNamed) {
  write("usr/lib/x86_64-linux-gnu/libcuda.so.1", make_shared_library("libcuda.so.1"));
  write("usr/local/cuda-12.8/compat/libcuda.so.1", make_shared_library("libcuda.so.1"));
  write("usr/local/cuda-12.8/lib64/stubs/libcuda.so", make_shared_library("libcuda.so.1"));
  install({"paddle", "1.0", {{"paddle/libs/libcuda.so.1", make_shared_library("libcuda.so.1")}}});
  const Environment found = look(std::vector<std::string>{});
  std::vector<std::string> origins;
  for (const DriverFile& file : found.system.driver_files) origins.emplace_back(name_of(file.origin));
  EXPECT_THAT(origins, ElementsAre("driver", "compat", "stub", "vendored"));
  EXPECT_THAT(lines_of(found, "paddle"),
              ElementsAre(HasSubstr("FF331 degraded the driver's own library is packed along")));
}

TEST(Processors, LevelsByTheirFlags) {
  const std::string v2 = "lm pni ssse3 cx16 sse4_1 sse4_2 popcnt lahf_lm",
                    v3 = v2 + " abm avx avx2 bmi1 bmi2 f16c fma movbe xsave";
  const auto level = [](const std::string& flags) {
    return read_processor("processor\t: 0\nmodel name\t: Made\nflags\t\t: " + flags + "\n").x86_level;
  };
  EXPECT_EQ(level("lm sse2"), 1);
  EXPECT_EQ(level(v2), 2);
  EXPECT_EQ(level(v3), 3);
  EXPECT_EQ(level(v3 + " avx512f avx512bw avx512cd avx512dq avx512vl"), 4);
  EXPECT_EQ(read_processor("Features : asimd\n").x86_level, 0);
}

TEST(TorchBuilds, TheNearestThatServes) {
  doctor::Question q;
  q.gpus = {{"V100", name_gpu("V100").value()}};
  q.driver = 13000;
  EXPECT_EQ(torch_build_for("2.10.0+cu130", q)->version, "2.10.0+cu128");
  EXPECT_EQ(torch_build_for("2.7.0+cu128", q)->version, "2.7.1+cu126") << "2.7's CUDA 12.8 begins at 7.5";
  EXPECT_EQ(torch_build_for("2.14.0+cu130", q)->version, "2.14.1+cu126");
  EXPECT_EQ(torch_build_for("2.15.0+cu132", q)->version, "2.14.1+cu126") << "of 2.15 one build is known";
  q.driver = 11080;
  EXPECT_EQ(torch_build_for("2.9.0+cu128", q)->version, "2.7.1+cu118") << "the last for a driver of CUDA 11";
  q.python = doctor::parse_python("3.14").value();
  EXPECT_FALSE(torch_build_for("2.9.0+cu128", q));
  q = {};
  q.gpus = {{"B200", name_gpu("B200").value()}};
  q.driver = 13000;
  EXPECT_EQ(torch_build_for("2.13.0+cpu", q)->version, "2.13.0+cu130");
  q.driver = 13020;
  EXPECT_EQ(torch_build_for("2.13.0+cpu", q)->version, "2.13.0+cu132");
}

// A row is noticed to be outdated by the doctor itself, on the first machine with a newer release (FF709), or by its
// files being elsewhere. What this test holds: that every row can be.
class Rows : public MadeEnvironment {};

TEST_F(Rows, SayWhereTheyComeFromAndWhatTheyWereHeldAgainst) {
  for (const Knowledge& row : knowledge()) {
    SCOPED_TRACE(std::string(row.package) + " " + std::string(row.files));
    EXPECT_FALSE(row.source.empty());
    const bool lasting = row.kind == Knowledge::Kind::kRenamed;
    EXPECT_EQ(row.checked.empty(), lasting);
    if (!row.versions.empty() && !row.checked.empty()) {
      const auto rows = known_of(row.package, row.checked, row.kind);
      EXPECT_NE(std::find(rows.begin(), rows.end(), &row), rows.end())
          << "the release that it was held against is not one of its own";
    }
  }
}

TEST_F(Rows, ThatAPackageOutgrewSaySo) {
  std::size_t held = 0;
  for (const Knowledge& row : knowledge()) {
    // A row that ends at a version is never outgrown.
    if (row.checked.empty() || row.versions.find('<') != std::string_view::npos) continue;
    std::string name(row.package);
    install({name, "999.0"});
    EXPECT_THAT(notes_of(look(std::vector<std::string>{}), name),
                testing::Contains(HasSubstr("FF709 what is known of " + name)))
        << name;
    std::filesystem::remove_all(root_ / site_ / (name + "-999.0.dist-info"));
    ++held;
  }
  EXPECT_GT(held, 8U);
}

TEST_F(Rows, WhoseFilesAreElsewhereSaySo) {
  install({"triton", "3.5.0", {{"triton/tools/other", make_compiler("12.8")}}});
  EXPECT_THAT(notes_of(look({"H100"}), "triton"),
              ElementsAre(HasSubstr("FF709 triton has no file triton/backends/nvidia/bin/ptxas*")));
}

TEST(Patterns, StarsAndGpus) {
  EXPECT_TRUE(matches("a/*b*.so", "a/xxb/y.so"));
  EXPECT_FALSE(matches("a/*b*.so", "a/xx/y.so"));
  EXPECT_EQ(star_of("lib_cuda*.so", "lib_cuda130.so"), "130");
  EXPECT_TRUE(names_gpu("7.0-8.9 10.0-", {12, 1}));
  EXPECT_FALSE(names_gpu("7.0-8.9 10.0-", {9, 0}));
  EXPECT_TRUE(names_gpu("8.9 12.0", {12, 0}));
}

}  // namespace
}  // namespace flashfit::doctor::environment::test
