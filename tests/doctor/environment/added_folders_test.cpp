// Folders outside of an environment that are imported in it: *.pth files and editable installs, read as text.
#include "doctor/environment/added_folders.hpp"

#include <gmock/gmock.h>

#include "doctor/environment/made_environment.hpp"

namespace flashfit::doctor::environment::test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

const std::string kModule = ".cpython-311-x86_64-linux-gnu.so";

class Added : public MadeEnvironment {
 protected:
  std::vector<std::string> paths() const {
    std::vector<std::string> all;
    for (const AddedFolder& one : added_folders(dynamic_loader::RealTree(root_.string()), "/" + site_, unread_))
      all.push_back(one.path);
    return all;
  }
  mutable std::vector<std::string> unread_;
  void folder(const std::string& path) const { std::filesystem::create_directories(root_ / path); }
};

TEST_F(Added, LinesOfPthFilesAreFoldersAndNothingOfThemIsRun) {
  for (const char* const path : {"src/one", "src/two", "src/three", "venv/lib/more"}) folder(path);
  write(site_ + "/a.pth",
        "# a comment\n/src/one\r\n\nimport os; os.system('x')\nimport\tsys\n../../more\n/src/absent\n/src/one\n");
  write(site_ + "/b.pth", "/src/two");
  write(site_ + "/.hidden.pth", "/src/three");
  write(site_ + "/not.txt", "/src/three");
  EXPECT_THAT(paths(), ElementsAre("/src/one", "/venv/lib/more", "/src/two"));
}

TEST_F(Added, WhatHoldsTheEnvironmentOrIsTheRootIsLeftOut) {
  write(site_ + "/a.pth", "/\n/venv\n.\n..\n/venv/lib/python3.11/site-packages\n\0/x\n");
  EXPECT_THAT(paths(), IsEmpty());
  std::string many;
  for (int i = 0; i < 200; ++i) {
    folder("src/" + std::to_string(i));
    many += "/src/" + std::to_string(i) + "\n";
  }
  write(site_ + "/a.pth", many);
  EXPECT_THAT(paths(), SizeIs(kMostAdded));
  EXPECT_THAT(unread_, ElementsAre(HasSubstr("more than 64 folders are added to it")));
}

TEST_F(Added, WhatIsNotReadIsSaid) {
  folder("src/one");
  write(site_ + "/a.pth", "/src/one\n");
  write(site_ + "/b.pth", std::string(300'000, '#'));
  EXPECT_THAT(paths(), ElementsAre("/src/one"));
  EXPECT_THAT(unread_, ElementsAre(HasSubstr("/b.pth: ")));
  unread_.clear();
  std::string many;
  for (int i = 0; i < 5000; ++i) many += "/src/one\n";
  write(site_ + "/b.pth", many);
  EXPECT_THAT(paths(), ElementsAre("/src/one"));
  EXPECT_THAT(unread_, ElementsAre(HasSubstr("/b.pth: names 4096 paths or more")));
  unread_.clear();
  for (int i = 0; i < 300; ++i) write(site_ + "/x" + std::to_string(i) + ".pth", "");
  paths();
  EXPECT_THAT(unread_, testing::Contains(HasSubstr("more than 256 files that may add folders")));
}

TEST_F(Added, SetuptoolsFindersMapPackages) {
  folder("src/pkg");
  folder("src/other");
  folder("src/no");
  write("src/fast" + kModule, make_module({}));
  write(site_ + "/__editable___pkg_0_1_finder.py",
        "from __future__ import annotations\nX = '/src/no'\nMAPPING: dict[str, str] = {'pkg': '/src/pkg', "
        "\"other\": \"/src/other\", 'fast': '/src/fast" +
            kModule + "', 'bad': '/src\\\\no', 'py': '/src/x.py'}\nNAMESPACES = {'n': ['/src/no']}\n");
  EXPECT_THAT(paths(), ElementsAre("/src/pkg", "/src/other", "/src/fast" + kModule));
}

TEST_F(Added, MesonsLoaderNamesItsBuildFolder) {
  folder("src/build/cp311");
  write(site_ + "/_pkg_editable_loader.py",
        "def install(x):\n  pass\n\ninstall(\n    'pkg',\n    {'pkg'},\n    '/src/build/cp311',\n    ['ninja'],\n)\n");
  EXPECT_THAT(paths(), ElementsAre("/src/build/cp311"));
}

TEST_F(Added, AnEditableExtensionIsJudgedAsItsPackage) {
  install(make_torch("2.7.1+cu126"));
  MadeLibrary library{.needed = {"libc10.so", "libc.so.6"}, .imports = {{.name = kTorchSymbol}}};
  write("src/apex/fused" + kModule, make_module({{"9.0"}}, library));
  write("src/apex/build/temp/fused" + kModule, make_module({{"7.0"}}, library));
  write("src/apex/.cache/fused" + kModule, make_module({{"7.0"}}, library));
  install({"apex", "0.1", {{"__editable__.apex-0.1.pth", text_bytes("/src/apex\n")}}});
  const Environment found = look({"L40"});
  EXPECT_THAT(culprits_of(found), ElementsAre("apex"));
  EXPECT_THAT(lines_of(found, "apex"), ElementsAre(HasSubstr("FF101 misfit SASS 9.0")));
  EXPECT_EQ(found.packages.at(0).report.problems.at(0).member, "/src/apex/fused" + kModule);
}

TEST_F(Added, AFolderWithPackagesOfItsOwnIsReadAsOne) {
  write("shared/site/ext-1.0.dist-info/METADATA", "Metadata-Version: 2.1\nName: ext\nVersion: 1.0\n");
  write("shared/site/ext-1.0.dist-info/RECORD", "ext" + kModule + ",,\n");
  write("shared/site/ext" + kModule, make_module({{"9.0"}}));
  write(site_ + "/shared.pth", "/shared/site\n");
  const Environment found = look({"L40"});
  EXPECT_THAT(culprits_of(found), ElementsAre("ext"));
  EXPECT_EQ(found.packages.at(0).version, "1.0");
}

}  // namespace
}  // namespace flashfit::doctor::environment::test
