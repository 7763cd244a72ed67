#include "doctor/requests/dockerfile.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <set>
#include <tuple>
#include <utility>

#include "core/base/ascii.hpp"
#include "core/base/printable.hpp"
#include "doctor/requests/docker_lines.hpp"
#include "doctor/requests/image_name.hpp"
#include "doctor/requests/pip_words.hpp"
#include "doctor/requests/programs.hpp"
#include "doctor/requests/variables.hpp"

namespace flashfit::doctor::requests {
namespace {

/// Of pip, before its command: those whose value is the next word.
bool takes_value(std::string_view option) {
  return one_of(option, {"--timeout", "--default-timeout", "--retries", "--proxy", "--log", "--cache-dir", "--cert",
                         "--client-cert", "--trusted-host", "--exists-action", "--python", "--use-feature",
                         "--keyring-provider"});
}

constexpr int kDeepestScript = 4;  // a shell's within a shell's

/// Behind "-m", "-mpip", "-Im" the module's name, and where the words behind it begin. Empty: Python runs no module.
std::pair<std::string_view, std::size_t> module_of(const Command& command, std::size_t at) {
  for (; at < command.size() && command[at].text.starts_with('-'); ++at) {
    const std::string_view option = command[at].text;
    const std::size_t m = option.starts_with("--") ? std::string_view::npos : option.find_first_of("mcWX", 1);
    if (m == std::string_view::npos) continue;  // letters alone
    const bool attached = m + 1 < option.size();
    if (option[m] == 'm' && attached) return {option.substr(m + 1), at + 1};
    if (option[m] == 'm')
      return at + 1 < command.size() ? std::pair{std::string_view(command[at + 1].text), at + 2}
                                     : std::pair{std::string_view{}, at + 1};
    if (option[m] == 'c') return {"", at};
    if (!attached) ++at;  // "-W ignore", "-X utf8"
  }
  return {"", at};
}

/// Where the words behind `install` begin, if the command is pip's or uv's.
std::optional<std::size_t> install_at(const Command& command) {
  std::size_t at = program_at(command);
  if (at == command.size()) return std::nullopt;
  const auto is = [&](std::size_t i, std::string_view word) { return i < command.size() && command[i].text == word; };
  std::string_view program = program_of(command);
  ++at;
  if (program.starts_with("python") || program.starts_with("pypy")) {
    std::tie(program, at) = module_of(command, at);
    if (!one_of(program, {"pip", "uv"})) return std::nullopt;
  }
  if (program == "uv") {
    if (!is(at, "pip")) return std::nullopt;
    ++at;
  } else if (!program.starts_with("pip") || program.find_first_not_of("0123456789.", 3) != std::string_view::npos) {
    return std::nullopt;
  }
  while (at < command.size() && command[at].text.starts_with('-'))  // options before the command: "-q"
    at += takes_value(command[at].text) ? 2 : 1;
  if (!is(at, "install")) return std::nullopt;
  return at + 1;
}

/// "3.9" of a command of python3.9 or pip3.9; "" where its program's name says no whole version.
std::string python_of(const Command& command) {
  std::string_view program = program_of(command);
  if (!program.starts_with("python") && !program.starts_with("pip")) return "";
  program.remove_prefix(std::min(program.find_first_of("0123456789"), program.size()));
  const std::size_t dot = program.find('.');
  const auto digits = [](std::string_view text) {
    return !text.empty() && std::all_of(text.begin(), text.end(), is_digit);
  };
  const bool whole = dot != std::string_view::npos && digits(program.substr(0, dot)) && digits(program.substr(dot + 1));
  return whole ? std::string(program) : "";
}

constexpr std::size_t kMostStages = 64;   // that later ones may build on
constexpr std::size_t kMostBases = 1000;  // stages in all, each judged by itself

struct Stage {
  Variables variables;
  Base base;
};

class Reader {
 public:
  RequestList read(std::string_view text) {
    auto lines = docker_lines(text);
    if (!lines) {
      list_.troubles.push_back({0, lines.error().message});
      return std::move(list_);
    }
    for (const LogicalLine& line : *lines) take(line);
    return std::move(list_);
  }

 private:
  void take(const LogicalLine& line) {
    const std::size_t begin = std::min(line.text.find_first_not_of(" \t"), line.text.size());
    const std::size_t end = std::min(line.text.find_first_of(" \t\n", begin), line.text.size());
    const std::string instruction = lower(line.text.substr(begin, end - begin));
    if (instruction == "from") {
      take_from(line, end);
    } else if (instruction == "arg" || instruction == "env") {
      take_variables(line, end, instruction == "env");
    } else if (instruction == "run") {
      take_commands(run_commands(line, end), 0);
    }
  }

