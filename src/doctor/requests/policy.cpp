#include "doctor/requests/policy.hpp"

#include <fmt/format.h>

#include <set>
#include <sstream>

#include "core/base/printable.hpp"
#include "core/gpu/driver_versions.hpp"
#include "core/gpu/gpu_names.hpp"
#include "doctor/bytes/json.hpp"
#include "doctor/bytes/limits.hpp"
#include "doctor/bytes/source.hpp"
#include "doctor/packaging/platform.hpp"
#include "doctor/packaging/python.hpp"
#include "doctor/requests/toml.hpp"

namespace flashfit::doctor::requests {
namespace {

using Json = nlohmann::json;

constexpr std::size_t kLongestText = 200;

tl::unexpected<Error> wrong(const std::string& key, std::string_view must) {
  return fail(Code::kInvalidArgument, fmt::format("{}: {}", key, must));
}

/// A value as an error shows it.
std::string shown(const Json& value) {
  return printable(value.dump(-1, ' ', false, Json::error_handler_t::replace), 60);
}

Result<std::string> text_of(const Json& value, const std::string& key) {
  if (!value.is_string()) return wrong(key, shown(value) + " is no text; a text in quotes is accepted");
  auto text = value.get<std::string>();
  if (text.empty() || text.size() > kLongestText)
    return wrong(key, fmt::format("a text of 1 to {} characters is accepted", kLongestText));
  return text;
}

/// Why the option of that name refuses the value; "" if it does not. A glibc and a torch go by the other options.
std::string refusal_of(std::string_view key, const std::string& value) {
  const auto why = [](const auto& result) { return result ? std::string() : result.error().message; };
  if (key == "gpus") return value == "all" ? "" : why(name_gpu(value));
  if (key == "driver") return why(parse_driver(value));
  if (key == "python") return why(doctor::parse_python(value));
  return key == "platform" ? why(doctor::parse_platform(value)) : "";
}

Result<PolicyMachine> machine_of(const Json& table, const std::string& where) {
  if (!table.is_object()) return wrong(where, shown(table) + " is no table");
  PolicyMachine machine;
  const std::pair<const char*, std::string*> texts[] = {{"name", &machine.name},     {"driver", &machine.driver},
                                                        {"python", &machine.python}, {"platform", &machine.platform},
                                                        {"glibc", &machine.glibc},   {"torch", &machine.torch}};
  for (const auto& [key, value] : table.items()) {
    const std::string full = where + "." + printable(key, 40);
    if (key == "gpus") {
      if (!value.is_array() || value.empty() || value.size() > kMostGpus)
        return wrong(full, fmt::format("an array of 1 to {} names is accepted: [\"L40\", \"9.0\"]", kMostGpus));
      for (const Json& gpu : value) {
        auto name = text_of(gpu, full);
        if (!name) return tl::unexpected(name.error());
        if (const std::string why = refusal_of(key, *name); !why.empty()) return wrong(full, why);
        machine.gpus.push_back(std::move(*name));
      }
      if (machine.gpus.size() > 1 && std::find(machine.gpus.begin(), machine.gpus.end(), "all") != machine.gpus.end())
        return wrong(full, "\"all\" is every compute capability; accepted: it alone, or names");
      continue;
    }
    const auto* const found =
        std::find_if(std::begin(texts), std::end(texts), [&](const auto& t) { return key == t.first; });
    if (found == std::end(texts))
      return wrong(full, "no such key; name, gpus, driver, python, platform, glibc and torch are accepted");
    auto text = text_of(value, full);
    if (!text) return tl::unexpected(text.error());
    if (const std::string why = refusal_of(key, *text); !why.empty()) return wrong(full, why);
    *found->second = std::move(*text);
  }
  return machine;
}

Result<Json> json_of_toml(std::string_view text) {
  const auto parsed = parse_toml(text);
  if (!parsed)
    return fail(Code::kInvalidArgument, fmt::format("line {}: {}", parsed.error().line, parsed.error().message));
  std::ostringstream out;
  out << toml::json_formatter(*parsed);
  return doctor::parse_json(out.str());
}

}  // namespace

Result<std::vector<PolicyMachine>> parse_policy(std::string_view text, bool json) {
  if (text.size() > limits::kPolicyBytes.most) return fail(Code::kInvalidArgument, "larger than 1 MB");
  const auto root = json ? doctor::parse_json(text) : json_of_toml(text);
  if (!root) return tl::unexpected(root.error());
  if (!root->is_object()) return fail(Code::kInvalidArgument, json ? "no JSON object" : "no TOML");
  for (const auto& [key, value] : root->items())
    if (key != "machine") return wrong(printable(key, 40), "no such key; machine is accepted: an array of tables");
  const auto list = root->find("machine");
  if (list == root->end() || !list->is_array() || list->empty() || list->size() > kMostMachines)
    return wrong("machine", fmt::format("an array of 1 to {} tables is accepted: [[machine]] in TOML", kMostMachines));
  std::vector<PolicyMachine> machines;
  std::set<std::string> names;
  for (const Json& table : *list) {
    const std::string where = fmt::format("machine[{}]", machines.size());
    auto machine = machine_of(table, where);
    if (!machine) return tl::unexpected(machine.error());
    if (machine->name.empty()) machine->name = fmt::format("machine {}", machines.size() + 1);
    if (!names.insert(machine->name).second)
      return wrong(where + ".name", fmt::format("'{}' is another machine's name already", printable(machine->name)));
    machines.push_back(std::move(*machine));
  }
  return machines;
}

Result<std::vector<PolicyMachine>> read_policy(const std::string& path) {
  const auto refuse = [&](const std::string& why) {
    return fail(Code::kInvalidArgument, fmt::format("'{}': {}", printable(path), why));
  };
  const auto file = doctor::FileSource::open(path);
  if (!file) return refuse(file.error().message);
  const auto bytes = doctor::read_part(*file, 0, file->size(), limits::kPolicyBytes.most, "policy");
  if (!bytes) return refuse(bytes.error().message);
  auto machines = parse_policy(doctor::as_text(*bytes), path.ends_with(".json"));
  if (!machines) return refuse(machines.error().message);
  return machines;
}

}  // namespace flashfit::doctor::requests
