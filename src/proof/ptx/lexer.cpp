#include "proof/ptx/lexer.hpp"

#include "core/base/ascii.hpp"

namespace flashfit::ptx {
namespace {

constexpr std::string_view kSigns = ",;:{}[]()<>=+-!|@*";

bool begins_word(char c) { return is_letter(c) || c == '_' || c == '$' || c == '%' || c == '.'; }
/// "%r1", "shared::cta": a colon belongs to a word only in pairs, which next() sees to.
bool belongs_to_word(char c) { return is_alnum(c) || c == '_' || c == '$' || c == '%' || c == '.'; }

}  // namespace

template <class Belongs>
std::size_t Lexer::run(std::size_t from, Belongs belongs) const {
  std::size_t end = from;
  while (end < text_.size() && belongs(text_[end])) ++end;
  return end;
}

Token Lexer::take(Token::Kind kind, std::size_t bytes) {
  const Token token{kind, text_.substr(at_, bytes), line_};
  at_ += bytes;
  return token;
}

/// Past blanks and comments; whether that moved on.
bool Lexer::skip_blanks() {
  const std::size_t start = at_;
  if (text_.substr(at_, 2) == "//") {
    at_ = run(at_, [](char c) { return c != '\n'; });
  } else if (text_.substr(at_, 2) == "/*") {
    const std::size_t end = text_.find("*/", at_ + 2);
    if (end == std::string_view::npos) return false;  // no comment: what begins it is no token either
    at_ = end + 2;
  } else {
    at_ = run(at_, is_space);
  }
  for (const char c : text_.substr(start, at_ - start)) line_ += c == '\n' ? 1 : 0;
  return at_ != start;
}

Token Lexer::next() {
  while (skip_blanks()) continue;
  if (at_ == text_.size()) return {Token::Kind::kEnd, {}, line_};
  const char c = text_[at_];
  if (begins_word(c)) {
    std::size_t end = run(at_ + 1, belongs_to_word);
    while (text_.substr(end, 2) == "::") end = run(end + 2, belongs_to_word);
    return take(Token::Kind::kWord, end - at_);
  }
  if (is_digit(c)) return take(Token::Kind::kNumber, run(at_, is_alnum) - at_);
  if (c == '"') {
    const std::size_t end = run(at_ + 1, [](char s) { return s != '"' && s != '\n'; });
    if (end == text_.size() || text_[end] != '"') return take(Token::Kind::kUnknown, 1);
    Token token = take(Token::Kind::kString, end + 1 - at_);
    token.text = token.text.substr(1, token.text.size() - 2);
    return token;
  }
  return take(kSigns.find(c) == std::string_view::npos ? Token::Kind::kUnknown : Token::Kind::kSign, 1);
}

}  // namespace flashfit::ptx
