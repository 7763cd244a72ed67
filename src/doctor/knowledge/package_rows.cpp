#include "doctor/knowledge/package_rows.hpp"

#include <algorithm>

#include "doctor/knowledge/data.hpp"

namespace flashfit::doctor {
namespace {

Knowledge to_row(const PackageRow& texts) {
  const auto text = [&](const char* key) -> std::string_view {
    const auto found = texts.find(key);
    return found == texts.end() ? std::string_view() : found->second;
  };
  const auto& kinds = kPackageKinds;
  const auto kind = std::find(kinds.begin(), kinds.end(), text("kind")) - kinds.begin();
  return {.kind = static_cast<Knowledge::Kind>(kind),
          .package = text("package"),
          .versions = text("versions"),
          .files = text("files"),
          .gpus = text("gpus"),
          .other = text("other"),
          .index = text("index"),
          .cudas = text("cudas"),
          .says = text("says"),
          .fix = text("fix"),
          .checked = text("checked"),
          .source = text("source")};
}

}  // namespace

std::span<const Knowledge> knowledge() {
  // The texts stay where they are: a user's file is taken before anything asks.
  static const std::vector<Knowledge> rows = [] {
    std::vector<Knowledge> made;
    for (const PackageRow& texts : knowledge_data().packages) made.push_back(to_row(texts));
    return made;
  }();
  return rows;
}

}  // namespace flashfit::doctor
