#pragma once
// The live driver, asked in a child process: it is foreign code that may hang, print or crash.
#include <string>
#include <vector>

#include "core/gpu/target.hpp"

namespace flashfit::doctor::environment {

struct LiveGpu {
  std::string name;  ///< the driver's own: "NVIDIA A100-SXM4-40GB MIG 1g.5gb"
  ComputeCapability cc;
  int compute_mode = 0;  ///< CU_COMPUTEMODE_*: 0 default, 2 prohibited, 3 one process at a time
  bool mig() const { return name.find(" MIG ") != std::string::npos; }
};

struct DriverAnswer {
  enum class State : unsigned char {
    kNotAsked,
    kNoLibrary,  ///< libcuda.so.1 cannot be opened: `why` has the loader's words
    kAnswered,   ///< `status` is cuInit's; with 0 the rest is filled
    kTimedOut,   ///< no answer in time
    kCrashed,    ///< the child ended by a signal: `why` names it
  };
  State state = State::kNotAsked;
  int status = 0;        ///< CUresult of cuInit: 0, 34 stub, 100 no device, 802, 803, 804, 999
  std::string why;       ///< one printable line; "" if all is well
  std::string path;      ///< the file that libcuda.so.1 led to
  std::string version;   ///< of the driver: "580.95.05"; "" if it cannot be told
  CudaVersion cuda = 0;  ///< that it supports; 0: unknown
  std::vector<LiveGpu> gpus;
  bool launched = false;     ///< an empty kernel was launched, on every GPU
  std::string launch_error;  ///< why it did not run; "" if it did, or was not asked for
};

/// Asks this machine's driver, with an empty launch on every GPU if `launch`. Call it before threads are started: it
/// forks. A machine without a driver is an answer. The child is ended after `seconds`.
DriverAnswer ask_live_driver(bool launch, int seconds);

}  // namespace flashfit::doctor::environment
