#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "doctor/facts/imported_modules.hpp"
#include "doctor/facts/read_wheel.hpp"
#include "doctor/knowledge/stable_abi.hpp"
#include "doctor/made/library.hpp"
#include "doctor/made/wheel.hpp"
#include "doctor/packaging/python_module.hpp"
#include "doctor/rules/all_checks.hpp"
#include "doctor/rules/judged.hpp"

namespace flashfit::doctor {
namespace {

using test::judged;
using test::on_python;
using test::wheel_target;
using testing::ElementsAre;
using testing::IsEmpty;

Target abi3(std::vector<std::string> names, const std::string& path = "a/_C.abi3.so") {
  Target target = wheel_target("a-1-cp39-abi3-linux_x86_64.whl", {{.path = path}});
  target.binaries[0].extension.python = std::move(names);
  return target;
}

TEST(StableAbi, KnowsWhenANameCame) {
  EXPECT_EQ(stable_abi_since("PyModule_Create2"), 2);
  EXPECT_EQ(stable_abi_since("PyObject_GetBuffer"), 11);
  EXPECT_EQ(stable_abi_since("_Py_NoneStruct"), 2) << "what macros use is promised, too";
  EXPECT_EQ(stable_abi_since("PyType_GetModuleByDef"), 13);
  EXPECT_FALSE(stable_abi_since("_PyObject_GetDictPtr").has_value());
  EXPECT_FALSE(stable_abi_since("").has_value());
}

TEST(PythonAbi, PromisesOfTheTagAreHeldAgainstTheNames) {
  EXPECT_THAT(judged(check_python_abi, abi3({"PyModule_Create2", "_Py_NoneStruct"})), IsEmpty());
  EXPECT_THAT(
      judged(check_python_abi, abi3({"PyModule_Create2", "_PyObject_GetDictPtr"})),
      ElementsAre("FF221 fits tagged abi3 from 3.9 on, but uses _PyObject_GetDictPtr, which the stable ABI of no "
                  "Python has: a later Python may lack it"));
  EXPECT_THAT(judged(check_python_abi, abi3({"Py_GenericAlias"})), IsEmpty()) << "of 3.9 itself";
  const std::string late = "tagged abi3 from 3.9 on, but uses PyObject_GetBuffer, promised from 3.11 on alone";
  EXPECT_THAT(judged(check_python_abi, abi3({"PyObject_GetBuffer"})), ElementsAre("FF221 fits " + late));
  EXPECT_THAT(judged(check_python_abi, abi3({"PyObject_GetBuffer"}), on_python("3.10")),
              ElementsAre("FF221 unknown " + late));
  EXPECT_THAT(judged(check_python_abi, abi3({"PyObject_GetBuffer"}), on_python("3.11")),
              ElementsAre("FF221 fits " + late));
}

TEST(PythonAbi, OfModulesForOnePythonIsNoMatter) {
  EXPECT_THAT(judged(check_python_abi, abi3({"_PyObject_GetDictPtr"}, "a/_C.cpython-310-x86_64-linux-gnu.so")),
              IsEmpty());
  Target other = abi3({"_PyObject_GetDictPtr"}, "a/_C.so");
  other.file_name = "a-1-cp39-cp39-linux_x86_64.whl";
  EXPECT_THAT(judged(check_python_abi, other), IsEmpty());
}

TEST(PythonModule, NamesSayWhichPython) {
  const auto minor = [](const char* path) {
    const auto module = parse_python_module(path);
    return module ? module->minor : -2;
  };
  EXPECT_EQ(minor("a.b/_C.cpython-310-x86_64-linux-gnu.so"), 10);
  EXPECT_EQ(minor("_C.cpython-39.so"), 9);
  EXPECT_EQ(minor("_C.cp311-win_amd64.pyd"), 11);
  EXPECT_EQ(minor("_C.pyd"), -1);
  EXPECT_EQ(minor("libnative.so"), -1);
  EXPECT_EQ(minor("libnative.so.1"), -2);
  EXPECT_EQ(minor("_C.cpython-3x.so"), -2);
  EXPECT_TRUE(parse_python_module("_C.abi3.so")->stable);
  EXPECT_TRUE(parse_python_module("_C.cpython-313t-x86_64-linux-gnu.so")->free_threaded);
  EXPECT_EQ(parse_python_module("a.b/_C.abi3.so")->stem, "a.b/_C");
}

TEST(PythonModule, CompiledForAnotherPythonHasAnotherName) {
  const auto named = [](const char* path, const char* python) {
    return module_path_for(path, parse_python(python).value());
  };
  EXPECT_EQ(named("a.b/_C.cpython-310-x86_64-linux-gnu.so", "3.11"), "a.b/_C.cpython-311-x86_64-linux-gnu.so");
  EXPECT_EQ(named("_C.cpython-39.so", "3.13t"), "_C.cpython-313t.so");
  EXPECT_EQ(named("_C.cp311-win_amd64.pyd", "3.9"), "_C.cp39-win_amd64.pyd");
  for (const char* path : {"_C.abi3.so", "a-3.10/libnative.so", "_C.pyd", "a.py", ""})
    EXPECT_EQ(named(path, "3.11"), path);
  EXPECT_EQ(named("_C.cpython-310.so", "pp310"), "_C.cpython-310.so");
}

TEST(PythonModules, OfAnotherPythonAreRefused) {
  const Target target = abi3({}, "a/_C.cpython-310-x86_64-linux-gnu.so");
  EXPECT_THAT(judged(check_python_modules, target, on_python("3.11")),
              ElementsAre("FF222 misfit is a module for CPython 3.10 alone; yours is CPython 3.11"));
  EXPECT_THAT(judged(check_python_modules, target, on_python("3.10")), IsEmpty());
  EXPECT_THAT(judged(check_python_modules, target),
              ElementsAre("FF222 degraded tagged abi3 from 3.9 on, but is a module for CPython 3.10 alone"));
}

/// torchao's _C_mxfp8: named as setuptools names all, and nothing of Python is in it.
TEST(PythonModules, OperatorsThatPyTorchLoadsAreNone) {
  Target target = abi3({}, "a/_C_mxfp8.cpython-310-x86_64-linux-gnu.so");
  target.binaries[0].extension.torch_abi = TorchAbi::kStable;
  EXPECT_THAT(judged(check_python_modules, target, on_python("3.11")), IsEmpty());
  EXPECT_THAT(judged(check_python_modules, target), IsEmpty());
  target.binaries[0].extension.python = {"PyModule_Create2"};
  EXPECT_THAT(judged(check_python_modules, target, on_python("3.11")),
              ElementsAre("FF222 misfit is a module for CPython 3.10 alone; yours is CPython 3.11"));
}

/// tilelang 0.1.6 carries the build folders of five Pythons.
TEST(PythonModules, WhatNoImportReachesIsNone) {
  for (const char* const path : {"x/build/lib.linux-x86_64-3.10/x/_C.cpython-310-x86_64-linux-gnu.so",
                                 "x/build/temp.linux-x86_64-cpython-39/_C.cpython-39-x86_64-linux-gnu.so"})
    EXPECT_THAT(judged(check_python_modules, abi3({}, path), on_python("3.11")), IsEmpty()) << path;
  for (const char* const path :
       {"x-1.0.data/platlib/x/_C.cpython-310-x86_64-linux-gnu.so",
        "x-1.0-py3.10.egg/x/_C.cpython-310-x86_64-linux-gnu.so", "_C.cpython-310-x86_64-linux-gnu.so"})
    EXPECT_THAT(judged(check_python_modules, abi3({}, path), on_python("3.11")),
                ElementsAre("FF222 misfit is a module for CPython 3.10 alone; yours is CPython 3.11"))
        << path;
}

/// sgl-kernel 0.3.21: _mscclpp, for CPython 3.10, in a wheel for all from 3.10 on that never imports it.
TEST(PythonModules, WhatNoPythonFileNamesIsRemarkedAlone) {
  const auto target_with = [](const char* python) {
    test::MadeWheel wheel{.name = "x", .version = "1.0", .tag = "cp39-abi3-linux_x86_64"};
    for (const char* const path : {"x/_C.abi3.so", "_left.cpython-310-x86_64-linux-gnu.so"})
      wheel.add(path, test::MadeLibrary{.imports = {{.name = "PyModule_Create2"}}}.bytes());
    wheel.members.push_back({.name = "x/__init__.py", .content = python});
    const auto bytes = wheel.bytes();
    Target target{.file_name = wheel.file_name()};
    read_wheel(MemorySource(bytes), target, {});
    return target;
  };
  for (const char* const python : {"from . import _C  # torch.ops.x.left_ops", "import _C, x_left, _left_over"})
    EXPECT_THAT(
        judged(check_python_modules, target_with(python), on_python("3.12")),
        ElementsAre("FF222 fits is a module for CPython 3.10 alone, which no Python file of its package names: a "
                    "build has left it there"));
  EXPECT_THAT(judged(check_python_modules, target_with("import _left"), on_python("3.12")),
              ElementsAre("FF222 degraded is a module for CPython 3.10 alone; yours is CPython 3.12"));
}

/// A wheel of a compiled package alone, tagged for all Pythons by `bdist_wheel --py-limited-api`: nobody in it could
/// name its module, and without that nothing of it can be imported.
TEST(PythonModules, WhatIsAllThatAPackageHasIsNotLeftThereByABuild) {
  Target target = abi3({"PyModule_Create2"}, "_left.cpython-310-x86_64-linux-gnu.so");
  target.binaries[0].extension.unnamed = true;
  EXPECT_THAT(judged(check_python_modules, target, on_python("3.12")),
              ElementsAre("FF222 misfit is a module for CPython 3.10 alone; yours is CPython 3.12"));
  EXPECT_THAT(judged(check_python_modules, target),
              ElementsAre("FF222 degraded tagged abi3 from 3.9 on, but is a module for CPython 3.10 alone"));
  target.binaries.push_back({.path = "x/libnative.so"});
  EXPECT_EQ(judged(check_python_modules, target, on_python("3.12")).size(), 1U) << "a library is none to import";
  target.binaries.push_back({.path = "x/_C.so"});
  target.binaries[2].extension.python = {"PyModule_Create2"};
  EXPECT_THAT(judged(check_python_modules, target, on_python("3.12")), ElementsAre(testing::StartsWith("FF222 fits ")));
}

/// Free-threaded Pythons have endings of their own and look for no ".abi3.so".
TEST(PythonModules, OfOrdinaryPythonsAreNoneOfFreeThreadedOnes) {
  const auto under = [](const char* path, const char* python) {
    return judged(check_python_modules, wheel_target("x-1.0-cp313-cp313t-linux_x86_64.whl", {{.path = path}}),
                  on_python(python));
  };
  constexpr const char *kOrdinary = "x/_C.cpython-313-x86_64-linux-gnu.so", *kFree = "x/_C.cpython-313t-linux-gnu.so";
  EXPECT_THAT(under(kOrdinary, "3.13t"),
              ElementsAre("FF222 misfit is a module for CPython 3.13 alone; yours is free-threaded CPython 3.13"));
  EXPECT_THAT(under(kFree, "3.13"),
              ElementsAre("FF222 misfit is a module for CPython 3.13t alone; yours is CPython 3.13"));
  EXPECT_THAT(under("x/_C.abi3.so", "3.13t"),
              ElementsAre("FF222 misfit is a module for CPython with the GIL (abi3) alone; yours is free-threaded "
                          "CPython 3.13"));
  EXPECT_THAT(under(kOrdinary, "3.13"), IsEmpty());
  EXPECT_THAT(under(kFree, "3.13t"), IsEmpty());
  EXPECT_THAT(under("x/_C.so", "3.13t"), IsEmpty());
}

/// RECORD may name one file a million times.
TEST(PythonModules, NoMoreFilesAreLookedAtThanPackagesHave) {
  Binary binary{.path = "_left.cpython-310-x86_64-linux-gnu.so", .kind = BinaryKind::kElf};
  UnnamedModules unnamed("x-1.0-cp39-abi3-linux_x86_64.whl");
  unnamed.add(binary);
  ASSERT_TRUE(unnamed.wants("a.py"));
  EXPECT_FALSE(unnamed.wants("a.so"));
  int reads = 0;
  for (int i = 0; i < 200'000; ++i)
    unnamed.look_at("a.py", 0, [&]() -> std::optional<std::string> {
      ++reads;
      return "";
    });
  EXPECT_LE(reads, 1 << 16);
  EXPECT_FALSE(unnamed.any()) << "the rest may name it";
  unnamed.mark();
  EXPECT_FALSE(binary.extension.unnamed);
}

TEST(PythonModules, OneOfAFamilyIsEnough) {
  Target target = abi3({}, "a/_C.cpython-310-x86_64-linux-gnu.so");
  target.binaries.push_back({.path = "a/_C.cpython-311-x86_64-linux-gnu.so"});
  EXPECT_THAT(judged(check_python_modules, target, on_python("3.11")), IsEmpty());
  EXPECT_THAT(judged(check_python_modules, target, on_python("3.12")),
              ElementsAre("FF222 misfit is a module for CPython 3.10, 3.11 alone; yours is CPython 3.12"));
  target.binaries.push_back({.path = "a/_C.abi3.so"});
  EXPECT_THAT(judged(check_python_modules, target, on_python("3.12")), IsEmpty());
}

TEST(PythonModules, OneAmongOthersThatFitDegrades) {
  Target target = abi3({}, "a/_C.abi3.so");
  target.binaries.push_back({.path = "a/extra.cpython-310-x86_64-linux-gnu.so"});
  EXPECT_THAT(judged(check_python_modules, target, on_python("3.12")),
              ElementsAre("FF222 degraded is a module for CPython 3.10 alone; yours is CPython 3.12"));
  target.binaries[0].path = "a/libhelp.so";
  EXPECT_THAT(judged(check_python_modules, target, on_python("3.12")),
              ElementsAre("FF222 misfit is a module for CPython 3.10 alone; yours is CPython 3.12"));
}

}  // namespace
}  // namespace flashfit::doctor
