#include "doctor/requests/toml_nesting.hpp"

#include <algorithm>
#include <vector>

#include "doctor/bytes/limits.hpp"

namespace flashfit::doctor::requests {
namespace {

/// Goes through a text and counts what is open. Texts in quotes and comments are passed over (TOML 1.0, "String").
class Counter {
 public:
  explicit Counter(std::string_view text) : text_(text) {}

  TomlFault count() {
    for (; at_ < text_.size(); ++at_) {
      take(text_[at_]);
      // A dotted key in an inline table is nested in all that is open around it.
      if (open_ + parts_ > limits::kNesting.most) return fault(limits::kNesting);
      if (values_ > limits::kTomlValues.most) return fault(limits::kTomlValues);
    }
    return {};
  }

 private:
  TomlFault fault(const Limit& limit) const { return {line_, beyond(limit, at_).value().message}; }

  void take(char c) {
    switch (c) {
      case '"':
      case '\'':
        return pass_quoted(c);
      case '#':
        return pass_until_line_end();
      case '.':
        ++parts_;
        return;
      case '[':
      case '{':
        return open();
      case ']':
      case '}':
        return close();
      case '\n':
        ++line_;
        // A line end ends a table's header or a value, but in an array.
        if (levels_.empty()) end_value();
        return;
      case ',':
        return end_value();
      case '=':
        // The parts of a key stay open for its value: {a.b = {c.d = 1}}.
        open_ += parts_;
        held_ += parts_;
        parts_ = 0;
        return;
      default:
        return;
    }
  }

  void end_value() {
    ++values_;
    open_ -= held_;
    held_ = parts_ = 0;
  }
  void open() {
    ++values_;
    levels_.push_back(held_ + parts_);
    open_ += parts_ + 1;
    held_ = parts_ = 0;
  }
  void close() {
    open_ -= held_;
    held_ = parts_ = 0;
    if (levels_.empty()) return;
    open_ -= 1;
    held_ = levels_.back();
    levels_.pop_back();
  }

  void pass_until_line_end() { at_ = std::min(text_.find('\n', at_), text_.size()) - 1; }

  void pass_quoted(char quote) {
    const std::string_view three = quote == '"' ? R"(""")" : "'''";
    const bool many_lines = text_.compare(at_, 3, three) == 0;
    at_ += many_lines ? 3 : 1;
    for (; at_ < text_.size(); ++at_) {
      const char c = text_[at_];
      if (c == '\\' && quote == '"') {
        ++at_;
        if (at_ < text_.size() && text_[at_] == '\n') ++line_;
        continue;
      }
      if (c == '\n') {
        ++line_;
        // Without an end on its line it is no TOML: what follows is counted.
        if (!many_lines) return;
      }
      if (c != quote) continue;
      if (!many_lines) return;
      if (text_.compare(at_, 3, three) != 0) continue;
      at_ += 2;
      // Up to two quotes more belong to the text: it ends with the last three.
      for (int more = 0; more < 2 && at_ + 1 < text_.size() && text_[at_ + 1] == quote; ++more) ++at_;
      return;
    }
  }

  std::string_view text_;
  std::size_t at_ = 0;
  std::uint32_t line_ = 1;
  std::uint64_t open_ = 0;   ///< levels around what stands here
  std::uint64_t held_ = 0;   ///< of these, the parts of the key whose value is open
  std::uint64_t parts_ = 0;  ///< dots of the key or number that stands here
  std::uint64_t values_ = 0;
  std::vector<std::uint64_t> levels_;  ///< held_ around each bracket that is open
};

}  // namespace

TomlFault too_much_toml(std::string_view text) { return Counter(text).count(); }

}  // namespace flashfit::doctor::requests
