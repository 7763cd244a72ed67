#pragma once
// Libraries that a library opens by a name that is only a text in it: cuDNN's parts, NCCL's plugins, libcuda.so.1.
#include <string>
#include <vector>

#include "doctor/bytes/source.hpp"

namespace flashfit::doctor::dynamic_loader {

/// The texts of the form "libNAME.so.N" ("libcudnn_graph.so.9") that stand alone in the .rodata of an ELF file, each
/// once, in the order of the file; at most 256, of the section's first 64 MB. A name that is put together at run time
/// is not seen. Never fails: what cannot be read has none.
std::vector<std::string> find_named_libraries(const doctor::Source& source);

}  // namespace flashfit::doctor::dynamic_loader
