#pragma once
// The PyTorch of an environment, as extensions see it.
#include <memory>

#include "environment/packages.hpp"
#include "inspect/torch_facts.hpp"

namespace flashfit::environment {

/// Null where none is installed; with a version alone where nobody asks for its symbols, or where they cannot be read
/// (`unread` says so). Of its symbols those are kept that some package needs.
std::shared_ptr<const inspect::TorchFacts> installed_torch(const loader::FileTree& tree,
                                                           const std::vector<Package>& packages,
                                                           std::vector<std::string>& unread);

}  // namespace flashfit::environment
