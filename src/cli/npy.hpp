#pragma once
// Arrays in NumPy's format of one array a file (numpy.lib.format): what `flashfit emulate --ptx` reads and writes.
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/error.hpp"

namespace flashfit::cli {

struct NpyArray {
  std::string descr;  ///< "<f2"
  std::vector<std::int64_t> shape;
  std::vector<std::byte> bytes;  ///< rows one after another
};

/// kInvalidArgument: what is wrong with the file, without its name.
Result<NpyArray> parse_npy(std::span<const std::byte> file);
std::vector<std::byte> write_npy(std::string_view descr, std::span<const std::int64_t> shape,
                                 std::span<const std::byte> bytes);

/// At most `most` bytes; kInvalidArgument: it cannot be read, or has more.
Result<std::vector<std::byte>> read_file(const std::filesystem::path& path, std::size_t most);
Result<void> write_file(const std::filesystem::path& path, std::span<const std::byte> bytes);

}  // namespace flashfit::cli
