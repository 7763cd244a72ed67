#include "doctor/pasted/regex.hpp"

#include <re2/re2.h>

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

}  // namespace flashfit::doctor::pasted
