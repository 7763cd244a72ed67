#pragma once
// What this library can do, by name. include/flashfit/flashfit.h lists the names.
namespace flashfit::api {

/// Ends with nullptr; kept for good. What kernels are carried is read from the images.
const char* const* features();

}  // namespace flashfit::api
