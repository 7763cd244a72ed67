#include "runtime/images/build/nvrtc.hpp"

#include <dlfcn.h>
#include <fmt/format.h>

namespace flashfit {
namespace {

// The part of nvrtc.h (12.x and 13.x) that is used; results are enums, 0 is success.
using Program = void*;
using Version = int(int*, int*);
using Create = int(Program*, const char*, const char*, int, const char* const*, const char* const*);
using Destroy = int(Program*);
using AddName = int(Program, const char*);
using LoweredName = int(Program, const char*, const char**);
using Compile = int(Program, int, const char* const*);
using Size = int(Program, std::size_t*);
using Get = int(Program, char*);

}  // namespace

Result<Nvrtc> Nvrtc::open(const std::filesystem::path& library) {
  void* handle = dlopen(library.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (handle == nullptr)
    return fail(Code::kInvalidArgument, fmt::format("--nvrtc {}: {}", library.string(), dlerror()));
  // Never closed: NVRTC keeps threads and static state.
  Nvrtc nvrtc(std::shared_ptr<void>(handle, [](void*) {}));
  for (const char* name : {"nvrtcVersion", "nvrtcCreateProgram", "nvrtcDestroyProgram", "nvrtcAddNameExpression",
                           "nvrtcGetLoweredName", "nvrtcCompileProgram", "nvrtcGetProgramLogSize", "nvrtcGetProgramLog",
                           "nvrtcGetCUBINSize", "nvrtcGetCUBIN", "nvrtcGetPTXSize", "nvrtcGetPTX"})
    if (dlsym(handle, name) == nullptr)
      return fail(Code::kInvalidArgument,
                  fmt::format("--nvrtc {}: not NVRTC 11.1 or later: it has no {}", library.string(), name));
  return nvrtc;
}

template <class F>
F Nvrtc::function(const char* name) const {
  return reinterpret_cast<F>(dlsym(library_.get(), name));
}

std::string Nvrtc::version() const {
  int major = 0, minor = 0;
  function<Version*>("nvrtcVersion")(&major, &minor);
  return fmt::format("{}.{}", major, minor);
}

Result<Compiled> Nvrtc::compile(const std::string& source, const std::string& expression,
                                const std::vector<std::string>& options, bool ptx) const {
  Program program = nullptr;
  if (function<Create*>("nvrtcCreateProgram")(&program, source.c_str(), "image.cu", 0, nullptr, nullptr) != 0)
    return fail(Code::kInternal, "nvrtcCreateProgram failed");
  const auto destroy = [&](void*) { function<Destroy*>("nvrtcDestroyProgram")(&program); };
  const std::unique_ptr<void, decltype(destroy)> owner(program, destroy);

  function<AddName*>("nvrtcAddNameExpression")(program, expression.c_str());
  std::vector<const char*> arguments;
  for (const std::string& option : options) arguments.push_back(option.c_str());
  const int status =
      function<Compile*>("nvrtcCompileProgram")(program, static_cast<int>(arguments.size()), arguments.data());

  Compiled out;
  std::size_t size = 0;
  function<Size*>("nvrtcGetProgramLogSize")(program, &size);
  out.log.resize(size);
  function<Get*>("nvrtcGetProgramLog")(program, out.log.data());
  out.log.resize(out.log.empty() ? 0 : out.log.size() - 1);
  if (status != 0) return fail(Code::kInternal, out.log);

  const char* lowered = nullptr;
  if (function<LoweredName*>("nvrtcGetLoweredName")(program, expression.c_str(), &lowered) != 0 || lowered == nullptr)
    return fail(Code::kInternal, fmt::format("NVRTC gives no name for {}", expression));
  out.entry = lowered;
  const char* kind = ptx ? "PTX" : "CUBIN";
  if (function<Size*>(fmt::format("nvrtcGet{}Size", kind).c_str())(program, &size) == 0) {
    out.bytes.resize(size);
    if (function<Get*>(fmt::format("nvrtcGet{}", kind).c_str())(program, reinterpret_cast<char*>(out.bytes.data())) ==
        0)
      return out;
  }
  return fail(Code::kInternal, fmt::format("NVRTC gives no {} of {}", kind, expression));
}

}  // namespace flashfit
