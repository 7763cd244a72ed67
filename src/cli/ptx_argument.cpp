#include "cli/ptx_argument.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <bit>
#include <charconv>
#include <cmath>
#include <cstring>
#include <optional>
#include <string_view>

#include "cli/npy.hpp"
#include "cli/options.hpp"
#include "core/base/ascii.hpp"
#include "core/base/half.hpp"
#include "core/base/printable.hpp"
#include "proof/reference/tensors.hpp"

namespace flashfit::cli {
namespace {

using Kind = ElementType::Kind;
constexpr ElementType kTypes[] = {
    {"fp16", "<f2", 2, Kind::kFloat},   {"bf16", "<u2", 2, Kind::kFloat},   {"fp32", "<f4", 4, Kind::kFloat},
    {"fp64", "<f8", 8, Kind::kFloat},   {"s8", "|i1", 1, Kind::kSigned},    {"u8", "|u1", 1, Kind::kUnsigned},
    {"s16", "<i2", 2, Kind::kSigned},   {"u16", "<u2", 2, Kind::kUnsigned}, {"s32", "<i4", 4, Kind::kSigned},
    {"u32", "<u4", 4, Kind::kUnsigned}, {"s64", "<i8", 8, Kind::kSigned},   {"u64", "<u8", 8, Kind::kUnsigned}};
constexpr std::string_view kNames = "fp16, bf16, fp32, fp64, s8, u8, s16, u16, s32, u32, s64 or u64";
constexpr const char* kForm =
    "must be a number, TYPE:NUMBER, [in:|out:|inout:]TYPE[N,N,...], @FILE.npy, bytes@FILE or (VALUE, VALUE, ...); see "
    "flashfit emulate --help";

/// Of all tensors together.
constexpr std::size_t kMostBytes = std::size_t{1} << 30;
constexpr std::size_t kAlignment = 256;  // the driver's
constexpr std::byte kUnwritten{0xff};
constexpr double kMostInteger = 99;  // random integers are 0 .. 99

const ElementType* type_of(std::string_view name) {
  const auto* const found = std::ranges::find_if(kTypes, [name](const ElementType& t) { return t.name == name; });
  return found == std::end(kTypes) ? nullptr : found;
}

std::optional<double> number_of(std::string_view text) {
  double value = 0;
  if (text.starts_with('+')) text.remove_prefix(1);
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return value;
}
std::optional<std::uint64_t> integer_of(std::string_view text) {
  std::uint64_t value = 0;
  const bool negative = text.starts_with('-');
  if (negative) text.remove_prefix(1);
  const bool hexadecimal = text.starts_with("0x");
  if (hexadecimal) text.remove_prefix(2);
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value, hexadecimal ? 16 : 10);
  if (error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return negative ? ~value + 1 : value;
}

/// The number's bytes as that type; what is no integer becomes the nearest towards 0.
void put(const ElementType& type, double value, std::byte* to) {
  if (type.kind != Kind::kFloat) {
    const auto integer = static_cast<std::int64_t>(std::clamp(value, -0x1p63, 0x1.fffffffffffffp62));
    std::memcpy(to, &integer, type.bytes);
  } else if (type.bytes == 8) {
    std::memcpy(to, &value, 8);
  } else if (type.bytes == 4) {
    const auto x = static_cast<float>(value);
    std::memcpy(to, &x, 4);
  } else {
    const std::uint16_t x = std::string_view(type.name) == "bf16" ? from_float<bf16>(static_cast<float>(value)).bits
                                                                  : from_float<f16>(static_cast<float>(value)).bits;
    std::memcpy(to, &x, 2);
  }
}

std::string_view trimmed(std::string_view text) {
  while (!text.empty() && text.front() == ' ') text.remove_prefix(1);
  while (!text.empty() && text.back() == ' ') text.remove_suffix(1);
  return text;
}

}  // namespace

PtxTensor::PtxTensor(std::string name, const ElementType& type, std::vector<std::int64_t> shape, bool readable,
                     bool writable, Fill fill)
    : name_(std::move(name)),
      type_(&type),
      shape_(std::move(shape)),
      readable_(readable),
      writable_(writable),
      fill_(std::move(fill)) {
  for (const std::int64_t size : shape_) elements_ *= static_cast<std::size_t>(size);
  storage_.reset(new std::byte[elements_ * type.bytes + kAlignment]);
  const auto address = reinterpret_cast<std::uintptr_t>(storage_.get());
  data_ = storage_.get() + (kAlignment - address % kAlignment) % kAlignment;
}

std::string PtxTensor::in_words() const { return fmt::format("{}[{}]", type_->name, fmt::join(shape_, ",")); }

bool PtxTensor::is_unwritten(std::size_t i) const {
  const std::byte* const from = data_ + i * type_->bytes;
  return !readable_ && std::all_of(from, from + type_->bytes, [](std::byte b) { return b == kUnwritten; });
}

double PtxTensor::at(std::size_t i) const {
  const std::byte* const from = data_ + i * type_->bytes;
  std::uint64_t bits = 0;
  std::memcpy(&bits, from, type_->bytes);
  switch (type_->kind) {
    case Kind::kUnsigned:
      return static_cast<double>(bits);
    case Kind::kSigned: {
      const int unused = static_cast<int>(64 - type_->bytes * 8);
      return static_cast<double>(static_cast<std::int64_t>(bits << unused) >> unused);
    }
    case Kind::kFloat:
      break;
  }
  if (type_->bytes == 8) return std::bit_cast<double>(bits);
  if (type_->bytes == 4) return std::bit_cast<float>(static_cast<std::uint32_t>(bits));
  const auto half = static_cast<std::uint16_t>(bits);
  return std::string_view(type_->name) == "bf16" ? to_float(bf16{half}) : to_float(f16{half});
}

void PtxTensor::fill(std::uint64_t seed) {
  reference::Random random(seed);
  const auto each = [&](auto number) {
    for (std::size_t i = 0; i < elements_; ++i) put(*type_, number(), data_ + i * type_->bytes);
  };
  const bool is_float = type_->kind == Kind::kFloat;
  switch (fill_.kind) {
    case Fill::Kind::kFile:
      std::copy(fill_.bytes.begin(), fill_.bytes.end(), data_);
      return;
    case Fill::Kind::kNothing:
      std::fill_n(data_, elements_ * type_->bytes, kUnwritten);
      return;
    case Fill::Kind::kUniform:
      return each([&] {
        const double width = fill_.high - fill_.low;
        return is_float ? fill_.low + width * random.uniform() : fill_.low + std::floor(random.uniform() * (width + 1));
      });
    case Fill::Kind::kRandom:
      return each([&] { return is_float ? random.normal() : std::floor(random.uniform() * (kMostInteger + 1)); });
  }
}

/// Reads one argument's text after another.
class PtxArguments::Reader {
 public:
  Reader(PtxArguments& all, std::string option) : all_(all), option_(std::move(option)) {}

