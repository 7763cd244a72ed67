// Which environment is meant, and which folders of packages it has.
#include <gmock/gmock.h>

#include "doctor/environment/addressed_mend.hpp"
#include "doctor/environment/distributions.hpp"
#include "doctor/environment/made_environment.hpp"

namespace flashfit::doctor::environment::test {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

class Prefixes : public MadeEnvironment {
 protected:
  Prefix find(const std::string& path) const { return find_prefix(dynamic_loader::RealTree(root_.string()), path); }
};

TEST_F(Prefixes, AVirtualEnvironmentByItsConfiguration) {
  const Prefix prefix = find("/venv/");
  EXPECT_STREQ(name_of(prefix.kind), "venv");
  EXPECT_EQ(prefix.python, "3.11.7");
  EXPECT_THAT(prefix.packages, ElementsAre("/venv/lib/python3.11/site-packages"));
}

TEST_F(Prefixes, AConfigurationThatIsNotRead) {
  write("venv/pyvenv.cfg", "version = 3.11.7\n" + std::string(100'000, '#'));
  const Prefix prefix = find("/venv");
  EXPECT_STREQ(name_of(prefix.kind), "venv");
  EXPECT_THAT(prefix.packages, ElementsAre("/venv/lib/python3.11/site-packages"));
  EXPECT_FALSE(prefix.unread.empty());
  EXPECT_THAT(look({"L40"}).unread, testing::Contains(testing::HasSubstr("pyvenv.cfg, which tells the Python")));
}

TEST_F(Prefixes, DistributionsBeyondWhatIsRead) {
  for (std::size_t i = 0; i <= kMostDistributions; ++i) write(site_ + "/a" + std::to_string(i) + ".egg-info", "");
  write(site_ + "/z-1.0.dist-info/METADATA", "Metadata-Version: 2.1\nName: z\nVersion: 1.0\n");
  std::vector<std::string> unread;
  read_distributions(dynamic_loader::RealTree(root_.string()), "/" + site_, unread);
  EXPECT_THAT(unread, testing::Contains(testing::HasSubstr("2 of its 20002 distributions were not read")));
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
  const dynamic_loader::RealTree tree(root_.string());
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

TEST_F(Prefixes, OfTheCommandByThePathThatItWasCalledBy) {
  const dynamic_loader::RealTree tree(root_.string());
  write("opt/venv/pyvenv.cfg", "version = 3.12.1\n");
  write("opt/venv/lib/python3.12/site-packages/a.py", "");
  write("opt/conda/conda-meta/history", "");
  write("opt/flashfit/bin/flashfit", "");
  const auto asks = [&](const char* word) { return prefix_of_command(tree, word, "/opt/venv/work"); };
  EXPECT_EQ(asks("/opt/venv/bin/flashfit"), "/opt/venv");
  EXPECT_EQ(asks("../bin/flashfit"), "/opt/venv");
  EXPECT_EQ(asks("/opt/conda/bin/flashfit"), "/opt/conda");
  EXPECT_EQ(asks("flashfit"), "") << "found in PATH, which says what is active";
  EXPECT_EQ(asks("/opt/flashfit/bin/flashfit"), "") << "no environment";
  // pyenv's, and what is built from source: a prefix without a mark of its own.
  write("opt/python/lib/python3.11/site-packages/flashfit-1.0.dist-info/METADATA", "");
  EXPECT_EQ(asks("/opt/python/bin/flashfit"), "") << "installed for a user alone, without an interpreter";
  write("opt/python/bin/python3", "");
  EXPECT_EQ(asks("/opt/python/bin/flashfit"), "/opt/python");
  Variables variables{.virtual_env = "/other", .path = "/usr/bin", .asks = "/opt/venv"};
  write("other/pyvenv.cfg", "");
  write("other/lib/python3.11/site-packages/a.py", "");
  EXPECT_EQ(active_prefix(tree, variables), "/opt/venv");
  variables.asks = "/opt/flashfit";
  EXPECT_EQ(active_prefix(tree, variables), "/other");
}

TEST_F(Prefixes, AreNamedInCommandsWhereThePythonInPathIsAnothers) {
  write("opt/venv/bin/python3", "");
  write("opt/venv/lib/python3.11/site-packages/a.py", "");
  write("usr/bin/python3", "");
  const dynamic_loader::RealTree tree(root_.string());
  const Prefix venv = find_prefix(tree, "/opt/venv");
  const auto named = [&](const Variables& variables, bool by_path) {
    return interpreter_to_name(tree, variables, venv, by_path);
  };
  EXPECT_EQ(named({.virtual_env = "/opt/venv", .path = "/opt/venv/bin:/usr/bin"}, false), "") << "activated";
  EXPECT_EQ(named({.virtual_env = "/opt/venv", .path = "/usr/bin:/opt/venv/bin"}, false), "/opt/venv/bin/python3");
  EXPECT_EQ(named({.path = "/usr/bin"}, true), "/opt/venv/bin/python3");
  EXPECT_EQ(named({.path = "/usr/bin", .asks = "/opt/venv"}, false), "/opt/venv/bin/python3");
  EXPECT_EQ(named({.path = "/opt/venv/bin"}, false), "");
}

TEST(AddressedMends, NameTheInterpreter) {
  const auto addressed = [](const char* mend) { return addressed_mend(mend, "/opt/a b/bin/python3.11"); };
  EXPECT_EQ(addressed("pip install x"), "'/opt/a b/bin/python3.11' -m pip install x");
  EXPECT_EQ(addressed_mend("pip install uv && uv pip install --python python3 --torch-backend=cu124 torch==2.6.0+cu124",
                           "/v/bin/python"),
            "/v/bin/python -m pip install uv && /v/bin/python -m uv pip install --python /v/bin/python "
            "--torch-backend=cu124 torch==2.6.0+cu124");
  EXPECT_EQ(addressed_mend("A=1 B='2' pip install x && export C=d", "/v/bin/python"),
            "A=1 B='2' /v/bin/python -m pip install x && export C=d");
  EXPECT_EQ(addressed_mend("python3.10 -m venv venv3.10 && venv3.10/bin/pip install x", "/v/bin/python"),
            "python3.10 -m venv venv3.10 && venv3.10/bin/pip install x");
  EXPECT_EQ(addressed_mend("pip install x", ""), "pip install x");
}

TEST_F(Prefixes, ThroughTheShimsOfPyenv) {
  const dynamic_loader::RealTree tree(root_.string());
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
  EXPECT_EQ(found.verdict, doctor::Verdict::kUnknown);
  ASSERT_FALSE(found.problems.empty());
  EXPECT_EQ(found.problems[0].code, "FF714");
}

}  // namespace
}  // namespace flashfit::doctor::environment::test
