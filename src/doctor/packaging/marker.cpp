#include "doctor/packaging/marker.hpp"

#include <algorithm>
#include <string>
#include <vector>

#include "core/base/ascii.hpp"
#include "doctor/packaging/specifier.hpp"

namespace flashfit::doctor {
namespace {

using Truth = std::optional<bool>;  // nothing: unknown
using System = Platform::System;

constexpr std::size_t kLongestMarker = 4096;

struct Token {
  enum class Kind : unsigned char { kEnd, kText, kName, kOperator, kOpen, kClose, kBad };
  Kind kind = Kind::kEnd;
  std::string_view text;
};

Token next_token(std::string_view& rest) {
  rest = trimmed(rest);
  const auto take = [&](Token::Kind kind, std::size_t skipped, std::size_t size) {
    const Token token{kind, rest.substr(skipped, size)};
    rest.remove_prefix(std::min(rest.size(), size + 2 * skipped));
    return token;
  };
  if (rest.empty()) return {};
  const char c = rest[0];
  if (c == '(' || c == ')') return take(c == '(' ? Token::Kind::kOpen : Token::Kind::kClose, 0, 1);
  if (c == '\'' || c == '"') {
    const std::size_t end = rest.find(c, 1);
    return end == std::string_view::npos ? Token{Token::Kind::kBad, rest} : take(Token::Kind::kText, 1, end - 1);
  }
  std::size_t size = 0;
  while (size < rest.size() && std::string_view("<>=!~").find(rest[size]) != std::string_view::npos) ++size;
  if (size > 0) return take(Token::Kind::kOperator, 0, size);
  while (size < rest.size() && (is_alnum(rest[size]) || rest[size] == '_' || rest[size] == '.')) ++size;
  return size > 0 ? take(Token::Kind::kName, 0, size) : Token{Token::Kind::kBad, rest};
}

// Those with dots are older spellings that installers still read.
constexpr std::string_view kVariables[] = {"dependency_groups",
                                           "extra",
                                           "extras",
                                           "implementation_name",
                                           "implementation_version",
                                           "os.name",
                                           "os_name",
                                           "platform.machine",
                                           "platform.python_implementation",
                                           "platform.version",
                                           "platform_machine",
                                           "platform_python_implementation",
                                           "platform_release",
                                           "platform_system",
                                           "platform_version",
                                           "python_full_version",
                                           "python_implementation",
                                           "python_version",
                                           "sys.platform",
                                           "sys_platform"};
constexpr std::string_view kComparisons[] = {"<", "<=", ">", ">=", "==", "!=", "===", "~="};

template <typename Texts>
bool contains(const Texts& texts, std::string_view text) {
  return std::find(std::begin(texts), std::end(texts), text) != std::end(texts);
}

std::optional<std::string> of_python(std::string_view name, const Python& python) {
  const bool cpython = python.implementation == Python::Implementation::kCPython;
  if (name == "python_version") return std::to_string(python.major) + "." + std::to_string(python.minor);
  if (name == "python_full_version" || name == "implementation_version") return python.version;
  if (name == "implementation_name") return cpython ? "cpython" : "pypy";
  if (name == "platform_python_implementation") return cpython ? "CPython" : "PyPy";
  return std::nullopt;
}

std::optional<std::string> of_platform(std::string_view name, const Platform& platform) {
  const bool windows = platform.system == System::kWindows, macos = platform.system == System::kMacos;
  if (name == "os_name") return windows ? "nt" : "posix";
  if (name == "sys_platform") return windows ? "win32" : macos ? "darwin" : "linux";
  if (name == "platform_system") return windows ? "Windows" : macos ? "Darwin" : "Linux";
  if (name != "platform_machine") return std::nullopt;
  return windows ? platform.arch == "arm64" ? "ARM64" : "AMD64" : platform.arch;
}

std::optional<std::string> value_of(const Token& token, const MarkerEnvironment& here) {
  if (token.kind == Token::Kind::kText) return std::string(token.text);
  if (token.text == "extra") return "";
  std::optional<std::string> value;
  if (here.python) value = of_python(token.text, *here.python);
  if (!value && here.platform) value = of_platform(token.text, *here.platform);
  return value;
}

/// Versions are compared as versions where both sides are one, else as texts.
Truth compare(const std::string& left, std::string_view op, const std::string& right) {
  if (op == "in") return right.find(left) != std::string::npos;
  if (op == "not in") return right.find(left) == std::string::npos;
  const auto version = parse_version(left);
  const auto clause = parse_specifiers(std::string(op) + right);
  if (version && clause && clause->size() == 1) return accepts(clause->front(), *version);
  if (op == "==" || op == "===") return left == right;
  if (op == "!=") return left != right;
  return std::nullopt;
}

Truth combined(Truth a, char op, Truth b) {
  const bool decides = op == '|';  // the value that settles it alone
  if (a == decides || b == decides) return decides;
  return a && b ? Truth(!decides) : std::nullopt;
}

/// Operators waiting for their right side, and truths waiting for an operator.
class Stacks {
 public:
  void push(Truth truth) { truths_.push_back(truth); }
  void open() { operators_.push_back('('); }
  bool close() {
    if (!settle('(')) return false;
    if (operators_.empty()) return false;
    operators_.pop_back();
    return true;
  }
  bool join(char op) {
    // "and" binds closer than "or".
    while (!operators_.empty() && operators_.back() != '(' && (op == '|' || operators_.back() == '&'))
      if (!apply()) return false;
    operators_.push_back(op);
    return true;
  }
  std::optional<Truth> finish() {
    if (!settle(' ') || truths_.size() != 1) return std::nullopt;
    return truths_.back();
  }

