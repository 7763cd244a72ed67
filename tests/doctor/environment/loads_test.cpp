// What the loader makes of imports: the kinds of misfit that only the libraries together show, and the loads that must
// pass without a word.
#include <gmock/gmock.h>

#include "doctor/environment/made_environment.hpp"
#include "doctor/facts/torch_facts.hpp"

namespace flashfit::doctor::environment::test {
namespace {

using doctor::Verdict;
using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using namespace std::string_view_literals;

const std::string kModule = ".cpython-311-x86_64-linux-gnu.so";
const std::string kSite = "/venv/lib/python3.11/site-packages/";

std::vector<std::byte> module_of(MadeLibrary library) {
  library.imports.push_back({.name = "PyModule_Create2"});
  return library.bytes();
}

/// PyTorch with what its import opens: libtorch_global_deps.so, which needs `needs`, and the module _C.
MadePackage importable_torch(const std::vector<std::string>& needs, const std::string& rpath = "") {
  MadePackage torch = make_torch("2.5.1+cu124");
  torch.files["torch/lib/libtorch_global_deps.so"] =
      MadeLibrary{.soname = "libtorch_global_deps.so", .rpath = rpath, .needed = needs}.bytes();
  torch.files["torch/_C" + kModule] = module_of({.rpath = "$ORIGIN/lib", .needed = {"libc10.so", "libtorch_cuda.so"}});
  return torch;
}

MadePackage cuda_runtime() {
  return {"nvidia_cuda_runtime_cu12",
          "12.4.127",
          {{"nvidia/cuda_runtime/lib/libcudart.so.12", make_shared_library("libcudart.so.12")}}};
}

class Loads : public MadeEnvironment {
 protected:
  Environment look_with(const std::string& library_path, const std::string& tunables = "") const {
    EnvironmentQuestion asked = question({});
    asked.variables.library_path = library_path;
    asked.variables.tunables = tunables;
    return look(asked);
  }
};

class Cudnn : public Loads {
 protected:
  void SetUp() override {
    Loads::SetUp();
    install(importable_torch({"libcudnn.so.9"}, "$ORIGIN/../../nvidia/cudnn/lib"));
    const MadeLibrary front{.soname = "libcudnn.so.9",
                            .runpath = "$ORIGIN",
                            .data = text_bytes("\0libcudnn_graph.so.9\0libcudnn_ops.so.9\0"sv)};
    install({"nvidia_cudnn_cu12",
             "9.1.0.70",
             {{"nvidia/cudnn/lib/libcudnn.so.9", front.bytes()},
              {"nvidia/cudnn/lib/libcudnn_graph.so.9", make_shared_library("libcudnn_graph.so.9")},
              {"nvidia/cudnn/lib/libcudnn_ops.so.9", make_shared_library("libcudnn_ops.so.9")}}});
    add_copies("opt/cudnn/");
  }
  void add_copies(const std::string& folder) const {
    for (const char* const part : {"libcudnn.so.9", "libcudnn_graph.so.9", "libcudnn_ops.so.9"})
      write(folder + part, MadeLibrary{.soname = part, .exports = {"of_9_5"}}.bytes());
  }
};

TEST_F(Cudnn, PartsOfTwoCopiesAreNamedAndThePathThatMixesThem) {  // kind 3
  const Environment found = look_with("/opt/cudnn");
  EXPECT_EQ(found.verdict, Verdict::kDegraded);
  EXPECT_THAT(culprits_of(found), ElementsAre("torch"));
  EXPECT_THAT(lines_of(found, "torch"),
              ElementsAre("FF606 degraded opens libcudnn_graph.so.9, libcudnn_ops.so.9 by name and gets those in "
                          "/opt/cudnn, found by LD_LIBRARY_PATH, not the ones beside it: two copies of one library, "
                          "mixed"));
  EXPECT_EQ(mend_of(found, "torch"), "unset LD_LIBRARY_PATH");
  EXPECT_EQ(mend_of(look_with("/opt/tools/lib:/opt/cudnn/"), "torch"), "export LD_LIBRARY_PATH=/opt/tools/lib");
  EXPECT_EQ(look_with("").verdict, Verdict::kFits);
}

TEST_F(Cudnn, ACopyInTheSystemThatNobodyIsLedToHarmsNobody) {
  add_copies("usr/lib64/");
  EXPECT_EQ(look_with("").verdict, Verdict::kFits);
}

TEST_F(Loads, FilesForEachReleaseOfALibraryAreOneFinding) {
  MadePackage codec{"codec", "0.8.1", {}};
  for (const int release : {4, 5, 6}) {
    const std::vector<std::string> needed = {"libc10.so", "libavutil.so." + std::to_string(52 + release),
                                             "libavcodec.so." + std::to_string(54 + release)};
    codec.files["codec/libcodec_core" + std::to_string(release) + ".so"] = MadeLibrary{.needed = needed}.bytes();
  }
  codec.files["codec/libcodec_other.so"] = MadeLibrary{.needed = {"libc10.so", "libsox.so"}}.bytes();
  install(importable_torch({"libc.so.6"}));
  install(codec);
  const Environment found = look_with("");
  EXPECT_EQ(found.verdict, Verdict::kFits);
  EXPECT_THAT(notes_of(found, "codec"),
              testing::UnorderedElementsAre(
                  HasSubstr("FF601 has a file for each release of a library that it needs, of which one is to load, "
                            "and no folder that is searched has any: libavcodec.so.58 to 60, libavutil.so.56 to 58"),
                  HasSubstr("FF601 needs libsox.so, which no folder that is searched has")));
}

/// The import of an extension needs PyTorch, whatever Requires-Dist says.
TEST_F(Loads, AnExtensionWithoutPyTorchIsAMisfit) {
  install({"ext", "1.0", {{"ext" + kModule, module_of({.needed = {"libc10.so", "libtorch_cuda.so"}})}}});
  install({"ops", "1.0", {{"ops/libops.so", MadeLibrary{.needed = {"libtorch.so"}}.bytes()}}});
  install({"both",
           "1.0",
           {{"both/_core" + kModule, module_of({.needed = {"libc.so.6"}})},
            {"both/_torch" + kModule, module_of({.needed = {"libc10.so"}})}}});
  const Environment found = look_with("");
  EXPECT_THAT(culprits_of(found), ElementsAre("ext")) << "the others have files to open without PyTorch";
  EXPECT_THAT(lines_of(found, "ext"),
              ElementsAre("FF601 misfit needs libc10.so, libtorch_cuda.so of PyTorch, which is not installed here"));
  EnvironmentQuestion asked = question({});
  asked.asked.torch = doctor::read_torch("2.9.1").value();
  EXPECT_THAT(culprits_of(look(asked)), IsEmpty()) << "it would be installed, too";
  install(importable_torch({"libc.so.6"}));
  EXPECT_THAT(culprits_of(look_with("")), IsEmpty());
}

/// libtorch_cuda_cu.so went with PyTorch 2.0; PyTorch for ROCm and conda's for the CPU have no libtorch_cuda.so.
TEST_F(Loads, ALibraryThatThisPyTorchLacksIsAMisfit) {
  install(importable_torch({"libc.so.6"}));
  install({"ext",
           "1.0",
           {{"ext" + kModule,
             module_of({.needed = {"libc10.so", "libtorch_cuda_cu.so"}, .imports = {{.name = kTorchSymbol}}})}}});
  const Environment found = look_with("");
  EXPECT_THAT(culprits_of(found), ElementsAre("ext"));
  EXPECT_THAT(lines_of(found, "ext"),
              ElementsAre("FF601 misfit needs libtorch_cuda_cu.so, which torch 2.5.1+cu124 does not have"));
}

class NvJitLink : public Loads {
 protected:
  /// Its module asks for cuSPARSE: what libtorch_global_deps.so asks for in vain, PyTorch looks for once more itself.
  static MadePackage torch() {
    MadePackage torch = importable_torch({"libc.so.6"});
    torch.files["torch/_C" + kModule] =
        module_of({.rpath = "$ORIGIN/lib:$ORIGIN/../nvidia/cusparse/lib", .needed = {"libcusparse.so.12"}});
    return torch;
  }
  static std::vector<std::byte> link_library(const std::string& release) {
    return MadeLibrary{.soname = "libnvJitLink.so.12",
                       .exports = {"__nvJitLinkComplete_" + release},
                       .defines = {"libnvJitLink.so.12"}}
        .bytes();
  }
  void SetUp() override {
    Loads::SetUp();
    install(torch());
    const MadeLibrary cusparse{.soname = "libcusparse.so.12",
                               .runpath = "$ORIGIN/../../nvjitlink/lib",
                               .needed = {"libnvJitLink.so.12"},
                               .imports = {{"__nvJitLinkComplete_12_4", "libnvJitLink.so.12", "libnvJitLink.so.12"}}};
    install({"nvidia_cusparse_cu12", "12.3.1.170", {{"nvidia/cusparse/lib/libcusparse.so.12", cusparse.bytes()}}});
    install({"nvidia_nvjitlink_cu12", "12.4.127", {{"nvidia/nvjitlink/lib/libnvJitLink.so.12", link_library("12_4")}}});
    write("usr/local/cuda/lib64/libnvJitLink.so.12", link_library("12_1"));
  }
};

TEST_F(NvJitLink, AToolkitsCopyGoesBeforeThePackages) {  // kind 4
  const Environment found = look_with("/usr/local/cuda/lib64");
  EXPECT_EQ(found.verdict, Verdict::kMisfit);
  EXPECT_THAT(culprits_of(found), ElementsAre("torch"));
  EXPECT_THAT(cleared_by(found), Contains("nvidia-cusparse-cu12"));
  EXPECT_THAT(lines_of(found, "torch"),
              ElementsAre(HasSubstr("FF604 misfit needs __nvJitLinkComplete_12_4 of libnvJitLink.so.12, which "
                                    "/usr/local/cuda/lib64/libnvJitLink.so.12 (found by LD_LIBRARY_PATH) lacks")));
  EXPECT_THAT(notes_of(found, "torch"), Contains(HasSubstr("FF605 libnvJitLink.so.12 is /usr/local/cuda/lib64/")));
  EXPECT_EQ(mend_of(found, "torch"), "unset LD_LIBRARY_PATH");
  EXPECT_EQ(look_with("").verdict, Verdict::kFits);
}

TEST_F(NvJitLink, NewerPyTorchesLoadThePackagesCopyFirst) {
  MadePackage newer = torch();
  newer.files["torch/lib/libtorch_global_deps.so"] =
      MadeLibrary{.rpath = "$ORIGIN/../../nvidia/cuda_runtime/lib", .needed = {"libcudart.so.12"}}.bytes();
  install(newer);
  install(cuda_runtime());
  EXPECT_EQ(look_with("/usr/local/cuda/lib64").verdict, Verdict::kMisfit);
  write(site_ + "/torch/__init__.py",
        "with open(\"/proc/self/maps\") as f:\n  _preload_cuda_deps(\"nvjitlink\", \"libnvJitLink.so.*[0-9]\")\n");
  EXPECT_EQ(look_with("/usr/local/cuda/lib64").verdict, Verdict::kFits);
}

TEST_F(NvJitLink, WithoutAnotherCopyThePackageIsTheOneToUpgrade) {
  install({"nvidia_nvjitlink_cu12", "12.1.105", {{"nvidia/nvjitlink/lib/libnvJitLink.so.12", link_library("12_1")}}});
  const Environment found = look_with("");
  EXPECT_EQ(found.verdict, Verdict::kMisfit);
  EXPECT_EQ(mend_of(found, "torch"), "");
  EXPECT_EQ(found.packages.at(0).report.problems.at(0).fix, "pip install --upgrade nvidia-nvjitlink-cu12");
}

TEST_F(NvJitLink, ForAnotherSystemThePackagesAreHeldAgainstEachOther) {
  EnvironmentQuestion asked = question({});
  asked.asked.platform = doctor::parse_platform("manylinux_2_28_x86_64").value();
  asked.variables.library_path = "/usr/local/cuda/lib64";
  EXPECT_EQ(look(asked).verdict, Verdict::kFits) << "this machine's variables are not the other's";
  install({"nvidia_nvjitlink_cu12", "12.1.105", {{"nvidia/nvjitlink/lib/libnvJitLink.so.12", link_library("12_1")}}});
  EXPECT_THAT(lines_of(look(asked), "torch"),
              ElementsAre(HasSubstr("FF604 misfit needs __nvJitLinkComplete_12_4 of libnvJitLink.so.12")));
}

TEST_F(Loads, WhatTorchLoadsFirstIsThereForItsExtensions) {
  install(importable_torch({"libcudart.so.12"}));  // found by the preloads alone
  install(cuda_runtime());
  install({"ext", "1.0", {{"ext" + kModule, module_of({.needed = {"libcudart.so.12", "libc10.so"}})}}});
  install({"alone", "1.0", {{"alone" + kModule, module_of({.needed = {"libcudart.so.12"}})}}});
  const Environment found = look_with("");
  EXPECT_EQ(found.verdict, Verdict::kFits);
  EXPECT_THAT(notes_of(found, "ext"), IsEmpty());
  EXPECT_THAT(notes_of(found, "alone"),
              ElementsAre("FF601 needs libcudart.so.12, which lies in " + kSite +
                          "nvidia/cuda_runtime/lib, where the loader does not look by itself: found only if what "
                          "imports it loads it before"));
  EXPECT_THAT(cleared_by(found), ElementsAre("ext", "torch"))
      << "alone may fail, as none of its modules loads by itself";
  EXPECT_THAT(not_cleared_by(found), ElementsAre("alone"));
  install({"alone",
           "1.0",
           {{"alone" + kModule, module_of({.needed = {"libcudart.so.12"}})}, {"alone/_py" + kModule, module_of({})}}});
  EXPECT_THAT(cleared_by(look_with("")), ElementsAre("alone", "ext", "torch")) << "it does without that module";
}

TEST_F(Loads, WithoutItsInterpreterAnAbsentLibraryClearsNobody) {
  install(importable_torch({"libc.so.6"}));
  install(
      {"ext",
       "1.0",
       {{"ext" + kModule, module_of({.needed = {"libc10.so", "libsox.so"}, .imports = {{.name = kTorchSymbol}}})}}});
  EXPECT_THAT(lines_of(look_with(""), "ext"), ElementsAre(HasSubstr("FF601 misfit needs libsox.so")));
  std::filesystem::remove(root_ / "usr/bin/python3.11");
  const Environment found = look_with("");
  EXPECT_THAT(notes_of(found, "ext"), ElementsAre(HasSubstr("FF601 needs libsox.so")));
  EXPECT_THAT(cleared_by(found), ElementsAre("torch"));
  EXPECT_THAT(not_cleared_by(found), ElementsAre("ext"));
}

TEST_F(Loads, ATorchWhoseImportFailsForALibraryIsAMisfit) {
  MadePackage torch = importable_torch({"libc.so.6"});
  torch.files["torch/lib/libtorch_cuda.so"] =
      MadeLibrary{.soname = "libtorch_cuda.so", .needed = {"libcusparse.so.12"}, .exports = {"_ZN2at4cuda3addEv"}}
          .bytes();
  install(torch);
  const Environment found = look_with("");
  EXPECT_EQ(found.verdict, Verdict::kMisfit);
  EXPECT_THAT(lines_of(found, "torch"), ElementsAre(HasSubstr("FF330 misfit needs libcusparse.so.12")));
  EXPECT_EQ(mend_of(found, "torch"), "pip install nvidia-cusparse-cu12");
  // The newest of it may be of another CUDA.
  torch.requirements.emplace_back("nvidia-cusparse-cu12==12.5.8.93; platform_system == 'Linux'");
  install(torch);
  EXPECT_EQ(mend_of(look_with(""), "torch"), "pip install nvidia-cusparse-cu12==12.5.8.93");
}

class Conda : public Loads {
 protected:
  void SetUp() override {
    Loads::SetUp();
    site_ = "conda/lib/python3.11/site-packages";
    std::filesystem::create_directories(root_ / "conda/conda-meta");
    std::filesystem::create_directories(root_ / site_);
    write("conda/bin/python3.11",
          MadeLibrary{.rpath = "$ORIGIN/../lib", .needed = {"libc.so.6"}, .interpreter = "/lib64/ld-linux-x86-64.so.2"}
              .bytes());
    write("conda/lib/libstdc++.so.6", standard({"GLIBCXX_3.4", "GLIBCXX_3.4.29"}));
    const MadeLibrary extension{.needed = {"libstdc++.so.6", "libc10.so"},
                                .imports = {{"x", "libstdc++.so.6", "GLIBCXX_3.4.32"}}};
    install({"ktransformers", "0.2", {{"ktransformers_ext" + kModule, module_of(extension)}}});
    install(importable_torch({"libc.so.6"}));
  }
  static std::vector<std::byte> standard(std::vector<std::string> versions) {
    return MadeLibrary{.soname = "libstdc++.so.6", .exports = {"x"}, .defines = std::move(versions)}.bytes();
  }
  Environment look_at_conda() const {
    EnvironmentQuestion asked = question({});
    asked.path = "/conda";
    return look(asked);
  }
};

TEST_F(Conda, ItsOldCxxLibraryIsLoadedFirst) {  // kind 5
  const Environment found = look_at_conda();
  EXPECT_EQ(found.prefix.kind, Prefix::Kind::kConda);
  EXPECT_EQ(found.verdict, Verdict::kMisfit);
  EXPECT_THAT(culprits_of(found), ElementsAre("ktransformers"));
  EXPECT_THAT(
      lines_of(found, "ktransformers"),
      ElementsAre("FF603 misfit needs GLIBCXX_3.4.32, of GCC 13.2, which /conda/bin/../lib/libstdc++.so.6 (found by "
                  "DT_RPATH of python3.11) lacks: it ends at GLIBCXX_3.4.29"));
  EXPECT_EQ(mend_of(found, "ktransformers"), "");
  write("usr/lib64/libstdc++.so.6", standard({"GLIBCXX_3.4", "GLIBCXX_3.4.29", "GLIBCXX_3.4.32"}));
  // DT_RPATH goes before LD_LIBRARY_PATH: the trial of that fails.
  EXPECT_EQ(mend_of(look_at_conda(), "ktransformers"), "export LD_PRELOAD=/usr/lib64/libstdc++.so.6");
  write("conda/lib/libstdc++.so.6", standard({"GLIBCXX_3.4", "GLIBCXX_3.4.32"}));
  EXPECT_EQ(look_at_conda().verdict, Verdict::kFits);
}

TEST_F(Loads, AnExecutableStackThatThisGlibcRefuses) {  // kind 6
  const std::string library = "libctranslate2-bc15bf3f.so.4.5.0";
  install({"ctranslate2",
           "4.5.0",
           {{"ctranslate2/_ext" + kModule, module_of({.runpath = "$ORIGIN/../ctranslate2.libs", .needed = {library}})},
            {"ctranslate2.libs/" + library, MadeLibrary{.soname = library, .executable_stack = true}.bytes()}}});
  EXPECT_EQ(look_with("").verdict, Verdict::kFits);
  make_system("2.41");
  const Environment found = look_with("");
  EXPECT_EQ(found.verdict, Verdict::kMisfit);
  EXPECT_THAT(culprits_of(found), ElementsAre("ctranslate2"));
  EXPECT_THAT(
      lines_of(found, "ctranslate2"),
      ElementsAre("FF608 misfit asks for an executable stack, which glibc 2.41 refuses to what is opened late"));
  EXPECT_EQ(mend_of(found, "ctranslate2"), "export GLIBC_TUNABLES=glibc.rtld.execstack=2");
  EXPECT_EQ(look_with("", "glibc.rtld.execstack=2").verdict, Verdict::kFits);
}

TEST_F(Loads, ALibraryOfTheSystemThatIsNotThere) {
  install({"opencv_python", "4.10", {{"cv2/cv2.abi3.so", module_of({.needed = {"libGL.so.1", "libc.so.6"}})}}});
  const Environment found = look_with("");
  EXPECT_EQ(found.verdict, Verdict::kDegraded);
  EXPECT_THAT(lines_of(found, "opencv-python"),
              ElementsAre("FF601 degraded needs libGL.so.1, which no folder that is searched has"));
  // Where another module of the package loads, this one is for what is not here.
  install({"opencv_python",
           "4.10",
           {{"cv2/cv2.abi3.so", module_of({.needed = {"libGL.so.1"}})}, {"cv2/gapi.abi3.so", module_of({})}}});
  EXPECT_EQ(look_with("").verdict, Verdict::kFits);
}

TEST_F(Loads, AnotherCopyOfWhatAModuleNeedsMayBeBroken) {
  install({"ext", "1.0", {{"ext" + kModule, module_of({.needed = {"libx.so.1"}})}}});
  write("usr/lib64/libx.so.1", make_shared_library("libx.so.1"));
  write("opt/old/libx.so.1", "version https://git-lfs.github.com/spec/v1\n");
  const Environment found = look_with("/opt/old");
  EXPECT_THAT(lines_of(found, "ext"), ElementsAre(HasSubstr("FF602 misfit needs libx.so.1, and the search ends at")));
  EXPECT_EQ(mend_of(found, "ext"), "unset LD_LIBRARY_PATH");
}

/// A full disk or a broken download: the loader stops at a file without its table of segments; of one that is cut later
/// nobody knows.
TEST_F(Loads, AModuleWhoseLibraryIsCutShortIsNotCleared) {
  MadeLibrary needs{.runpath = "$ORIGIN", .needed = {"libdep.so"}};
  const std::vector<std::byte> whole = make_shared_library("libdep.so");
  const auto look_at_cut = [&](std::size_t size) {
    install({"ext",
             "1.0",
             {{"ext/_C" + kModule, make_module({{"8.0"}}, needs)},
              {"ext/libdep.so", {whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(size)}}}});
    return look_with("");
  };
  EXPECT_THAT(cleared_by(look_at_cut(whole.size())), ElementsAre("ext"));
  for (const auto& [size, why] : {std::pair{std::size_t{0}, "file too short"}, {100, "cannot read file data"}}) {
    const Environment found = look_at_cut(size);
    EXPECT_EQ(found.verdict, Verdict::kMisfit) << size;
    EXPECT_THAT(lines_of(found, "ext"),
                Contains(testing::AllOf(testing::StartsWith("FF602 misfit needs libdep.so"), testing::EndsWith(why))));
  }
  const Environment found = look_at_cut(whole.size() - 1);
  EXPECT_EQ(found.verdict, Verdict::kUnknown);
  EXPECT_THAT(lines_of(found, "ext"), ElementsAre(testing::StartsWith("FF901 unknown malformed: ")));
  EXPECT_THAT(cleared_by(found), IsEmpty());
}

TEST_F(Loads, AModuleWhoseLibraryOfTheSystemCannotBeReadIsUnknown) {
  install({"ext", "1.0", {{"ext" + kModule, make_module({{"8.0"}}, {.needed = {"libx.so.1"}})}}});
  std::vector<std::byte> cut = make_shared_library("libx.so.1");
  cut.pop_back();
  write("usr/lib64/libx.so.1", cut);
  const Environment found = look_with("");
  EXPECT_THAT(lines_of(found, "ext"), ElementsAre(HasSubstr("FF602 unknown what it needs cannot be read: ")));
  EXPECT_THAT(cleared_by(found), IsEmpty());
}

TEST_F(Loads, ModulesForAnotherPythonAreNotOpened) {
  install({"ext",
           "1.0",
           {{"ext.cpython-310-x86_64-linux-gnu.so", module_of({.needed = {"libabsent.so.1"}})},
            {"ext" + kModule, module_of({.needed = {"libc.so.6"}})}}});
  EXPECT_THAT(notes_of(look_with(""), "ext"), Not(Contains(HasSubstr("libabsent"))));
}

TEST_F(Loads, ThreadLocalVariablesAreANote) {
  install({"ext", "1.0", {{"ext" + kModule, module_of({.static_tls = true, .tls_size = 4000})}}});
  const Environment found = look_with("");
  EXPECT_EQ(found.verdict, Verdict::kFits);
  EXPECT_THAT(notes_of(found, "ext"), Contains(HasSubstr("FF609 libraries that are opened late may need 4000 bytes")));
}

TEST_F(Loads, WhatTheTagPromisedOfGlibcIsOverWhenItIsInstalled) {
  install({"ext",
           "1.0",
           {{"ext" + kModule, module_of({.needed = {"libc.so.6"}, .imports = {{"f", "libc.so.6", "GLIBC_2.32"}}})}}});
  write(site_ + "/ext-1.0.dist-info/WHEEL", "Wheel-Version: 1.0\nTag: cp311-cp311-manylinux_2_24_x86_64\n");
  EnvironmentQuestion asked = question({});
  asked.asked.platform = doctor::parse_platform("linux_x86_64").value();
  EXPECT_EQ(look(asked).verdict, Verdict::kFits);
  EXPECT_THAT(notes_of(look(asked), "ext"), Contains(HasSubstr("FF321")));
}

TEST_F(Loads, AnotherSystemIsNotJudgedByThisOne) {
  install({"ext", "1.0", {{"ext" + kModule, module_of({.needed = {"libabsent.so.1"}})}}});
  EXPECT_EQ(look_with("").verdict, Verdict::kDegraded);
  EnvironmentQuestion asked = question({});
  asked.asked.platform = doctor::parse_platform("linux_x86_64").value();
  const Environment found = look(asked);
  EXPECT_EQ(found.verdict, Verdict::kFits);
  EXPECT_THAT(found.assumed, Contains(HasSubstr("only what the packages want of each other is judged")));
  asked.asked.platform = doctor::parse_platform("musllinux_1_2_x86_64").value();
  EXPECT_THAT(look(asked).assumed, Contains("another system was described: what its loader would load is not judged"));
}

}  // namespace
}  // namespace flashfit::doctor::environment::test
