#pragma once
// A PTX text as it was written: its variables, entries and statements, none of which is understood yet.
#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace flashfit::ptx {

enum class Space : unsigned char { kGeneric, kParam, kGlobal, kConst, kShared, kLocal };

struct Variable {
  std::string_view name;
  Space space = Space::kGlobal;
  std::size_t alignment = 1, bytes = 0;  ///< bytes = 0: `.extern .shared x[]`, what the launch gives
  std::vector<std::byte> initial;        ///< of kGlobal and kConst, as many as bytes
  /// Of them, 8 bytes each that are the address of another variable, and what is added to it.
  struct Address {
    std::size_t at;
    std::string_view symbol;
    std::uint64_t offset;
  };
  std::vector<Address> addresses;
  std::size_t offset = 0;  ///< of kParam: where the argument begins
  std::string_view type;   ///< ".f32"
  bool is_array = false;
};

/// Bits of a register; 1: a predicate.
struct Register {
  int bits;
};

struct Operand {
  enum class Kind : unsigned char { kRegister, kInteger, kFloat, kSymbol, kSpecial, kAddress, kVector, kSink };
  Kind kind = Kind::kSink;
  bool negated = false;          ///< !%p1
  std::uint32_t reg = 0;         ///< kRegister; base of kAddress if `symbol` is empty and not `absolute`
  std::uint32_t second = kNone;  ///< the predicate of "%r1|%p1"
  std::string_view symbol;       ///< variable, label or special register; base of kAddress
  std::uint64_t value = 0;       ///< kInteger, two's complement; kFloat: bits of fp32 or fp64; kAddress: the offset
  bool wide = false;             ///< kFloat: fp64
  bool absolute = false;         ///< kAddress: of a number alone
  std::vector<Operand> parts;    ///< kVector; kAddress: coordinates in a tensor
  static constexpr std::uint32_t kNone = ~0u;
};

/// Where a statement comes from: the line of the inlined call chain's innermost source place.
struct Place {
  unsigned file = 0, line = 0;  ///< file = 0: unknown
};

struct Statement {
  std::string_view opcode;  ///< "add.s32"
  std::uint32_t guard = Operand::kNone;
  bool guard_negated = false;
  std::vector<Operand> operands;
  unsigned line = 0;  ///< of the PTX
  Place place;
};

struct Entry {
  std::string_view name;
  std::vector<Variable> params;
  std::size_t param_bytes = 0;
  int max_threads = 0;           ///< of .maxntid or .reqntid; 0: not said
  int required_threads[3] = {};  ///< of .reqntid; 0: not said
  int min_blocks = 1;            ///< of a multiprocessor, by .minnctapersm
  int cluster = 1;               ///< blocks, by .reqnctapercluster
  std::vector<Register> registers;
  std::vector<Variable> variables;  ///< its own .shared and .local
  std::vector<Statement> statements;
  std::map<std::string_view, std::uint32_t> labels;  ///< the statement that follows
};

/// Views point into the text.
struct Module {
  std::string name;  ///< what errors call the text
  int target = 0;    ///< 80 for sm_80
  std::vector<Variable> variables;
  std::vector<Entry> entries;
  std::map<unsigned, std::string> files;
};

}  // namespace flashfit::ptx
