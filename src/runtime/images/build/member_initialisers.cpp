#include "runtime/images/build/member_initialisers.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <ranges>
#include <vector>

namespace flashfit {
namespace {

struct Token {
  std::string_view text;
  int line;
};

bool is_word(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; }

/// Words, numbers and punctuation. Comments, literals of text and lines for the preprocessor are left out; `==`, `<=`,
/// `>=`, `!=` and other pairs that end in `=` are one token, so that `=` is always an initialiser or an assignment.
class Tokens {
 public:
  explicit Tokens(std::string_view text) : text_(text) {
    while (at_ < text_.size()) next();
  }
  std::vector<Token> all;

 private:
  bool starts(std::string_view with) const { return text_.substr(at_).starts_with(with); }
  void skip(std::size_t count) {
    count = std::min(count, text_.size() - at_);
    line_ += static_cast<int>(std::count(text_.begin() + at_, text_.begin() + at_ + count, '\n'));
    at_ += count;
  }
  void skip_past(std::string_view end) {
    const std::size_t found = text_.find(end, at_);
    skip(found == std::string_view::npos ? text_.size() : found + end.size() - at_);
  }
  void skip_preprocessor_line() {
    for (bool more = true; more;) {
      const std::size_t begin = at_;
      skip_past("\n");
      more = at_ >= begin + 2 && text_[at_ - 2] == '\\' && at_ < text_.size();
    }
    fresh_line_ = true;
  }
  void skip_quoted(char quote) {
    skip(1);
    while (at_ < text_.size() && text_[at_] != quote) skip(text_[at_] == '\\' ? 2 : 1);
    skip(1);
  }
  void skip_raw() {  // R"delimiter( ... )delimiter"
    const std::size_t open = text_.find('(', at_);
    if (open == std::string_view::npos) return skip(text_.size());
    std::string end(")");
    end.append(text_.substr(at_ + 2, open - at_ - 2)).append(1, '"');
    skip_past(end);
  }
  void take(std::size_t count) {
    all.push_back({text_.substr(at_, count), line_});
    at_ += count;
    fresh_line_ = false;
  }
  void next() {
    const char c = text_[at_];
    if (c == '\n') fresh_line_ = true;
    if (std::isspace(static_cast<unsigned char>(c)) != 0) return skip(1);
    if (c == '#' && fresh_line_) return skip_preprocessor_line();
    if (starts("//")) return skip_past("\n"), void(fresh_line_ = true);
    if (starts("/*")) return skip(2), skip_past("*/");
    if (starts("R\"")) return skip_raw();
    if (c == '"' || c == '\'') return skip_quoted(c);
    if (is_word(c)) {
      std::size_t end = at_;
      while (end < text_.size() && (is_word(text_[end]) || (text_[end] == '\'' && end + 1 < text_.size() &&
                                                            is_word(text_[end + 1]) && std::isdigit(c) != 0)))
        ++end;
      return take(end - at_);
    }
    const bool pair = at_ + 1 < text_.size() && text_[at_ + 1] == '=' &&
                      std::string_view("=<>!+-*/%&|^").find(c) != std::string_view::npos;
    take(pair || starts("::") ? 2 : 1);
  }

  std::string_view text_;
  std::size_t at_ = 0;
  int line_ = 1;
  bool fresh_line_ = true;
};

bool is_any(std::string_view text, std::initializer_list<std::string_view> of) {
  return std::find(of.begin(), of.end(), text) != of.end();
}

/// Walks scopes and statements.
class Reader {
 public:
  explicit Reader(const std::vector<Token>& tokens) : tokens_(tokens) {}

