#include "doctor/pasted/regex.hpp"

#include <re2/re2.h>
#include <re2/set.h>

#include <algorithm>
#include <stdexcept>
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

struct Words::Automata {
  Regex any;
  re2::RE2::Set which{options(), re2::RE2::UNANCHORED};
};

Words::Words(const std::vector<std::string_view>& words) : words_(words.begin(), words.end()) {
  std::string all;
  for (const std::string& word : words_) all += (all.empty() ? "" : "|") + re2::RE2::QuoteMeta(word);
  automata_.reset(new Automata{Regex(all.c_str())});
  for (const std::string& word : words_) automata_->which.Add(re2::RE2::QuoteMeta(word), nullptr);
  if (!automata_->which.Compile()) throw std::logic_error("too many words for RE2: " + std::to_string(words_.size()));
}
Words::Words(Words&&) noexcept = default;
Words::~Words() = default;

bool Words::any_in(std::string_view text) const {
  Fields none;
  return automata_->any.finds(text, none);
}

std::vector<std::size_t> Words::in(std::string_view text) const {
  std::vector<int> numbers;
  re2::RE2::Set::ErrorInfo error{};
  automata_->which.Match(piece(text), &numbers, &error);
  std::vector<std::size_t> found(numbers.begin(), numbers.end());
  if (error.kind == re2::RE2::Set::kNoError) {
    std::sort(found.begin(), found.end());
    return found;
  }
  // A text that was made for it can exhaust the automaton's memory.
  found.clear();
  for (std::size_t i = 0; i < words_.size(); ++i)
    if (text.find(words_[i]) != std::string_view::npos) found.push_back(i);
  return found;
}

}  // namespace flashfit::doctor::pasted
