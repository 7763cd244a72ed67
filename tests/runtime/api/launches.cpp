// What a test of the shared library can see of the launch's double.
#include "gpu_double.hpp"

extern "C" __attribute__((visibility("default"))) int flashfit_launches();
extern "C" int flashfit_launches() { return static_cast<int>(flashfit::gpu_double::launched.size()); }
