#include "runtime/images/build/cache.hpp"

#include <fmt/format.h>
#include <unistd.h>
#include <xxhash.h>

#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>

namespace flashfit {
namespace {

// A file is one line of JSON, then the image.
std::string checksum(const std::vector<std::byte>& bytes) {
  return fmt::format("{:016x}", XXH3_64bits(bytes.data(), bytes.size()));
}

}  // namespace

std::optional<CachedImage> ImageCache::get(const std::string& key) const {
  std::ifstream in(folder_ / key, std::ios::binary);
  std::string line;
  if (!in || !std::getline(in, line)) return std::nullopt;
  std::ostringstream rest;
  rest << in.rdbuf();
  const std::string text = rest.str();
  CachedImage image;
  image.bytes.resize(text.size());
  std::copy(text.begin(), text.end(), reinterpret_cast<char*>(image.bytes.data()));
  try {
    const nlohmann::json j = nlohmann::json::parse(line);
    if (j.at("checksum") != checksum(image.bytes)) return std::nullopt;
    image.entry = j.at("entry");
    image.resources = {.registers = j.at("registers"),
                       .stack_bytes = j.at("stack"),
                       .spill_store_bytes = j.at("spill_stores"),
                       .spill_load_bytes = j.at("spill_loads")};
  } catch (const nlohmann::json::exception&) {
    return std::nullopt;
  }
  return image;
}

Result<void> ImageCache::put(const std::string& key, const CachedImage& image) const {
  std::error_code error;
  std::filesystem::create_directories(folder_, error);
  const nlohmann::json j = {{"checksum", checksum(image.bytes)},
                            {"entry", image.entry},
                            {"registers", image.resources.registers},
                            {"stack", image.resources.stack_bytes},
                            {"spill_stores", image.resources.spill_store_bytes},
                            {"spill_loads", image.resources.spill_load_bytes}};
  const std::filesystem::path aside = folder_ / fmt::format("{}.{}", key, getpid());
  std::ofstream out(aside, std::ios::binary);
  out << j.dump() << '\n';
  out.write(reinterpret_cast<const char*>(image.bytes.data()), static_cast<std::streamsize>(image.bytes.size()));
  out.close();
  if (out) std::filesystem::rename(aside, folder_ / key, error);
  if (!out || error)
    return fail(Code::kInvalidArgument, fmt::format("--cache {}: cannot be written", folder_.string()));
  return {};
}

}  // namespace flashfit
