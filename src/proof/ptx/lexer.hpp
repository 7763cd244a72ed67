#pragma once
// The words of a PTX text. Bytes are hostile: each is read once, whatever it is.
#include <cstddef>
#include <string_view>

namespace flashfit::ptx {

struct Token {
  enum class Kind : unsigned char {
    kEnd,
    kWord,    ///< a name, an opcode or a directive with its dots: "%r1", "add.s32", ".reg", "$L__BB0_1"
    kNumber,  ///< begins with a digit: "16", "0x1f", "0f3F800000"
    kString,  ///< without its quotes
    kSign,    ///< one character of punctuation
    kUnknown  ///< a byte that PTX has no use for
  };
  Kind kind = Kind::kEnd;
  std::string_view text;
  unsigned line = 0;

  bool is(char sign) const { return kind == Kind::kSign && text[0] == sign; }
  bool is(std::string_view word) const { return kind == Kind::kWord && text == word; }
};

class Lexer {
 public:
  /// `text` must outlive the tokens.
  explicit Lexer(std::string_view text) : text_(text) {}
  /// Comments are left out. After the last token: kEnd, as often as asked.
  Token next();

 private:
  bool skip_blanks();
  Token take(Token::Kind kind, std::size_t bytes);
  template <class Belongs>
  std::size_t run(std::size_t from, Belongs belongs) const;

  std::string_view text_;
  std::size_t at_ = 0;
  unsigned line_ = 1;
};

}  // namespace flashfit::ptx
