#pragma once
// Where Python's packages lie: virtual environments, conda prefixes, a system's Python, or a folder of packages alone.
// Told by files and their names; no interpreter is run.
#include <functional>
#include <string>
#include <vector>

#include "doctor/dynamic_loader/file_tree.hpp"

namespace flashfit::doctor::environment {

struct Prefix {
  enum class Kind : unsigned char { kNone, kVenv, kConda, kSystem, kFolder };
  Kind kind = Kind::kNone;
  std::string path;                   ///< of the prefix; of kFolder: the folder of packages
  std::string python;                 ///< "3.11", "3.11.7", "3.13t"; "" if unknown
  std::vector<std::string> packages;  ///< folders of packages in the order of sys.path
  bool sees_user_site = false;        ///< what is installed for a user alone goes before a system's packages
  std::string unread;                 ///< why a virtual environment's pyvenv.cfg was not read; "" otherwise
};
/// "none", "venv", "conda", "system", "folder".
const char* name_of(Prefix::Kind kind);

/// The interpreter, by name: bin/python3.11 or bin/python3 of the prefix; "" if there is none.
std::string interpreter_of(const dynamic_loader::FileTree& tree, const Prefix& prefix);

/// What `given` is: a prefix, a folder of packages, or an interpreter (bin/python of a prefix). Kind::kNone where no
/// packages are found.
Prefix find_prefix(const dynamic_loader::FileTree& tree, const std::string& given);

/// The prefix whose folder of packages this is, ".../venv" of ".../venv/lib/python3.11/site-packages"; the folder
/// itself where it is nobody's.
std::string prefix_of_packages(const dynamic_loader::FileTree& tree, const std::string& folder);

/// The variables that say which environment is active, as the process or an image has them; "" where unset.
struct Variables {
  std::string virtual_env, conda_prefix, path, home;
  std::string cuda_home;      ///< CUDA_HOME or CUDA_PATH
  std::string library_path;   ///< LD_LIBRARY_PATH
  std::string preload;        ///< LD_PRELOAD
  std::string tunables;       ///< GLIBC_TUNABLES
  std::string pyenv_version;  ///< PYENV_VERSION
  std::string folder;         ///< the working folder, which may choose a version of pyenv's
  std::string python_path;    ///< PYTHONPATH
  std::string user_base;      ///< PYTHONUSERBASE; "" stands for ~/.local
  std::string no_user_site;   ///< PYTHONNOUSERSITE
  std::string hub_cache;      ///< where models and kernels of the hub lie; "" stands for ~/.cache/huggingface/hub
  std::string asks;           ///< the prefix of the command that asks, where it was called by a path: VENV/bin/flashfit
};
/// `value` gives one by its name; "" where it is unset.
Variables variables_of(const std::function<std::string(const char* name)>& value);
/// Those of this process.
Variables variables_here();

/// Adds folders of packages that variables make the interpreter search: what `pip install --target` has filled and
/// PYTHONPATH names, and the user's own (~/.local/lib/python3.11/site-packages). Gives those that it added. Folders of
/// PYTHONPATH without installed packages are sources, of which nobody knows what they import.
std::vector<std::string> add_by_variables(const dynamic_loader::FileTree& tree, const Variables& variables,
                                          Prefix& prefix);

/// The virtual environment, conda prefix or other prefix of a Python whose command this is, by the word that it was
/// called by: "/opt/venv" of "/opt/venv/bin/flashfit", as VENV/bin/pip is that environment's pip whatever else is
/// active. "" where the word has no folder, or that is nobody's.
std::string prefix_of_command(const dynamic_loader::FileTree& tree, const std::string& word, const std::string& folder);

/// The active environment: the one that asks, else VIRTUAL_ENV, else CONDA_PREFIX, else that of the python3 that PATH
/// leads to, through pyenv's shims too. "" if none.
std::string active_prefix(const dynamic_loader::FileTree& tree, const Variables& variables);

/// Parts of a variable like PATH, without empty ones.
std::vector<std::string> folders_of(const std::string& list);

}  // namespace flashfit::doctor::environment
