// data/knowledge.json: what is built in is whole, and a user's file is read or refused with the place of what is wrong.
#include "doctor/knowledge/data.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>

#include "doctor/knowledge/built_in.hpp"

namespace flashfit::doctor {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

/// The text built in, with `from` replaced by `to`.
std::string changed(const std::string& from, const std::string& to) {
  std::string text(built_in_knowledge());
  const std::size_t at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  return at == std::string::npos ? text : text.replace(at, from.size(), to);
}

std::string refusal(const std::string& text) {
  const auto data = parse_knowledge(text);
  return data ? "taken" : data.error().message;
}

TEST(Knowledge, BuiltInIsWhole) {
  const auto data = parse_knowledge(built_in_knowledge());
  ASSERT_TRUE(data.has_value()) << data.error().message;
  EXPECT_GE(data->torch_releases.size(), 30U);
  EXPECT_GE(data->choosers.size(), 10U);
  for (const Companion& companion : data->companions) {
    EXPECT_FALSE(companion.source.empty()) << companion.package;
    for (const CompanionRelease& release : companion.releases) {
      const auto version = parse_version(release.release);
      ASSERT_TRUE(version.has_value()) << release.release;
      EXPECT_EQ(refusing(release.versions, *version), nullptr)
          << companion.package << " " << release.release << " is none of its own row";
    }
  }
  const Companion* const torchvision = data->companion("torchvision");
  ASSERT_NE(torchvision, nullptr);
  const auto of_2_9_1 = std::find_if(torchvision->releases.begin(), torchvision->releases.end(),
                                     [](const CompanionRelease& release) { return release.other_text == "==2.9.1"; });
  ASSERT_NE(of_2_9_1, torchvision->releases.end());
  const Version patch = parse_version("2.9.0").value(), next = parse_version("2.10.0").value();
  EXPECT_FALSE(of_2_9_1->asks_for(patch)) << "installers refuse it";
  EXPECT_TRUE(of_2_9_1->loads_under(patch)) << "names of C++ are those of a minor version";
  EXPECT_FALSE(of_2_9_1->loads_under(next));
  EXPECT_EQ(data->companion("torchao"), nullptr) << "it runs without what it lacks";
  EXPECT_EQ(data->companion("onnxruntime-gpu"), nullptr) << "of cuDNN, not of PyTorch";
  EXPECT_EQ(data->companion("numpy"), nullptr);
  EXPECT_TRUE(data->lacks_sources("torchvision"));
  EXPECT_FALSE(data->lacks_sources("flash-attn"));
  ASSERT_NE(data->stable_function_since("torch_list_size"), nullptr);
  EXPECT_EQ(data->stable_function_since("torch_list_size")->text, "2.10");
  EXPECT_EQ(data->stable_function_since("aoti_torch_get_dim"), nullptr);
  ASSERT_NE(data->cxx_function("_ZN3c104cuda9SetDeviceEi"), nullptr);
  EXPECT_EQ(data->cxx_function("_ZN3c104cuda9SetDeviceEi")->until->text, "2.2");
  EXPECT_EQ(data->cxx_function("_ZN3c104cuda20getCurrentCUDAStreamEa"), nullptr) << "every release has it";
  EXPECT_TRUE(data->chooses_itself("nvidia-cublas"));
  EXPECT_FALSE(data->chooses_itself("nvidia"));
  EXPECT_FALSE(data->chooses_itself("torchao"));
  EXPECT_TRUE(data->does_without("torchao"));
  EXPECT_FALSE(data->does_without("nvidia-cublas"));
}

TEST(Knowledge, NamesThePlaceOfWhatIsWrong) {
  EXPECT_EQ(refusal(changed("\"format\": 1", "\"format\": 2")), "format: 2; accepted: a number from 0 to 1");
  EXPECT_THAT(refusal(changed("\"date\": \"20", "\"date\": \"x")), HasSubstr("accepted: a date as 2026-11-23"));
  EXPECT_THAT(refusal(changed("\"version\": \"1.0.1\"", "\"version\": \"1.0\"")),
              StartsWith("torch.releases[0].version: \"1.0\"; accepted: three numbers as 2.9.1"));
  EXPECT_THAT(refusal(changed("\"version\": \"1.0.1\"", "\"release\": \"1.0.1\"")),
              StartsWith("torch.releases[0].version: missing; accepted: a text"));
  EXPECT_THAT(refusal(changed("\"targets\": \"", "\"targets\": \"123456 ")),
              StartsWith("torch.targets[0].targets: \"123456 "));
  EXPECT_THAT(refusal(changed("\"from\": \"2.0\"", "\"from\": \"3.0\"")), StartsWith("torch.targets[0].from"));
  EXPECT_THAT(refusal(changed("\"torch\": \"==2.14.0\"", "\"torch\": \"=2.14\"")),
              StartsWith("companions[0].releases[1]"));
  EXPECT_THAT(refusal(changed("\"other\": \"triton\"", "\"other\": \"tritium\"")),
              HasSubstr("].releases[0].tritium: missing; accepted: a text"));
  EXPECT_THAT(refusal(changed("\"code\": \"FF712\"", "\"code\": \"FF713\"")),
              HasSubstr("].code: \"FF713\"; accepted: FF406, FF712"));
  EXPECT_THAT(refusal(changed("\"kind\": \"refuses\"", "\"kind\": \"refused\"")), HasSubstr("].kind: \"refused\"; "));
  EXPECT_THAT(refusal(changed("\"checked\": \"2.8.3\"", "\"chekced\": \"2.8.3\"")),
              HasSubstr("].chekced: \"2.8.3\"; "));
  EXPECT_THAT(refusal(changed("\"versions\": \">=2,<2.7.3\"", "\"versions\": \"2.7.3\"")),
              HasSubstr("].versions: \"2.7.3\"; "));
  EXPECT_THAT(refusal(changed("\"until\": \"2.0\"", "\"until\": \"two\"")),
              StartsWith("cxx_functions[0].until: \"two\""));
  EXPECT_EQ(refusal(changed("\"cxx_functions\": [", "\"older\": [")), "taken") << "older files lack it";
  for (const char* const text : {"", "{", "[]", "null", "{\"format\": 1}"}) EXPECT_NE(refusal(text), "taken") << text;
  EXPECT_THAT(refusal("{\"format\":" + std::string(200'000, '[')), HasSubstr("nested too deep"));
  EXPECT_THAT(refusal(changed("\"date\": \"", "\"date\": \"\\u001b[31m")), HasSubstr("\\u001b"));
}

/// Lists and environments look for that package.
TEST(Knowledge, OfTwoPackagesNamesBoth) {
  EXPECT_THAT(refusal(changed("\"other\": \"onnxruntime\",", "")),
              testing::AllOf(HasSubstr("packages["), HasSubstr("other"), HasSubstr("the other package's name")));
}

TEST(Knowledge, OfAUsersFileIsUsedAndSaysSo) {
  const std::string path = testing::TempDir() + "knowledge.json";
  std::ofstream(path) << changed("\"version\": \"2.15.0\"", "\"version\": \"2.16.3\"");
  ASSERT_TRUE(use_knowledge(path).has_value());
  EXPECT_EQ(torch_releases().back().str(), "2.16.3");
  EXPECT_THAT(no_torch_release(parse_version("2.99").value()), HasSubstr(" by " + path));
  std::ofstream(path) << built_in_knowledge();
  ASSERT_TRUE(use_knowledge(path).has_value());
  EXPECT_EQ(torch_releases().back().str(), "2.15.0");
  std::ofstream(path) << "{}";
  EXPECT_THAT(use_knowledge(path).error().message, StartsWith("knowledge " + path + ": format: missing"));
  EXPECT_EQ(torch_releases().back().str(), "2.15.0") << "what is refused changes nothing";
  EXPECT_THAT(use_knowledge("/nowhere.json").error().message, StartsWith("knowledge /nowhere.json: "));
  std::remove(path.c_str());
}

}  // namespace
}  // namespace flashfit::doctor
