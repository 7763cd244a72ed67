#pragma once
// From the bytes of one file or member to facts. What a file is, its content says, not its name.
#include "doctor/bytes/content.hpp"
#include "doctor/facts/binary_format.hpp"
#include "doctor/facts/facts_size.hpp"

namespace flashfit::doctor {

/// The binaries in `content`: one, or those of a static archive; none if it is no binary. What is malformed is a Binary
/// with an error. Errors: the content itself cannot be read (a deflate stream that lies); what is found goes beyond
/// `budget`, which it is taken from: one for all files of a target. The limits on what is kept in memory are those of
/// KeptSource.
Result<std::vector<Binary>> read_binaries(const Content& content, const std::string& path, FactsBudget& budget);

/// Whether the first kHeadSize bytes open something that read_binaries reads.
inline bool may_be_binary(Bytes head) { return binary_format_of(head) != BinaryFormat::kNone; }

/// Reads Container::kernels of the containers numbered in `which`. What cannot be decoded stays empty.
Result<void> read_kernel_names(const Content& content, Binary& binary, const std::vector<std::size_t>& which);

}  // namespace flashfit::doctor
