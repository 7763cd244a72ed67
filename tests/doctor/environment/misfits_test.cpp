// Kinds of misfit that people met, each rebuilt as a small environment: the verdict, the culprit and the command. The
// threads that they come from are named in data/knowledge.json and on the pages of docs/doctor.
#include <gmock/gmock.h>

#include <span>

#include "doctor/environment/made_environment.hpp"
#include "doctor/made/code.hpp"
#include "doctor/made/pe.hpp"

namespace flashfit::doctor::environment::test {
namespace {

using doctor::Verdict;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

class Misfits : public MadeEnvironment {};

const std::string kModule = ".cpython-311-x86_64-linux-gnu.so";

/// An extension of PyTorch that fits the made one.
MadeLibrary of_torch(std::vector<std::string> symbols = {kTorchSymbol}) {
  MadeLibrary library{.needed = {"libc10.so", "libc.so.6"}};
  for (std::string& symbol : symbols) library.imports.push_back({.name = std::move(symbol)});
  return library;
}

TEST_F(Misfits, TheHopperOnlyExtensionIsNamedAndFlashAttnCleared) {
  install(make_torch("2.7.1+cu126"));
  install(
      {"flash_attn", "2.8.3", {{"flash_attn_2_cuda" + kModule, make_module({{"8.0"}, {"8.0", "9.0"}}, of_torch())}}});
  install({"apex", "0.1", {{"fused_layer_norm_cuda" + kModule, make_module({{"9.0"}, {"9.0"}}, of_torch())}}});
  const Environment found = look({"L40"});
  EXPECT_EQ(found.verdict, Verdict::kMisfit);
  EXPECT_THAT(culprits_of(found), ElementsAre("apex"));
  EXPECT_THAT(cleared_by(found), ElementsAre("flash-attn", "torch"));
  EXPECT_THAT(lines_of(found, "apex"), ElementsAre(HasSubstr("FF101 misfit SASS 9.0, no PTX. L40 is 8.9")));
}

/// `pip install --platform`, or a folder copied from another machine: nothing here looks for such modules.
TEST_F(Misfits, APackageForAnotherSystemIsNoneOfThisOne) {
  MadeLibrary arm;
  arm.machine = kMachineAarch64;
  install({"ours", "1.0", {{"ours/_C" + kModule, make_module({}, {})}}});
  install({.name = "text", .version = "1.0", .files = {{"text.py", {}}}, .platform = "win_amd64"});
  install({.name = "for_musl",
           .version = "1.0",
           .files = {{"for_musl/_C.cpython-311-x86_64-linux-musl.so", make_module({}, {})}},
           .platform = "musllinux_1_1_x86_64"});
  install({.name = "for_arm",
           .version = "1.0",
           .files = {{"for_arm/lib.so", make_module({}, arm)}},
           .platform = "manylinux_2_24_aarch64"});
  const Environment found = look(std::vector<std::string>{"L40"});
  EXPECT_THAT(culprits_of(found), testing::UnorderedElementsAre("for-arm", "for-musl"));
  EXPECT_THAT(lines_of(found, "for-arm"), ElementsAre(HasSubstr("FF202 misfit installed for another system: ")));
  EXPECT_EQ(mend_of(found, "for-musl"), "pip install --force-reinstall --no-deps for-musl==1.0");
}

/// Nix and Bazel make environments of links to folders; so does who tries a build of his own.
TEST_F(Misfits, FoldersThatLinksLeadToAreThePackages) {
  install({"ext", "1.0", {{"ext/_C" + kModule, make_module({{"9.0a"}})}}});
  std::filesystem::create_directories(root_ / "store");
  std::filesystem::rename(root_ / site_ / "ext", root_ / "store/ext");
  link(site_ + "/ext", "/store/ext");
  link("store/ext/up", "..");
  link("store/ext/around", "/store/ext");
  link("store/ext/back", "/" + site_);
  link(site_ + "/all", "/");
  const Environment found = look({"L40"});
  EXPECT_THAT(culprits_of(found), ElementsAre("ext"));
  EXPECT_THAT(lines_of(found, "ext"), ElementsAre(HasSubstr("FF101 misfit SASS 9.0a")));
  EXPECT_EQ(found.packages.at(0).report.problems.at(0).member, "ext/_C" + kModule);
}

/// An image with an old build in its system, and a virtual environment over it that has a newer one.
TEST_F(Misfits, WhatAnEarlierFolderHasIsHiddenInTheLaterOnes) {
  write("venv/pyvenv.cfg", "home = /usr/bin\nversion = 3.11.7\ninclude-system-site-packages = true\n");
  install({"ext", "2.0", {{"ext/_C" + kModule, make_module({{"8.0"}})}}});
  site_ = "usr/lib/python3.11/site-packages";
  const auto hopper = make_module({{"9.0a"}});
  install({"ext", "1.0", {{"ext/_C" + kModule, hopper}, {"ext/left.so", hopper}}});
  const Environment found = look({"L40"});
  EXPECT_THAT(culprits_of(found), IsEmpty());
  EXPECT_THAT(cleared_by(found), ElementsAre("ext"));
  EXPECT_EQ(found.installed, 1U);
  install({"other", "1.0", {{"other/_C" + kModule, hopper}}});
  EXPECT_THAT(culprits_of(look({"L40"})), ElementsAre("other"));
}

/// `pip install --user` beside a conda environment, and `pip install --target` with PYTHONPATH: the interpreter takes
/// these first.
TEST_F(Misfits, WhatVariablesPutBeforeAnEnvironmentCounts) {
  const auto install_ext = [&](const std::string& folder, const char* version, const char* target) {
    site_ = folder;
    install({"ext", version, {{"ext/_C" + kModule, make_module({{target}})}}});
  };
  install_ext("usr/lib/python3.11/site-packages", "2.0", "8.0");
  install_ext("venv/lib/python3.11/site-packages", "2.0", "8.0");
  install_ext("home/ada/.local/lib/python3.11/site-packages", "1.0", "9.0a");
  install_ext("opt/target", "1.1", "9.0a");
  write("src/ext/_C.so", make_module({{"9.0a"}}));
  EnvironmentQuestion asked = question({"L40"});
  asked.variables.home = "/home/ada";
  const auto culprits_in = [&](const std::string& path) {
    asked.path = path;
    return culprits_of(look(asked));
  };
  EXPECT_THAT(culprits_in("/venv"), IsEmpty()) << "virtual environments do not see it";
  EXPECT_THAT(culprits_in("/usr"), ElementsAre("ext"));
  EXPECT_THAT(look(asked).assumed, testing::Contains("packages in /home/ada/.local/lib/python3.11/site-packages go "
                                                     "before those of the environment"));
  asked.variables.no_user_site = "1";
  EXPECT_THAT(culprits_in("/usr"), IsEmpty());
  asked.variables.python_path = "src:/src:/absent";
  EXPECT_THAT(culprits_in("/venv"), IsEmpty()) << "sources of whatever";
  asked.variables.python_path += ":/opt/target";
  EXPECT_THAT(culprits_in("/venv"), ElementsAre("ext"));
  EXPECT_THAT(culprits_in("/venv/lib/python3.11/site-packages"), IsEmpty()) << "a folder is no interpreter's";
}

/// xgboost and MXNet had their library among the wheel's data, which lie in the prefix.
TEST_F(Misfits, WhatAWheelPutIntoThePrefixIsItsOwn) {
  write("venv/ext/libext.so", make_module({{"9.0a"}}));
  write("opt/libelse.so", make_module({{"9.0a"}}));
  install({"ext", "1.0", {{"ext/__init__.py", text_bytes("import ctypes")}}});
  EXPECT_THAT(culprits_of(look({"L40"})), IsEmpty()) << "nobody's";
  write(site_ + "/ext-1.0.dist-info/RECORD",
        "ext/__init__.py,,\n../../../ext/libext.so,,\n../../../ext/absent.so,,\n../../../../opt/libelse.so,,\n");
  const Environment found = look({"L40"});
  EXPECT_THAT(culprits_of(found), ElementsAre("ext"));
  ASSERT_EQ(found.packages.at(0).report.problems.size(), 1U);
  EXPECT_EQ(found.packages.at(0).report.problems.at(0).member, "/venv/ext/libext.so");
}

TEST_F(Misfits, AZippedEggIsSaidToBeUnread) {
  write(site_ + "/ext-1.0-py3.11-linux-x86_64.egg", std::string_view("PK\3\4 and so on"));
  EXPECT_THAT(look({"L40"}).unread, ElementsAre(HasSubstr("ext-1.0-py3.11-linux-x86_64.egg: a zipped egg: ")));
}

/// A library for macOS on arm64, as far as it is read.
std::vector<std::byte> make_mach_o() {
  return doctor::test::MadeBytes().add("\xcf\xfa\xed\xfe").add(std::string_view("\x0c\0\0\1", 4)).zeros(100).bytes();
}

TEST_F(Misfits, APackageForMacosIsForAnotherSystem) {
  install({.name = "torch",
           .version = "2.9.1",
           .files = {{"torch/_C.cpython-311-darwin.so", make_mach_o()}, {"torch/lib/libc10.dylib", make_mach_o()}},
           .platform = "macosx_11_0_arm64"});
  EXPECT_THAT(lines_of(look(std::vector<std::string>{"L40"}), "torch"),
              ElementsAre(HasSubstr("FF202 misfit installed for another system: macosx_11_0_arm64 is for macOS")));
  EnvironmentQuestion asked = question({});
  asked.asked.platform = doctor::parse_platform("macosx_14_0_arm64").value();
  EXPECT_THAT(culprits_of(look(asked)), IsEmpty());
  asked.asked.platform = doctor::parse_platform("macosx_14_0_x86_64").value();
  EXPECT_THAT(culprits_of(look(asked)), ElementsAre("torch"));
}

/// What conda and `setup.py install` leave has no WHEEL, and so no tag.
TEST_F(Misfits, APackageWithoutTagsIsForTheSystemOfItsModules) {
  const doctor::test::MadeDll dll{.imports = {{"python311.dll", {"PyModule_Create2"}}}};
  install({"loose_win", "", {{"loose_win/_C.cp311-win_amd64.pyd", dll.bytes()}}, {}, false});
  install({"loose_mac", "", {{"loose_mac/_C.cpython-311-darwin.so", make_mach_o()}}, {}, false});
  install({"loose_both",
           "",
           {{"loose_both/_C.cp311-win_amd64.pyd", dll.bytes()}, {"loose_both/_C" + kModule, make_module({}, {})}},
           {},
           false});
  install({"loose_gpu", "", {{"loose_gpu/_C" + kModule, make_module({{"8.0"}})}}, {}, false});
  Environment found = look(std::vector<std::string>{"A100"});
  EXPECT_THAT(culprits_of(found), testing::UnorderedElementsAre("loose_win", "loose_mac"));
  EXPECT_THAT(lines_of(found, "loose_win"),
              ElementsAre("FF202 degraded installed for another system: its modules are for Windows amd64 alone"));
  EXPECT_THAT(cleared_by(found), ElementsAre("loose_gpu"));
  EnvironmentQuestion asked = question({"A100"});
  asked.asked.platform = doctor::parse_platform("win_amd64").value();
  found = look(asked);
  EXPECT_THAT(lines_of(found, "loose_gpu"),
              ElementsAre("FF202 misfit installed for another system: its modules are for Linux x86_64 alone"));
  EXPECT_THAT(culprits_of(found), testing::UnorderedElementsAre("loose_gpu", "loose_mac"));
}

TEST_F(Misfits, WhatInstallersRefuseForThisPythonIsNotCleared) {
  install({"ext", "1.0", {{"ext/_C.abi3.so", make_module({{"8.0"}})}}});
  write(site_ + "/ext-1.0.dist-info/METADATA",
        "Metadata-Version: 2.1\nName: ext\nVersion: 1.0\nRequires-Python: >=3.12\n");
  const Environment found = look({"A100"});
  EXPECT_EQ(found.verdict, Verdict::kFits);
  EXPECT_THAT(notes_of(found, "ext"), testing::Contains(testing::StartsWith("FF203 ")));
  EXPECT_THAT(cleared_by(found), IsEmpty());
  EXPECT_THAT(not_cleared_by(found), ElementsAre("ext"));
}

/// sgl-kernel 0.3.21: a wheel for every Python from 3.10 on, in which a build has left a module for 3.10 alone.
TEST_F(Misfits, AModuleForAnotherPythonCountsWhereAPythonFileOfThePackageNamesIt) {
  const auto bytes_of = [](std::string_view text) {
    const auto bytes = std::as_bytes(std::span(text));
    return std::vector<std::byte>(bytes.begin(), bytes.end());
  };
  const auto install_with = [&](const char* python) {
    install({"sgl_kernel",
             "0.3.21",
             {{"sgl_kernel/common_ops.abi3.so", make_module({}, {})},
              {"_left.cpython-310-x86_64-linux-gnu.so", make_module({}, {})},
              {"sgl_kernel/__init__.py", bytes_of(python)}}});
    write(site_ + "/sgl_kernel-0.3.21.dist-info/WHEEL",
          "Wheel-Version: 1.0\nRoot-Is-Purelib: false\nTag: cp310-abi3-manylinux2014_x86_64\n");
  };
  install_with("from . import common_ops  # torch.ops.left_over");
  EXPECT_THAT(lines_of(look(std::vector<std::string>{}), "sgl-kernel"), IsEmpty());
  EXPECT_THAT(
      notes_of(look(std::vector<std::string>{}), "sgl-kernel"),
      ElementsAre("FF222 is a module for CPython 3.10 alone, which no Python file of its package names: a build "
                  "has left it there"));
  install_with("import _left");
  EXPECT_THAT(lines_of(look(std::vector<std::string>{}), "sgl-kernel"),
              ElementsAre("FF222 degraded is a module for CPython 3.10 alone; yours is CPython 3.11"));
}

TEST_F(Misfits, PackagesOfOneFolderOverwriteEachOther) {
  install({"cupy_cuda12x", "13.6.0", {{"cupy/_core/core" + kModule, make_module({}, {})}}});
  EXPECT_THAT(culprits_of(look({"A100"})), IsEmpty());
  install({"cupy_cuda13x", "13.6.0", {{"cupy/_core/core" + kModule, make_module({}, {})}}});
  const Environment found = look({"A100"});
  EXPECT_THAT(culprits_of(found), ElementsAre("cupy-cuda13x"));
  EXPECT_THAT(lines_of(found, "cupy-cuda13x"),
              ElementsAre(HasSubstr("FF713 degraded cupy-cuda13x and cupy-cuda12x are installed into one folder")));
}

/// A build for another machine that was named and tagged as one for this: Python opens it by its name.
TEST_F(Misfits, AModuleOfAnotherMachineUnderANameForThisOneDoesNotLoad) {
  MadeLibrary arm;
  arm.machine = kMachineAarch64;
  install({"crossed", "1.0", {{"crossed/_C" + kModule, make_module({{"8.0"}}, arm)}}});
  install({"bystander", "1.0", {{"bystander/_C" + kModule, make_module({}, {})}, {"bystander/arm.so", arm.bytes()}}});
  const Environment found = look({"A100"});
  EXPECT_THAT(culprits_of(found), ElementsAre("crossed"));
  EXPECT_THAT(lines_of(found, "crossed"), ElementsAre(HasSubstr("FF310 misfit made for Linux aarch64, not your ")));
}

/// A full disk leaves empty files, a clone without Git LFS texts.
TEST_F(Misfits, AModuleThatIsNoLibraryIsNotCleared) {
  install({"text", "1.0", {{"text/_C" + kModule, text_bytes("version https://git-lfs.github.com/spec/v1\n")}}});
  install({"nothing", "1.0", {{"nothing/_C.abi3.so", {}}}});
  // Names that no Python has for its modules alone.
  install({"data", "1.0", {{"data/words.so", text_bytes("so and so\n")}}});
  const Environment found = look({"A100"});
  EXPECT_THAT(culprits_of(found), testing::UnorderedElementsAre("text", "nothing"));
  for (const char* const name : {"text", "nothing"})
    EXPECT_THAT(lines_of(found, name), ElementsAre(HasSubstr("FF901 unknown "))) << name;
}

/// Packages open these by their names; what else is broken may be a test's example of a broken file.
TEST_F(Misfits, ALibraryOrGpuCodeOrItsCompilerThatCannotBeReadIsUnknown) {
  const auto cut = [](std::vector<std::byte> bytes) {
    bytes.pop_back();
    return bytes;
  };
  const auto library = cut(make_module({{"8.0"}}));
  const auto cubin = doctor::test::make_image("8.0", {{.name = "_Z4kerni"}});
  install({"library", "1.0", {{"library/libours.so.1", library}}});
  install({"cubin", "1.0", {{"cubin/k.cubin", cut(cubin)}, {"cubin/whole.cubin", cubin}}});
  install({"nothing", "1.0", {{"nothing/k.cubin", {}}, {"nothing/whole.cubin", cubin}}});
  install({"triton", "3.5.0", {{"triton/backends/nvidia/bin/ptxas", cut(make_compiler("12.8"))}}});
  install({"triton_windows", "3.5.0", {{"windows/bin/ptxas", {}}}});
  install({"examples", "1.0", {{"examples/bad.bin", library}, {"examples/words.so", text_bytes("so")}}});
  const Environment found = look({"A100"});
  EXPECT_EQ(found.verdict, Verdict::kUnknown);
  EXPECT_THAT(culprits_of(found),
              testing::UnorderedElementsAre("library", "cubin", "nothing", "triton", "triton-windows"));
  for (const char* const name : {"library", "cubin", "nothing", "triton", "triton-windows"})
    EXPECT_THAT(lines_of(found, name), ElementsAre(HasSubstr("FF901 unknown "))) << name;
}

class Gone : public Misfits {
 protected:
  Environment look_without(const std::vector<std::string>& gone, const std::vector<std::string>& kept = {}) {
    MadePackage package{"ext", "1.0", {{"ext/k.cubin", doctor::test::make_image("8.0", {{.name = "_Z4kerni"}})}}};
    for (const auto* const list : {&gone, &kept})
      for (const std::string& path : *list) package.files[path] = make_module({{"8.0"}});
    install(package);
    for (const std::string& path : gone) std::filesystem::remove(root_ / site_ / path);
    return look({"A100"});
  }
};

TEST_F(Gone, APackageWithoutTheModulesThatItInstalledDoesNotFit) {
  const Environment found = look_without({"ext/_C" + kModule, "ext/_D.abi3.so"});
  EXPECT_EQ(found.verdict, Verdict::kMisfit);
  EXPECT_THAT(lines_of(found, "ext"),
              ElementsAre("FF601 misfit is not there, though its package installed it; nor are 1 more of its modules"));
  EXPECT_EQ(mend_of(found, "ext"), "pip install --force-reinstall --no-deps ext==1.0");
}

TEST_F(Gone, OneModuleOfSeveralDegrades) {
  EXPECT_THAT(lines_of(look_without({"ext/_C" + kModule}, {"ext/_D" + kModule}), "ext"),
              ElementsAre("FF601 degraded is not there, though its package installed it"));
}

/// uv with --link-mode symlink, after its cache was emptied: METADATA leads nowhere, too. RECORD is a file.
TEST_F(Gone, LinksThatLeadNowhereAreNoModules) {
  look_without({"ext/_C" + kModule});
  link(site_ + "/ext/_C" + kModule, "/cache/ext/_C" + kModule);
  const std::string metadata = site_ + "/ext-1.0.dist-info/METADATA";
  std::filesystem::remove(root_ / metadata);
  link(metadata, "/cache/ext-1.0.dist-info/METADATA");
  const Environment found = look({"A100"});
  EXPECT_THAT(lines_of(found, "ext"), ElementsAre("FF601 misfit is not there, though its package installed it"));
  EXPECT_THAT(found.unread, testing::SizeIs(1));
  // A folder in its place is no module either.
  std::filesystem::remove(root_ / site_ / ("ext/_C" + kModule));
  std::filesystem::create_directory(root_ / site_ / ("ext/_C" + kModule));
  EXPECT_THAT(culprits_of(look({"A100"})), ElementsAre("ext"));
}

TEST_F(Gone, WhatIsTakenAwayOnPurposeDoesNotCount) {
  EXPECT_THAT(cleared_by(look_without({"ext/tests/_one" + kModule, "ext/_tests" + kModule, "ext/other.so",
                                       "ext/_C.cpython-310-x86_64-linux-gnu.so", "ext/_C.cpython-311-darwin.so"},
                                      {"ext/_C" + kModule})),
              ElementsAre("ext"));
}

/// An update over a copied folder leaves the older dist-info, whose RECORD lists what is no longer there.
TEST_F(Gone, OfTwoReleasesNobodyKnowsWhichIsInstalled) {
  look_without({"ext/_old" + kModule});
  install({"ext", "2.0", {{"ext/_C" + kModule, make_module({{"8.0"}})}}});
  EXPECT_THAT(culprits_of(look({"A100"})), IsEmpty());
}

/// Debian's packages have no RECORD, and eggs never had one.
TEST_F(Misfits, WithoutRecordTheFilesAreThoseOfTheirFolder) {
  const auto describe = [](const std::string& name) {
    return "Metadata-Version: 2.1\nName: " + name + "\nVersion: 1.0\nRequires-Python: >=3.12\n";
  };
  for (const char* const folder : {"my_ext", "other", "Egg", "shared"})
    install({folder, "", {{std::string(folder) + "/_C.abi3.so", make_module({{"8.0"}})}}, {}, false});
  install({"alone", "", {{"alone" + kModule, make_module({{"8.0"}})}}, {}, false});
  write(site_ + "/my_ext-1.0.dist-info/METADATA", describe("my-ext"));
  write(site_ + "/named-1.0.dist-info/METADATA", describe("named"));
  write(site_ + "/named-1.0.dist-info/top_level.txt", "other\nshared\n");
  write(site_ + "/too-1.0.dist-info/METADATA", describe("too"));
  write(site_ + "/too-1.0.dist-info/top_level.txt", "shared\n");
  write(site_ + "/alone-1.0.egg-info", describe("alone"));
  write(site_ + "/Egg-1.0.egg-info/PKG-INFO", describe("Egg"));
  const Environment found = look({"A100"});
  EXPECT_THAT(not_cleared_by(found), testing::UnorderedElementsAre("my-ext", "named", "alone", "egg"));
  EXPECT_THAT(cleared_by(found), ElementsAre("shared")) << "whose the folder of two is, nothing tells";
}

/// Installed in either order: whose a file is that both list is told by the size that RECORD has of it.
TEST_F(Misfits, AFileThatTwoPackagesListIsTheOnesThatWasInstalledLast) {
  const MadePackage old{"first", "1.0", {{"both/module" + kModule, make_module({{"9.0"}})}}};
  const MadePackage whole{"second", "1.0", {{"both/module" + kModule, make_module({{"8.0"}, {"8.0", "9.0"}})}}};
  install(old);
  install(whole);
  EXPECT_THAT(culprits_of(look({"A100"})), IsEmpty());
  EXPECT_THAT(notes_of(look({"A100"}), "second"),
              ElementsAre(HasSubstr("first has files of the same names: what was installed last wins")));
  install(old);
  const Environment found = look({"A100"});
  EXPECT_THAT(culprits_of(found), ElementsAre("first"));
  EXPECT_THAT(lines_of(found, "first"), ElementsAre(HasSubstr("FF101 misfit")));
  EXPECT_THAT(notes_of(found, "first"),
              ElementsAre(HasSubstr("second has files of the same names: what was installed last wins")));
}

TEST_F(Misfits, AnExtensionForAnotherTorchNamesTheSymbol) {  // kind 1
  install(make_torch("2.9.1+cu128"));
  install({"flash_attn",
           "2.8.3+cu12torch2.8",
           {{"flash_attn_2_cuda" + kModule,
             make_module({{"8.0"}}, of_torch({kTorchSymbol, "_ZNK3c106SymInt6sym_neERKS0_"}))}}});
  const Environment found = look({"A100"});
  EXPECT_THAT(culprits_of(found), ElementsAre("flash-attn"));
  EXPECT_THAT(
      lines_of(found, "flash-attn"),
      ElementsAre(HasSubstr("FF402 misfit built for another PyTorch: torch 2.9.1+cu128 lacks c10::SymInt::sym_ne")));
  // Not the PyTorch that everything else is built against.
  EXPECT_EQ(mend_of(found, "flash-attn"),
            "pip install setuptools wheel packaging ninja psutil && FLASH_ATTN_CUDA_ARCHS='80' pip install "
            "--no-build-isolation --no-cache-dir --force-reinstall --no-deps --no-binary flash-attn flash-attn==2.8.3");
}

TEST_F(Misfits, ACompanionForAnotherTorchIsReplacedByTheReleaseForIt) {
  install(make_torch("2.9.1+cu128"));
  MadePackage vision{"torchvision", "0.23.0", {{"torchvision/_C.so", make_module({{"8.0"}}, of_torch())}}};
  vision.requirements = {"torch==2.8.0"};
  install(vision);
  const Environment found = look({"A100"});
  EXPECT_THAT(culprits_of(found), ElementsAre("torchvision"));
  EXPECT_THAT(lines_of(found, "torchvision"), ElementsAre("FF406 misfit requires torch ==2.8.0; yours is 2.9.1+cu128"));
  EXPECT_EQ(mend_of(found, "torchvision"),
            "pip install uv && uv pip install --python python3 --torch-backend=cu128 --no-deps torchvision==0.24.1");
}

TEST_F(Misfits, APatchOfTheSameTorchAndAPackageWithoutItsCodeGoOn) {
  install(make_torch("2.9.1+cu128"));
  MadePackage vision{"torchvision", "0.24.0", {{"torchvision/_C.so", make_module({{"8.0"}}, of_torch())}}};
  vision.requirements = {"torch==2.9.0"};
  install(vision);
  MadePackage python{"pure", "1.0", {{"pure/x.so", make_shared_library("x.so")}}};
  python.requirements = {"torch==2.8.0"};
  install(python);
  EXPECT_THAT(culprits_of(look({"A100"})), IsEmpty());
}

TEST_F(Misfits, ACompanionsOwnLibraryIsHeldAgainstTorchsSymbols) {
  install(make_torch("2.9.1+cu128"));
  MadeLibrary library{.soname = "libtorchaudio.so", .needed = {"libc10.so", "libc.so.6"}};
  library.imports = {{.name = "torch_parallel_for"}};
  install({"torchaudio", "2.10.0", {{"torchaudio/lib/libtorchaudio.so", library.bytes()}}});
  const Environment found = look({"A100"});
  EXPECT_THAT(culprits_of(found), ElementsAre("torchaudio"));
  EXPECT_THAT(lines_of(found, "torchaudio"),
              ElementsAre(HasSubstr("FF402 misfit built for another PyTorch: torch 2.9.1+cu128 lacks "
                                    "torch_parallel_for")));
  EXPECT_EQ(mend_of(found, "torchaudio"),
            "pip install uv && uv pip install --python python3 --torch-backend=cu128 --no-deps torchaudio==2.9.1");
}

TEST_F(Misfits, ATritonThatThisTorchDoesNotAskForIsTold) {
  MadePackage torch = make_torch("2.9.1+cu128");
  torch.requirements = {"triton==3.5.1; platform_system == 'Linux'", "triton==2.0.0; platform_system == 'Windows'"};
  install(torch);
  install({"triton", "3.1.0", {{"triton/__init__.py", {}}}});
  const Environment found = look({"A100"});
  EXPECT_THAT(lines_of(found, "triton"),
              ElementsAre(HasSubstr("FF406 degraded torch 2.9.1+cu128 asks for triton ==3.5.1, and 3.1.0 is "
                                    "installed: torch.compile")));
  EXPECT_EQ(mend_of(found, "triton"), "pip install triton==3.5.1");
}

TEST_F(Misfits, TheTritonThatThisTorchAsksForFits) {
  MadePackage torch = make_torch("2.9.1+cu128");
  torch.requirements = {"triton==3.5.1; platform_system == 'Linux'"};
  install(torch);
  install({"triton", "3.5.1", {{"triton/__init__.py", {}}}});
  EXPECT_THAT(culprits_of(look({"A100"})), IsEmpty());
}

TEST_F(Misfits, WithoutAReleaseOrASourceNoCommandIsMadeUp) {
  install(make_torch("2.9.1+cu128"));
  install({"pyg_lib", "0.4.0", {{"pyg_lib/_C" + kModule, make_module({{"8.0"}}, of_torch({"_ZN2at5otherEv"}))}}});
  const Environment found = look({"A100"});
  EXPECT_THAT(culprits_of(found), ElementsAre("pyg-lib"));
  EXPECT_EQ(mend_of(found, "pyg-lib"), "");
}

TEST_F(Misfits, APackageThatDoesWithoutItsLibrariesIsDegradedAtMost) {
  install(make_torch("2.9.1+cu128"));
  install({"torchao", "0.18.0", {{"torchao/_C.abi3.so", make_module({{"9.0a"}}, of_torch())}}});
  EXPECT_THAT(culprits_of(look({"A100"})), IsEmpty());
  install({"torchao", "0.18.0", {{"torchao/_C.abi3.so", make_module({{"9.0a"}}, of_torch({"torch_list_size"}))}}});
  EXPECT_THAT(lines_of(look({"H100"}), "torchao"), ElementsAre(HasSubstr("FF402 degraded built for another PyTorch")));
}

TEST_F(Misfits, WithoutALabelTheExtensionIsCompiledForTheTorchThatIsThere) {
  install(make_torch("2.9.1+cu128"));
  install({"ext",
           "1.2+local",
           {{"ext" + kModule, make_module({{"8.0"}}, of_torch({kTorchSymbol, "_ZNK3c106SymInt6sym_neERKS0_"}))}}});
  EXPECT_EQ(mend_of(look({"A100"}), "ext"),
            "pip install setuptools wheel packaging ninja && TORCH_CUDA_ARCH_LIST='8.0' pip install "
            "--no-build-isolation --no-cache-dir --force-reinstall --no-deps --no-binary ext ext==1.2");
}

TEST_F(Misfits, ACuda12ExtensionWithoutItsRuntimeNamesThePackage) {  // kind 2
  install(make_torch("2.9.1+cu130"));
  MadeLibrary library = of_torch();
  library.needed.emplace_back("libcudart.so.12");
  install({"vllm_ext", "1.0", {{"vllm_ext/_C.abi3.so", make_module({{"9.0"}}, library)}}});
  const Environment found = look({"H100"}, "580");
  EXPECT_THAT(culprits_of(found), ElementsAre("vllm-ext"));
  EXPECT_THAT(lines_of(found, "vllm-ext"), ElementsAre(HasSubstr("FF330 misfit needs libcudart.so.12")));
  EXPECT_EQ(mend_of(found, "vllm-ext"), "pip install nvidia-cuda-runtime-cu12");
  install({"nvidia_cuda_runtime_cu12",
           "12.8.90",
           {{"nvidia/cuda_runtime/lib/libcudart.so.12", make_shared_library("libcudart.so.12")}}});
  EXPECT_THAT(culprits_of(look({"H100"}, "580")), IsEmpty());
}

TEST_F(Misfits, ALibraryThatIsOpenedAndThatNoHeaderNames) {
  const std::string file = "ctranslate2.libs/libctranslate2-a7a60d30.so.4.8.5";
  install({"ctranslate2", "4.8.5", {{file, MadeLibrary{.soname = "libctranslate2-a7a60d30.so.4.8.5"}.bytes()}}});
  const Environment found = look({"H100"}, "580");
  EXPECT_THAT(lines_of(found, "ctranslate2"),
              ElementsAre(HasSubstr("FF330 degraded opens libcublas.so.12 when it first uses a GPU, which neither")));
  EXPECT_EQ(mend_of(found, "ctranslate2"), "pip install nvidia-cublas-cu12");
  EXPECT_THAT(lines_of(look(std::vector<std::string>{}), "ctranslate2"), IsEmpty()) << "it runs on a CPU";
  EXPECT_THAT(notes_of(look(std::vector<std::string>{}), "ctranslate2"), testing::Contains(HasSubstr("FF330 opens")));
  install({"nvidia_cublas_cu12",
           "12.8.4.1",
           {{"nvidia/cublas/lib/libcublas.so.12", make_shared_library("libcublas.so.12")}}});
  EXPECT_THAT(lines_of(look({"H100"}, "580"), "ctranslate2"), ElementsAre("not reported"));
}

TEST_F(Misfits, ABundledPtxasThatDoesNotKnowTheGpu) {  // kind 7
  install({"triton", "3.5.0", {{"triton/backends/nvidia/bin/ptxas", make_compiler("12.8")}}});
  EXPECT_EQ(look({"H100"}).verdict, Verdict::kFits);
  Environment found = look({"DGX Spark"});
  EXPECT_THAT(lines_of(found, "triton"),
              ElementsAre(HasSubstr(
                  "FF705 misfit compiles with its own ptxas of CUDA 12.8, which does not know DGX Spark (12.1) "
                  "(CUDA 12.9 is the first)")));
  EXPECT_EQ(mend_of(found, "triton"), "");
  write("usr/local/cuda-13.0/bin/ptxas", make_compiler("13.0"));
  found = look({"DGX Spark"});
  EXPECT_EQ(mend_of(found, "triton"), "export TRITON_PTXAS_PATH=/usr/local/cuda-13.0/bin/ptxas");
  // The second one that newer releases bring.
  install({"triton",
           "3.5.0",
           {{"triton/backends/nvidia/bin/ptxas", make_compiler("12.8")},
            {"triton/backends/nvidia/bin/ptxas-blackwell", make_compiler("12.9")}}});
  EXPECT_EQ(look({"DGX Spark"}).verdict, Verdict::kFits);
}

TEST_F(Misfits, APackageThatCompilesWhenItRunsNamesTheNvcc) {  // kind 8
  install({"flashinfer_python", "0.6.1"});
  EXPECT_THAT(mend_of(look({"RTX 5090"}), "flashinfer-python"), IsEmpty()) << "its kernels come by torch's CUDA";
  install(make_torch("2.9.1+cu130"));
  Environment found = look({"RTX 5090"});
  EXPECT_EQ(found.verdict, Verdict::kDegraded);
  EXPECT_THAT(lines_of(found, "flashinfer-python"),
              ElementsAre("FF706 degraded compiles kernels when it runs, with nvcc of CUDA 12.9 or later for RTX 5090 "
                          "(12.0); there is none"));
  EXPECT_EQ(mend_of(found, "flashinfer-python"),
            "pip install flashinfer-jit-cache==0.6.1 --index-url https://flashinfer.ai/whl/cu130");
  write("usr/local/cuda/bin/nvcc", make_compiler("12.8"));
  EXPECT_THAT(lines_of(look({"RTX 5090"}), "flashinfer-python"),
              ElementsAre(HasSubstr("there is CUDA 12.8 in /usr/local/cuda/bin/nvcc")));
  EXPECT_EQ(look({"H100"}).verdict, Verdict::kFits);
  write("usr/local/cuda/bin/nvcc", make_compiler("12.9"));
  EXPECT_EQ(look({"RTX 5090"}).verdict, Verdict::kFits);
  std::filesystem::remove(root_ / "usr/local/cuda/bin/nvcc");
  install({"flashinfer_jit_cache", "0.6.1"});
  EXPECT_EQ(look({"RTX 5090"}).verdict, Verdict::kFits);
}

TEST_F(Misfits, AVariantForTheGpuThatWasNotBuilt) {  // kind 9
  const auto variant = [&](const char* name, std::vector<std::string> targets) {
    return std::pair("sageattention/_qattn_" + std::string(name) + kModule, make_module({std::move(targets)}));
  };
  install({"sageattention", "2.2.0", {variant("sm80", {"8.0"}), variant("sm90", {"9.0a"})}});
  Environment found = look({"RTX 4090"});
  EXPECT_THAT(lines_of(found, "sageattention"),
              ElementsAre(HasSubstr("FF708 misfit loads sageattention/_qattn_sm89.* on RTX 4090 (8.9), and was built "
                                    "without it: \"SM89 kernel is not available\"; it carries _qattn_sm80")));
  EXPECT_THAT(mend_of(found, "sageattention"),
              HasSubstr("TORCH_CUDA_ARCH_LIST='8.9' pip install --no-build-isolation"));
  // A 3090 takes none of the variants: it uses Triton.
  EXPECT_EQ(look({"RTX 3090"}).verdict, Verdict::kFits);
  // The variant is there, but without code for a 5080, which loads it too.
  install({"sageattention", "2.2.0", {variant("sm80", {"8.0"}), variant("sm89", {"8.9"}), variant("sm90", {"9.0a"})}});
  EXPECT_EQ(look({"RTX 4090"}).verdict, Verdict::kFits);
  EXPECT_THAT(lines_of(look({"RTX 5080"}), "sageattention"),
              ElementsAre(HasSubstr("FF101 misfit SASS 8.9, no PTX. RTX 5080 is 12.0")));
}

TEST_F(Misfits, ALibraryPickedByTorchsCudaThatIsNotCarried) {  // kind 12
  install(make_torch("2.12.0+cu131"));
  MadePackage package{"bitsandbytes", "0.49.0"};
  for (const char* const cuda : {"118", "128", "129", "130"})
    package.files.emplace(std::string("bitsandbytes/libbitsandbytes_cuda") + cuda + ".so",
                          make_module({{"8.0", "9.0"}}));
  install(package);
  const Environment found = look({"H100"}, "13.1");
  EXPECT_THAT(lines_of(found, "bitsandbytes"),
              ElementsAre("FF707 misfit loads libbitsandbytes_cuda131.so by torch's CUDA (2.12.0+cu131), and carries "
                          "118, 128, 129, 130 alone: \"Configured CUDA binary not found\""));
  EXPECT_EQ(mend_of(found, "bitsandbytes"), "export BNB_CUDA_VERSION=130");
}

TEST_F(Misfits, ALibraryPickedNearTorchsCuda) {
  install(make_torch("2.12.0+cu131"));
  const MadeLibrary unusable{.needed = {"libcudart.so.11.0"}};
  install({"bitsandbytes",
           "0.50.2",
           {{"bitsandbytes/libbitsandbytes_cuda118.so", make_module({{"6.0"}}, unusable)},
            {"bitsandbytes/libbitsandbytes_cuda130.so", make_module({{"9.0"}})},
            {"bitsandbytes/libbitsandbytes_cuda132.so", make_module({{"6.0"}}, unusable)}}});
  EXPECT_EQ(look({"H100"}, "13.1").verdict, Verdict::kFits) << "the newest below";
}

TEST_F(Misfits, LibrariesForOtherMakersGpusAreNotLoaded) {
  install(make_torch("2.12.0+cu130"));
  const MadeLibrary unusable{.needed = {"libsycl.so.8"}};
  install({"bitsandbytes",
           "0.50.2",
           {{"bitsandbytes/libbitsandbytes_cuda130.so", make_module({{"9.0"}})},
            {"bitsandbytes/libbitsandbytes_rocm72.so", make_module({{"6.0"}}, unusable)},
            {"bitsandbytes/libbitsandbytes_xpu2026.so", make_module({{"6.0"}}, unusable)}}});
  EXPECT_EQ(look({"H100"}, "13.1").verdict, Verdict::kFits);
  EXPECT_EQ(look({}, "13.1").verdict, Verdict::kFits) << "whatever the GPU";
}

TEST_F(Misfits, NoLibraryOfTorchsMajorCuda) {
  install(make_torch("2.9.1+cu126"));
  install({"bitsandbytes", "0.50.2", {{"bitsandbytes/libbitsandbytes_cuda130.so", make_module({{"8.0", "9.0"}})}}});
  EXPECT_THAT(lines_of(look({"H100"}, "13.1"), "bitsandbytes"), ElementsAre(HasSubstr("FF707 misfit")));
}

TEST_F(Misfits, TorchsCudaIsThatOfVersionPy) {
  install(make_torch("2.9.1"));
  write(site_ + "/torch/version.py", "__version__ = '2.9.1+cu128'\n");
  const MadeLibrary old{.needed = {"libcudart.so.11.0"}};
  install({"bitsandbytes",
           "0.49.0",
           {{"bitsandbytes/libbitsandbytes_cuda118.so", make_module({{"6.0"}}, old)},
            {"bitsandbytes/libbitsandbytes_cuda128.so", make_module({{"9.0"}})}}});
  EXPECT_EQ(look({"H100"}, "580").verdict, Verdict::kFits);
}

TEST_F(Misfits, OfThePickedLibrariesTheOneThatIsLoadedCounts) {
  install(make_torch("2.9.1+cu128"));
  MadeLibrary old{.needed = {"libcudart.so.11.0"}};
  install({"bitsandbytes",
           "0.49.0",
           {{"bitsandbytes/libbitsandbytes_cuda118.so", make_module({{"6.0"}}, old)},
            {"bitsandbytes/libbitsandbytes_cuda128.so", make_module({{"9.0"}})}}});
  EXPECT_EQ(look({"H100"}, "580").verdict, Verdict::kFits);
}

TEST_F(Misfits, AProviderThatFallsBackToTheCpuDegrades) {  // kind 13
  MadeLibrary provider{.needed = {"libcudart.so.13", "libcublasLt.so.13", "libcudnn.so.9", "libc.so.6"}};
  install({"onnxruntime_gpu",
           "1.23.2",
           {{"onnxruntime/capi/libonnxruntime_providers_cuda.so", make_module({{"8.0", "9.0"}}, provider, 130)},
            {"onnxruntime/capi/onnxruntime_pybind11_state" + kModule,
             MadeLibrary{.imports = {{.name = "PyModule_Create2"}}}.bytes()}}});
  const Environment found = look({"H100"}, "580");
  EXPECT_EQ(found.verdict, Verdict::kDegraded);
  EXPECT_THAT(lines_of(found, "onnxruntime-gpu"),
              ElementsAre(HasSubstr(
                  "FF712 degraded runs, but on the CPU: it needs libcudart.so.13, libcublasLt.so.13, libcudnn.so.9")));
  EXPECT_EQ(mend_of(found, "onnxruntime-gpu"), "pip install nvidia-cublas nvidia-cuda-runtime nvidia-cudnn-cu13");
}

TEST_F(Misfits, APartOfAnotherReleaseIsPassedOver) {
  install({"jaxlib", "0.5.0", {}});
  install({"jax_cuda12_plugin", "0.4.30", {}});
  const Environment found = look({"H100"}, "580");
  EXPECT_EQ(found.verdict, Verdict::kDegraded);
  EXPECT_THAT(lines_of(found, "jax-cuda12-plugin"),
              ElementsAre(HasSubstr("FF712 degraded runs, but on the CPU: works beside jaxlib 0.4.30 alone, and 0.5.0 "
                                    "is installed")));
  EXPECT_EQ(mend_of(found, "jax-cuda12-plugin"), "pip install jax-cuda12-plugin==0.5.0");
}

TEST_F(Misfits, APartThatAnotherPackageRefusesIsOne) {
  install({"flashinfer_python", "0.6.14", {}});
  install({"flashinfer_cubin", "0.6.13", {}});
  const Environment found = look({"H100"}, "580");
  EXPECT_EQ(found.verdict, Verdict::kMisfit);
  EXPECT_THAT(lines_of(found, "flashinfer-cubin"),
              ElementsAre(HasSubstr("FF406 misfit keeps flashinfer-python from starting, which takes it in its own "
                                    "release alone, and 0.6.14 is installed")));
  EXPECT_EQ(mend_of(found, "flashinfer-cubin"), "pip install flashinfer-cubin==0.6.14");
}

TEST_F(Misfits, APartWithALabelIsOfAnotherIndexThanPips) {
  install({"flashinfer_python", "0.6.14", {}});
  install({"flashinfer_jit_cache", "0.6.13+cu128", {}});
  const Environment found = look({"H100"}, "580");
  EXPECT_EQ(found.verdict, Verdict::kMisfit);
  EXPECT_EQ(mend_of(found, "flashinfer-jit-cache"), "");
}

TEST_F(Misfits, APartWithALabelOfTheSameReleaseFits) {
  install({"flashinfer_python", "0.6.14", {}});
  install({"flashinfer_cubin", "0.6.14", {}});
  install({"flashinfer_jit_cache", "0.6.14+cu128", {}});
  EXPECT_EQ(look({"H100"}, "580").verdict, Verdict::kFits);
}

TEST_F(Misfits, APartOfTheSameReleaseFits) {
  install({"jaxlib", "0.5.0", {}});
  install({"jax_cuda12_plugin", "0.5.0", {}});
  EXPECT_EQ(look({"H100"}, "580").verdict, Verdict::kFits);
}

TEST_F(Misfits, ATorchThatIsTooNewForTheDriverNamesTheBuildThatItTakes) {  // kind 14
  MadePackage torch = make_torch("2.9.1+cu130", {"7.5", "8.0", "9.0"}, 130);
  install(torch);
  install({"ext", "1.0", {{"ext" + kModule, make_module({{"8.0"}}, of_torch(), 128)}}});
  const Environment found = look({"A100"}, "535");
  EXPECT_EQ(culprits_of(found).at(0), "torch");
  EXPECT_THAT(
      lines_of(found, "torch"),
      testing::Contains(HasSubstr("FF703 misfit torch 2.9.1+cu130 is too new for this driver; 2.9.1+cu128 runs here")));
  EXPECT_EQ(mend_of(found, "torch"),
            "pip install uv && uv pip install --python python3 --torch-backend=cu128 torch==2.9.1+cu128");
  EXPECT_EQ(look({"A100"}, "580").verdict, Verdict::kFits);
}

TEST_F(Misfits, ATorchWithoutCodeForTheGpuNamesTheLastBuildThatHasIt) {  // kind 15
  install(make_torch("2.9.1+cu130", {"7.5", "8.0", "8.6", "9.0", "10.0", "12.0"}, 130));
  Environment found = look({"V100"}, "580");
  EXPECT_THAT(lines_of(found, "torch"),
              testing::Contains(HasSubstr("FF704 misfit torch 2.9.1+cu130 has no code for this GPU")));
  EXPECT_EQ(mend_of(found, "torch"),
            "pip install uv && uv pip install --python python3 --torch-backend=cu128 torch==2.9.1+cu128");
  found = look({"P100"}, "580");
  EXPECT_EQ(mend_of(found, "torch"),
            "pip install uv && uv pip install --python python3 --torch-backend=cu126 torch==2.9.1+cu126");
}

TEST_F(Misfits, ATorchForTheCpuBesideAGpu) {
  install(make_torch("2.9.1+cpu", {}));
  EXPECT_EQ(look(std::vector<std::string>{}).verdict, Verdict::kFits);
  EXPECT_EQ(look({"L40"}).verdict, Verdict::kDegraded);
  EXPECT_EQ(mend_of(look({"L40"}, "570"), "torch"),
            "pip install uv && uv pip install --python python3 --torch-backend=cu128 torch==2.9.1+cu128");
}

TEST_F(Misfits, AGateInHostCodeRefusesWhatTheImagesWouldTake) {  // kind 16
  install(make_torch("2.7.1+cu128"));
  install({"flash_attn",
           "2.7.2.post1",
           {{"flash_attn_2_cuda" + kModule, make_module({{"8.0", "9.0", "12.0"}}, of_torch())}}});
  Environment found = look({"RTX 5090"});
  EXPECT_THAT(lines_of(found, "flash-attn"),
              ElementsAre(HasSubstr("FF710 misfit refuses RTX 5090 (12.0) in its own code")));
  EXPECT_EQ(mend_of(found, "flash-attn"), "pip install --no-build-isolation 'flash-attn>=2.7.3'");
  EXPECT_EQ(look({"H100"}).verdict, Verdict::kFits);
  // No version of it takes a T4.
  EXPECT_THAT(mend_of(look({"T4"}), "flash-attn"), IsEmpty());
}

TEST_F(Misfits, AHubKernelWithoutABuildForThisTorch) {  // kind 17
  install(make_torch("2.13.0+cu130"));
  const std::string snapshot =
      "home/.cache/huggingface/hub/models--kernels-community--activation/snapshots/2fafa6a1/build/";
  write(snapshot + "torch28-cxx11-cu128-x86_64-linux/activation/_activation.abi3.so", make_module({{"9.0"}}));
  install({"ext", "1.0", {{"ext" + kModule, make_module({{"9.0"}}, of_torch())}}});
  EnvironmentQuestion asked = question({"H100"});
  asked.variables.home = "/home";
  Environment found = look(asked);
  EXPECT_EQ(found.verdict, Verdict::kDegraded);
  EXPECT_THAT(
      lines_of(found, "kernels-community/activation"),
      ElementsAre("FF711 degraded revision 2fafa6a1 in the hub's cache has builds torch28-cxx11-cu128-x86_64-linux, "
                  "and none for this torch, which is torch213-cxx11-cu130-x86_64-linux"));
  write(snapshot + "torch213-cxx11-cu130-x86_64-linux/activation/_activation.abi3.so", make_module({{"9.0"}}));
  found = look(asked);
  EXPECT_THAT(cleared_by(found), ElementsAre("ext", "kernels-community/activation", "torch"));
  EXPECT_EQ(look(asked).verdict, Verdict::kFits);
  // The build is there, and has no code for the GPU.
  asked.asked.gpus = question({"L40"}).asked.gpus;
  EXPECT_THAT(lines_of(look(asked), "kernels-community/activation"), ElementsAre(HasSubstr("FF101 misfit SASS 9.0")));
}

TEST_F(Misfits, AHubKernelWithoutTheCodeThatItDeclares) {
  install(make_torch("2.13.0+cu130"));
  install({"ext", "1.0", {{"ext" + kModule, make_module({{"9.0"}}, of_torch())}}});
  const std::string variant =
      "home/.cache/huggingface/hub/models--kernels-community--activation/snapshots/2fafa6a1/build/"
      "torch213-cxx11-cu130-x86_64-linux/";
  write(variant + "_activation.abi3.so", make_module({{"8.0", "9.0"}, {"9.0a"}}));
  EnvironmentQuestion asked = question({"H100"});
  asked.variables.home = "/home";
  const auto said = [&](const std::string& metadata) {
    write(variant + "metadata.json", metadata);
    std::vector<std::string> messages;
    for (const PackageReport& package : look(asked).packages)
      for (const doctor::Problem& problem : package.report.problems)
        if (problem.code == "FF715") messages.push_back(problem.message);
    return messages;
  };
  EXPECT_THAT(said(R"({"backend": {"type": "cuda", "archs": ["8.0", "9.0", "9.0a"]}})"), IsEmpty());
  EXPECT_THAT(said(R"({"backend": {"type": "cuda", "archs": ["8.0", "9.0+PTX", "12.0"]}})"),
              ElementsAre("its metadata.json declares code for 9.0+PTX, 12.0, which no file of it has"));
  for (const char* const odd :
       {"{", "[]", R"({"backend": 1})", R"({"backend": {"type": "cuda", "archs": {"x": ["12.0"]}}})",
        R"({"backend": {"type": "rocm", "archs": ["gfx942"]}})",
        R"({"backend": {"type": "cuda", "archs": [1, null]}})"})
    EXPECT_THAT(said(odd), IsEmpty()) << odd;
}

TEST_F(Misfits, AModuleForAProcessorThatIsNotThere) {  // kind 18
  install({"sparse",
           "1.0",
           {{"sparse" + kModule, MadeLibrary{.imports = {{.name = "PyModule_Create2"}}, .isa_needed = 8}.bytes()}}});
  EnvironmentQuestion asked = question({});
  asked.asked.x86_level = 3;
  EXPECT_THAT(lines_of(look(asked), "sparse"), ElementsAre(HasSubstr("FF324 misfit needs x86-64-v4: AVX-512")));
  asked.asked.x86_level = 4;
  EXPECT_EQ(look(asked).verdict, Verdict::kFits);
}

}  // namespace
}  // namespace flashfit::doctor::environment::test
