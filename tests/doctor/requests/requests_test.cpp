// The parts that lists are read by.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>

#include "doctor/requests/dockerfile.hpp"
#include "doctor/requests/fetch.hpp"
#include "doctor/requests/image_name.hpp"
#include "doctor/requests/link.hpp"
#include "doctor/requests/requirements_file.hpp"
#include "doctor/requests/sha256.hpp"
#include "doctor/requests/toml_nesting.hpp"
#include "doctor/requests/torch_bounds.hpp"
#include "doctor/requests/variables.hpp"
#include "doctor/requests/words.hpp"

namespace flashfit::doctor::requests {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

std::vector<std::string> texts(const Command& command) {
  std::vector<std::string> out;
  for (const Word& word : command) out.push_back(word.text);
  return out;
}

std::vector<std::vector<std::string>> commands_of(std::string text) {
  std::vector<std::vector<std::string>> out;
  for (const Command& command : shell_commands({.text = std::move(text), .starts = {{0, 1}}}, 0))
    out.push_back(texts(command));
  return out;
}

TEST(Words, AreAsAShellSplitsThem) {
  EXPECT_THAT(commands_of(R"(a "b c" 'd $e' f\ g)"), ElementsAre(ElementsAre("a", "b c", "d $e", "f g")));
  EXPECT_THAT(commands_of("a && b || c; d | e & f"), ElementsAre(ElementsAre("a"), ElementsAre("b"), ElementsAre("c"),
                                                                 ElementsAre("d"), ElementsAre("e"), ElementsAre("f")));
  EXPECT_THAT(commands_of("if a; then (b); fi # c"),
              ElementsAre(ElementsAre("a"), ElementsAre("b"), ElementsAre("fi")));
  EXPECT_THAT(commands_of("a 2>&1 >out b 2> err"), ElementsAre(ElementsAre("a", "b")));
  EXPECT_THAT(commands_of("a x#y '' \"un"), ElementsAre(ElementsAre("a", "x#y", "", "un")));
  EXPECT_THAT(texts(plain_words({.text = "-f http://x/?a=1&b=2 '#c'", .starts = {{0, 1}}}, 0)),
              ElementsAre("-f", "http://x/?a=1&b=2", "#c"));
}

TEST(TomlNesting, CountsTablesArraysAndThePartsOfKeys) {
  const auto repeated = [](std::string_view part, std::size_t times) {
    std::string text;
    for (std::size_t i = 0; i < times; ++i) text += part;
    return text;
  };
  const auto said = [](const std::string& text) { return too_much_toml(text).message; };
  const std::string deep = "malformed: nesting of a text beyond the limit of 64 at ";
  EXPECT_EQ(said("[" + repeated("a.", 60) + "a]\nb = 1\n"), "");
  EXPECT_EQ(said("[[" + repeated("a.", 70) + "a]]\n"), deep + "127");
  EXPECT_EQ(said(repeated("\"a\" . ", 70) + "a = 1"), deep + "388");
  EXPECT_EQ(said("a = " + repeated("[", 65)), deep + "68");
  EXPECT_EQ(said("a = [" + repeated("[1], ", 65) + "]"), "") << "beside one another";
  EXPECT_EQ(said(repeated("a = {", 40) + repeated("}", 40)), "");
  EXPECT_EQ(said("a = {" + repeated("b.c.d = {", 30)), deep + "195") << "a key's parts are nested in what is around it";
  EXPECT_EQ(said("a = [" + repeated("1.5, ", 100) + "]\n" + repeated("b.c = 1.5 # [[[[\n", 100)), "");
  // Texts hide nothing behind them.
  for (const std::string& text : {std::string(R"("[.[")"), std::string("'[.\"['"), std::string(R"("""[\"[""""")"),
                                  std::string("'''[[''''"), std::string("\"[\\\"[\"")}) {
    EXPECT_EQ(said("a = " + text + "\n"), "") << text;
    EXPECT_THAT(said("a = {b = " + text + ", c = " + repeated("[", 65)), testing::StartsWith(deep)) << text;
  }
  const TomlFault fault = too_much_toml("# [\n\"\"\"\n\\\n\"\"\" = 1\n" + repeated("[", 65));
  EXPECT_EQ(fault.line, 5U);
  EXPECT_THAT(said("a = [" + repeated("[],", 300'000)),
              testing::StartsWith("malformed: values of a text beyond the limit of 500000 at "));
}

TEST(Variables, ArePutInAsDockerDoes) {
  const Variables variables{{"A", "1"}, {"EMPTY", ""}, {"SELF", "$A"}};
  std::string unknown;
  EXPECT_EQ(expanded("$A-${A}${A:-x}${B:-y}${A:+z}${B:+w}\\$A", variables, &unknown), "1-11yz$A");
  EXPECT_EQ(unknown, "");
  EXPECT_EQ(expanded("${EMPTY:-d}$EMPTY|$SELF", variables, &unknown), "d|$A");
  EXPECT_EQ(expanded("$B ${C}", variables, &unknown), "$B ${C}");
  EXPECT_EQ(unknown, "B");
  EXPECT_EQ(expanded("${A ${ $ $1 ${A:?}", variables, nullptr), "${A ${ $ $1 ${A:?}");
  EXPECT_LE(expanded(std::string(10'000, 'x'), {}).size(), kLongestExpansion);
}

TEST(ImageNames, SayWhatIsInThem) {
  const auto said = [](const char* name) {
    const Base base = read_image_name(name, 1);
    return base.python + "|" + base.glibc + "|" + base.torch + "|" + base.cuda;
  };
  EXPECT_EQ(said("python:3.11.9-slim-bookworm"), "3.11|2.36||");
  EXPECT_EQ(said("docker.io/library/python:3.12@sha256:00"), "3.12|||");
  EXPECT_EQ(said("python:3"), "|||");
  EXPECT_EQ(said("pytorch/pytorch:2.6.0-cuda12.4-cudnn9-devel"), "||2.6.0|12.4");
  EXPECT_EQ(said("somebody/pytorch:2.6.0-cuda12.4"), "|||");
  EXPECT_EQ(said("nvidia/cuda:12.8.1-base-ubuntu22.04"), "|2.35||12.8");
  EXPECT_EQ(said("ghcr.io/astral-sh/uv:python3.12-bookworm"), "3.12|2.36||");
  EXPECT_EQ(said("debian:12"), "|2.36||");
  EXPECT_EQ(said("localhost:5000/python"), "|||");
  EXPECT_EQ(said(""), "|||");
  EXPECT_EQ(read_image_name("alpine", 1).system, doctor::Platform::System::kMusl);
}

TEST(Links, AreToldFromNames) {
  for (const char* link :
       {"./x", "../x[a]", "/x", "a/b", "x.whl", "X.WHL", "x.tar.gz", "https://h/x", "git+ssh://h/x", "file:x", "."})
    EXPECT_TRUE(is_link(link)) << link;
  for (const char* name : {"torch", "torch>=2", "x @ https://h/x.whl", "x[a/b]", "zip", "x; sys_platform == 'a/b'"})
    EXPECT_FALSE(is_link(name)) << name;
  const auto wheel = wheel_link("https://h/a%2Bb-1-py3-none-any.whl?x=/y.whl#egg=z&sub=1");
  ASSERT_TRUE(wheel);
  EXPECT_EQ(wheel->file_name, "a%2Bb-1-py3-none-any.whl");
  EXPECT_EQ(wheel_link("file:///w/a-1-py3-none-any.whl")->path, "/w/a-1-py3-none-any.whl");
  EXPECT_EQ(wheel_link("./a-1-py3-none-any.whl[gpu]")->file_name, "a-1-py3-none-any.whl");
  EXPECT_FALSE(wheel_link("https://h/x.tar.gz"));
  EXPECT_EQ(egg_of("git+https://h/x#egg=A_b&subdirectory=c"), "a-b");
  EXPECT_EQ(without_credentials("https://u:p@h/x@y"), "https://h/x@y");
}

TEST(Requirements, AreReadWithTheirOptions) {
  const auto list = read_requirements(
      "-i https://i --extra-index-url=https://j\n--find-links f\n-rbase.txt\n-c c.txt\n--no-index\n"
      "torch>=2.6 --hash=sha256:00 --config-settings x=y\n-e git+https://h/x#egg=e\n--pre\n");
  EXPECT_THAT(list.troubles, IsEmpty());
  EXPECT_THAT(list.indexes.back().addresses, ElementsAre("https://i", "https://j"));
  EXPECT_THAT(list.indexes.back().find_links, ElementsAre("f"));
  EXPECT_TRUE(list.indexes.back().none);
  ASSERT_EQ(list.includes.size(), 2U);
  EXPECT_EQ(list.includes[0].path, "base.txt");
  EXPECT_TRUE(list.includes[1].constraint);
  ASSERT_EQ(list.requests.size(), 2U);
  EXPECT_THAT(list.requests[0].hashes, ElementsAre("sha256:00"));
  EXPECT_TRUE(list.requests[1].sources);
  EXPECT_EQ(list.requests[1].package.name, "e");
}

TEST(Requirements, AreRefusedWherePipRefusesThem) {
  for (const char* text : {"a==1; foo bar", "a==1; python_version", "a==1;", "./a-1-py3-none-any.whl ; foo", "--foo",
                           "a==1 --foo", "-U", "a==1 --target t", "--foo=1", "a @ https://h/a.whl ; python_version"})
    EXPECT_EQ(read_requirements(text).troubles.size(), 1U) << text;
  for (const char* text :
       {"a==1; python_version < '3.12'", "a==1 ; extra == 'x' # why", "--extra-index https://h", "--use-feature=x",
        "a==1 --hash sha256:00 --config-settings=a=b", "--trusted-host h", "--prefer-binary", "-Ca=b",
        "a @ https://h/a;b.whl", "--no-binary :all:", "--only-binary=:all:", "--require-hashes", "-e ."})
    EXPECT_THAT(read_requirements(text).troubles, IsEmpty()) << text;
  EXPECT_THAT(read_dockerfile("FROM a\nRUN pip install -U --no-such-option a\n").troubles, IsEmpty())
      << "of a command's options more are known to it than here";
}

TEST(Bounds, AreOfReleasesThatPyTorchHas) {
  using Severity = doctor::Severity;
  const auto severity = [](const char* text) {
    const auto found = bounds_problem(doctor::parse_requirement(text).value());
    return found ? std::optional(found->severity) : std::nullopt;
  };
  for (const char* text : {"torch>=2.7,<2.7", "torch<0.9", "torch!=2.7.0,==2.7.0", "torch==2.7.0,==2.8.0",
                           "torch>3.0,<3.0", "torch===2.7.0,<2", "torch==2.7.*,>2.7.1"})
    EXPECT_EQ(severity(text), Severity::kMisfit) << text;
  for (const char* text : {"torch>=99.0", "torch==99.*", "torch~=99.1", "torch>=99.0.dev1"})
    EXPECT_EQ(severity(text), Severity::kUnknown) << text << ": a later release may be one";
  // Of one version that is pinned the release is judged elsewhere.
  for (const char* text : {"torch", "torch>=2.4", "torch==2.7.0", "torch===2.7.0", "torch==2.7.0+cu126", "torch==99.0",
                           "torch~=2.6.0", "torch==2.7.0.dev20250101", "torch<2.11,!=2.10.0", "torch>1.0,<1.1"})
    EXPECT_EQ(severity(text), std::nullopt) << text;
}

TEST(Bounds, AreOfAllLinesTogether) {
  const auto out = [](const char* text) {
    const auto list = read_requirements(text);
    Places all;
    for (std::size_t i = 0; i < list.requests.size(); ++i) all.push_back(i);
    const auto found = out_of_bounds(list, all);
    return found ? fmt::format("{}: {}", found->place, found->problem.message) : "";
  };
  constexpr const char* kAmong = ": PyTorch has no release that is among these versions and those of ";
  EXPECT_EQ(out("torch==2.7.0\ntorch==2.8.0\n"), fmt::format("1{}line 1, torch==2.7.0", kAmong));
  EXPECT_EQ(out("torch\ntorch>=2.4\ntorch>2,<2.3\n"), fmt::format("2{}line 2, torch>=2.4", kAmong));
  EXPECT_EQ(out("torch==2.7.0+cu126\ntorch==2.7.0+cu128\n"), fmt::format("1{}line 1, torch==2.7.0+cu126", kAmong));
  EXPECT_EQ(out("torch!=2.7.0\ntorch>=2.7,<2.8\ntorch!=2.7.1\n"), fmt::format("2{}the lines before it", kAmong));
  for (const char* text : {"torch==2.7.0\ntorch\ntorch==2.7.0+cu126\n", "torch>=2.4\ntorch<2.11\n", "torch==99.0\n",
                           "torch==99.0\ntorch>=2.4\n", ""})
    EXPECT_EQ(out(text), "") << text;
}

TEST(Dockerfiles, SeeOnlyInstallations) {
  const auto list = read_dockerfile(
      "FROM a AS b\nENV X=1 PIP_INDEX_URL=https://h/whl/cu126\nFROM b\n"
      "RUN X=2 /opt/venv/bin/pip3.11 -q install --upgrade pip && pip list && conda install torch && echo pip install "
      "no\n"
      "RUN uv pip install --torch-backend=cu128 'torch<3'; uv pip compile x; uv sync\nCMD pip install never\n");
  ASSERT_EQ(list.requests.size(), 2U);
  EXPECT_EQ(list.requests[0].text, "pip");
  EXPECT_EQ(list.requests[1].text, "torch<3");
  EXPECT_EQ(list.requests[1].line, 5U);
  EXPECT_EQ(list.bases.at(list.requests[1].base).name, "a") << "a stage built on another is of its image";
  EXPECT_EQ(list.indexes.at(list.requests[1].indexes).torch_backend, "cu128");
  EXPECT_THAT(list.indexes.at(list.requests[0].indexes).addresses, ElementsAre("https://h/whl/cu126"));
}

TEST(Dockerfiles, SayWhichOtherInstallersBringPackages) {
  const auto troubles = [](const std::string& run) {
    std::vector<std::string> found;
    for (const auto& trouble : read_dockerfile("FROM a\nENV V=2\nRUN " + run + "\n").troubles)
      found.push_back(trouble.message.substr(0, trouble.message.find(':')) + " " + std::to_string(trouble.line));
    return found;
  };
  EXPECT_THAT(troubles("conda install -y torch==$V && pip install x"), ElementsAre("conda install 3"));
  for (const char* run :
       {"conda install -c nvidia/label/cuda-12.4.1 cuda-toolkit",
        "sudo /opt/bin/micromamba create -n b python=3.11 torch", "mamba env update --file=environment.yml",
        "conda install --file packages.txt", "uv add torch", "uv sync --frozen", "uv --directory /x sync",
        "poetry install --no-root", "poetry -C /x add torch", "pdm sync", "pipenv install --deploy",
        "bash -c 'poetry install'", "poetry run poetry install", "pixi install", "rye sync"})
    EXPECT_EQ(troubles(run).size(), 1U) << run;
  for (const char* run :
       {"conda create -y -n env python=3.10 pip", "conda install -n base -c conda-forge 'conda>=4' cmake=3",
        "conda clean -a", "conda env list", "uv venv", "uv pip install x", "uv run x.py", "uv tool install ruff",
        "poetry config a b", "pipx install poetry", "npm install", "apt-get install conda", "echo poetry install",
        "conda", "uv", "conda run"})
    EXPECT_THAT(troubles(run), IsEmpty()) << run;
}

TEST(Dockerfiles, ReadWhatToolsRunInAnEnvironment) {
  for (const char* run :
       {"conda run -n env pip install x==1", "conda run --no-capture-output -p /e python -m pip install x==1",
        "micromamba run -n base pip install x==1", "poetry run pip install x==1",
        "uv run --with y python -m pip install x==1", "poetry run bash -c 'pip install x==1'"}) {
    const auto list = read_dockerfile(std::string("FROM a\nRUN ") + run + "\n");
    ASSERT_EQ(list.requests.size(), 1U) << run;
    EXPECT_EQ(list.requests[0].text, "x==1") << run;
    EXPECT_THAT(list.troubles, IsEmpty()) << run;
  }
}

TEST(Dockerfiles, SeeEveryWayToCallPip) {
  for (const char* call :
       {"python3.9 -m pip", "python -mpip", "python3 -Im pip", "python3 -W ignore -X utf8 -m pip",
        "python3 -Wignore -m pip", "sudo -H pip", "sudo -u root -E A=b /usr/bin/python3.9 -m pip", "python -m uv pip",
        "pip --timeout 100 --quiet", "pip --cache-dir=/c", "env A=b C=d pip3.12", "time exec pip", "uv pip"}) {
    const auto list = read_dockerfile(std::string("FROM a\nRUN ") + call + " install x==1\n");
    ASSERT_EQ(list.requests.size(), 1U) << call;
    EXPECT_EQ(list.requests[0].text, "x==1") << call;
  }
  for (const char* call : {"python3.9 -c 'pip'", "python -m piper", "python pip", "python -m", "sudo -u pip",
                           "uv -m pip", "pipx", "pip download", "python -W"})
    EXPECT_THAT(read_dockerfile(std::string("FROM a\nRUN ") + call + " install x==1\n").requests, IsEmpty()) << call;
}

TEST(Dockerfiles, ReadTheScriptsThatShellsAreGiven) {
  const auto requests_of = [](const std::string& run) {
    std::vector<std::string> found;
    for (const auto& request : read_dockerfile("FROM a\nENV V=2\nRUN " + run + "\n").requests)
      found.push_back(request.text + " " + std::to_string(request.line));
    return found;
  };
  for (const char* run : {"bash -c 'pip install x==1'", "/bin/bash -lc \"set -e; pip install 'x==1'\"",
                          "[\"sh\", \"-c\", \"pip install x==1\"]",
                          "sudo -u root A=b bash --login -euxo pipefail -c 'cd /x && pip install x==1'",
                          "sh -c \"bash -c 'pip install x==1'\"", "true && bash -o errexit -c 'pip install x==1' name"})
    EXPECT_THAT(requests_of(run), ElementsAre("x==1 3")) << run;
  EXPECT_THAT(requests_of("bash -c \"pip install x==$V\""), ElementsAre("x==2 3"));
  for (const char* run : {"bash 'pip install x==1'", "bash -c", "echo -c 'pip install x==1'", "bash -l pip install x"})
    EXPECT_THAT(requests_of(run), IsEmpty()) << run;
  std::string deep = "pip install x";
  for (int i = 0; i < 1000; ++i) deep.insert(0, "sh -c ");
  EXPECT_THAT(requests_of(deep), IsEmpty());
}

TEST(Dockerfiles, KnowPythonFromTheFirstCommandThatNamesIt) {
  const auto python = [](const std::string& text) { return read_dockerfile(text).bases.back().python; };
  EXPECT_EQ(python("FROM ubuntu:22.04\nRUN python3.9 -m pip install x\n"), "3.9");
  EXPECT_EQ(
      python("FROM ubuntu:22.04\nRUN pip install x && /opt/v/bin/pip3.10 install y && python3.9 -m pip install z\n"),
      "3.10");
  EXPECT_EQ(python("FROM ubuntu:22.04 AS b\nRUN python3.9 -m pip install x\nFROM b\nRUN pip install y\n"), "3.9");
  EXPECT_EQ(python("FROM ubuntu:22.04\nRUN python3.9 -m pip install x\nFROM ubuntu:22.04\nRUN pip install y\n"), "");
  EXPECT_EQ(python("FROM python:3.11\nRUN python3.9 -m pip install x\n"), "3.11");
  for (const char* none : {"python3", "python", "pypy3.9", "python3.9-dbg", "python3.", "python.9"})
    EXPECT_EQ(python(std::string("FROM ubuntu:22.04\nRUN ") + none + " -m pip install x\n"), "") << none;
}

TEST(Sha256, OfAFile) {
  const std::string path = testing::TempDir() + "sha256";
  const auto hash_of = [&](const std::string& text) {
    std::ofstream(path, std::ios::binary) << text;
    return sha256_of_file(path).value_or("unread");
  };
  // FIPS 180-4's own examples, and its longest of a million letters, which is read in parts.
  EXPECT_EQ(hash_of(""), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  EXPECT_EQ(hash_of("abc"), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  EXPECT_EQ(hash_of(std::string(1'000'000, 'a')), "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
  EXPECT_FALSE(sha256_of_file(path + "/none"));
}

TEST(Fetching, AsksPipForOneQuestionsWheels) {
  doctor::Question question;
  question.python = doctor::parse_python("3.12").value();
  question.platform = doctor::parse_platform("manylinux_2_28_aarch64").value();
  const auto words =
      pip_download("list", "into", {.addresses = {"https://a", "file:///etc", "-r x", "https://b"}}, question);
  EXPECT_THAT(words, testing::Contains("--platform=manylinux_2_28_aarch64"));
  EXPECT_THAT(words, testing::Not(testing::Contains("--platform=manylinux_2_29_aarch64")));
  EXPECT_THAT(words, testing::IsSupersetOf({"--only-binary=:all:", "--no-deps", "--abi=cp312", "--index-url=https://a",
                                            "--extra-index-url=https://b"}));
  EXPECT_THAT(words, testing::Not(testing::Contains(testing::HasSubstr("etc"))));
}

}  // namespace
}  // namespace flashfit::doctor::requests
