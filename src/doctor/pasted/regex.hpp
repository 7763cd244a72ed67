#pragma once
// Regular expressions in linear time and bounded memory (RE2), whatever the text; one place knows the library.
#include <cstddef>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace re2 {
class RE2;
}

namespace flashfit::doctor::pasted {

/// What named groups caught, by name; without those that caught nothing.
using Fields = std::map<std::string, std::string, std::less<>>;

class Regex {
 public:
  /// A pattern of RE2's syntax, "(?P<name>...)" for what is to be caught. Patterns are constants of this program: one
  /// that does not compile throws std::logic_error.
  explicit Regex(const char* pattern);
  Regex(Regex&&) noexcept;
  Regex& operator=(Regex&&) = delete;
  ~Regex();

  /// Whether it matches anywhere in `text`; then `fields` gets what it caught.
  bool finds(std::string_view text, Fields& fields) const;
  /// The bytes that it matches at the beginning of `text`; 0 if it does not.
  std::size_t length_at_start(std::string_view text) const;

 private:
  std::unique_ptr<re2::RE2> pattern_;
};

/// Finds which of many words a text has, in one pass over it, however many they are.
class Words {
 public:
  explicit Words(const std::vector<std::string_view>& words);
  Words(const Words&) = delete;
  Words& operator=(const Words&) = delete;
  ~Words();

  /// Whether the text has any: much faster than `in`.
  bool any_in(std::string_view text) const;
  /// Numbers of the words that it has, the least first.
  std::vector<std::size_t> in(std::string_view text) const;

 private:
  struct Automaton;
  std::vector<std::string> words_;
  std::unique_ptr<Automaton> automaton_;  ///< its keys are the words' texts
};

}  // namespace flashfit::doctor::pasted
