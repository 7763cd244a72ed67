#include "cli/doctor/given_text.hpp"

#include <fcntl.h>
#include <linux/magic.h>
#include <poll.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <string_view>

#include "cli/options.hpp"
#include "core/base/printable.hpp"
#include "doctor/bytes/encoding.hpp"
#include "doctor/bytes/limits.hpp"
#include "doctor/mends/mends.hpp"
#include "doctor/pasted/pasted_text.hpp"

namespace flashfit::cli {
namespace {

// One part more than is kept, so that the limit is seen by who counts lines.
constexpr std::size_t kPart = 1U << 20, kMostText = doctor::pasted::kLongestText + kPart;

/// Until there are bytes or the end. False: neither came in time.
bool wait_for_more(int descriptor, std::chrono::milliseconds most) {
  pollfd one{.fd = descriptor, .events = POLLIN, .revents = 0};
  for (;;) {
    const int ready = poll(&one, 1, static_cast<int>(most.count()));
    if (ready >= 0 || errno != EINTR) return ready != 0;
  }
}

/// The end of what the stream has: a log may be longer than memory, and a device never ends. `most`: how long it may
/// give nothing; a negative time is any.
void take_last_of(int descriptor, std::chrono::milliseconds most, GivenText& given) {
  std::string part(kPart, '\0');
  std::uint64_t left = doctor::limits::kStreamBytes.most;
  while (left > 0) {
    if (!wait_for_more(descriptor, most)) {
      given.silent = true;
      return;
    }
    const ssize_t got = read(descriptor, part.data(), static_cast<std::size_t>(std::min<std::uint64_t>(kPart, left)));
    if (got < 0 && (errno == EINTR || errno == EAGAIN)) continue;
    if (got <= 0) return;
    left -= static_cast<std::uint64_t>(got);
    given.text.append(part, 0, static_cast<std::size_t>(got));
    if (given.text.size() <= 2 * kMostText) continue;  // seldom, as what is kept moves
    const std::size_t cut = given.text.size() - kMostText;
    given.left_out += cut;
    given.text.erase(0, cut);
  }
  given.endless = true;
}

/// The end of a file, whose beginning is not read.
void take_end_of(int descriptor, std::size_t size, GivenText& given) {
  given.left_out = size - std::min(size, kMostText);
  given.text.resize(size - given.left_out);
  std::size_t have = 0;
  while (have < given.text.size()) {
    const ssize_t got = pread(descriptor, given.text.data() + have, given.text.size() - have,
                              static_cast<off_t>(given.left_out + have));
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) break;
    have += static_cast<std::size_t>(got);
  }
  given.text.resize(have);
}

/// Of a pipe without a name, such as bash's <(COMMAND), the other end is a command that may think for long.
bool is_nameless_pipe(int descriptor) {
  struct statfs system = {};
  return fstatfs(descriptor, &system) == 0 && system.f_type == PIPEFS_MAGIC;
}

bool is_like_a_path(std::string_view word) {
  return word.find_first_of(" \n") == std::string_view::npos &&
         (word.find('/') != std::string_view::npos || word.ends_with(".txt") || word.ends_with(".log"));
}

constexpr std::chrono::milliseconds kAnyTime{-1};

}  // namespace

namespace {

/// As it was given: a word, a file's end, or what a stream had.
GivenText bytes_given(const std::string& error) {
  GivenText given{.word = doctor::is_plain_path(error) && error.size() <= 200 ? doctor::shell_word(error) : "FILE"};
  if (error == "-") {
    given.word = "FILE";
    take_last_of(STDIN_FILENO, kAnyTime, given);
    return given;
  }
  std::error_code failed;
  // A name too long for a file system is no name.
  const bool there = error.size() < 4096 && std::filesystem::exists(error, failed) && !failed;
  if (!there) {
    given.text = error;
    given.looks_like_a_file = is_like_a_path(error);
    return given;
  }
  // Not blocking: opening a pipe would wait for its other end, and reading from a device for its next byte.
  const int descriptor = open(error.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);  // NOLINT(*-vararg)
  struct stat status = {};
  const bool known = descriptor >= 0 && fstat(descriptor, &status) == 0;
  const bool regular = known && S_ISREG(status.st_mode);
  if (known && !regular && !S_ISFIFO(status.st_mode) && !S_ISCHR(status.st_mode)) {
    close(descriptor);
    wrong("--error", printable(error), "must be a text, a file with one, or - for standard input");
  }
  if (!known) wrong("--error", printable(error), "cannot be read");
  // Files of /proc say that they are empty.
  if (regular && status.st_size > 0) {
    take_end_of(descriptor, static_cast<std::size_t>(status.st_size), given);
  } else {
    take_last_of(descriptor, is_nameless_pipe(descriptor) ? kAnyTime : doctor::limits::kSilence, given);
  }
  close(descriptor);
  return given;
}

}  // namespace

GivenText given_text(const std::string& error) {
  GivenText given = bytes_given(error);
  // Where the beginning was left out, so was the mark.
  if (given.left_out == 0 && doctor::has_encoding_mark(given.text)) given.text = doctor::as_utf8(given.text);
  return given;
}

}  // namespace flashfit::cli