 private:
  bool settle(char until) {
    while (!operators_.empty() && operators_.back() != until)
      if (!apply()) return false;
    return true;
  }
  bool apply() {
    if (truths_.size() < 2 || operators_.back() == '(') return false;
    const Truth right = truths_.back();
    truths_.pop_back();
    truths_.back() = combined(truths_.back(), operators_.back(), right);
    operators_.pop_back();
    return true;
  }
  std::vector<Truth> truths_;
  std::string operators_;
};

/// "python_version < '3.12'": what stands between "and", "or" and brackets. False: it is none.
bool read_comparison(const Token& left, std::string_view& rest, const MarkerEnvironment& here, Stacks& stacks) {
  Token op = next_token(rest);
  std::string_view word = op.text;
  if (op.kind == Token::Kind::kName && word == "not") {
    if (next_token(rest).text != "in") return false;
    word = "not in";
  } else if (word != "in" && !contains(kComparisons, word)) {
    return false;
  }
  const Token right = next_token(rest);
  const auto is_value = [](const Token& t) {
    return t.kind == Token::Kind::kText || (t.kind == Token::Kind::kName && contains(kVariables, t.text));
  };
  if (!is_value(left) || !is_value(right)) return false;
  const auto a = value_of(left, here), b = value_of(right, here);
  stacks.push(a && b ? compare(*a, word, *b) : std::nullopt);
  return true;
}

/// Nothing where the text is no marker.
std::optional<Truth> evaluated(std::string_view marker, const MarkerEnvironment& here) {
  Stacks stacks;
  bool wants_value = true;  // else a word that joins, or a closing bracket
  for (std::string_view rest = marker;;) {
    const Token token = next_token(rest);
    if (token.kind == Token::Kind::kEnd) return wants_value ? std::nullopt : stacks.finish();
    if (token.kind == Token::Kind::kBad) return std::nullopt;
    if (wants_value && token.kind == Token::Kind::kOpen) {
      stacks.open();
    } else if (wants_value) {
      if (!read_comparison(token, rest, here, stacks)) return std::nullopt;
      wants_value = false;
    } else if (token.kind == Token::Kind::kClose) {
      if (!stacks.close()) return std::nullopt;
    } else if (token.text == "and" || token.text == "or") {
      if (!stacks.join(token.text == "and" ? '&' : '|')) return std::nullopt;
      wants_value = true;
    } else {
      return std::nullopt;
    }
  }
}

}  // namespace

std::optional<bool> marker_holds(std::string_view marker, const MarkerEnvironment& here) {
  if (trimmed(marker).empty()) return true;
  if (marker.size() > kLongestMarker) return std::nullopt;
  return evaluated(marker, here).value_or(std::nullopt);
}

bool is_marker(std::string_view marker) { return evaluated(marker, {}).has_value(); }

}  // namespace flashfit::doctor
