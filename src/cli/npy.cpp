#include "cli/npy.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstdio>
#include <cstring>
#include <memory>

namespace flashfit::cli {
namespace {

constexpr std::string_view kMagic = "\x93NUMPY";
constexpr std::size_t kMostHeader = 1 << 16, kMostDimensions = 32;
constexpr std::int64_t kMostElements = std::int64_t{1} << 40;

/// What follows "'KEY':" in the header's dictionary, blanks left out; "" if it has no such key.
std::string_view value_of(std::string_view header, std::string_view key) {
  const std::size_t at = header.find(fmt::format("'{}':", key));
  if (at == std::string_view::npos) return {};
  header.remove_prefix(at + key.size() + 3);
  return header.substr(std::min(header.find_first_not_of(' '), header.size()));
}

/// "(4, 128)"; false: it is no such list.
bool parse_shape(std::string_view text, std::vector<std::int64_t>& shape) {
  if (!text.starts_with('(')) return false;
  text.remove_prefix(1);
  std::int64_t elements = 1;
  while (true) {
    text.remove_prefix(std::min(text.find_first_not_of(", "), text.size()));
    if (text.starts_with(')')) return true;
    std::int64_t size = -1;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), size);
    if (error != std::errc{} || size < 0 || shape.size() == kMostDimensions) return false;
    if (size != 0 && elements > kMostElements / size) return false;
    elements *= size;
    shape.push_back(size);
    text.remove_prefix(static_cast<std::size_t>(end - text.data()));
  }
}

struct Closed {
  void operator()(std::FILE* f) const { std::fclose(f); }
};
using File = std::unique_ptr<std::FILE, Closed>;

}  // namespace

Result<NpyArray> parse_npy(std::span<const std::byte> file) {
  const std::string_view text(reinterpret_cast<const char*>(file.data()), file.size());
  const auto no = [](const char* why) { return fail(Code::kInvalidArgument, why); };
  if (!text.starts_with(kMagic) || text.size() < 12) return no("is no .npy file");
  const std::size_t words = text[6] == 1 ? 2 : 4;  // bytes of the header's length
  std::size_t length = 0;
  for (std::size_t i = 0; i < words; ++i)
    length |= static_cast<std::size_t>(static_cast<unsigned char>(text[8 + i])) << 8 * i;
  if (length > kMostHeader || text.size() < 8 + words + length) return no("has a header that is cut off");
  const std::string_view header = text.substr(8 + words, length);
  NpyArray array;
  const std::string_view descr = value_of(header, "descr");
  const std::size_t quote = descr.starts_with('\'') ? descr.find('\'', 1) : std::string_view::npos;
  if (quote == std::string_view::npos) return no("has no 'descr' of a plain type");
  array.descr = descr.substr(1, quote - 1);
  if (!value_of(header, "fortran_order").starts_with("False"))
    return no("holds its columns, not its rows, one after another");
  if (!parse_shape(value_of(header, "shape"), array.shape)) return no("has no 'shape' that is taken");
  const auto data = file.subspan(8 + words + length);
  array.bytes.assign(data.begin(), data.end());
  return array;
}

std::vector<std::byte> write_npy(std::string_view descr, std::span<const std::int64_t> shape,
                                 std::span<const std::byte> bytes) {
  std::string header = fmt::format("{{'descr': '{}', 'fortran_order': False, 'shape': ({}{}), }}", descr,
                                   fmt::join(shape, ", "), shape.size() == 1 ? "," : "");
  header.append(64 - (10 + header.size() + 1) % 64, ' ');
  header += '\n';
  std::string start(kMagic);
  start += {'\1', '\0', static_cast<char>(header.size() & 0xff), static_cast<char>(header.size() >> 8)};
  start += header;
  const auto all = std::as_bytes(std::span(start));
  std::vector<std::byte> file(all.begin(), all.end());
  file.insert(file.end(), bytes.begin(), bytes.end());
  return file;
}

Result<std::vector<std::byte>> read_file(const std::filesystem::path& path, std::size_t most) {
  // What is no plain file may have no end, or nobody who writes it.
  if (std::error_code error; std::filesystem::exists(path, error) && !std::filesystem::is_regular_file(path, error))
    return fail(Code::kInvalidArgument, "is no plain file");
  const File file(std::fopen(path.c_str(), "rb"));
  if (file == nullptr) return fail(Code::kInvalidArgument, std::strerror(errno));
  std::vector<std::byte> bytes;
  constexpr std::size_t kPart = 1 << 20;
  while (true) {
    const std::size_t had = bytes.size();
    bytes.resize(had + kPart);
    const std::size_t got = std::fread(bytes.data() + had, 1, kPart, file.get());
    bytes.resize(had + got);
    if (bytes.size() > most) return fail(Code::kInvalidArgument, fmt::format("has more than {} bytes", most));
    if (got < kPart) break;
  }
  if (std::ferror(file.get()) != 0) return fail(Code::kInvalidArgument, std::strerror(errno));
  return bytes;
}

Result<void> write_file(const std::filesystem::path& path, std::span<const std::byte> bytes) {
  File file(std::fopen(path.c_str(), "wb"));
  const bool written = file != nullptr && std::fwrite(bytes.data(), 1, bytes.size(), file.get()) == bytes.size();
  if (!written || std::fclose(file.release()) != 0) return fail(Code::kInvalidArgument, std::strerror(errno));
  return {};
}

}  // namespace flashfit::cli
