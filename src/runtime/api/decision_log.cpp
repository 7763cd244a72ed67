#include "runtime/api/decision_log.hpp"

#include <fmt/format.h>

#include <cstdio>
#include <mutex>
#include <string>
#include <unordered_set>

#include "runtime/api/one_line.hpp"
#include "runtime/api/settings.hpp"

namespace flashfit::api {
namespace {

/// Lengths that vary from call to call make each call distinct: past this many lines the log is closed.
constexpr std::size_t kMostLines = 1000;

/// One write a line, so that threads and processes do not mix theirs.
void write_line(const std::string& text) {
  char line[4096];
  std::size_t length = write_one_line("flashfit: " + text, line, sizeof line - 1);
  line[length++] = '\n';
  std::fwrite(line, 1, length, stderr);
}

}  // namespace

bool logging() { return settings().log; }

void log_once(std::string line) {
  static std::mutex mutex;
  static auto& written = *new std::unordered_set<std::string>;  // never freed, as the environment
  const std::lock_guard lock(mutex);
  if (written.size() > kMostLines || !written.insert(line).second) return;
  if (written.size() > kMostLines) line = fmt::format("{} distinct decisions; later ones are not logged", kMostLines);
  write_line(line);
}

void log_refusal(const char* name, const Result<void>& done) {
  if (!done && logging()) log_once(fmt::format("{}: refused: {}", name, done.error().message));
}

}  // namespace flashfit::api
