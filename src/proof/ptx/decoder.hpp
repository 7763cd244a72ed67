#pragma once
// What all decoders of instructions share: the statement at hand, its modifiers, and slots for its operands.
#include <exception>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "kernels/arch/memory_order.hpp"
#include "proof/ptx/module.hpp"
#include "proof/ptx/program.hpp"
#include "proof/ptx/warp.hpp"

namespace flashfit::ptx {

enum class Type : unsigned char {
  kNone,
  kPred,
  kB8,
  kB16,
  kB32,
  kB64,
  kU8,
  kU16,
  kU32,
  kU64,
  kS8,
  kS16,
  kS32,
  kS64,
  kF16,
  kBF16,
  kF32,
  kF64,
  kF16x2,
  kBF16x2
};
int bits_of(Type type);
bool is_signed(Type type);
bool is_float(Type type);

/// Leaves the decoder at the first thing that it does not take; caught by decode().
struct Unknown : std::exception {
  std::string message;
};

class Decoder {
 public:
  Decoder(const Module& module, const Entry& entry, Program& program);
  void decode_all();

  // The statement.
  const Statement& statement() const { return *statement_; }
  [[noreturn]] void refuse(const std::string& what) const;
  /// The next modifier, if it is this one: ".rn".
  bool take(std::string_view modifier);
  bool take_any(std::initializer_list<std::string_view> modifiers);
  /// The next modifier, whatever it is; "" after the last.
  std::string_view take_word();
  /// The memory order that the next modifier names.
  std::optional<arch::MemoryOrder> take_order();
  Type take_type();
  /// The last modifier's; kNone: it is no type.
  Type last_type() const;
  /// After the last modifier: so many operands.
  void expect_operands(std::size_t least, std::size_t most);
  void expect_operands(std::size_t count) { expect_operands(count, count); }
  const Operand& operand(std::size_t i) const { return statement_->operands[i]; }
  std::size_t operand_count() const { return statement_->operands.size(); }

  // Slots.
  /// Of a register that is written: of exactly so many bits.
  std::uint32_t destination(const Operand& o, int bits);
  /// Of a register, constant or special register that is read.
  std::uint32_t source(const Operand& o, int bits);
  std::uint32_t destination(std::size_t i, int bits) { return destination(operand(i), bits); }
  std::uint32_t source(std::size_t i, int bits) { return source(operand(i), bits); }
  std::uint32_t predicate_written(const Operand& o) { return destination(o, 1); }
  int register_bits(const Operand& o) const;
  std::uint32_t register_slot(std::uint32_t reg, int bits);
  std::uint32_t constant(std::uint64_t value, int bits);
  /// A slot that nobody reads.
  std::uint32_t sink(int bits);
  /// An address: the slot of its base, and its offset. `bits`: of the base.
  struct Address {
    std::uint32_t slot;
    int bits;
    std::int64_t offset;
  };
  Address address(const Operand& o, Space space, std::size_t coordinates = 0);
  std::uint64_t immediate(const Operand& o) const;
  /// Numeric address of a variable in its own space.
  std::uint64_t address_of(std::string_view symbol, Space* space = nullptr) const;

  // The instruction.
  Instruction& emit(Run run, std::vector<std::uint32_t> slots, Kind kind = Kind::kPlain);
  void names_access(Instruction& i, std::string what);
  /// The statement's last operand says how a cache is to treat it.
  void has_cache_policy() { caches_ = true; }
  bool caches() const { return caches_; }
  std::int32_t label(const Operand& o) const;

 private:
  /// Until all constants are known, slots of constants are numbered from 0 and all others from here.
  static constexpr std::uint32_t kRegisterBase = 1u << 30;

  void place_variables();
  void place_registers();
  void place(const Variable& v, std::map<std::string_view, std::pair<Space, std::uint64_t>>& places);
  void decode_one(const Statement& s);
  std::uint32_t add_slot(int bits);
  std::uint32_t special(std::string_view name, int bits);
  std::uint32_t site_of(const Statement& s);

  const Module& module_;
  const Entry& entry_;
  Program& program_;
  const Statement* statement_ = nullptr;
  std::vector<std::string_view> modifiers_;
  std::size_t next_modifier_ = 0;
  bool caches_ = false;
  std::vector<std::uint32_t> slots_;  ///< of registers
  std::map<std::pair<std::uint64_t, int>, std::uint32_t> constants_;
  std::map<std::pair<std::string_view, int>, std::uint32_t> specials_;
  std::map<std::pair<std::string, std::uint32_t>, std::uint32_t> access_numbers_;
  std::map<std::pair<unsigned, unsigned>, std::uint32_t> site_numbers_;
  std::map<unsigned, std::size_t> file_numbers_;
  std::vector<std::size_t> site_files_;  ///< of each site, its file: names move while files are added
  std::map<std::string_view, std::pair<Space, std::uint64_t>> variables_;
  std::map<int, std::uint32_t> sinks_;
  std::vector<std::size_t> first_operand_;  ///< of each instruction
};

// A decoder takes the statement whose base opcode has been read. True: it was one of its own.
bool decode_half(Decoder& d, std::string_view base);
bool decode_arithmetic(Decoder& d, std::string_view base);
bool decode_data(Decoder& d, std::string_view base);
bool decode_comparison(Decoder& d, std::string_view base);
bool decode_convert(Decoder& d, std::string_view base);
bool decode_memory(Decoder& d, std::string_view base);
bool decode_warp(Decoder& d, std::string_view base);
bool decode_control(Decoder& d, std::string_view base);
bool decode_matrix(Decoder& d, std::string_view base);
bool decode_warpgroup(Decoder& d, std::string_view base);
bool decode_mbarrier(Decoder& d, std::string_view base);
bool decode_bulk(Decoder& d, std::string_view base);
bool decode_cluster(Decoder& d, std::string_view base);
bool decode_atomic(Decoder& d, std::string_view base);
/// What follows "cp.async".
void decode_copy(Decoder& d);
/// What follows "cp.async.mbarrier".
void decode_copy_arrival(Decoder& d);

}  // namespace flashfit::ptx
