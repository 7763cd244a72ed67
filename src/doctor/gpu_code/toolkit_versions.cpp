#include "doctor/gpu_code/toolkit_versions.hpp"

#include <fmt/format.h>

#include <iterator>

#include "core/gpu/driver_versions.hpp"

namespace flashfit::doctor {
namespace {

struct Ptx {
  int isa;
  CudaVersion cuda;
};
// Oldest first. CUDA 12.6 wrote 8.5 as 12.5 did.
constexpr Ptx kPtx[] = {
    {60, 9000},  {61, 9010},  {62, 9020},  {63, 10000}, {64, 10010}, {65, 10020}, {70, 11000}, {71, 11010}, {72, 11020},
    {73, 11030}, {74, 11040}, {75, 11050}, {76, 11060}, {77, 11070}, {78, 11080}, {80, 12000}, {81, 12010}, {82, 12020},
    {83, 12030}, {84, 12040}, {85, 12050}, {86, 12070}, {87, 12080}, {88, 12090}, {90, 13000}, {91, 13010}, {92, 13020},
};

struct Major {
  int major;
  const char *linux_driver, *windows_driver;
};
// CUDA 13's Windows drivers are no longer part of the toolkit and not in NVIDIA's table.
constexpr Major kMajors[] = {{11, "450.80.02", "452.39"}, {12, "525.60.13", "527.41"}, {13, "580.65.06", ""}};

struct Bundled {
  CudaVersion cuda;
  const char* driver;
};
constexpr Bundled kBundled[] = {
    {11080, "520.61.05"}, {12000, "525.60.13"}, {12010, "530.30.02"}, {12020, "535.54.03"}, {12030, "545.23.06"},
    {12040, "550.54.14"}, {12050, "555.42.02"}, {12060, "560.28.03"}, {12080, "570.26"},    {12090, "575.51.03"},
    {13000, "580.65.06"}, {13010, "590.44.01"}, {13020, "595.45.04"},
};

}  // namespace

CudaVersion first_cuda_for_ptx(int isa) {
  if (isa < kPtx[0].isa) return 0;
  for (const Ptx& row : kPtx)
    if (row.isa >= isa) return row.cuda;
  return std::rbegin(kPtx)->cuda + 10;
}

int newest_ptx_for(CudaVersion driver) {
  int newest = 0;
  for (const Ptx& row : kPtx)
    if (row.cuda <= driver) newest = row.isa;
  return newest;
}

std::string ptx_isa_str(int isa) { return fmt::format("{}.{}", isa / 10, isa % 10); }

std::string first_driver_for_toolkit(int major, bool windows) {
  for (const Major& row : kMajors)
    if (row.major == major) return windows ? row.windows_driver : row.linux_driver;
  return "";
}

std::string bundled_driver(CudaVersion toolkit) {
  for (const Bundled& row : kBundled)
    if (row.cuda == toolkit) return row.driver;
  return "";
}

std::string toolkit_misfit(CudaVersion toolkit, CudaVersion driver, bool windows) {
  const int major = toolkit / 1000;
  if (toolkit == 0 || driver == 0 || major <= driver / 1000) return "";
  const std::string first = first_driver_for_toolkit(major, windows);
  return fmt::format(
      "cudart {} needs {}; yours is for CUDA {}", major,
      first.empty() ? fmt::format("a driver for CUDA {}.0 or later", major) : "driver " + first + " or later",
      str(driver));
}

int last_branch_for(ComputeCapability gpu) {
  if (gpu.major == 3) return 470;
  return gpu < ComputeCapability{7, 5} ? 580 : 0;
}

CudaVersion last_driver_for(ComputeCapability gpu) {
  const int branch = last_branch_for(gpu);
  return branch == 470 ? 11040 : branch == 580 ? 13000 : 0;
}

}  // namespace flashfit::doctor
