#include "doctor/requests/pip_words.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "core/base/ascii.hpp"
#include "core/base/printable.hpp"
#include "doctor/packaging/marker.hpp"
#include "doctor/requests/link.hpp"

namespace flashfit::doctor::requests {
namespace {

using namespace std::string_view_literals;

/// Options that have a value and change nothing that is judged. Source: `pip install --help`, `uv pip install --help`.
constexpr auto kOthersWithValue = {"--abi"sv,
                                   "--build-option"sv,
                                   "--cache-dir"sv,
                                   "--cert"sv,
                                   "--client-cert"sv,
                                   "--config-setting"sv,
                                   "--config-settings"sv,
                                   "-C"sv,
                                   "--exists-action"sv,
                                   "--exclude-newer"sv,
                                   "--global-option"sv,
                                   "--implementation"sv,
                                   "--index-strategy"sv,
                                   "--install-option"sv,
                                   "--keyring-provider"sv,
                                   "--link-mode"sv,
                                   "--log"sv,
                                   "--no-binary"sv,
                                   "--only-binary"sv,
                                   "--override"sv,
                                   "--overrides"sv,
                                   "--platform"sv,
                                   "--prefix"sv,
                                   "--prerelease"sv,
                                   "--progress-bar"sv,
                                   "--proxy"sv,
                                   "--python"sv,
                                   "-p"sv,
                                   "--python-platform"sv,
                                   "--python-version"sv,
                                   "--report"sv,
                                   "--resolution"sv,
                                   "--resume-retries"sv,
                                   "--retries"sv,
                                   "--root"sv,
                                   "--root-user-action"sv,
                                   "--src"sv,
                                   "--target"sv,
                                   "-t"sv,
                                   "--timeout"sv,
                                   "--trusted-host"sv,
                                   "--upgrade-package"sv,
                                   "-P"sv,
                                   "--upgrade-strategy"sv,
                                   "--use-deprecated"sv,
                                   "--use-feature"sv};

/// What pip reads in a requirements file, where it refuses every other option. Sources: pip's manual, "Requirements
/// File Format", and its req_file.py; --install-option until pip 23.0, the last three in newer ones.
constexpr auto kOfFiles = {"--index-url"sv,
                           "--pypi-url"sv,
                           "--extra-index-url"sv,
                           "--no-index"sv,
                           "--constraint"sv,
                           "--requirement"sv,
                           "--editable"sv,
                           "--find-links"sv,
                           "--no-binary"sv,
                           "--only-binary"sv,
                           "--prefer-binary"sv,
                           "--require-hashes"sv,
                           "--pre"sv,
                           "--trusted-host"sv,
                           "--use-feature"sv,
                           "--global-option"sv,
                           "--install-option"sv,
                           "--hash"sv,
                           "--config-setting"sv,
                           "--config-settings"sv,
                           "--all-releases"sv,
                           "--only-final"sv,
                           "--uploaded-prior-to"sv};
constexpr std::string_view kShortOfFiles = "icrefC";

/// Long options may be cut short, as far as they are told apart.
bool is_of_files(std::string_view option) {
  if (!option.starts_with("--")) return option.size() > 1 && kShortOfFiles.find(option[1]) != std::string_view::npos;
  return option.size() > 2 &&
         std::any_of(kOfFiles.begin(), kOfFiles.end(), [&](std::string_view one) { return one.starts_with(option); });
}

enum class Meaning : unsigned char {
  kNone,
  kOther,
  kRequirements,
  kConstraints,
  kEditable,
  kIndex,
  kMoreIndexes,
  kFindLinks,
  kHash,
  kBackend
};

Meaning meaning_of(std::string_view option) {
  if (option == "-r" || option == "--requirement" || option == "--requirements") return Meaning::kRequirements;
  if (option == "-c" || option == "--constraint" || option == "--constraints") return Meaning::kConstraints;
  if (option == "-e" || option == "--editable") return Meaning::kEditable;
  if (option == "-i" || option == "--index-url" || option == "--default-index" || option == "--pypi-url")
    return Meaning::kIndex;
  if (option == "--extra-index-url" || option == "--index") return Meaning::kMoreIndexes;
  if (option == "-f" || option == "--find-links") return Meaning::kFindLinks;
  if (option == "--hash") return Meaning::kHash;
  if (option == "--torch-backend") return Meaning::kBackend;
  return std::find(kOthersWithValue.begin(), kOthersWithValue.end(), option) != kOthersWithValue.end() ? Meaning::kOther
                                                                                                       : Meaning::kNone;
}

/// Short options take their value without a space: "-rbase.txt".
bool has_value_within(std::string_view word) {
  return word.size() > 2 && word[0] == '-' && word[1] != '-' && meaning_of(word.substr(0, 2)) != Meaning::kNone;
}

void take_option(Meaning meaning, const std::string& value, std::uint32_t line, RequestList& list) {
  Indexes& indexes = list.indexes.back();
  const std::size_t last_indexes = list.indexes.size() - 1, last_base = list.bases.size() - 1;
  switch (meaning) {
    case Meaning::kNone:
    case Meaning::kOther:
      return;
    case Meaning::kRequirements:
    case Meaning::kConstraints:
      if (list.includes.size() < kMostRequests)
        list.includes.push_back({line, value, meaning == Meaning::kConstraints, last_indexes, last_base});
      return;
    case Meaning::kEditable:
      return take_requirement(value, line, list);
    case Meaning::kIndex:
      indexes.replaced = true;
      [[fallthrough]];
    case Meaning::kMoreIndexes:
      return indexes.addresses.push_back(value);
    case Meaning::kFindLinks:
      return indexes.find_links.push_back(value);
    case Meaning::kHash:
      if (!list.requests.empty()) list.requests.back().hashes.push_back(value);
      return;
    case Meaning::kBackend:
      indexes.torch_backend = value;
      return;
  }
}

}  // namespace

void take_requirement(std::string_view text, std::uint32_t line, RequestList& list) {
  text = trimmed(text);
  const auto trouble = [&](std::string why) { list.troubles.push_back({line, std::move(why)}); };
  if (text.empty()) return;
  if (text.size() > kLongestValue) return trouble(fmt::format("a request longer than {} characters", kLongestValue));
  if (list.requests.size() >= kMostRequests) return;
  Request request{.line = line,
                  .text = without_credentials(text),
                  .indexes = list.indexes.size() - 1,
                  .base = list.bases.size() - 1};
  std::string_view link;
  if (is_link(text)) {
    const std::size_t marker = text.find(" ;");
    link = trimmed(text.substr(0, marker));
    if (marker != std::string_view::npos) request.package.marker = trimmed(text.substr(marker + 2));
    request.package.name = egg_of(link);
  } else {
    auto package = doctor::parse_requirement(text);
    if (!package) return trouble(package.error().message);
    request.package = std::move(*package);
    link = request.package.url;
  }
  const std::string& marker = request.package.marker;
  if (marker.empty() ? text.ends_with(';') : !doctor::is_marker(marker))
    return trouble(fmt::format("requirement '{}': what stands behind ';' is no marker", printable(text)));
  if (!link.empty()) {
    if (auto wheel = wheel_link(link)) {
      request.wheels.push_back(std::move(*wheel));
    } else {
      request.sources = true;
    }
  }
  list.requests.push_back(std::move(request));
}

void take_pip_words(std::span<const Word> words, WrittenIn written_in, RequestList& list) {
  bool options = true;  // until "--"
  for (std::size_t i = 0; i < words.size(); ++i) {
    const Word& word = words[i];
    if (word.text.size() > kLongestValue) {
      list.troubles.push_back({word.line, fmt::format("an option or value longer than {} characters", kLongestValue)});
      continue;
    }
    if (!options || !word.text.starts_with('-') || word.text == "-") {
      take_requirement(word.text, word.line, list);
      continue;
    }
    if (word.text == "--") {
      options = false;
      continue;
    }
    if (const std::string_view option = std::string_view(word.text).substr(0, word.text.find('='));
        written_in == WrittenIn::kFile && !is_of_files(option)) {
      list.troubles.push_back({word.line, fmt::format("option {}: not one of a requirements file", printable(option))});
      continue;
    }
    if (word.text == "--no-index") list.indexes.back().none = true;
    if (has_value_within(word.text)) {
      take_option(meaning_of(word.text.substr(0, 2)), word.text.substr(2), word.line, list);
      continue;
    }
    const std::size_t equals = word.text.find('=');
    const Meaning meaning = meaning_of(std::string_view(word.text).substr(0, equals));
    if (meaning == Meaning::kNone) continue;
    if (equals != std::string::npos) {
      take_option(meaning, word.text.substr(equals + 1), word.line, list);
    } else if (i + 1 < words.size()) {
      ++i;
      take_option(meaning, words[i].text, words[i].line, list);
    } else {
      list.troubles.push_back({word.line, fmt::format("option {}: has no value", printable(word.text))});
    }
  }
}

}  // namespace flashfit::doctor::requests
