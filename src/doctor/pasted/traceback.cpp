#include "doctor/pasted/traceback.hpp"

#include <algorithm>
#include <charconv>

#include "core/base/ascii.hpp"
#include "doctor/pasted/regex.hpp"

namespace flashfit::doctor::pasted {
namespace {

constexpr std::size_t kMostTracebacks = 256, kMostFrames = 1024;
constexpr std::size_t kLastLines = 50'000;  // that are looked at: of a longer log the end

std::size_t indent_of(std::string_view line) {
  const std::size_t at = line.find_first_not_of(" \t");
  return at == std::string_view::npos ? line.size() : at;
}

/// A line that names a frame.
bool read_frame(const Line& line, Frame& frame) {
  // Python's, faulthandler's without the comma, then IPython's ("File ~/a.py:12, in f(x)"), rich's ("/a.py:12 in f").
  static const Regex kPython(R"re(^\s*File "(?P<file>[^"]+)", line (?P<number>\d{1,9})(?:,? in (?P<function>.+))?$)re");
  static const Regex kIpython(R"(^\s*File (?P<file>[^\s":]\S*?):(?P<number>\d{1,9}),? in (?P<function>[\w.<>]+))");
  static const Regex kRich(R"(^\s*(?P<file>(?:/|[A-Za-z]:\\)\S*?\.py):(?P<number>\d{1,9}) in (?P<function>[\w.<>]+))");
  const std::size_t at = indent_of(line.text);
  Fields fields;
  if (line.text.compare(at, 5, "File ") == 0) {
    if (!kPython.finds(line.text, fields) && !kIpython.finds(line.text, fields)) return false;
  } else if (line.text.find(".py:") == std::string::npos || !kRich.finds(line.text, fields)) {
    return false;
  }
  frame = {.line = line.number, .file = fields["file"], .function = fields["function"]};
  const std::string& number = fields["number"];
  std::from_chars(number.data(), number.data() + number.size(), frame.number);
  return true;
}

/// "^^^^" and "~~~^~~": Python's marks under a statement.
bool is_marks(std::string_view text) { return text.find_first_not_of(" \t~^") == std::string_view::npos; }

/// The statement that IPython and rich point at among the lines around it: "---> 71 code", "> 12 code".
std::string pointed_at(std::string_view text) {
  static const Regex kPointed(R"(^\s*(?:-+>|>|\xe2\x9d\xb1)\s*\d+\s+(?P<code>.+)$)");
  Fields fields;
  return kPointed.finds(text, fields) ? fields["code"] : "";
}

/// "torch.AcceleratorError: CUDA error: ...", "KeyError: 'x'", "AssertionError".
bool read_exception(const Line& line, Traceback& traceback) {
  static const Regex kException(R"(^\s*(?P<type>[A-Za-z_][\w.]*)(?::\s*(?P<message>.*))?$)");
  Fields fields;
  if (!kException.finds(line.text, fields)) return false;
  // Any word may be an exception's name where a message follows; alone it must look like one.
  const std::string& type = fields["type"];
  const bool named = type.ends_with("Error") || type.ends_with("Exception") || type.ends_with("Interrupt") ||
                     type.ends_with("Exit") || type.ends_with("Warning") || type.ends_with("Iteration");
  if (!named && (line.text.find(": ") == std::string::npos || is_digit(type.front()))) return false;
  traceback.line = line.number;
  traceback.type = type;
  traceback.message = fields["message"];
  return true;
}

/// Reads one line after another.
class Reader {
 public:
  void take(const Line& line) {
    if (take_link(line.text)) return;
    Frame frame;
    if (read_frame(line, frame)) {
      if (current_.line != 0) begin();
      frame_indent_ = indent_of(line.text);
      if (current_.frames.size() < kMostFrames) current_.frames.push_back(std::move(frame));
      return;
    }
    if (line.text.find("Traceback (most recent call last)") != std::string::npos) {
      begin();
      return;
    }
    if (!current_.frames.empty() && current_.line == 0) take_in_frame(line);
  }

  std::vector<Traceback> finish() {
    begin();
    return std::move(done_);
  }

 private:
  void begin() {
    if (current_.frames.empty()) return;  // a link before it stays
    if (done_.size() < kMostTracebacks) done_.push_back(std::move(current_));
    current_ = {};
  }

  bool take_link(std::string_view text) {
    const bool handling = text.find("During handling of the above exception") != std::string_view::npos;
    if (!handling && text.find("The above exception was the direct cause") == std::string_view::npos) return false;
    begin();
    if (!done_.empty()) current_.link = handling ? Traceback::Link::kHandling : Traceback::Link::kCause;
    return true;
  }

  void take_in_frame(const Line& line) {
    Frame& last = current_.frames.back();
    if (is_marks(line.text)) return;
    if (std::string code = pointed_at(line.text); !code.empty()) {
      last.code = std::move(code);
      last.code_line = line.number;
      return;
    }
    const std::size_t indent = indent_of(line.text);
    if (indent > frame_indent_ && last.code.empty()) {
      last.code = line.text.substr(indent);
      last.code_line = line.number;
      return;
    }
    if (indent <= frame_indent_) read_exception(line, current_);
  }

  Traceback current_;
  std::size_t frame_indent_ = 0;
  std::vector<Traceback> done_;
};

/// Where "site-packages" or "dist-packages" ends in the path; npos.
std::size_t end_of_packages(std::string_view path) {
  std::size_t end = std::string_view::npos;
  for (const std::string_view folder : {"site-packages", "dist-packages"}) {
    const std::size_t at = path.rfind(folder);
    if (at == std::string_view::npos || at == 0 || (path[at - 1] != '/' && path[at - 1] != '\\')) continue;
    const std::size_t after = at + folder.size();
    if (after == path.size() || path[after] == '/' || path[after] == '\\') end = after;
  }
  return end;
}

}  // namespace

std::vector<Traceback> read_tracebacks(const PastedText& text) {
  Reader reader;
  const std::size_t skipped = text.lines.size() - std::min(text.lines.size(), kLastLines);
  for (std::size_t i = skipped; i < text.lines.size(); ++i) reader.take(text.lines[i]);
  return reader.finish();
}

std::string site_packages_of(std::string_view path) {
  const std::size_t end = end_of_packages(path);
  return end == std::string_view::npos ? "" : std::string(path.substr(0, end));
}

std::string package_of(std::string_view path) {
  const std::size_t end = end_of_packages(path);
  if (end == std::string_view::npos || end + 1 >= path.size()) return "";
  path.remove_prefix(end + 1);
  path = path.substr(0, path.find_first_of("/\\"));
  // "sageattention-2.1.1-py3.12-linux-x86_64.egg", "fused_layer_norm_cuda.cpython-311-x86_64-linux-gnu.so"
  return std::string(path.substr(0, path.find_first_of(".-")));
}

}  // namespace flashfit::doctor::pasted
