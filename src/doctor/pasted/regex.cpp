#include "doctor/pasted/regex.hpp"

#include <re2/re2.h>

#include <cstdint>
#include <stdexcept>
#include <unordered_map>
#include <utility>
#include <vector>

namespace flashfit::doctor::pasted {
namespace {

re2::StringPiece piece(std::string_view text) { return {text.data(), text.size()}; }

re2::RE2::Options options() {
  re2::RE2::Options options;
  options.set_encoding(re2::RE2::Options::EncodingLatin1);  // bytes: what is pasted need not be UTF-8
  options.set_log_errors(false);
  return options;
}

}  // namespace

Regex::Regex(const char* pattern) : pattern_(std::make_unique<re2::RE2>(pattern, options())) {
  if (!pattern_->ok()) throw std::logic_error(std::string(pattern) + ": " + pattern_->error());
}
Regex::Regex(Regex&&) noexcept = default;
Regex::~Regex() = default;

bool Regex::finds(std::string_view text, Fields& fields) const {
  std::vector<re2::StringPiece> groups(static_cast<std::size_t>(pattern_->NumberOfCapturingGroups()) + 1);
  if (!pattern_->Match(piece(text), 0, text.size(), re2::RE2::UNANCHORED, groups.data(),
                       static_cast<int>(groups.size())))
    return false;
  for (const auto& [name, number] : pattern_->NamedCapturingGroups()) {
    const re2::StringPiece& caught = groups[static_cast<std::size_t>(number)];
    if (!caught.empty()) fields[name] = std::string(caught.data(), caught.size());
  }
  return true;
}

std::size_t Regex::length_at_start(std::string_view text) const {
  re2::StringPiece whole;
  return pattern_->Match(piece(text), 0, text.size(), re2::RE2::ANCHOR_START, &whole, 1) ? whole.size() : 0;
}

struct Words::Automaton {
  Automaton(const std::string& pattern, const re2::RE2::Options& how) : any(pattern, how) {}

  re2::RE2 any;
  std::unordered_map<std::string_view, std::vector<std::size_t>> within;  ///< of each word the words that are in it
};

Words::Words(const std::vector<std::string_view>& words) : words_(words.begin(), words.end()) {
  std::string all;
  for (const std::string& word : words_) all += (all.empty() ? "" : "|") + re2::RE2::QuoteMeta(word);
  // Of words alone an automaton has as many states as they have letters. RE2's usual memory is less: it would then make
  // them again and again.
  constexpr std::int64_t kMemory = std::int64_t{64} << 20;
  re2::RE2::Options longest = options();
  longest.set_longest_match(true);
  longest.set_max_mem(kMemory);
  automaton_ = std::make_unique<Automaton>(all, longest);
  if (!automaton_->any.ok()) throw std::logic_error("words that RE2 does not take: " + automaton_->any.error());
  for (const std::string& word : words_) {
    std::vector<std::size_t>& within = automaton_->within[word];
    if (!within.empty()) continue;
    for (std::size_t i = 0; i < words_.size(); ++i)
      if (word.find(words_[i]) != std::string::npos) within.push_back(i);
  }
}
Words::~Words() = default;

bool Words::any_in(std::string_view text) const {
  return automaton_->any.Match(piece(text), 0, text.size(), re2::RE2::UNANCHORED, nullptr, 0);
}

std::vector<std::size_t> Words::in(std::string_view text) const {
  std::vector<bool> is_in(words_.size());
  re2::StringPiece word;
  for (std::size_t at = 0; automaton_->any.Match(piece(text), at, text.size(), re2::RE2::UNANCHORED, &word, 1);) {
    for (const std::size_t one : automaton_->within.at({word.data(), word.size()})) is_in[one] = true;
    at = static_cast<std::size_t>(word.data() - text.data()) + 1;  // the next one may begin within this one
  }
  std::vector<std::size_t> found;
  for (std::size_t i = 0; i < is_in.size(); ++i)
    if (is_in[i]) found.push_back(i);
  return found;
}

}  // namespace flashfit::doctor::pasted
