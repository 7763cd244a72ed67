#include "doctor/dynamic_loader/load_faults.hpp"

#include <algorithm>

namespace flashfit::doctor::dynamic_loader {
namespace {

constexpr GlibcVersion kRefusesStacks = {2, 41};

/// As the loader looks: the C library's own check names a library by what it was asked for as.
int provider_of(const LoadPlan& plan, const std::string& library, const LoadedObject& by) {
  const int provider = plan.find(library);
  if (provider != kNobody || !by.dropped) return provider;
  // What a failed dlopen brought answered its own objects.
  for (std::size_t i = 0; i < plan.objects.size(); ++i) {
    const LoadedObject& object = plan.objects[i];
    if (object.dropped && (object.found.object->dynamic.soname == library ||
                           std::find(object.names.begin(), object.names.end(), library) != object.names.end()))
      return static_cast<int>(i);
  }
  return kNobody;
}

}  // namespace

std::vector<MissingVersion> missing_versions(const LoadPlan& plan, std::size_t first) {
  std::vector<MissingVersion> missing;
  for (std::size_t i = first; i < plan.objects.size(); ++i) {
    const LoadedObject& object = plan.objects[i];
    for (const VersionWanted& wanted : object.found.object->wanted) {
      if (wanted.weak) continue;
      const int provider = provider_of(plan, wanted.library, object);
      if (provider == kNobody) continue;
      const auto& has = plan.objects[static_cast<std::size_t>(provider)].found.object->versions;
      if (!has.empty() && std::find(has.begin(), has.end(), wanted.version) == has.end())
        missing.push_back({static_cast<int>(i), provider, wanted.version});
    }
  }
  return missing;
}

std::vector<MissingSymbol> missing_symbols(const LoadPlan& plan, std::size_t first) {
  const auto has = [](const LoadedObject& object, const std::string& symbol) {
    const auto& symbols = object.found.object->symbols;
    return std::binary_search(symbols.begin(), symbols.end(), symbol);
  };
  std::vector<MissingSymbol> missing;
  for (std::size_t i = first; i < plan.objects.size(); ++i) {
    const LoadedObject& object = plan.objects[i];
    for (const SymbolWanted& wanted : object.found.object->symbols_wanted) {
      const int provider = provider_of(plan, wanted.library, object);
      if (provider == kNobody) continue;
      const LoadedObject& library = plan.objects[static_cast<std::size_t>(provider)];
      // A library without versions answers for all, and is not asked.
      if (library.found.object->symbols.empty() || has(library, wanted.symbol)) continue;
      if (std::none_of(plan.objects.begin(), plan.objects.end(), [&](auto& o) { return has(o, wanted.symbol); }))
        missing.push_back({static_cast<int>(i), provider, wanted.symbol});
    }
  }
  return missing;
}

std::optional<bool> refuses_stack(const LoadPlan& plan, const LoadedObject& object) {
  if (!object.found.object->executable_stack || !object.late || plan.execstack_tunable) return false;
  if (plan.c_library.version == GlibcVersion{}) return std::nullopt;
  return plan.c_library.version >= kRefusesStacks;
}

bool any_fault(const LoadPlan& plan, std::size_t first) {
  for (std::size_t i = first; i < plan.objects.size(); ++i)
    if (refuses_stack(plan, plan.objects[i]).value_or(false)) return true;
  return !missing_versions(plan, first).empty() || !missing_symbols(plan, first).empty();
}

}  // namespace flashfit::doctor::dynamic_loader
