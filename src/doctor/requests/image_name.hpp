#pragma once
// What the name of a container image says of what is in it.
#include <string_view>

#include "doctor/requests/request.hpp"

namespace flashfit::doctor::requests {

/// "python:3.11-slim-bookworm", "pytorch/pytorch:2.6.0-cuda12.4-cudnn9-runtime", "nvidia/cuda:12.8.1-base-ubuntu22.04",
/// "debian:12", "alpine", with or without a registry's host before it. A digest says nothing, and neither does a name
/// that none of these rules knows.
Base read_image_name(std::string_view name, std::uint32_t line);

}  // namespace flashfit::doctor::requests
