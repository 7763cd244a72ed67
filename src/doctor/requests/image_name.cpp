#include "doctor/requests/image_name.hpp"

#include <algorithm>

#include "core/base/ascii.hpp"

namespace flashfit::doctor::requests {
namespace {

struct Release {
  std::string_view name, glibc;
};
// Source: the releases' own libc6 packages. A tag has the release's number or name behind the distribution's.
constexpr Release kReleases[] = {
    {"bullseye", "2.31"},    {"debian11", "2.31"},    {"bookworm", "2.36"},    {"debian12", "2.36"},
    {"trixie", "2.41"},      {"debian13", "2.41"},    {"focal", "2.31"},       {"ubuntu20.04", "2.31"},
    {"jammy", "2.35"},       {"ubuntu22.04", "2.35"}, {"noble", "2.39"},       {"ubuntu24.04", "2.39"},
    {"rockylinux8", "2.28"}, {"ubi8", "2.28"},        {"rockylinux9", "2.34"}, {"ubi9", "2.34"},
    {"buster", "2.28"},      {"stretch", "2.24"},     {"xenial", "2.23"},      {"ubuntu16.04", "2.23"},
    {"bionic", "2.27"},      {"ubuntu18.04", "2.27"}, {"centos7", "2.17"},     {"ubi7", "2.17"},
};

/// "3.11.9" at the front of "3.11.9-slim".
std::string_view version_at(std::string_view text) {
  std::size_t n = 0;
  while (n < text.size() &&
         (is_digit(text[n]) || (text[n] == '.' && n > 0 && n + 1 < text.size() && is_digit(text[n + 1]))))
    ++n;
  return text.substr(0, n);
}

/// The version behind a word: "12.4" of "2.6.0-cuda12.4-cudnn9".
std::string_view version_behind(std::string_view text, std::string_view word) {
  const std::size_t at = text.find(word);
  return at == std::string_view::npos ? std::string_view{} : version_at(text.substr(at + word.size()));
}

/// "3.11" of "3.11.9"; "" for "3" alone, which says nothing.
std::string two_parts(std::string_view version) {
  const std::size_t dot = version.find('.');
  if (dot == std::string_view::npos) return "";
  return std::string(version.substr(0, version.find('.', dot + 1)));
}

void read_system(std::string_view image, std::string_view tag, Base& base) {
  using System = doctor::Platform::System;
  if (image == "alpine" || tag.find("alpine") != std::string_view::npos) base.system = System::kMusl;
  if (base.system) return;
  // "debian:12" and "debian12" are one.
  const std::string joined = std::string(image) + std::string(tag);
  for (const Release& release : kReleases)
    if (joined.find(release.name) != std::string::npos) {
      base.system = System::kGlibc;
      base.glibc = release.glibc;
    }
}

}  // namespace

Base read_image_name(std::string_view name, std::uint32_t line) {
  Base base{.line = line, .name = std::string(name)};
  name = name.substr(0, name.find('@'));
  // Host and folders: what stands before the last part, but for names that two parts make.
  std::string_view image = name.substr(name.find_last_of('/') + 1), tag;
  if (const std::size_t colon = image.find(':'); colon != std::string_view::npos) {
    tag = image.substr(colon + 1);
    image = image.substr(0, colon);
  }
  std::string_view folder =
      name.substr(0, name.size() - std::min(name.size(), image.size() + (tag.empty() ? 0 : tag.size() + 1)));
  while (folder.ends_with('/')) folder.remove_suffix(1);
  folder = folder.substr(folder.find_last_of('/') + 1);

  read_system(image, tag, base);
  if (image == "python" && !tag.starts_with("rc")) base.python = two_parts(version_at(tag));
  if (image == "uv") base.python = two_parts(version_behind(tag, "python"));
  if (image == "pytorch" && folder == "pytorch") {
    base.torch = version_at(tag);
    base.cuda = two_parts(version_behind(tag, "cuda"));
  }
  if (image == "cuda" && folder == "nvidia") base.cuda = two_parts(version_at(tag));
  return base;
}

}  // namespace flashfit::doctor::requests
