#include "doctor/requests/words.hpp"

#include <algorithm>

#include "core/base/ascii.hpp"

namespace flashfit::doctor::requests {
namespace {

constexpr std::string_view kOpens[] = {"if", "then", "else", "elif", "do",   "while", "until",
                                       "!",  "{",    "time", "exec", "sudo", "env"};

class Splitter {
 public:
  Splitter(const LogicalLine& line, std::size_t from, bool shell)
      : line_(line), text_(line.text), at_(from), shell_(shell) {}

  std::vector<Command> split() {
    for (; at_ < text_.size(); ++at_) step(text_[at_]);
    end_command();
    return std::move(commands_);
  }

 private:
  void step(char c) {
    if (c == '\'' || c == '"') return quoted(c);
    if (c == '\\') {
      if (++at_ < text_.size()) add(text_[at_]);
      return;
    }
    if (shell_ && operator_at(c)) return;
    if (is_space(c)) return end_word();
    add(c);
  }
  /// What is more than a letter to a shell.
  bool operator_at(char c) {
    if (c == '\n' || c == ';' || c == '&' || c == '|' || c == '(' || c == ')') {
      end_command();
    } else if (c == '#' && !in_word_) {
      comment();
    } else if (c == '<' || c == '>') {
      redirection();
    } else {
      return false;
    }
    return true;
  }
  void quoted(char quote) {
    begin();
    for (++at_; at_ < text_.size() && text_[at_] != quote; ++at_) {
      const bool escapes = quote == '"' && text_[at_] == '\\' && at_ + 1 < text_.size() &&
                           std::string_view("\"\\$`").find(text_[at_ + 1]) != std::string_view::npos;
      if (escapes) ++at_;
      word_.text += text_[at_];
    }
  }
  void comment() {
    while (at_ + 1 < text_.size() && text_[at_ + 1] != '\n') ++at_;
  }
  /// "2>&1", "> file": what stands behind is no word of the command. "<4" within a word of letters is a version that
  /// someone forgot to quote: the shell reads a redirection there, and so does this.
  void redirection() {
    if (std::all_of(word_.text.begin(), word_.text.end(), is_digit)) {
      word_ = {};
      in_word_ = false;
    }
    end_word();
    while (at_ + 1 < text_.size() && std::string_view("<>&").find(text_[at_ + 1]) != std::string_view::npos) ++at_;
    skip_next_ = true;
  }
  void begin() {
    if (!in_word_) word_ = {"", line_.line_at(at_)};
    in_word_ = true;
  }
  void add(char c) {
    begin();
    word_.text += c;
  }
  void end_word() {
    if (!in_word_) return;
    in_word_ = false;
    const bool opens =
        shell_ && command_.empty() && std::find(std::begin(kOpens), std::end(kOpens), word_.text) != std::end(kOpens);
    if (!skip_next_ && !opens) command_.push_back(std::move(word_));
    skip_next_ = false;
  }
  void end_command() {
    end_word();
    skip_next_ = false;
    if (!command_.empty()) commands_.push_back(std::move(command_));
    command_ = {};
  }

  const LogicalLine& line_;
  std::string_view text_;
  std::size_t at_;
  bool shell_;
  Word word_;
  bool in_word_ = false, skip_next_ = false;
  Command command_;
  std::vector<Command> commands_;
};

}  // namespace

Command plain_words(const LogicalLine& line, std::size_t from) {
  std::vector<Command> commands = Splitter(line, from, false).split();
  return commands.empty() ? Command{} : std::move(commands.front());
}

std::vector<Command> shell_commands(const LogicalLine& line, std::size_t from) {
  return Splitter(line, from, true).split();
}

}  // namespace flashfit::doctor::requests
