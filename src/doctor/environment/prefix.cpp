#include "doctor/environment/prefix.hpp"

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <system_error>

#include "core/base/ascii.hpp"
#include "doctor/dynamic_loader/real_tree.hpp"
#include "doctor/environment/pyenv.hpp"

namespace flashfit::doctor::environment {
namespace {

using dynamic_loader::FileKind;
using dynamic_loader::FileTree;
using dynamic_loader::is_file;
using dynamic_loader::is_folder;
using dynamic_loader::parent_of;

constexpr std::uint64_t kMostConfig = 1 << 16;

/// The value of "key = value" in pyvenv.cfg.
std::string value_of(std::string_view text, std::string_view key) {
  for (std::string_view line : split(text, '\n')) {
    const std::size_t equals = line.find('=');
    if (equals != std::string_view::npos && trimmed(line.substr(0, equals)) == key)
      return std::string(trimmed(line.substr(equals + 1)));
  }
  return "";
}

/// "3.11.7" of "3.11.7.final.0".
std::string version_part(const std::string& text) {
  std::size_t end = 0, dots = 0;
  while (end < text.size() && (is_digit(text[end]) || (text[end] == '.' && ++dots < 3))) ++end;
  return text.substr(0, text.ends_with('.') && end == text.size() ? end - 1 : end);
}

/// "3.11" of "python3.11", "3.13t" of "python3.13t"; "" of other names.
std::string version_of_folder(std::string_view name) {
  constexpr std::string_view kPython = "python3.";
  if (!name.starts_with(kPython)) return "";
  const std::string_view minor = name.substr(kPython.size());
  const std::size_t digits = std::min(minor.find_first_not_of("0123456789"), minor.size());
  const bool sound = digits > 0 && digits < 3 && (minor.substr(digits).empty() || minor.substr(digits) == "t");
  return sound ? "3." + std::string(minor) : "";
}

void add_folder(const FileTree& tree, const std::string& path, Prefix& prefix) {
  const dynamic_loader::Resolved at = tree.resolve(path);
  if (at.node.kind != FileKind::kFolder) return;
  if (std::find(prefix.packages.begin(), prefix.packages.end(), at.path) == prefix.packages.end())
    prefix.packages.push_back(at.path);
}

/// Folders of packages below a prefix: lib/python3.11/site-packages, Debian's dist-packages, Windows' Lib.
void add_packages_below(const FileTree& tree, const std::string& root, Prefix& prefix) {
  const std::string base = root == "/" ? "" : root;
  for (const char* const lib : {"/lib", "/lib64"}) {
    const auto entries = tree.list(base + lib);
    if (!entries) continue;
    for (const dynamic_loader::Entry& entry : *entries) {
      const std::string version = version_of_folder(entry.name);
      if (version.empty() || (!prefix.python.empty() && !(prefix.python + ".").starts_with(version + "."))) continue;
      const std::string folder = base + lib + "/" + entry.name;
      for (const char* const packages : {"/site-packages", "/dist-packages"}) {
        const std::size_t before = prefix.packages.size();
        add_folder(tree, folder + packages, prefix);
        if (prefix.packages.size() > before && prefix.python.empty()) prefix.python = version;
      }
    }
  }
  add_folder(tree, base + "/lib/python3/dist-packages", prefix);
  add_folder(tree, base + "/Lib/site-packages", prefix);
}

bool holds_packages(const FileTree& tree, const std::string& path) {
  const auto entries = tree.list(path);
  return entries && std::any_of(entries->begin(), entries->end(), [](const dynamic_loader::Entry& e) {
           return e.name.ends_with(".dist-info") || e.name.ends_with(".egg-info");
         });
}

Prefix folder_prefix(const FileTree& tree, const std::string& path) {
  Prefix prefix{.kind = Prefix::Kind::kFolder, .path = path};
  add_folder(tree, path, prefix);
  const std::string above = parent_of(path);
  prefix.python = version_of_folder(above.substr(above.rfind('/') + 1));
  return prefix;
}

}  // namespace

const char* name_of(Prefix::Kind kind) {
  constexpr const char* kNames[] = {"none", "venv", "conda", "system", "folder"};
  return kNames[static_cast<std::size_t>(kind)];
}

std::string interpreter_of(const FileTree& tree, const Prefix& prefix) {
  // A folder of packages lies three below its prefix: lib/python3.11/site-packages.
  const std::string root =
      prefix.kind == Prefix::Kind::kFolder ? parent_of(parent_of(parent_of(prefix.path))) : prefix.path;
  const std::string bin = (root == "/" ? "" : root) + "/bin/";
  const std::string minor = prefix.python.substr(0, prefix.python.find('.', prefix.python.find('.') + 1));
  for (const std::string& name : {"python" + minor, std::string("python3"), std::string("python")})
    if (is_file(tree, bin + name)) return bin + name;
  return "";
}

Prefix find_prefix(const FileTree& tree, const std::string& given) {
  std::string path = given;
  while (path.size() > 1 && path.ends_with('/')) path.pop_back();
  // An interpreter stands for its prefix, by the name that was given: a virtual environment's is a link to another's.
  if (is_file(tree, path) && path.substr(path.rfind('/') + 1).starts_with("python")) path = parent_of(parent_of(path));
  const std::string base = path == "/" ? "" : path;
  const std::string name = path.substr(path.rfind('/') + 1);
  if (name == "site-packages" || name == "dist-packages") return folder_prefix(tree, path);

  Prefix prefix{.path = path};
  if (is_file(tree, base + "/pyvenv.cfg")) {
    const auto config = dynamic_loader::read_text(tree, base + "/pyvenv.cfg", kMostConfig);
    const std::string text = config.value_or("");
    if (!config) prefix.unread = config.error().message;
    prefix.kind = Prefix::Kind::kVenv;
    prefix.python = version_part(value_of(text, "version"));
    if (prefix.python.empty()) prefix.python = version_part(value_of(text, "version_info"));
    add_packages_below(tree, path, prefix);
    const std::string home = value_of(text, "home");
    if (lower(value_of(text, "include-system-site-packages")) == "true" && home.starts_with('/')) {
      prefix.sees_user_site = true;
      add_packages_below(tree, parent_of(home), prefix);
    }
  } else {
    prefix.sees_user_site = true;
    prefix.kind = is_folder(tree, base + "/conda-meta") ? Prefix::Kind::kConda : Prefix::Kind::kSystem;
    add_packages_below(tree, path, prefix);
    // Debian's own Python looks where its administrator's packages lie, too, and those come first.
    if (path == "/usr" && !prefix.python.empty()) {
      Prefix local{.python = prefix.python};
      add_packages_below(tree, "/usr/local", local);
      prefix.packages.insert(prefix.packages.begin(), local.packages.begin(), local.packages.end());
    }
  }
  if (!prefix.packages.empty()) return prefix;
  return holds_packages(tree, path) ? folder_prefix(tree, path) : Prefix{.path = path};
}

std::vector<std::string> add_by_variables(const FileTree& tree, const Variables& variables, Prefix& prefix) {
  std::vector<std::string> added;
  if (prefix.kind == Prefix::Kind::kNone || prefix.kind == Prefix::Kind::kFolder) return added;
  const auto add = [&](const std::string& path, std::size_t at) {
    const dynamic_loader::Resolved folder = tree.resolve(path);
    std::vector<std::string>& packages = prefix.packages;
    if (folder.node.kind != FileKind::kFolder || !holds_packages(tree, folder.path) ||
        std::find(packages.begin(), packages.end(), folder.path) != packages.end())
      return false;
    packages.insert(packages.begin() + static_cast<std::ptrdiff_t>(at), folder.path);
    added.push_back(folder.path);
    return true;
  };
  // A virtual environment's own packages go before the user's (CPython's Lib/site.py).
  const std::string own = prefix.kind == Prefix::Kind::kVenv ? tree.resolve(prefix.path).path + "/" : "";
  const auto first_of_others = std::find_if(prefix.packages.begin(), prefix.packages.end(),
                                            [&](const auto& one) { return own.empty() || !one.starts_with(own); });
  const std::string base = !variables.user_base.empty() ? variables.user_base
                           : variables.home.empty()     ? ""
                                                        : variables.home + "/.local";
  const std::string minor = prefix.python.substr(0, prefix.python.find('.', prefix.python.find('.') + 1));
  if (prefix.sees_user_site && variables.no_user_site.empty() && !base.empty() && !minor.empty())
    add(base + "/lib/python" + minor + "/site-packages",
        static_cast<std::size_t>(first_of_others - prefix.packages.begin()));
  std::size_t at = 0;
  for (const std::string& folder : folders_of(variables.python_path))
    if (folder.starts_with('/') && add(folder, at)) ++at;
  return added;
}

std::string prefix_of_packages(const FileTree& tree, const std::string& folder) {
  const std::string above = parent_of(parent_of(parent_of(folder)));
  const Prefix prefix = find_prefix(tree, above);
  const std::string path = tree.resolve(folder).path;
  const bool its = std::find(prefix.packages.begin(), prefix.packages.end(), path) != prefix.packages.end();
  return its && prefix.kind != Prefix::Kind::kFolder ? above : folder;
}

Variables variables_of(const std::function<std::string(const char* name)>& value) {
  Variables variables;
  variables.virtual_env = value("VIRTUAL_ENV");
  variables.conda_prefix = value("CONDA_PREFIX");
  variables.path = value("PATH");
  variables.home = value("HOME");
  variables.cuda_home = value("CUDA_HOME");
  variables.library_path = value("LD_LIBRARY_PATH");
  variables.preload = value("LD_PRELOAD");
  variables.tunables = value("GLIBC_TUNABLES");
  if (variables.cuda_home.empty()) variables.cuda_home = value("CUDA_PATH");
  variables.pyenv_version = value("PYENV_VERSION");
  std::error_code gone;  // of a folder that was removed
  variables.folder = std::filesystem::current_path(gone).string();
  variables.python_path = value("PYTHONPATH");
  variables.user_base = value("PYTHONUSERBASE");
  variables.no_user_site = value("PYTHONNOUSERSITE");
  variables.hub_cache = value("HF_HUB_CACHE");
  if (const std::string home = value("HF_HOME"); variables.hub_cache.empty() && !home.empty())
    variables.hub_cache = home + "/hub";
  return variables;
}

Variables variables_here() {
  Variables variables = variables_of([](const char* name) {
    const char* text = std::getenv(name);  // NOLINT(concurrency-mt-unsafe): nothing here sets variables
    return std::string(text == nullptr ? "" : text);
  });
  // The word that this process was called by: a link to the command keeps its own folder.
  std::ifstream arguments("/proc/self/cmdline", std::ios::binary);
  std::string word;
  if (std::getline(arguments, word, '\0'))
    variables.asks = prefix_of_command(dynamic_loader::RealTree("/"), word, variables.folder);
  return variables;
}

namespace {

/// Whether it has an interpreter and this package: what is installed for a user alone has no interpreter, and what
/// lies elsewhere is no environment.
bool has_flashfit(const FileTree& tree, const std::string& path) {
  const Prefix prefix = find_prefix(tree, path);
  if (interpreter_of(tree, prefix).empty()) return false;
  return std::any_of(prefix.packages.begin(), prefix.packages.end(), [&](const std::string& folder) {
    const auto entries = tree.list(folder);
    return entries && std::any_of(entries->begin(), entries->end(), [](const dynamic_loader::Entry& e) {
             return e.name.starts_with("flashfit-") && e.name.ends_with(".dist-info");
           });
  });
}

}  // namespace

std::string prefix_of_command(const FileTree& tree, const std::string& word, const std::string& folder) {
  if (word.find('/') == std::string::npos) return "";
  const std::string path = (std::filesystem::path(folder) / word).lexically_normal().string();
  const std::string prefix = parent_of(parent_of(path));
  const std::string base = prefix == "/" ? "" : prefix;
  const bool own = is_file(tree, base + "/pyvenv.cfg") || is_folder(tree, base + "/conda-meta");
  return own || has_flashfit(tree, prefix) ? prefix : "";
}

std::vector<std::string> folders_of(const std::string& list) {
  std::vector<std::string> folders;
  for (const std::string_view part : split(list, ':'))
    if (!part.empty()) folders.emplace_back(part);
  return folders;
}

std::string active_prefix(const FileTree& tree, const Variables& variables) {
  for (const std::string& named : {variables.asks, variables.virtual_env, variables.conda_prefix})
    if (!named.empty() && find_prefix(tree, named).kind != Prefix::Kind::kNone) return named;
  for (const std::string& folder : folders_of(variables.path)) {
    if (!folder.starts_with('/')) continue;
    const dynamic_loader::Resolved python = tree.resolve(folder + "/python3");
    if (python.node.kind != FileKind::kFile) continue;
    if (is_pyenv_shims(tree, folder)) {
      if (std::string chosen = pyenv_prefix(tree, folder, variables.pyenv_version, variables.folder); !chosen.empty())
        return chosen;
      continue;
    }
    std::string here = parent_of(folder);
    if (is_file(tree, (here == "/" ? "" : here) + "/pyvenv.cfg")) return here;
    return parent_of(parent_of(python.path));
  }
  return "";
}

}  // namespace flashfit::doctor::environment
