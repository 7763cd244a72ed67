#include "cli/doctor/redacted.hpp"

#include <algorithm>
#include <array>
#include <cstddef>

#include "core/base/ascii.hpp"

namespace flashfit::cli {
namespace {

constexpr std::string_view kHidden = "***";

bool is_token_char(char c) { return is_letter(c) || is_digit(c) || c == '_' || c == '-' || c == '.'; }

/// Where the word at `at` ends: at a space, a quote or what closes it.
std::size_t word_end(std::string_view text, std::size_t at) {
  return std::min(text.find_first_of(" \t\r\n\"'`<>()[]{},;&|", at), text.size());
}

/// Of the token that begins at `at` with what its maker begins tokens with; 0: none begins.
std::size_t token_at(std::string_view text, std::size_t at) {
  constexpr std::array kPrefixes = {"hf_", "ghp_",  "gho_",  "ghu_",  "ghs_", "github_pat_", "glpat-",
                                    "sk-", "pypi-", "xoxb-", "xoxp-", "AKIA", "nvapi-",      "eyJ"};
  constexpr std::size_t kShortest = 16;
  if (at > 0 && is_token_char(text[at - 1])) return 0;
  for (const std::string_view prefix : kPrefixes) {
    if (!text.substr(at).starts_with(prefix)) continue;
    std::size_t end = at;
    while (end < text.size() && is_token_char(text[end])) ++end;
    if (end - at >= kShortest) return end - at;
  }
  return 0;
}

/// Where the value of a secret's name begins: behind "HF_TOKEN=", "password: ", "--token "; 0: `at` ends no such name.
std::size_t secret_behind(std::string_view text, std::size_t at) {
  const bool ends_option = text[at] == ' ';
  if (at == 0 || (text[at] != '=' && text[at] != ':' && !ends_option) || text.substr(at).starts_with("://")) return 0;
  std::size_t begin = at;
  while (begin > 0 && is_token_char(text[begin - 1])) --begin;
  const std::string name = lower(text.substr(begin, at - begin));
  if (ends_option && !name.starts_with("--")) return 0;
  constexpr std::array kNames = {"token",   "password", "passwd",     "secret",     "api_key",
                                 "api-key", "apikey",   "access_key", "access-key", "credential"};
  if (std::none_of(kNames.begin(), kNames.end(), [&](std::string_view n) { return name.ends_with(n); })) return 0;
  std::size_t value = at + 1;
  while (value < text.size() && (text[value] == ' ' || text[value] == '"' || text[value] == '\'')) ++value;
  return value;
}

/// The length of a home folder's path at `at`, user's name included; 0: none begins there.
std::size_t home_at(std::string_view text, std::size_t at) {
  if (at > 0 && (is_token_char(text[at - 1]) || text[at - 1] == '/' || text[at - 1] == '\\')) return 0;
  const std::string_view rest = text.substr(at);
  for (const std::string_view homes : {"/home/", "/Users/", R"(C:\Users\)"}) {
    if (!rest.starts_with(homes)) continue;
    std::size_t end = homes.size();
    while (end < rest.size() && is_token_char(rest[end])) ++end;
    return end > homes.size() ? end : 0;
  }
  return 0;
}

}  // namespace

std::string redacted(std::string_view text) {
  constexpr std::string_view kScheme = "://", kBearer = "Bearer ";
  std::string out;
  out.reserve(text.size());
  for (std::size_t at = 0; at < text.size();) {
    if (text.substr(at).starts_with(kScheme)) {
      const std::size_t begin = at + kScheme.size();
      const std::size_t host_end = std::min(text.find('/', begin), word_end(text, begin));
      const std::size_t sign = text.substr(begin, host_end - begin).rfind('@');
      out += kScheme;
      if (sign != std::string_view::npos) out += kHidden;
      at = begin + (sign == std::string_view::npos ? 0 : sign);
      continue;
    }
    if (const std::size_t value = secret_behind(text, at); value != 0) {
      out += text.substr(at, value - at);
      out += kHidden;
      at = word_end(text, value);
      continue;
    }
    if (text.substr(at).starts_with(kBearer)) {
      out += kBearer;
      out += kHidden;
      at = word_end(text, at + kBearer.size());
      continue;
    }
    if (const std::size_t size = token_at(text, at); size != 0) {
      out += kHidden;
      at += size;
      continue;
    }
    if (const std::size_t size = home_at(text, at); size != 0) {
      out += '~';
      at += size;
      continue;
    }
    out += text[at++];
  }
  return out;
}

}  // namespace flashfit::cli