  void take_from(const LogicalLine& line, std::size_t from) {
    Command words = plain_words(line, from);
    std::erase_if(words, [](const Word& w) { return w.text.starts_with("--"); });
    if (words.empty()) return list_.troubles.push_back({line.line(), "FROM without an image"});
    if (stages_++ == 0) global_ = here_.variables;
    if (!name_.empty() && named_.size() < kMostStages) named_[name_] = here_;
    std::string unknown;
    const std::string image = expanded(words[0].text, global_, &unknown);
    if (!unknown.empty()) say_unknown(unknown, line.line(), "FROM " + words[0].text);
    const auto earlier = named_.find(lower(image));
    here_ = earlier != named_.end() ? earlier->second : Stage{{}, read_image_name(image, line.line())};
    if (list_.bases.size() < kMostBases) {
      list_.bases.push_back(here_.base);
    } else if (stages_ == kMostBases) {
      list_.troubles.push_back(
          {line.line(), fmt::format("more than {} stages: those behind are not told apart", kMostBases)});
    }
    name_ = words.size() >= 3 && lower(words[1].text) == "as" ? lower(words[2].text) : "";
  }

  void take_variables(const LogicalLine& line, std::size_t from, bool environment) {
    const Command words = plain_words(line, from);
    for (std::size_t i = 0; i < words.size() && here_.variables.size() < kMostVariables; ++i) {
      const std::string& word = words[i].text;
      const std::size_t equals = word.find('=');
      if (equals != std::string::npos) {
        here_.variables.insert_or_assign(word.substr(0, equals),
                                         expanded(std::string_view(word).substr(equals + 1), here_.variables));
      } else if (environment && i == 0 && words.size() > 1) {  // "ENV NAME value", the old form
        here_.variables.insert_or_assign(word, expanded(trimmed(rest_behind(line, from, word)), here_.variables));
        break;
      } else if (const auto global = global_.find(word); global != global_.end() && stages_ > 0) {
        here_.variables.insert(*global);
      }
    }
  }
  static std::string_view rest_behind(const LogicalLine& line, std::size_t from, std::string_view word) {
    const std::size_t at = line.text.find(word, from);
    return at == std::string::npos ? std::string_view{} : std::string_view(line.text).substr(at + word.size());
  }

  void take_commands(const std::vector<Command>& commands, int depth) {
    for (const Command& written : commands) {
      const Command command = without_run(written);
      if (const Word* const script = depth < kDeepestScript ? script_of(command) : nullptr; script != nullptr) {
        take_commands(shell_commands({.text = script->text, .starts = {{0, script->line}}}, 0), depth + 1);
        continue;
      }
      Command words;
      for (const Word& word : command) add_expanded(word, words);
      const auto install = install_at(words);
      if (!install) {
        if (const std::string other = other_installer_of(words); !other.empty())
          list_.troubles.push_back({words.front().line, other +
                                                            ": what it installs is not read; accepted: pip install, "
                                                            "uv pip install, or a list that it exports as a target"});
        continue;
      }
      take_python(python_of(words));
      Indexes indexes;
      for (const char* name : {"PIP_INDEX_URL", "PIP_EXTRA_INDEX_URL", "UV_INDEX_URL", "UV_DEFAULT_INDEX", "UV_INDEX"})
        if (const auto found = here_.variables.find(name); found != here_.variables.end()) {
          indexes.addresses.push_back(found->second);
          const std::string_view variable = name;
          indexes.replaced |= variable != "PIP_EXTRA_INDEX_URL" && variable != "UV_INDEX";
        }
      for (const char* name : {"PIP_FIND_LINKS", "UV_FIND_LINKS"})
        if (const auto found = here_.variables.find(name); found != here_.variables.end())
          indexes.find_links.push_back(found->second);
      if (const auto backend = here_.variables.find("UV_TORCH_BACKEND"); backend != here_.variables.end())
        indexes.torch_backend = backend->second;
      if (list_.indexes.size() < kMostRequests) list_.indexes.push_back(std::move(indexes));
      take_pip_words(std::span(words).subspan(*install), WrittenIn::kCommand, list_);
    }
  }

  /// An image whose name says no Python has that of the first command that names one.
  void take_python(std::string python) {
    if (python.empty() || !here_.base.python.empty()) return;
    here_.base.python = std::move(python);
    if (stages_ < kMostBases) list_.bases.back().python = here_.base.python;
  }

  /// A word that is nothing but variables is split as the shell does.
  void add_expanded(const Word& word, Command& words) {
    if (word.text.find('$') == std::string::npos) return words.push_back(word);
    std::string unknown;
    const std::string text = expanded(word.text, here_.variables, &unknown);
    if (!unknown.empty()) {
      // What the shell sets itself is often no part of what is asked for.
      if (!words.empty() && install_at(words)) say_unknown(unknown, word.line, word.text);
      return;
    }
    if (word.text.find_first_of(" \t") != std::string::npos) return words.push_back({text, word.line});
    for (const std::string_view part : split(text, ' '))
      if (!trimmed(part).empty()) words.push_back({std::string(trimmed(part)), word.line});
  }

  void say_unknown(const std::string& name, std::uint32_t line, std::string_view where) {
    list_.troubles.push_back(
        {line, fmt::format("'{}': {} has no value in this file", printable(where), printable(name))});
  }

  RequestList list_;
  Stage here_;
  Variables global_;
  std::map<std::string, Stage> named_;
  std::string name_;
  std::size_t stages_ = 0;
};

}  // namespace

RequestList read_dockerfile(std::string_view text) { return Reader().read(text); }

}  // namespace flashfit::doctor::requests
