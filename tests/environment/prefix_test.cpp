// Which environment is meant, and which folders of packages it has.
#include <gmock/gmock.h>

#include "environment/made_environment.hpp"

namespace flashfit::environment::test {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

class Prefixes : public MadeEnvironment {
 protected:
  Prefix find(const std::string& path) const { return find_prefix(loader::RealTree(root_.string()), path); }
};

TEST_F(Prefixes, AVirtualEnvironmentByItsConfiguration) {
  const Prefix prefix = find("/venv/");
  EXPECT_STREQ(name_of(prefix.kind), "venv");
  EXPECT_EQ(prefix.python, "3.11.7");
  EXPECT_THAT(prefix.packages, ElementsAre("/venv/lib/python3.11/site-packages"));
}

TEST_F(Prefixes, ThatSeesTheSystemsPackagesToo) {
  write("venv/pyvenv.cfg", "home = /usr/bin\nversion_info = 3.11.7.final.0\ninclude-system-site-packages = true\n");
  write("usr/lib/python3/dist-packages/a.py", "");
  const Prefix prefix = find("/venv");
  EXPECT_EQ(prefix.python, "3.11.7");
  EXPECT_THAT(prefix.packages, ElementsAre("/venv/lib/python3.11/site-packages", "/usr/lib/python3/dist-packages"));
}

TEST_F(Prefixes, CondaASystemAFolderAndNothing) {
  write("opt/conda/conda-meta/history", "");
  write("opt/conda/lib/python3.13t/site-packages/a.py", "");
  EXPECT_STREQ(name_of(find("/opt/conda").kind), "conda");
  EXPECT_EQ(find("/opt/conda").python, "3.13t");
  write("usr/lib/python3.12/site-packages/a.py", "");
  write("usr/local/lib/python3.12/dist-packages/a.py", "");
  EXPECT_STREQ(name_of(find("/usr").kind), "system");
  EXPECT_THAT(find("/usr").packages,
              ElementsAre("/usr/local/lib/python3.12/dist-packages", "/usr/lib/python3.12/site-packages"));
  EXPECT_STREQ(name_of(find("/venv/lib/python3.11/site-packages").kind), "folder");
  EXPECT_EQ(find("/venv/lib/python3.11/site-packages").python, "3.11");
  write("app/vendor/x-1.0.dist-info/METADATA", "Metadata-Version: 2.1\nName: x\nVersion: 1.0\n");
  EXPECT_STREQ(name_of(find("/app/vendor").kind), "folder");
  EXPECT_STREQ(name_of(find("/etc").kind), "none");
  EXPECT_THAT(find("/nowhere").packages, IsEmpty());
}

TEST_F(Prefixes, TheActiveOne) {
  const loader::RealTree tree(root_.string());
  Variables variables;
  EXPECT_EQ(active_prefix(tree, variables), "");
  write("usr/bin/python3.11", "#!");
  write("usr/lib/python3.11/site-packages/a.py", "");
  std::filesystem::create_symlink("python3.11", root_ / "usr/bin/python3");
  variables.path = "relative:/missing:/usr/bin";
  EXPECT_EQ(active_prefix(tree, variables), "/usr");
  // A virtual environment's interpreter is a link to another's.
  std::filesystem::create_directories(root_ / "venv/bin");
  std::filesystem::create_symlink("/usr/bin/python3", root_ / "venv/bin/python3");
  variables.path = "/venv/bin:/usr/bin";
  EXPECT_EQ(active_prefix(tree, variables), "/venv");
  EXPECT_EQ(find("/venv/bin/python3").path, "/venv");
  variables.path = "/usr/bin";
  variables.virtual_env = "/venv";
  EXPECT_EQ(active_prefix(tree, variables), "/venv");
  variables.virtual_env = "/gone";
  EXPECT_EQ(active_prefix(tree, variables), "/usr");
}

TEST_F(Prefixes, ThroughTheShimsOfPyenv) {
  const loader::RealTree tree(root_.string());
  write("home/.pyenv/shims/python3", "#!/usr/bin/env bash");
  write("usr/lib/python3.11/site-packages/a.py", "");
  write("usr/bin/python3", "#!");
  for (const char* const version : {"3.9.18", "3.11.9", "3.11.10", "3.11-dev", "3.12.1"})
    std::filesystem::create_directories(root_ / "home/.pyenv/versions" / version);
  write("home/.pyenv/version", "# of all folders\n3.12.1\n");
  Variables variables{.path = "/home/.pyenv/shims:/usr/bin", .folder = "/project/a/b"};
  const auto active = [&] { return active_prefix(tree, variables); };
  EXPECT_EQ(active(), "/home/.pyenv/versions/3.12.1");
  write("project/.python-version", "2.7\n3.9.18\n");
  EXPECT_EQ(active(), "/home/.pyenv/versions/3.9.18") << "the first that is installed";
  write("project/a/.python-version", "3.11\n");
  EXPECT_EQ(active(), "/home/.pyenv/versions/3.11.10") << "the newest";
  variables.pyenv_version = "3.9.18:3.12.1";
  EXPECT_EQ(active(), "/home/.pyenv/versions/3.9.18");
  for (const char* const none : {"system", "2.7", "../versions/3.9.18", "3.1"}) {
    variables.pyenv_version = none;
    EXPECT_EQ(active(), "/usr") << none;
  }
}

TEST_F(Prefixes, NothingThereIsUnknown) {
  EnvironmentQuestion asked = question({"L40"});
  asked.path = "/etc";
  const Environment found = look(asked);
  EXPECT_EQ(found.verdict, inspect::Verdict::kUnknown);
  ASSERT_FALSE(found.problems.empty());
  EXPECT_EQ(found.problems[0].code, "FF714");
}

}  // namespace
}  // namespace flashfit::environment::test
