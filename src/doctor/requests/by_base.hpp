#pragma once
// The requests of each base of a list: a list may have very many of both, and is gone through once for all of them.
#include <vector>

#include "doctor/requests/request.hpp"

namespace flashfit::doctor::requests {

/// Places in RequestList::requests, in the list's order.
using Places = std::vector<std::size_t>;

inline std::vector<Places> requests_by_base(const RequestList& list) {
  std::vector<Places> all(list.bases.size());
  for (std::size_t i = 0; i < list.requests.size(); ++i)
    if (list.requests[i].base < all.size()) all[list.requests[i].base].push_back(i);
  return all;
}

}  // namespace flashfit::doctor::requests
