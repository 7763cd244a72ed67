#include "doctor/rules/other_lists.hpp"

#include <fmt/format.h>

#include "core/base/ascii.hpp"

namespace flashfit::doctor {
namespace {

struct Other {
  std::string_view name;  ///< lower case; "*" before what a name ends with
  std::string_view what, instead;
};

constexpr std::string_view kOfConda =
    "`flashfit doctor --env PREFIX` judges the environment that is made of it, and "
    "`pip list --format=freeze > requirements.txt` in it writes a list that is read";
constexpr std::string_view kCompiled =
    "`uv pip compile FILE -o requirements.txt` (or pip-compile) writes the list that installers make of it";
constexpr std::string_view kImage =
    "the Dockerfiles that it names are read, and `docker save IMAGE -o image.tar` writes an image that is";

constexpr Other kOthers[] = {
    {"uv.lock", "uv's lock", "`uv export --format pylock.toml -o pylock.toml` writes a list that is"},
    {"poetry.lock", "Poetry's lock",
     "`poetry export -o requirements.txt` (with poetry-plugin-export) writes a list that is"},
    {"pdm.lock", "PDM's lock", "`pdm export -o requirements.txt` writes a list that is"},
    {"pipfile.lock", "Pipenv's lock", "`pipenv requirements > requirements.txt` writes a list that is"},
    {"pipfile", "Pipenv's list", "`pipenv requirements > requirements.txt` writes a list that is"},
    {"pixi.lock", "pixi's lock", kOfConda},
    {"pixi.toml", "pixi's list", kOfConda},
    {"conda-lock.yml", "conda-lock's file", kOfConda},
    {"environment.yml", "conda's list", kOfConda},
    {"environment.yaml", "conda's list", kOfConda},
    {"pyproject.toml", "a project's own list", kCompiled},
    {"setup.py", "a project's own list", kCompiled},
    {"setup.cfg", "a project's own list", kCompiled},
    {"compose.yml", "a compose file", kImage},
    {"compose.yaml", "a compose file", kImage},
    {"docker-compose.yml", "a compose file", kImage},
    {"docker-compose.yaml", "a compose file", kImage},
    {"*.yml", "a YAML file", kOfConda},
    {"*.yaml", "a YAML file", kOfConda},
    {"*.safetensors", "a model's weights, which have no code", "the packages that load them are what fits or not"},
    {"*.gguf", "a model's weights, which have no code", "the program that loads them is what fits or not"},
    {"*.onnx", "a model, which has no code for GPUs", "the packages that run it are what fits or not"},
    {"*.log", "a log", "`flashfit doctor --error FILE` reads what it says"},
    {"*.err", "a log", "`flashfit doctor --error FILE` reads what it says"},
    {"*.out", "a log", "`flashfit doctor --error FILE` reads what it says"},
};

}  // namespace

std::string instead_of(std::string_view file_name) {
  const std::string name = lower(file_name);
  for (const Other& other : kOthers) {
    const bool ends = other.name.starts_with('*');
    if (ends ? name.ends_with(other.name.substr(1)) : name == other.name)
      return fmt::format("{} is not read: {}", other.what, other.instead);
  }
  return "";
}

}  // namespace flashfit::doctor
