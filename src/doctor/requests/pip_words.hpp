#pragma once
// The options and arguments of `pip install` and `uv pip install`, as commands and requirements files have them.
#include <span>

#include "doctor/requests/request.hpp"
#include "doctor/requests/words.hpp"

namespace flashfit::doctor::requests {

/// Takes one requirement as a requirements file writes it, options aside: "torch>=2.6; python_version < '3.13'", an
/// address, a path. What is none becomes a trouble.
void take_requirement(std::string_view text, std::uint32_t line, RequestList& list);

/// A command takes more options than a requirements file, which pip refuses as a whole for one that it does not know.
enum class WrittenIn : unsigned char { kFile, kCommand };

/// Takes the words behind `install`, or the options of a line. Requests and includes get the list's last indexes and
/// base. Options that do not change what is asked for are passed over with their values.
void take_pip_words(std::span<const Word> words, WrittenIn written_in, RequestList& list);

}  // namespace flashfit::doctor::requests
