#include "doctor/requests/read_list.hpp"

#include <fmt/format.h>

#include <filesystem>

#include "core/base/ascii.hpp"
#include "doctor/bytes/encoding.hpp"
#include "doctor/bytes/limits.hpp"
#include "doctor/bytes/source.hpp"
#include "doctor/requests/dockerfile.hpp"
#include "doctor/requests/lock_file.hpp"
#include "doctor/requests/logical_lines.hpp"
#include "doctor/requests/requirements_file.hpp"

namespace flashfit::doctor::requests {

const char* name_of(ListKind kind) {
  constexpr const char* kNames[] = {"requirements", "lock", "dockerfile"};
  return kNames[static_cast<std::size_t>(kind)];
}

std::optional<ListKind> list_kind_of(const std::string& path) {
  const std::string name = lower(std::filesystem::path(path).filename().string());
  std::error_code error;
  if (std::filesystem::is_directory(path, error)) return std::nullopt;
  if (name == "pylock.toml" || (name.starts_with("pylock.") && name.ends_with(".toml"))) return ListKind::kLock;
  if (name == "dockerfile" || name == "containerfile" || name.starts_with("dockerfile.") ||
      name.starts_with("containerfile.") || name.ends_with(".dockerfile"))
    return ListKind::kDockerfile;
  const bool requests = name.starts_with("requirements") || name.starts_with("constraints");
  if (name.ends_with(".txt") || (requests && (name.ends_with(".in") || name.ends_with(".pip"))))
    return ListKind::kRequirements;
  return std::nullopt;
}

Result<RequestList> read_list(const std::string& path, ListKind kind) {
  const auto file = doctor::FileSource::open(path);
  if (!file) {
    // The message names the path, which the target's line already does.
    const std::string& why = file.error().message;
    return fail(Code::kInvalidArgument,
                "cannot be opened: " + (why.starts_with(path + ": ") ? why.substr(path.size() + 2) : why));
  }
  if (file->size() > limits::kListBytes.most)
    return fail(Code::kInvalidArgument, fmt::format("larger than {} MB", limits::kListBytes.most >> 20));
  const auto bytes = doctor::read_part(*file, 0, file->size(), limits::kListBytes.most, "list");
  if (!bytes) return tl::unexpected(bytes.error());
  const std::string text = doctor::as_utf8(doctor::as_text(*bytes));  // pip knows the marks, too
  if (kind == ListKind::kLock) return read_lock(text);
  return kind == ListKind::kDockerfile ? read_dockerfile(text) : read_requirements(text);
}

}  // namespace flashfit::doctor::requests
