#pragma once
// Whether a GPU runs anything at all: a kernel that does nothing, compiled by the driver from PTX.
#include <string>

namespace flashfit::doctor::environment {

/// Launches it on every GPU and waits. "" if all ran it, else one line: the GPU, the call and the driver's words. Makes
/// contexts, which nothing frees: for a child process that ends thereafter.
std::string launch_on_every_gpu();

}  // namespace flashfit::doctor::environment
