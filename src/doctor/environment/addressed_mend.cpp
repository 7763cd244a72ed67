#include "doctor/environment/addressed_mend.hpp"

#include <algorithm>
#include <string_view>

#include "doctor/mends/mends.hpp"

namespace flashfit::doctor::environment {
namespace {

using dynamic_loader::FileTree;

/// Whether the first python3 in PATH is another prefix's: then its pip is, too.
bool is_hidden_in_path(const FileTree& tree, const Variables& variables, const std::string& prefix) {
  for (const std::string& folder : folders_of(variables.path))
    if (dynamic_loader::is_file(tree, folder + "/python3")) return dynamic_loader::parent_of(folder) != prefix;
  return false;
}

void replace(std::string& text, std::string_view from, const std::string& to) {
  for (std::size_t at = text.find(from); at != std::string::npos; at = text.find(from, at + to.size()))
    text.replace(at, from.size(), to);
}

std::string addressed_command(std::string command, const std::string& python) {
  // Variables stand before some: MAX_JOBS=4 pip install x.
  std::size_t at = 0;
  for (std::size_t end = command.find(' '); end != std::string::npos; end = command.find(' ', at)) {
    if (std::string_view(command).substr(at, end - at).find('=') == std::string_view::npos) break;
    at = end + 1;
  }
  const std::string_view rest = std::string_view(command).substr(at);
  if (rest.starts_with("pip ") || rest.starts_with("uv ")) {
    replace(command, "--python python3 ", "--python " + python + " ");
    command.insert(at, python + " -m ");
  }
  return command;
}

}  // namespace

std::string interpreter_to_name(const FileTree& tree, const Variables& variables, const Prefix& prefix, bool named) {
  const bool by_variable = prefix.path == variables.virtual_env || prefix.path == variables.conda_prefix;
  if (named || !variables.asks.empty() || (by_variable && is_hidden_in_path(tree, variables, prefix.path)))
    return interpreter_of(tree, prefix);
  return "";
}

std::string addressed_mend(const std::string& mend, const std::string& interpreter) {
  if (interpreter.empty()) return mend;
  constexpr std::string_view kAnd = " && ";
  const std::string python = doctor::shell_word(interpreter);
  std::string out;
  for (std::size_t at = 0; at <= mend.size();) {
    const std::size_t end = std::min(mend.find(kAnd, at), mend.size());
    out += (at == 0 ? "" : std::string(kAnd)) + addressed_command(mend.substr(at, end - at), python);
    at = end + kAnd.size();
  }
  return out;
}

}  // namespace flashfit::doctor::environment