  void read(const ptx::Variable& declared, const std::string& text) {
    text_ = text;
    name_ = printable(declared.name, 60);
    std::string_view value = text;
    // "name=..." names a tensor; "fp16[4]=0" does not.
    if (const std::size_t sign = value.find('='); sign != std::string_view::npos && is_name(value.substr(0, sign))) {
      name_ = value.substr(0, sign);
      value.remove_prefix(sign + 1);
    }
    value = trimmed(value);
    if (value.starts_with("bytes@")) return by_value(declared, file(value.substr(6)));
    if (value.starts_with('(')) return by_value(declared, members(value));
    if (const auto bytes = scalar(declared.type.substr(1), declared.is_array ? 0 : declared.bytes, value))
      return by_value(declared, *bytes);
    by_value(declared, typed(value, name_));
  }

 private:
  [[noreturn]] void refuse(const std::string& must) const { wrong(option_, printable(text_, 200), must); }

  static bool is_name(std::string_view text) {
    return !text.empty() && !is_digit(text[0]) &&
           std::ranges::all_of(text, [](char c) { return is_alnum(c) || c == '_' || c == '.' || c == '$'; });
  }

  void by_value(const ptx::Variable& declared, const std::vector<std::byte>& bytes) {
    if (bytes.size() != declared.bytes)
      refuse(fmt::format("is {} bytes, and '{}' is declared {} of {}", bytes.size(), printable(declared.name, 60),
                         printable(declared.type, 20), declared.bytes));
    std::ranges::copy(bytes, all_.bytes_.begin() + static_cast<std::ptrdiff_t>(declared.offset));
  }

