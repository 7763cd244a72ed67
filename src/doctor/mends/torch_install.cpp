#include "doctor/mends/torch_install.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "doctor/mends/mends.hpp"

namespace flashfit::doctor {

std::string torch_install(const std::string& version, const std::string& others, const std::string& venv) {
  const std::string packages = shell_word("torch==" + version) + (others.empty() ? "" : " " + others);
  const std::string programs = venv.empty() ? "" : venv + "/bin/";
  const std::size_t label = version.find('+');
  if (label == std::string::npos) return fmt::format("{}pip install {}", programs, packages);
  return fmt::format("{0}pip install uv && {0}uv pip install --python {1} --torch-backend={2} {3}", programs,
                     venv.empty() ? "python3" : venv, shell_word(version.substr(label + 1)), packages);
}

std::string companion_install(const std::string& package, const std::string& release, const std::string& label,
                              bool installed) {
  const std::string what = (installed ? "--no-deps " : "") + shell_word(package + "==" + release);
  constexpr std::string_view kIndexes[] = {"cpu", "cu1", "rocm", "xpu"};
  const bool of_index =
      std::any_of(std::begin(kIndexes), std::end(kIndexes), [&](auto index) { return label.starts_with(index); });
  if (!of_index) return "pip install " + what;
  return fmt::format("pip install uv && uv pip install --python python3 --torch-backend={} {}", shell_word(label),
                     what);
}

}  // namespace flashfit::doctor
