#pragma once
// Commands for one environment: `pip` alone is the pip of whatever is active.
#include <string>

#include "doctor/dynamic_loader/file_tree.hpp"
#include "doctor/environment/prefix.hpp"

namespace flashfit::doctor::environment {

/// The interpreter that commands for the prefix name: where it was `named`, asks by its own command, or is active by a
/// variable while another's python3 comes first in PATH. "" where what is in PATH is its own.
std::string interpreter_to_name(const dynamic_loader::FileTree& tree, const Variables& variables, const Prefix& prefix,
                                bool named);

/// `mend` with each of its commands that begins with pip, uv or python3 addressed to `interpreter`:
/// "/opt/venv/bin/python -m pip install x". Commands for new environments stay, and so does all where the interpreter
/// is "".
std::string addressed_mend(const std::string& mend, const std::string& interpreter);

}  // namespace flashfit::doctor::environment
