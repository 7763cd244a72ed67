#include "inspect/sdist.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <utility>

#include "inspect/ascii.hpp"
#include "inspect/headers.hpp"
#include "inspect/inflate.hpp"
#include "inspect/zip_member.hpp"

namespace flashfit::inspect {
namespace {

constexpr std::uint64_t kLargestText = std::uint64_t{1} << 20, kMostContent = std::uint64_t{4} << 30;
constexpr std::size_t kBlock = 512, kBuffer = std::size_t{256} << 10;

/// The name without the first folder; "" where the file lies deeper or not in one.
std::string_view top_name(std::string_view name) {
  const std::size_t slash = name.find('/');
  if (slash == std::string_view::npos) return {};
  name.remove_prefix(slash + 1);
  return name.find('/') == std::string_view::npos ? name : std::string_view{};
}

bool is_wanted_text(std::string_view name) {
  const std::string_view top = top_name(name);
  return top == "PKG-INFO" || top == "pyproject.toml" || top == "setup.py";
}

/// The strings of `requires = [...]` in [build-system]: as much of TOML as such lists use.
std::vector<std::string> build_requires(std::string_view toml) {
  std::vector<std::string> out;
  std::size_t at = toml.find("[build-system]");
  if (at == std::string_view::npos) return out;
  std::string_view section = toml.substr(at + 1);
  section = section.substr(0, section.find("\n["));
  at = section.find("requires");
  if (at != std::string_view::npos) at = section.find('[', at);
  if (at == std::string_view::npos) return out;
  for (++at; at < section.size() && section[at] != ']'; ++at) {
    const char quote = section[at];
    if (quote == '#') at = std::min(section.find('\n', at), section.size() - 1);
    if (quote != '"' && quote != '\'') continue;
    const std::size_t end = section.find(quote, at + 1);
    if (end == std::string_view::npos) break;
    if (out.size() < 100) out.emplace_back(section.substr(at + 1, end - at - 1));
    at = end;
  }
  return out;
}

void take_text(std::string_view name, std::string_view text, Target& target) {
  const std::string_view top = top_name(name);
  if (top == "PKG-INFO") target.metadata = text.substr(0, std::min(text.find("\n\n"), kLargestHeaders));
  if (top == "pyproject.toml") target.build_requires = build_requires(text);
  if (text.find("torch.utils.cpp_extension") != std::string_view::npos) target.uses_torch = true;
}

void take_name(std::string_view name, Target& target) {
  ++target.files;
  if (name.ends_with(".cu") || name.ends_with(".cuh")) ++target.cuda_sources;
  if (name.ends_with(".cpp") || name.ends_with(".cc") || name.ends_with(".c") || name.ends_with(".cxx"))
    ++target.cpp_sources;
}

/// The members of a tar archive as its bytes come: names of all, texts of those wanted.
class TarReader {
 public:
  explicit TarReader(Target& target) : target_(target) {}
  bool sound() const { return sound_; }

  void feed(Bytes chunk) {
    while (!chunk.empty() && !ended_) {
      const auto taken = std::min<std::uint64_t>(chunk.size(), left_);
      const Bytes piece = chunk.first(static_cast<std::size_t>(taken));
      if (state_ == State::kHeader || keep_) held_.append(as_text(piece));
      chunk = chunk.subspan(piece.size());
      left_ -= taken;
      if (left_ == 0) next();
    }
  }

 private:
  enum class State { kHeader, kContent, kPadding };

  void next() {
    if (state_ == State::kHeader) {
      open(std::exchange(held_, {}));
    } else if (state_ == State::kContent) {
      if (keep_) take(std::exchange(held_, {}));
      keep_ = false;
      state_ = State::kPadding;
      left_ = (kBlock - size_ % kBlock) % kBlock;
      if (left_ == 0) next();
    } else {
      state_ = State::kHeader;
      left_ = kBlock;
    }
  }

  void open(const std::string& header) {
    if (std::all_of(header.begin(), header.end(), [](char c) { return c == 0; })) {
      ended_ = true;
      return;
    }
    const std::string_view text = header;
    if (text.substr(257, 5) != "ustar") {
      ended_ = true;
      return;
    }
    sound_ = true;
    const std::string_view digits = trimmed(text.substr(124, 12).substr(0, text.substr(124, 12).find('\0')));
    std::uint64_t size = 0;
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), size, 8);
    if (error != std::errc() || size > kMostContent) {
      target_.errors.emplace_back("malformed: size of a tar member");
      ended_ = true;
      return;
    }
    type_ = header[156];
    const auto field = [&](std::size_t at, std::size_t length) {
      const std::string_view f = text.substr(at, length);
      return std::string(f.substr(0, f.find('\0')));
    };
    const std::string prefix = field(345, 155);
    name_ = long_name_.empty() ? (prefix.empty() ? "" : prefix + "/") + field(0, 100) : std::exchange(long_name_, {});
    const bool file = type_ == '0' || type_ == 0;
    if (file) take_name(name_, target_);
    keep_ = size <= kLargestText && ((file && is_wanted_text(name_)) || type_ == 'L' || type_ == 'x');
    size_ = left_ = size;
    state_ = State::kContent;
    if (left_ == 0) next();
  }

