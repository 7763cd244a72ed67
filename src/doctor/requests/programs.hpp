#pragma once
// What the commands of a shell run, as far as installations need it.
#include <initializer_list>
#include <string>
#include <string_view>

#include "doctor/requests/words.hpp"

namespace flashfit::doctor::requests {

bool one_of(std::string_view word, std::initializer_list<std::string_view> words);

/// Where a command's program stands: behind NAME=value, its environment, and behind options, of a sudo that is no word
/// of it.
std::size_t program_at(const Command& command);

/// "python3.9" of "/usr/bin/python3.9"; "" of no program.
std::string_view program_of(const Command& command);

/// What `conda run -n NAME`, `poetry run`, `uv run`, ... run; other commands as they are.
Command without_run(const Command& command);

/// The script of `bash -c SCRIPT`, `sh -euxo pipefail -c SCRIPT`; null if the command is none such.
const Word* script_of(const Command& command);

/// "conda install", of a command by which another installer than pip brings packages; "" of all others, and of those
/// that bring no more than Python, pip and what builds packages.
std::string other_installer_of(const Command& command);

}  // namespace flashfit::doctor::requests
