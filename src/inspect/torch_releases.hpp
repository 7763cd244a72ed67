#pragma once
// Which versions of PyTorch there are.
#include <string>

#include "inspect/version.hpp"

namespace flashfit::inspect {

/// Why it is none of PyTorch's releases, in a few words; "" if it is one, or may be soon: patches and previews follow
/// the newest.
std::string no_torch_release(const Version& version);

}  // namespace flashfit::inspect