  /// A number alone, of the type that is declared: "f32", "u64".
  std::optional<std::vector<std::byte>> scalar(std::string_view type, std::size_t bytes, std::string_view text) const {
    const auto number = number_of(text);
    const auto integer = integer_of(text);
    if (!number && !integer) return std::nullopt;
    if (bytes == 0) refuse("a number where an argument of several bytes by value is declared");
    std::vector<std::byte> value(bytes);
    // What is declared as bits alone is a float if it is written as one.
    const bool is_float = type.starts_with('f') || (type.starts_with('b') && !integer);
    if (!is_float && !integer) refuse(fmt::format("must be a whole number: '.{}' is declared", type));
    if (is_float && bytes >= 4) {
      put(*type_of(bytes == 8 ? "fp64" : "fp32"), *number, value.data());
    } else if (is_float) {
      refuse("a float of 2 bytes is given as fp16:X or bf16:X");
    } else {
      const std::uint64_t bits = *integer;
      const bool fits = bytes == 8 || bits >> (bytes * 8) == 0 ||
                        (text.starts_with('-') && static_cast<std::int64_t>(bits) >> (bytes * 8 - 1) == -1);
      if (!fits) refuse(fmt::format("does not fit into {} bytes", bytes));
      std::memcpy(value.data(), &bits, bytes);
    }
    return value;
  }

  /// "(in:fp16[4,4], s32:5)": as a struct of C has them.
  std::vector<std::byte> members(std::string_view text) {
    if (!text.ends_with(')')) refuse("'(' without ')' at the end");
    text = text.substr(1, text.size() - 2);
    std::vector<std::byte> all;
    std::size_t alignment = 1;
    for (int number = 0; !text.empty(); ++number) {
      int depth = 0;
      std::size_t end = 0;
      for (; end < text.size() && (depth != 0 || text[end] != ','); ++end)
        depth += text[end] == '[' ? 1 : text[end] == ']' ? -1 : 0;
      const std::vector<std::byte> member = typed(trimmed(text.substr(0, end)), fmt::format("{}.{}", name_, number));
      all.resize((all.size() + member.size() - 1) / member.size() * member.size());
      alignment = std::max(alignment, member.size());
      all.insert(all.end(), member.begin(), member.end());
      text.remove_prefix(std::min(end + 1, text.size()));
    }
    all.resize((all.size() + alignment - 1) / alignment * alignment);
    return all;
  }

  /// "s32:5", or a tensor, of which the address is the value.
  std::vector<std::byte> typed(std::string_view text, const std::string& name) {
    const std::size_t colon = text.find(':');
    if (colon != std::string_view::npos)
      if (const ElementType* type = type_of(text.substr(0, colon))) {
        const std::string_view number = text.substr(colon + 1);
        if (type->kind != Kind::kFloat)
          if (const auto bytes = scalar("s", type->bytes, number)) return *bytes;
        const auto value = number_of(number);
        if (!value || type->kind != Kind::kFloat) refuse(fmt::format("'{}' is no number of {}", number, type->name));
        std::vector<std::byte> bytes(type->bytes);
        put(*type, *value, bytes.data());
        return bytes;
      }
    bool readable = true, writable = false;
    for (const auto& [word, reads, writes] :
         {std::tuple{"in:", true, false}, {"out:", false, true}, {"inout:", true, true}})
      if (text.starts_with(word)) {
        readable = reads;
        writable = writes;
        text.remove_prefix(std::string_view(word).size());
        break;
      }
    PtxTensor& tensor = text.starts_with('@') ? npy_tensor(name, text.substr(1), readable, writable)
                                              : shaped_tensor(name, text, readable, writable);
    const auto address = reinterpret_cast<std::uint64_t>(tensor.bytes().data());
    std::vector<std::byte> bytes(sizeof address);
    std::memcpy(bytes.data(), &address, sizeof address);
    return bytes;
  }

  PtxTensor& npy_tensor(const std::string& name, std::string_view path, bool readable, bool writable) {
    if (!readable) refuse("an 'out' begins with nothing: give its TYPE[N,...]");
    const std::vector<std::byte> bytes = file(path);
    Result<NpyArray> array = parse_npy(bytes);
    if (!array) refuse(array.error().message);
    const auto* const type =
        std::ranges::find_if(kTypes, [&](const ElementType& t) { return t.descr == array->descr; });
    if (type == std::end(kTypes))
      refuse(fmt::format("holds '{}', which is none of {}", printable(array->descr, 20), kNames));
    const bool is_u2 = std::string_view(type->name) == "bf16";  // NumPy has no bf16: its bits come as u16
    return add(name, is_u2 ? *type_of("u16") : *type, std::move(array->shape), readable, writable,
               {Fill::Kind::kFile, 0, 0, std::move(array->bytes)});
  }