  void take(const std::string& content) {
    if (type_ == 'L') {
      long_name_ = content.substr(0, content.find('\0'));
    } else if (type_ == 'x') {  // "NN path=NAME\n"
      const std::size_t at = content.find(" path=");
      if (at != std::string::npos) long_name_ = content.substr(at + 6, content.find('\n', at) - at - 6);
    } else {
      take_text(name_, content, target_);
    }
  }

  Target& target_;
  State state_ = State::kHeader;
  std::uint64_t left_ = kBlock, size_ = 0;
  std::string held_, name_, long_name_;
  char type_ = 0;
  bool keep_ = false, ended_ = false, sound_ = false;
};

/// The length of gzip's header, or 0 where it is no header (RFC 1952).
std::size_t gzip_header(Bytes head) {
  Reader reader(head);
  const std::uint16_t magic = reader.u16();
  const std::uint8_t method = reader.u8(), flags = reader.u8();
  reader.skip(6);
  if (magic != 0x8b1f || method != 8) return 0;
  if ((flags & 4) != 0) reader.skip(reader.u16());
  for (const std::uint8_t text : {8, 16}) {
    if ((flags & text) == 0) continue;
    while (reader.ok() && reader.u8() != 0) {
    }
  }
  if ((flags & 2) != 0) reader.skip(2);
  return reader.ok() ? static_cast<std::size_t>(reader.at()) : 0;
}

/// Inflates the file's one gzip stream into the reader.
Result<void> read_gzip(const Source& file, std::size_t header, TarReader& tar) {
  Inflater inflater;
  std::vector<std::byte> input(kBuffer), output(kBuffer);
  std::uint64_t produced = 0;
  for (std::uint64_t at = header; at < file.size();) {
    const auto chunk =
        std::span(input).first(static_cast<std::size_t>(std::min<std::uint64_t>(kBuffer, file.size() - at)));
    if (!file.read(at, chunk)) return malformed("file cut short while it was read", at);
    for (Bytes pending = chunk;;) {
      const auto step = inflater.step(pending, output);
      if (!step) return malformed("gzip stream", at);
      pending = pending.subspan(step->consumed);
      tar.feed(Bytes(output).first(step->produced));
      produced += step->produced;
      if (produced > kMostContent) return beyond("content of a gzip stream", kMostContent, at);
      if (step->done) return {};
      if (step->produced == 0 && (pending.empty() || step->consumed == 0)) break;
    }
    at += chunk.size();
  }
  return malformed("gzip stream cut short", file.size());
}

}  // namespace

bool is_gzip(Bytes head) { return Reader(head).u16() == 0x8b1f; }

bool is_sdist(const std::vector<ZipMember>& members) {
  return std::any_of(members.begin(), members.end(), [](const ZipMember& m) { return is_wanted_text(m.name); });
}

void read_zip_sdist(const Source& zip, const std::vector<ZipMember>& members, Target& target) {
  target.files = 0;
  for (const ZipMember& member : members) {
    if (member.name.ends_with('/')) continue;
    take_name(member.name, target);
    if (!is_wanted_text(member.name)) continue;
    const auto text = read_member(zip, member, kLargestText);
    if (text) {
      take_text(member.name, as_text(*text), target);
    } else {
      target.errors.push_back(text.error().message);
    }
  }
}

void read_tar_sdist(const Source& file, Target& target) {
  const auto head = read_part(file, 0, std::min<std::uint64_t>(file.size(), 65536), 65536, "head");
  const std::size_t header = head ? gzip_header(*head) : 0;
  if (header == 0) {
    target.errors.emplace_back("malformed: gzip header at 0");
    return;
  }
  target.files = 0;
  TarReader tar(target);
  const auto read = read_gzip(file, header, tar);
  if (!read) target.errors.push_back(read.error().message);
  if (tar.sound() && (!target.metadata.empty() || !target.build_requires.empty() || target.uses_torch))
    target.kind = TargetKind::kSdist;
}

}  // namespace flashfit::inspect
