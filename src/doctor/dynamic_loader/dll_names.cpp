#include "doctor/dynamic_loader/dll_names.hpp"

#include <algorithm>
#include <array>

#include "core/base/ascii.hpp"

namespace flashfit::doctor::dynamic_loader {

bool is_of_windows(std::string_view dll) {
  // Source: the system folder of Windows 10; nvcuda and nvml come with NVIDIA's driver.
  constexpr auto kNames = std::to_array<std::string_view>({"aclui",
                                                           "activeds",
                                                           "advapi32",
                                                           "avicap32",
                                                           "avifil32",
                                                           "avrt",
                                                           "bcrypt",
                                                           "bcryptprimitives",
                                                           "cabinet",
                                                           "cfgmgr32",
                                                           "comctl32",
                                                           "comdlg32",
                                                           "credui",
                                                           "crypt32",
                                                           "d2d1",
                                                           "d3d11",
                                                           "d3d12",
                                                           "d3d9",
                                                           "d3dcompiler_47",
                                                           "dbghelp",
                                                           "dcomp",
                                                           "ddraw",
                                                           "dinput8",
                                                           "dnsapi",
                                                           "dsound",
                                                           "dwmapi",
                                                           "dwrite",
                                                           "dxcore",
                                                           "dxgi",
                                                           "dxva2",
                                                           "gdi32",
                                                           "gdiplus",
                                                           "glu32",
                                                           "hid",
                                                           "imagehlp",
                                                           "imm32",
                                                           "iphlpapi",
                                                           "kernel32",
                                                           "kernelbase",
                                                           "ktmw32",
                                                           "loadperf",
                                                           "lz32",
                                                           "mf",
                                                           "mfplat",
                                                           "mfreadwrite",
                                                           "mpr",
                                                           "msacm32",
                                                           "mscoree",
                                                           "msi",
                                                           "msimg32",
                                                           "msvcrt",
                                                           "msvfw32",
                                                           "mswsock",
                                                           "ncrypt",
                                                           "netapi32",
                                                           "normaliz",
                                                           "ntdll",
                                                           "ntdsapi",
                                                           "nvcuda",
                                                           "nvml",
                                                           "odbc32",
                                                           "ole32",
                                                           "oleacc",
                                                           "oleaut32",
                                                           "opengl32",
                                                           "pdh",
                                                           "powrprof",
                                                           "propsys",
                                                           "psapi",
                                                           "query",
                                                           "rasapi32",
                                                           "rpcrt4",
                                                           "secur32",
                                                           "setupapi",
                                                           "sfc",
                                                           "shcore",
                                                           "shell32",
                                                           "shlwapi",
                                                           "ucrtbase",
                                                           "urlmon",
                                                           "user32",
                                                           "userenv",
                                                           "usp10",
                                                           "uxtheme",
                                                           "version",
                                                           "webservices",
                                                           "wer",
                                                           "windowscodecs",
                                                           "winhttp",
                                                           "wininet",
                                                           "winmm",
                                                           "winspool",
                                                           "wintrust",
                                                           "wldap32",
                                                           "ws2_32",
                                                           "wsock32",
                                                           "wtsapi32",
                                                           "xinput1_4"});
  std::string name = lower(dll);
  if (name.starts_with("api-ms-win-") || name.starts_with("ext-ms-win-")) return true;
  if (name == "winspool.drv") return true;
  if (!name.ends_with(".dll")) return false;
  name.resize(name.size() - 4);
  return std::find(kNames.begin(), kNames.end(), name) != kNames.end();
}

bool is_of_visual_c(std::string_view dll) {
  const std::string name = lower(dll);
  for (const std::string_view prefix : {"msvcp140", "vcruntime140", "vcomp140", "concrt140", "mfc140"})
    if (name.starts_with(prefix) && name.ends_with(".dll")) return true;
  return false;
}

std::string soname_of_dll(std::string_view dll) {
  constexpr std::string_view kMark = "64_";
  const std::size_t mark = dll.find(kMark);
  if (mark == std::string_view::npos || mark == 0 || !lower(dll).ends_with(".dll")) return "";
  const std::string stem(dll.substr(0, mark));
  std::string number(dll.substr(mark + kMark.size(), dll.size() - mark - kMark.size() - 4));
  number = number.substr(0, number.find('_'));
  if (number.empty() || !std::all_of(number.begin(), number.end(), is_digit)) return "";
  // Three digits are a version of CUDA: 110 of libcudart.so.11.0, 120 of libnvrtc.so.12, 112 of libnvrtc.so.11.2.
  if (number.size() == 3) {
    const std::string major = number.substr(0, 2);
    number = major == "11" ? major + "." + number.substr(2) : major;
  }
  return "lib" + stem + ".so." + number;
}

}  // namespace flashfit::doctor::dynamic_loader
