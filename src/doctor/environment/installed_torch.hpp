#pragma once
// The PyTorch of an environment, as extensions see it.
#include <memory>

#include "doctor/environment/packages.hpp"
#include "doctor/facts/torch_facts.hpp"

namespace flashfit::doctor::environment {

/// Null where none is installed; with a version alone where nobody asks for its symbols, or where they cannot be read
/// (`unread` says so). Of its symbols those are kept that some package needs.
std::shared_ptr<const doctor::TorchFacts> installed_torch(const dynamic_loader::FileTree& tree,
                                                          const std::vector<Package>& packages,
                                                          std::vector<std::string>& unread);

}  // namespace flashfit::doctor::environment
