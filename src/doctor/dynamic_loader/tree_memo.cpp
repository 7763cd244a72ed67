#include "doctor/dynamic_loader/tree_memo.hpp"

namespace flashfit::doctor::dynamic_loader {

const TreeMemo::Listing& TreeMemo::listing(const std::string& folder) {
  const auto [at, added] = listings_.try_emplace(folder);
  Listing& listing = at->second;
  if (!added) return listing;
  const Resolved found = tree_.resolve(folder);
  if (found.node.kind != FileKind::kFolder) return listing;
  listing.path = found.path;
  const auto entries = tree_.list_here(found.path);
  if (!entries) return listing;
  listing.there = true;
  for (const Entry& entry : *entries) listing.names.insert(entry.name);
  return listing;
}

Resolved TreeMemo::find(const std::string& folder, const std::string& name) {
  const Listing& here = listing(folder);
  if (!here.there || !here.names.contains(name)) return {};
  return tree_.resolve(join(here.path, name));
}

std::shared_ptr<const Object> TreeMemo::object(const Resolved& file) {
  const auto known = objects_.find(file.node.id);
  if (known != objects_.end()) return known->second;
  const auto source = tree_.open_here(file.path);
  auto object = std::make_shared<Object>();
  if (source) {
    *object = read_object(**source, machine_);
  } else {
    *object = {.usable = Usable::kPassedOver, .why = source.error().message};
  }
  objects_.emplace(file.node.id, object);
  return object;
}

}  // namespace flashfit::doctor::dynamic_loader
