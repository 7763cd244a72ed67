#include "doctor/requests/programs.hpp"

#include <algorithm>

namespace flashfit::doctor::requests {
namespace {

bool is_of_conda(std::string_view program) { return one_of(program, {"conda", "mamba", "micromamba"}); }

/// Of the tools that install or run in environments: those whose value is the next word.
bool takes_value(std::string_view option) {
  return one_of(option, {"-n",
                         "--name",
                         "-p",
                         "--prefix",
                         "-c",
                         "--channel",
                         "-C",
                         "--directory",
                         "-P",
                         "--project",
                         "-r",
                         "--root-prefix",
                         "--cwd",
                         "--python",
                         "--group",
                         "--only-group",
                         "--extra",
                         "--with",
                         "--with-requirements",
                         "--env-file",
                         "--package",
                         "--manifest-path",
                         "--solver",
                         "--index"});
}

/// The first word from `at` on that is no option, nor an option's value.
std::size_t next_word(const Command& command, std::size_t at) {
  while (at < command.size() && command[at].text.starts_with('-')) at += takes_value(command[at].text) ? 2 : 1;
  return std::min(at, command.size());
}

std::string_view word_at(const Command& command, std::size_t at) {
  return at < command.size() ? std::string_view(command[at].text) : std::string_view{};
}

/// Of what conda installs: Python itself, and what installs or builds for it.
bool is_of_builds(std::string_view package) {
  const std::string_view name = package.substr(0, package.find_first_of("=<>! ["));
  return one_of(name, {"python", "pip", "uv", "setuptools", "wheel", "poetry", "git", "cmake", "ninja", "make", "gcc",
                       "gxx", "gcc_linux-64", "gxx_linux-64", "compilers", "conda", "mamba"});
}

/// Whether conda's words from `at` on ask for a file of packages, or for one that is not of builds.
bool brings_packages(const Command& command, std::size_t at) {
  for (; at < command.size(); ++at) {
    const std::string_view word = command[at].text;
    if (one_of(word, {"-f", "--file"}) || word.starts_with("--file=")) return true;
    if (takes_value(word))
      ++at;
    else if (!word.starts_with('-') && !is_of_builds(word))
      return true;
  }
  return false;
}

}  // namespace

bool one_of(std::string_view word, std::initializer_list<std::string_view> words) {
  return std::find(words.begin(), words.end(), word) != words.end();
}

std::size_t program_at(const Command& command) {
  std::size_t at = 0;
  while (at < command.size()) {
    const std::string_view word = command[at].text;
    if (word.starts_with('-')) {
      at += one_of(word, {"-u", "-g", "--user", "--group"}) ? 2 : 1;
    } else if (word.find('=') != std::string_view::npos) {
      ++at;
    } else {
      break;
    }
  }
  return std::min(at, command.size());
}

std::string_view program_of(const Command& command) {
  const std::string_view whole = word_at(command, program_at(command));
  return whole.substr(whole.find_last_of('/') + 1);
}

Command without_run(const Command& command) {
  const std::string_view program = program_of(command);
  if (!is_of_conda(program) && !one_of(program, {"poetry", "uv", "pipenv", "pdm", "rye", "pixi", "hatch"}))
    return command;
  const std::size_t verb = next_word(command, program_at(command) + 1);
  if (word_at(command, verb) != "run") return command;
  return {command.begin() + static_cast<std::ptrdiff_t>(next_word(command, verb + 1)), command.end()};
}

const Word* script_of(const Command& command) {
  if (!one_of(program_of(command), {"sh", "bash", "dash", "ash", "ksh", "zsh"})) return nullptr;
  bool has_script = false;
  std::size_t at = program_at(command) + 1;
  for (; at < command.size() && command[at].text.starts_with('-'); ++at) {
    const std::string_view option = command[at].text;
    if (option.starts_with("--")) continue;
    has_script |= option.find('c') != std::string_view::npos;
    if (option.ends_with('o')) ++at;  // "-o pipefail"
  }
  return has_script && at < command.size() ? &command[at] : nullptr;
}

std::string other_installer_of(const Command& command) {
  const std::string_view program = program_of(command);
  std::size_t at = next_word(command, program_at(command) + 1);
  const std::string_view verb = word_at(command, at);
  const std::string name = std::string(program) + " " + std::string(verb);
  if (is_of_conda(program)) {
    if (verb == "env") {
      const std::string_view what = word_at(command, next_word(command, at + 1));
      return one_of(what, {"create", "update"}) ? name + " " + std::string(what) : "";
    }
    return one_of(verb, {"install", "create"}) && brings_packages(command, at + 1) ? name : "";
  }
  const bool by_project = one_of(program, {"poetry", "uv", "pipenv", "pdm", "rye", "pixi"});
  const bool brings = one_of(verb, {"add", "sync"}) || (verb == "install" && program != "uv");
  return by_project && brings ? name : "";
}

}  // namespace flashfit::doctor::requests
