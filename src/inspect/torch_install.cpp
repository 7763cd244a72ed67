#include "inspect/torch_install.hpp"

#include <fmt/format.h>

#include "inspect/mends.hpp"

namespace flashfit::inspect {

std::string torch_install(const std::string& version, const std::string& others, const std::string& venv) {
  const std::string packages = shell_word("torch==" + version) + (others.empty() ? "" : " " + others);
  const std::string programs = venv.empty() ? "" : venv + "/bin/";
  const std::size_t label = version.find('+');
  if (label == std::string::npos) return fmt::format("{}pip install {}", programs, packages);
  return fmt::format("{0}pip install uv && {0}uv pip install --python {1} --torch-backend={2} {3}", programs,
                     venv.empty() ? "python3" : venv, shell_word(version.substr(label + 1)), packages);
}

}  // namespace flashfit::inspect
