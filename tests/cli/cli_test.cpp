// The built command as people and scripts use it: exit status, stdout, stderr. What a build carries varies, so what
// depends on images is checked for consistency, what does not to the letter.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>

#include <array>
#include <cstdio>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <regex>
#include <sstream>
#include <string_view>
#include <vector>

#include "core/gpu/gpu.hpp"

namespace flashfit {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;
using Json = nlohmann::ordered_json;

struct Ran {
  int status;
  std::string out, err;
};

Ran run(const std::string& arguments) {
  const std::string errors = testing::TempDir() + "flashfit_cli_stderr_" + std::to_string(getpid());
  FILE* pipe = popen((FLASHFIT_COMMAND " " + arguments + " 2>" + errors).c_str(), "r");
  Ran ran{-1, "", ""};
  std::array<char, 4096> buffer;
  while (const std::size_t n = fread(buffer.data(), 1, buffer.size(), pipe)) ran.out.append(buffer.data(), n);
  const int status = pclose(pipe);
  ran.status = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  std::stringstream text;
  text << std::ifstream(errors).rdbuf();
  ran.err = text.str();
  std::remove(errors.c_str());
  return ran;
}

TEST(Cli, VersionAndHelp) {
  const Ran version = run("--version");
  EXPECT_EQ(version.status, 0);
  EXPECT_EQ(version.out, "flashfit 0.3.0\n");
  for (const char* command : {"", "explain ", "images ", "gpus "}) {
    const Ran help = run(command + std::string("--help"));
    EXPECT_EQ(help.status, 0) << command;
    EXPECT_THAT(help.out, HasSubstr("Example")) << command;
    EXPECT_EQ(help.err, "");
  }
}

TEST(Cli, NamesThatPythonUsesToo) {
  const Ran own = run("explain --gpu L4 --seqlen 300 --heads 12 --kv-heads 4 --json");
  const Ran shared = run("explain --gpu L4 --seqlen-q 300 --heads-q 12 --heads-kv 4 --json");
  EXPECT_EQ(shared.status, own.status);  // not 0 in a build without images
  EXPECT_EQ(shared.err, own.err);
  EXPECT_THAT(own.out, HasSubstr("\"gpu\": \"L4\""));
  EXPECT_EQ(shared.out, own.out);
}

// The heads that share keys become rows, as in a call: 16 sequences x 8 heads, not 32, with sinks by a kernel that
// packs heads. None does where ALiBi tells heads apart.
TEST(Cli, ExplainPlansAsACallIsPlanned) {
  const std::string decode = "explain --gpu L4 --seqlen 1 --seqlen-k 300 --heads 32 --kv-heads 8 --batch 16 --json";
  const Ran plain = run(decode), sinks = run(decode + " --sinks"), alibi = run(decode + " --alibi");
  if (plain.status != 0) GTEST_SKIP() << "a build without images";
  EXPECT_THAT(plain.out, HasSubstr("\"grid\": 128,"));
  EXPECT_THAT(sinks.out, AllOf(HasSubstr("\"grid\": 128,"), HasSubstr("_packed\"")));
  EXPECT_THAT(alibi.out, AllOf(HasSubstr("\"grid\": 512,"), HasSubstr("\"packed_heads\": 1,")));
}

TEST(Cli, ExplainsTheRouter) {
  const Ran one = run("explain moe.route --gpu L4 --experts 128 --top-k 8 --tokens 4096 --dtype bf16");
  EXPECT_EQ(one.err, "");
  EXPECT_THAT(one.out, HasSubstr("bf16 routing to 8 of 128 experts, 4096 tokens"));
  const Ran all = run("explain moe.route --gpu all --experts 300 --top-k 16 --topk-first --json");
  EXPECT_EQ(all.err, "");
  EXPECT_THAT(all.out, HasSubstr("\"operation\": \"moe.route\""));
  EXPECT_THAT(all.out, HasSubstr("\"gpu\": \"H200\""));
}

TEST(Cli, ExplainsTheExperts) {
  const std::string layer = "explain moe.experts --experts 128 --top-k 8 --hidden 2048 --intermediate 768 ";
  const Ran one = run(layer + "--gpu L4 --tokens 4096");
  EXPECT_EQ(one.err, "");
  EXPECT_THAT(one.out, HasSubstr("bf16 experts, 8 of 128, hidden 2048, intermediate 768, 4096 tokens"));
  const Ran all = run(layer + "--gpu all --activation geglu_tanh --json");
  EXPECT_EQ(all.err, "");
  const Json list = Json::parse(all.out);
  EXPECT_EQ(list.size(), gpu_table().size());
  for (const Json& gpu : list) EXPECT_EQ(gpu["operation"], "moe.experts");
  // As a call is planned, which knows no expert behind the last that it owns.
  const Ran part = run(layer + "--gpu L4 --experts-low 0 --experts-high 32 --tokens 64 --json");
  const Ran alone =
      run("explain moe.experts --gpu L4 --experts 32 --top-k 8 --hidden 2048 --intermediate 768 --tokens 64 --json");
  EXPECT_EQ(part.out, alone.out);
  const Ran fp32 = run(layer + "--gpu L4 --dtype fp32");
  EXPECT_EQ(fp32.status, 1);
  EXPECT_THAT(fp32.out, HasSubstr("on a GPU experts are fp16 or bf16; fp32 runs on the CPU"));
}

TEST(Cli, WithoutACommandThoseOfThisBuildAreNamed) {
  const Ran ran = run("");
  EXPECT_EQ(ran.status, 2);
  std::smatch names;
  ASSERT_TRUE(std::regex_match(ran.err, names,
                               std::regex("flashfit: a command is needed: (.*) or (.*); see flashfit --help\n")));
  std::istringstream rest(names[1]);
  std::vector<std::string> commands{names[2]};
  for (std::string name; std::getline(rest >> std::ws, name, ',');) commands.push_back(name);
  EXPECT_THAT(commands, testing::IsSupersetOf({"explain", "images", "gpus", "bench", "compare", "report"}));
  for (const std::string& command : commands) EXPECT_EQ(run(command + " --help").status, 0) << command;
}

// One line on stderr that names the option, the value and what is accepted; nothing on stdout; status 2.
TEST(Cli, WrongUse) {
  const std::pair<const char*, const char*> wrong[] = {
      {"", "a command is needed: explain, images, gpus, "},
      {"explane", "'explane' is not known here; see flashfit --help"},
      {"explain --gpu L4 --bogus 3", "'--bogus' is not known here; see flashfit explain --help"},
      {"explain --gpu L4 --causal=maybe", "--causal 'maybe': takes no value"},
      {"explain --gpu L5", "--gpu 'L5': not known; did you mean L4"},
      {"explain --gpu nonsense", "--gpu 'nonsense': not known; accepted: a name such as L40"},
      {"explain --gpu L4 --gpu L5", "--gpu 'L5'"},
      {"explain --gpu", "--gpu"},
      {"explain --gpu L4 --dtype fp17", "--dtype 'fp17': must be fp16, bf16 or fp32"},
      {"explain --gpu L4 --head-dim 0", "--head-dim '0': must be a whole number from 1 to 1024"},
      {"explain --gpu L4 --head-dim 64.5", "--head-dim '64.5': must be a whole number"},
      {"explain --gpu L4 --seqlen -1", "--seqlen '-1': must be a whole number from 0"},
      {"explain --gpu L4 --seqlen 99999999999999999999", "--seqlen '99999999999999999999': must be"},
      {"explain --gpu L4 --batch many", "--batch 'many': must be a whole number from 1"},
      {"explain --gpu L4 --heads 8 --kv-heads 3", "--kv-heads '3': must divide --heads 8"},
      {"explain --gpu L4 --bias int8", "--bias 'int8': must be bool, fp32 or fp16"},
      {"explain --gpu L4 --dtype fp32 --bias bf16", "--bias 'bf16': must be bool or fp32"},
      {"explain --gpu L4 --softcap -1", "--softcap '-1': must be 0, or above 0 in fp32 and at most 1e30"},
      {"explain --gpu L4 --softcap 1e-50", "--softcap '1e-50': must be 0, or above 0 in fp32 and at most 1e30"},
      {"explain moe.route --gpu L4 --experts 513", "--experts '513': must be a whole number from 1 to 512"},
      {"explain moe.route --gpu L4 --experts 4 --top-k 5", "--top-k '5': must be at most --experts 4"},
      {"explain moe.route --gpu L4 --dtype int8", "--dtype 'int8': must be fp16, bf16 or fp32"},
      {"explain moe.route --gpu L4 --variant x", "--variant x is no variant of the router; for fp32 routing to 2"},
      {"explain moe.experts --gpu L4 --activation gelu",
       "--activation 'gelu': must be swiglu, geglu_tanh, geglu_erf, silu or relu2"},
      {"explain moe.experts --gpu L4 --tokens 1073741824 --top-k 8",
       "--tokens '1073741824': must be at most 268435455 with --top-k 8"},
      {"explain moe.experts --gpu L4 --experts-high 9", "--experts-high '9': must be at most --experts 8"},
      {"explain moe.experts --gpu L4 --variant x", "--variant x is no variant of the experts' products; for"},
      {"explain --gpu L4 --window-left -1", "--window-left '-1': must be a whole number from 0"},
      {"explain --gpu L4 --head-dim-v 0", "--head-dim-v '0': must be a whole number from 1 to 1024"},
      {"explain --gpu L4 --driver 12", "--driver '12': give a driver branch or release"},
      {"explain --gpu L4 --tile 128", "--tile '128': must be ROWSxKEYS, each from 16 to 4096, for example 128x64"},
      {"explain --gpu L4 --tile 128xx64", "--tile '128xx64': must be ROWSxKEYS"},
      {"explain --gpu L4 --tile 128x8", "--tile '128x8': must be ROWSxKEYS"},
      {"explain --gpu L4 --tile x", "--tile 'x': must be ROWSxKEYS"},
      {"explain --gpu L4 --stages 3", "--stages '3': needs --tile"},
      {"explain --gpu L4 --warps 8", "--warps '8': needs --tile"},
      {"explain --gpu L4 --tile 128x64 --sweep", "--sweep"},
      {"explain --gpu L4 --variant nonsense",
       "--variant 'nonsense' is no variant of the table; for fp16 head_dim 64: fwd_mma_fp16_d64_"},
      {"images nonsense", "'nonsense' is not known here; see flashfit images --help"},
      {"compare", "old is required; see flashfit compare --help"},
      {"report", "results is required; see flashfit report --help"},
  };
  for (const auto& [arguments, message] : wrong) {
    const Ran ran = run(arguments);
    EXPECT_EQ(ran.status, 2) << arguments;
    EXPECT_EQ(ran.out, "") << arguments;
    EXPECT_THAT(ran.err, AllOf(StartsWith("flashfit: "), HasSubstr(message))) << arguments;
    EXPECT_EQ(std::count(ran.err.begin(), ran.err.end(), '\n'), 1) << arguments;
  }
}

TEST(Cli, OptionsAreOfTheProblem) {
  const Ran ran =
      run("explain --gpu L4 --seqlen 512 --head-dim-v 32 --window-left 100 --window-right 511 --softcap 30 --alibi "
          "--bias bool "
          "--batch-invariant --unaligned");
  EXPECT_EQ(ran.err, "");
  EXPECT_THAT(ran.out, StartsWith("problem   fp16, head_dim 64 (v 32), batch 1, 8 heads, 512 queries x 512 keys, full, "
                                  "window 100 left, softcap, ALiBi, bool bias, unaligned, batch invariant\n"))
      << "a window that reaches the last key is no limit";
}

TEST(Cli, OriginTileDoesNotFitAnL4AndSaysWhere) {
  const Ran ran = run("explain --gpu L4 --head-dim 128 --tile 128x128 --stages 2 --warps 4");
  EXPECT_EQ(ran.status, 1);
  EXPECT_EQ(ran.err, "");
  EXPECT_THAT(ran.out, AllOf(HasSubstr("163840 B (0x28000)"), HasSubstr("> 101376 B, the opt-in limit on L4"),
                             HasSubstr("49152 B is the limit of static __shared__ alone, the same on every GPU")));
  EXPECT_THAT(ran.out, AllOf(HasSubstr("fits      A100, A100 80GB, A30, Orin, GH200, H100, H200"),
                             HasSubstr("not       V100, RTX 2080 Ti, T4, A10, A40, RTX 3090, L4, L40, L40S")));
  EXPECT_EQ(run("explain --gpu H100 --head-dim 128 --tile 128x128").status, 0);
}

TEST(Cli, WhatIfAsJson) {
  const Ran ran = run("explain --gpu L4 --gpu H100 --head-dim 128 --tile 128x128 --stages 2 --warps 4 --json");
  EXPECT_EQ(ran.status, 1);
  const Json list = Json::parse(ran.out);
  ASSERT_EQ(list.size(), 2u);
  EXPECT_EQ(list[0]["gpu"], "L4");
  EXPECT_EQ(list[0]["fits"], false);
  EXPECT_EQ(list[0]["shared_memory_bytes"], 163840);
  EXPECT_EQ(list[0]["shared_memory_limit_bytes"], 101376);
  EXPECT_EQ(list[1]["fits"], true);
}

TEST(Cli, ExplainAsJsonIsAnObjectAGpu) {
  const Ran ran = run("explain --gpu all --dtype fp16 --head-dim 64 --seqlen 512 --heads 8 --batch 2 --json");
  const Json list = Json::parse(ran.out);
  ASSERT_EQ(list.size(), gpu_table().size());
  bool any = false;
  for (std::size_t i = 0; i < list.size(); ++i) {
    EXPECT_EQ(list[i]["gpu"], gpu_table()[i].name);
    for (const char* key : {"compute_capability", "fits", "family", "variant", "shared_memory_bytes",
                            "shared_memory_limit_bytes", "registers_per_thread", "reason"})
      EXPECT_TRUE(list[i].contains(key)) << key;
    any = any || list[i]["fits"] == true;
  }
  EXPECT_EQ(ran.status, any ? 0 : 1);
}

TEST(Cli, ExplainTextAndJsonAgree) {
  for (const char* gpu : {"L4", "H100", "V100", "'RTX 4090'"}) {
    const std::string arguments =
        std::string("explain --gpu ") + gpu + " --dtype bf16 --head-dim 128 --causal --driver 13.0";
    const Ran text = run(arguments), json = run(arguments + " --json");
    const Json j = Json::parse(json.out).at(0);
    EXPECT_EQ(text.status, json.status);
    EXPECT_EQ(text.status, j["fits"] == true ? 0 : 1);
    EXPECT_THAT(text.out, HasSubstr(j["reason"].get<std::string>()));
    if (j["fits"] == true) {
      EXPECT_THAT(text.out, HasSubstr(j["variant"].get<std::string>()));
    }
  }
}

TEST(Cli, MisfitsThatNoImageCouldHelp) {
  const Ran bf16 = run("explain --gpu T4 --dtype bf16");
  EXPECT_EQ(bf16.status, 1);
  EXPECT_THAT(bf16.out, HasSubstr("T4 (7.5) has no bf16 tensor cores"));
  const Ran old = run("explain --gpu L4 --driver 470");
  EXPECT_EQ(old.status, 1);
  EXPECT_THAT(old.out,
              HasSubstr("CUDA 11.4 is too old for flashfit's images; CUDA 12.0 (driver 525) or newer is needed"));
}

TEST(Cli, NoQueriesAndNoKeysAreAProblemToo) {
  for (const char* lengths : {"--seqlen 0", "--seqlen 0 --seqlen-k 512", "--seqlen 512 --seqlen-k 0"}) {
    const Ran ran = run(std::string("explain --gpu L4 --json ") + lengths);
    EXPECT_NE(ran.status, 2) << ran.err;
    const Json j = Json::parse(ran.out).at(0);
    if (j["fits"] == true) {
      EXPECT_EQ(j["grid"] == 0, std::string_view(lengths).starts_with("--seqlen 0")) << lengths;
    }
  }
  EXPECT_THAT(run("explain --gpu V100 --seqlen 512 --seqlen-k 0").out, HasSubstr("512 queries x 0 keys"));
}

TEST(Cli, AnAnswerThatCannotBeWrittenIsAFailure) {
  for (const char* const few : {"explain --gpu L4 --tile 128x64", "--version"}) {
    const Ran ran = run(std::string(few) + " >/dev/full");
    EXPECT_EQ(ran.status, 3) << few;
    EXPECT_THAT(ran.err, AllOf(StartsWith("flashfit: "), HasSubstr("No space left on device"))) << few;
  }
  // Longer than the buffer of standard output: the first part is refused while it is printed.
  for (const char* const many : {"images", "images --json", "bench --list --json"}) {
    const Ran longer = run(std::string(many) + " >/dev/full");
    EXPECT_EQ(longer.status, 3) << many;
    EXPECT_EQ(longer.err, "flashfit: standard output: No space left on device\n") << many;
  }
}

TEST(Cli, AnEmptyValueIsNotTakenForNone) {
  for (const char* const asked :
       {"explain --gpu L4 --driver", "explain --gpu L4 --softcap", "explain moe.experts --gpu L4 --variant",
        "bench --list --filter", "doctor --env", "choose --torch"}) {
    const std::string words = asked;
    const Ran ran = run(words + " ''");
    EXPECT_EQ(ran.status, 2) << asked;
    EXPECT_EQ(ran.out, "") << asked;
    EXPECT_EQ(ran.err, "flashfit: " + words.substr(words.rfind("--")) + ": is empty; a value is needed\n");
  }
}

TEST(Cli, AnOptionBeforeItsOperationIsRefused) {
  const Ran ran = run("explain --gpu L4 moe.route");
  EXPECT_EQ(ran.status, 2);
  EXPECT_EQ(ran.out, "");
  EXPECT_EQ(ran.err, "flashfit: --gpu: goes behind moe.route\n");
  EXPECT_EQ(run("explain moe.route --gpu L4").err, "");
}

TEST(Cli, SweepListsFitsFastestFirst) {
  const Ran ran = run("explain --gpu L4 --head-dim 128 --sweep --json");
  EXPECT_EQ(ran.status, 0);
  const Json list = Json::parse(ran.out);
  ASSERT_GT(list.size(), 5u);
  for (std::size_t i = 0; i < list.size(); ++i) {
    EXPECT_EQ(list[i]["fits"], true);
    EXPECT_LE(list[i]["shared_memory_bytes"], 101376);
    EXPECT_TRUE(i == 0 || list[i - 1]["modelled_us"] <= list[i]["modelled_us"]);
  }
  EXPECT_THAT(run("explain --gpu L4 --head-dim 128 --sweep").out,
              HasSubstr("configurations fit, 101376 B shared memory a block"));
  const Ran none = run("explain --gpu V100 --sweep");
  EXPECT_EQ(none.status, 1);
  EXPECT_THAT(none.out, HasSubstr("\nmisfit    "));
}

TEST(Cli, TablesAlignAndHaveNoColourInAPipe) {
  const Ran ran = run("explain --gpu all --tile 128x64");
  EXPECT_EQ(ran.status, 0);
  EXPECT_THAT(ran.out, Not(HasSubstr("\033")));
  std::istringstream lines(ran.out);
  std::string line;
  std::size_t capability = std::string::npos, rows = 0;
  while (std::getline(lines, line)) {
    EXPECT_FALSE(line.ends_with(' ')) << line;
    if (line.starts_with("gpu ")) {
      capability = line.find("cc");
    } else if (capability != std::string::npos && rows < gpu_table().size()) {
      EXPECT_EQ(line.substr(capability, gpu_table()[rows].cc.str().size()), gpu_table()[rows].cc.str()) << line;
      ++rows;
    }
  }
  EXPECT_EQ(rows, gpu_table().size());
}

TEST(Cli, ImagesAndGpusParse) {
  const Ran images = run("images --json");
  EXPECT_EQ(images.status, 0);
  const Json list = Json::parse(images.out);
  for (const Json& image : list) {
    const std::map<std::string, std::string> starts = {
        {"attention.forward", "fwd_"}, {"attention.combine", "combine_"},          {"moe.route", "route_warp_"},
        {"moe.experts", "experts_"},   {"moe.activation", "activation_gradient_"}, {"moe.weights", "experts_weights_"}};
    const auto start = starts.find(image["operation"].get<std::string>());
    ASSERT_NE(start, starts.end()) << image;
    EXPECT_THAT(image["variant"].get<std::string>(), StartsWith(start->second));
    EXPECT_GT(image["bytes"], 0);
  }
  EXPECT_THAT(run("images").out, HasSubstr(std::to_string(list.size()) + " images, "));

  const Ran gpus = run("gpus --json");
  EXPECT_EQ(gpus.status, 0);
  const Json machine = Json::parse(gpus.out);
  EXPECT_TRUE(!machine["gpus"].empty() || machine["no_gpu_reason"].is_string());
  const Ran text = run("gpus");
  EXPECT_EQ(text.status, 0);
  EXPECT_NE(text.out, "");
  if (machine["gpus"].empty()) {
    const Ran none = run("explain");
    EXPECT_EQ(none.status, 2);
    EXPECT_THAT(none.err, HasSubstr("--gpu: not given, and this machine has none"));
  }
}

}  // namespace
}  // namespace flashfit
