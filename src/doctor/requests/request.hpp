#pragma once
// What a list asks for: a requirements file, a lock or a Dockerfile, as requests with the lines they stand on.
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "doctor/packaging/platform.hpp"
#include "doctor/packaging/requirement.hpp"

namespace flashfit::doctor::requests {

enum class ListKind : std::uint8_t { kRequirements, kLock, kDockerfile };
/// "requirements", "lock", "dockerfile".
const char* name_of(ListKind kind);

inline constexpr std::size_t kMostRequests = 100'000;  ///< of a list; the largest locks have about a thousand
inline constexpr std::size_t kLongestValue = 4096;     ///< characters of one request, option or address

/// A wheel that a request names.
struct WheelLink {
  std::string file_name;  ///< "x-1-py3-none-any.whl", a %2B as written
  std::string path;       ///< as written: absolute, or relative to the list's folder; "" where only an address is known
  std::string url;        ///< "" where there is none
  std::string sha256;     ///< of a lock: 64 hex digits; "" if not said
};

/// One thing asked for. The package's name is "" where a wheel or sources are named alone.
struct Request {
  std::uint32_t line = 0;       ///< where it begins, from 1
  std::string text;             ///< as written, without options
  doctor::Requirement package;  ///< of a lock: one version by "==", where it has one
  std::vector<WheelLink> wheels;
  bool sources = false;               ///< there are sources: an archive, a folder, a repository
  bool locked = false;                ///< of a lock: nothing but its wheels and sources is taken
  std::string requires_python;        ///< of a lock; "" if not said
  std::vector<std::string> hashes;    ///< "sha256:0a...", as written
  std::size_t indexes = 0, base = 0;  ///< which of RequestList's
};

/// Where packages are looked for: of a requirements file, or of one command.
struct Indexes {
  std::vector<std::string> addresses;   ///< --index-url, --extra-index-url
  std::vector<std::string> find_links;  ///< folders, pages
  bool replaced = false;                ///< --index-url: the package index is not asked
  bool none = false;                    ///< --no-index
  std::string torch_backend;            ///< of uv: "cu126", "cpu", "auto"
};

/// What the image that a Dockerfile's commands run in says by its name; the first of a list says nothing.
struct Base {
  std::uint32_t line = 0;
  std::string name;  ///< "python:3.11-alpine"
  std::optional<doctor::Platform::System> system;
  std::string python, glibc, torch, cuda;  ///< "3.11", "2.36", "2.6.0+cu124", "12.4"; "" if not said
};

/// Another list that this one names.
struct Include {
  std::uint32_t line = 0;
  std::string path;         ///< as written
  bool constraint = false;  ///< -c: versions alone
  std::size_t indexes = 0, base = 0;
};

/// What could not be read, in one printable line.
struct Trouble {
  std::uint32_t line = 0;
  std::string message;
};

struct RequestList {
  std::vector<Request> requests;
  std::vector<Include> includes;
  std::vector<Trouble> troubles;
  std::vector<Indexes> indexes{Indexes{}};
  std::vector<Base> bases{Base{}};
  std::string requires_python;  ///< of a lock as a whole
};

}  // namespace flashfit::doctor::requests