  std::optional<MemberInitialiser> first() {
    for (; at_ < tokens_.size(); ++at_) {
      const std::string_view t = tokens_[at_].text;
      if (t == "template" && statement_.empty()) {
        skip_template_head();
      } else if (is_any(t, {"alignas", "__align__", "__attribute__", "decltype"})) {
        skip_group();
      } else if (t == "(" || t == ")") {
        parentheses_ += t == "(" ? 1 : -1;
        statement_.push_back(at_);
      } else if (t == "{") {
        if (in_record() && parentheses_ == 0 && declares_member()) return found();
        open();
      } else if (t == "}") {
        close();
      } else if (t == "=" && in_record() && parentheses_ == 0) {
        const bool special = has("(") && is_any(token(at_ + 1), {"default", "delete", "0"});
        if (!special && declares_member(special)) return found();
        statement_.push_back(at_);
      } else if ((t == ";" && parentheses_ == 0) || (t == ":" && follows_access())) {
        statement_.clear();
      } else {
        statement_.push_back(at_);
      }
    }
    return std::nullopt;
  }

 private:
  struct Scope {
    bool record;
    int parentheses;
    std::vector<std::size_t> statement;  ///< the one that the scope stands in
  };

  /// Whether the statement so far is "public", "private" or "protected".
  bool follows_access() const {
    return statement_.size() == 1 && is_any(token(statement_.front()), {"public", "private", "protected"});
  }
  std::string_view token(std::size_t i) const { return i < tokens_.size() ? tokens_[i].text : std::string_view(); }
  bool in_record() const { return !scopes_.empty() && scopes_.back().record; }
  bool has(std::string_view word) const {
    return std::any_of(statement_.begin(), statement_.end(), [&](std::size_t i) { return token(i) == word; });
  }
  bool has_any(std::initializer_list<std::string_view> words) const {
    return std::any_of(words.begin(), words.end(), [&](std::string_view word) { return has(word); });
  }
  bool begins_record() const { return has_any({"struct", "class", "union"}) && !has_any({"enum", "(", "="}); }
  /// Whether what follows the statement so far initialises a data member of the class around it.
  bool declares_member(bool special = false) const {
    if (special || statement_.empty() || begins_record()) return false;
    if (has_any({"static", "using", "typedef", "friend", "operator", "enum", "namespace", "concept"})) return false;
    const bool function = has("(") && token(at_) == "{";
    return !function && !has("=");
  }
  MemberInitialiser found() const {
    std::size_t name = statement_.back();
    int depth = 0;  // past [2][3] to the name
    for (const std::size_t i : statement_ | std::views::reverse) {
      const std::string_view t = token(i);
      if (t == "]") ++depth;
      if (depth == 0) {
        name = i;
        break;
      }
      if (t == "[") --depth;
    }
    return {std::string(token(name)), tokens_[name].line};
  }
  void open() {
    scopes_.push_back({parentheses_ == 0 && begins_record(), parentheses_, std::move(statement_)});
    statement_.clear();
    parentheses_ = 0;
  }
  void close() {
    if (scopes_.empty()) return;
    const bool record = scopes_.back().record;
    parentheses_ = scopes_.back().parentheses;
    statement_ = std::move(scopes_.back().statement);
    scopes_.pop_back();
    // A body ends a statement; a braced value, or members' in a constructor's list, does not.
    if (parentheses_ > 0) return;
    if (record || !is_any(token(at_ + 1), {",", "{", ")", ";"})) statement_.clear();
  }
  void skip_template_head() {
    int depth = 0;
    if (token(at_ + 1) != "<") return;
    for (++at_; at_ < tokens_.size(); ++at_) {
      if (token(at_) == "<") ++depth;
      if (token(at_) == ">" && --depth == 0) return;
      if (is_any(token(at_), {"{", ";"}) && depth <= 1) return void(--at_);  // not a head after all
    }
  }
  void skip_group() {
    int depth = 0;
    if (token(at_ + 1) != "(") return;
    for (++at_; at_ < tokens_.size(); ++at_) {
      if (token(at_) == "(") ++depth;
      if (token(at_) == ")" && --depth == 0) return;
    }
  }

  const std::vector<Token>& tokens_;
  std::size_t at_ = 0;
  int parentheses_ = 0;
  std::vector<std::size_t> statement_;  // indices of its tokens
  std::vector<Scope> scopes_;
};

}  // namespace

std::optional<MemberInitialiser> find_member_initialiser(std::string_view text) {
  const Tokens tokens(text);
  return Reader(tokens.all).first();
}

}  // namespace flashfit
