#pragma once
// One layer of an image: its names go over what newer layers have, and of a compressed one the contents that the doctor
// reads are kept, as they cannot be reached later without the bytes before them.
#include "inspect/decompress.hpp"
#include "inspect/unnamed_file.hpp"
#include "oci/overlay.hpp"

namespace flashfit::oci {

struct LayerSource {
  std::unique_ptr<inspect::Source> bytes;  ///< as they lie in the archive
  inspect::Compression compression = inspect::Compression::kNone;
};

inline constexpr std::uint64_t kMostContent = std::uint64_t{64} << 30;  ///< bytes that a layer may come to
inline constexpr std::uint64_t kSmall = std::uint64_t{64} << 10;        ///< bytes: texts are, whose content is kept
inline constexpr std::size_t kMostHidden = 100'000;  ///< files of a layer that newer ones hide and links may lead to

/// Adds layer number `layer` to `overlay`. What is kept goes to `kept`; libraries and other binaries, and what is
/// small. `members` counts those of all layers. Errors: those of TarReader, of the streams and of Overlay.
Result<void> add_layer(std::uint32_t layer, const LayerSource& source, Overlay& overlay, inspect::UnnamedFile& kept,
                       std::size_t& members);

inline constexpr std::size_t kMostMembers = 4'000'000;  ///< of all layers

/// The content of a file of a compressed layer that was not kept: the layer is read again up to it.
Result<std::unique_ptr<const inspect::Source>> read_again(const LayerSource& source, const OverlayNode& file);

}  // namespace flashfit::oci
