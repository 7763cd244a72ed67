// Environments for Windows: what the imports of their modules find.
#include <gmock/gmock.h>

#include "doctor/environment/made_environment.hpp"
#include "doctor/made/pe.hpp"

namespace flashfit::doctor::environment::test {
namespace {

using doctor::Verdict;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

class Dlls : public MadeEnvironment {
 protected:
  Environment look_for_windows() const {
    EnvironmentQuestion asked = question({"L40"});
    asked.asked.platform = doctor::parse_platform("win_amd64").value();
    return look(asked);
  }
  static std::vector<std::byte> dll(const std::vector<std::string>& needed, bool gpu_code = false) {
    doctor::test::MadeDll made;
    for (const std::string& name : needed) made.imports.push_back({name, {"f"}});
    if (gpu_code) made.gpu_code = doctor::test::make_containers({{.targets = {"8.9"}}});
    return made.bytes();
  }
};

constexpr char kModule[] = "ext/_C.cp311-win_amd64.pyd";
const std::vector<std::string> kOfTheSystem = {"KERNEL32.dll", "imagehlp.dll", "python311.dll", "VCRUNTIME140.dll",
                                               "MSVCP140.dll"};

TEST_F(Dlls, WhatWindowsAndPythonAndVisualCBringIsThere) {
  install({"ext", "1.0", {{kModule, dll(kOfTheSystem, true)}}});
  EXPECT_EQ(look_for_windows().verdict, Verdict::kFits);
}

TEST_F(Dlls, WhatNobodyBringsKeepsTheModuleFromItsImport) {
  install(
      {"ext", "1.0", {{kModule, dll({"KERNEL32.dll", "helper.dll"}, true)}, {"ext/helper.dll", dll({"gone.dll"})}}});
  const Environment found = look_for_windows();
  EXPECT_THAT(lines_of(found, "ext"),
              ElementsAre(HasSubstr("FF620 misfit needs gone.dll, which is neither Windows' own nor any package's")));
  EXPECT_EQ(found.packages.front().report.problems.front().member, "ext/helper.dll");
  // Another package's file: a program that imports both adds its folder first.
  install({"other", "1.0", {{"other/bin/Gone.DLL", dll({})}}});
  EXPECT_EQ(look_for_windows().verdict, Verdict::kFits);
}

TEST_F(Dlls, AModuleThatLoadsBesideOneThatDoesNotIsAnOption) {
  install({"ext", "1.0", {{kModule, dll({}, true)}, {"ext/_tbb.cp311-win_amd64.pyd", dll({"tbb12.dll"})}}});
  EXPECT_EQ(look_for_windows().verdict, Verdict::kFits);
  install({"ext", "1.0", {{kModule, dll({"gone.dll"})}}});
  EXPECT_EQ(look_for_windows().verdict, Verdict::kDegraded) << "no GPU code in it";
}

TEST_F(Dlls, ModulesForAnotherPythonAreNotImported) {
  install({"ext", "1.0", {{"ext/_C.cp39-win_amd64.pyd", dll({"gone.dll"}, true)}}});
  EXPECT_THAT(lines_of(look_for_windows(), "ext"), testing::Not(testing::Contains(HasSubstr("FF620"))));
}

TEST_F(Dlls, OnLinuxNobodyImportsThem) {
  install({.name = "ext", .version = "1.0", .files = {{kModule, dll({"gone.dll"}, true)}}, .platform = "linux_x86_64"});
  EXPECT_THAT(look({"L40"}).packages, IsEmpty());
}

}  // namespace
}  // namespace flashfit::doctor::environment::test
