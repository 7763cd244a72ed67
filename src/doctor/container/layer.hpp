#pragma once
// One layer of an image: its names go over what newer layers have, and of a compressed one the contents that the doctor
// reads are kept, as they cannot be reached later without the bytes before them.
#include "doctor/bytes/decompress.hpp"
#include "doctor/bytes/limits.hpp"
#include "doctor/bytes/unnamed_file.hpp"
#include "doctor/container/overlay.hpp"

namespace flashfit::doctor::container {

struct LayerSource {
  std::unique_ptr<doctor::Source> bytes;  ///< as they lie in the archive
  doctor::Compression compression = doctor::Compression::kNone;
};

/// The bytes that all of an archive may come to, each layer as often as it is read: images may name one many times.
struct ContentBudget {
  doctor::Limit limit;
  std::uint64_t spent = 0;
};

inline constexpr std::uint64_t kMostContent = std::uint64_t{64} << 30;  ///< bytes that a layer may come to
inline constexpr std::uint64_t kSmall = std::uint64_t{64} << 10;        ///< bytes: texts are, whose content is kept
inline constexpr std::uint64_t kLargestText = std::uint64_t{32} << 20;  ///< bytes: of what installers wrote
inline constexpr std::size_t kMostHidden = 100'000;  ///< files of a layer that newer ones hide and links may lead to

/// Adds layer number `layer` to `overlay`. What is kept goes to `kept`; libraries and other binaries, and what is
/// small or an installer's. `members` counts those of all layers. Errors: those of TarReader, of the streams and of
/// Overlay; more than `budget` allows.
Result<void> add_layer(std::uint32_t layer, const LayerSource& source, Overlay& overlay, doctor::UnnamedFile& kept,
                       std::size_t& members, ContentBudget& budget);

inline constexpr std::size_t kMostMembers = 4'000'000;  ///< of all layers

/// The content of a file of a compressed layer that was not kept: the layer is read again up to it.
Result<std::unique_ptr<const doctor::Source>> read_again(const LayerSource& source, const OverlayNode& file,
                                                         ContentBudget& budget);

}  // namespace flashfit::doctor::container
