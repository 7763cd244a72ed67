#pragma once
// What environment variables ask of the library, read once by the first call that needs it.
#include <string>

#include "core/base/error.hpp"

namespace flashfit::api {

struct Settings {
  enum class Disable { kNothing, kGpu, kAll, kUnknown };

  bool log = false;                     ///< FLASHFIT_LOG
  Disable disable = Disable::kNothing;  ///< FLASHFIT_DISABLE
  std::string disable_value;            ///< as it was set, for messages
};

/// Kept for good: threads may still ask while the process exits.
const Settings& settings();

/// Unset (nullptr), empty and "0" are no. FLASHFIT_LOG: anything else is yes. FLASHFIT_DISABLE: "1" is all, "gpu" the
/// GPU, anything else kUnknown, since a misspelt wish to be disabled is not to be ignored.
Settings parse_settings(const char* log, const char* disable);

/// Whether FLASHFIT_DISABLE leaves the operation alone. Errors: kDisabled; kInvalidArgument for a value that is none.
Result<void> check_enabled(const char* operation, bool on_gpu);

}  // namespace flashfit::api