  /// "fp16[4,128]", and what it holds: "=0", "=-1..1", "@FILE".
  PtxTensor& shaped_tensor(const std::string& name, std::string_view text, bool readable, bool writable) {
    const std::size_t open = text.find('['), close = text.find(']');
    if (open == std::string_view::npos || close == std::string_view::npos || close < open) refuse(kForm);
    const ElementType* const type = type_of(text.substr(0, open));
    if (type == nullptr) refuse(fmt::format("'{}' is none of {}", printable(text.substr(0, open), 20), kNames));
    std::vector<std::int64_t> shape;
    for (std::string_view sizes = text.substr(open + 1, close - open - 1); !sizes.empty();) {
      const std::size_t end = std::min(sizes.find(','), sizes.size());
      const auto size = whole_number(trimmed(sizes.substr(0, end)), 0, std::int64_t{1} << 32);
      if (!size) refuse("sizes are whole numbers from 0 to 2^32, with commas between");
      shape.push_back(*size);
      sizes.remove_prefix(std::min(end + 1, sizes.size()));
    }
    const std::string_view rest = text.substr(close + 1);
    Fill fill;
    if (!readable) fill.kind = Fill::Kind::kNothing;
    if (!rest.empty()) {
      if (!readable) refuse("an 'out' begins with nothing: 'inout' holds something");
      if (rest[0] == '@') {
        fill = {Fill::Kind::kFile, 0, 0, file(rest.substr(1))};
      } else {
        const std::size_t dots = rest.find("..");
        const auto low =
            rest[0] == '=' ? number_of(rest.substr(1, dots == std::string_view::npos ? dots : dots - 1)) : std::nullopt;
        const auto high = dots == std::string_view::npos ? low : number_of(rest.substr(dots + 2));
        if (!low || !high || !(*low <= *high)) refuse("after TYPE[N,...] come =NUMBER, =LOW..HIGH or @FILE");
        fill = {Fill::Kind::kUniform, *low, *high, {}};
      }
    }
    return add(name, *type, std::move(shape), readable, writable, std::move(fill));
  }

  PtxTensor& add(const std::string& name, const ElementType& type, std::vector<std::int64_t> shape, bool readable,
                 bool writable, Fill fill) {
    // Sizes are at most 2^32 each: a product that has passed the limit is held there, so that none overflows; a 0 makes
    // nothing of them all.
    std::size_t bytes = type.bytes;
    for (const std::int64_t size : shape) bytes = std::min(bytes, kMostBytes + 1) * static_cast<std::size_t>(size);
    if (bytes > kMostBytes - all_.tensor_bytes_) refuse("more than 1 GiB of tensors");
    all_.tensor_bytes_ += bytes;
    if (fill.kind == Fill::Kind::kFile && fill.bytes.size() != bytes)
      refuse(fmt::format("the file has {} bytes of numbers, and {}[{}] is {}", fill.bytes.size(), type.name,
                         fmt::join(shape, ","), bytes));
    return all_.tensors_.emplace_back(name, type, std::move(shape), readable, writable, std::move(fill));
  }

  std::vector<std::byte> file(std::string_view path) const {
    Result<std::vector<std::byte>> bytes = read_file(std::string(path), kMostBytes);
    if (!bytes) refuse(fmt::format("{}: {}", printable(path, 200), bytes.error().message));
    return std::move(*bytes);
  }

  PtxArguments& all_;
  const std::string option_;
  std::string text_, name_;
};

PtxArguments::PtxArguments(const ptx::Entry& entry, const std::vector<std::string>& texts) {
  if (texts.size() != entry.params.size()) {
    std::vector<std::string> names;
    for (const ptx::Variable& p : entry.params)
      names.push_back(fmt::format("{} {}", printable(p.type, 20), printable(p.name, 60)));
    wrong(fmt::format("--arg is given {} times, and '{}' takes {} arguments: {}", texts.size(),
                      printable(entry.name, 100), names.size(),
                      names.empty() ? "none" : fmt::format("{}", fmt::join(names, ", "))));
  }
  bytes_.resize(entry.param_bytes);
  Reader reader(*this, "--arg");
  for (std::size_t i = 0; i < texts.size(); ++i) reader.read(entry.params[i], texts[i]);
}

void PtxArguments::fill(std::uint64_t seed) {
  for (std::size_t i = 0; i < tensors_.size(); ++i) tensors_[i].fill(seed * 0x9e3779b97f4a7c15 + i);
}

emu::Memory PtxArguments::memory() {
  emu::Memory memory;
  for (PtxTensor& t : tensors_)
    if (t.writable())
      memory.writable(t.name(), t.bytes().data(), t.bytes().size());
    else
      memory.read_only(t.name(), t.bytes().data(), t.bytes().size());
  return memory;
}

}  // namespace flashfit::cli
