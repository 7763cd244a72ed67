#include "oracle.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <exception>
#include <stdexcept>

#include "sealed.hpp"

namespace flashfit::fuzz {
namespace {

using Wide = __int128;
constexpr Wide kMax64 = INT64_MAX, kMaxAddress = UINTPTR_MAX;
constexpr std::int64_t kMaxSize = 2147418112;    // docs/api.md
constexpr std::uint32_t kFirstStruct = 88;       // the struct of version 0.1.0
constexpr std::uint32_t kFirstRouteStruct = 48;  // of version 0.3.0
constexpr int kMostElementsLookedAt = 1 << 16;
constexpr double kMostWork = 4e6;

struct Refused : std::exception {
  explicit Refused(const char* rule) : why(rule) {}
  const char* why;
};
/// The caller lies about memory that flashfit must read to judge the call.
struct Unanswerable : std::exception {};
void require(bool sound, const char* why) {
  if (!sound) throw Refused(why);
}

struct Tensor {
  std::vector<Wide> size, step;
  DLDataType dtype{};
  DLDevice device{};
  bool empty = false;
  Wide begin = 0, end = 0;

  bool on_gpu() const { return device.device_type == kDLCUDA; }
  Range range() const { return {static_cast<std::uintptr_t>(begin), static_cast<std::uintptr_t>(end)}; }
};

bool is(DLDataType t, int code, int bits) { return t.code == code && t.bits == bits && t.lanes == 1; }

Tensor read(const DLTensor* t, std::size_t dims) {
  require(t, "NULL");
  require(t->device.device_type == kDLCPU || t->device.device_type == kDLCUDAHost || t->device.device_type == kDLCUDA,
          "device type");
  require(t->ndim == static_cast<int>(dims) && t->shape, "dimensions");
  Tensor r;
  r.dtype = t->dtype;
  r.device = t->device.device_type == kDLCUDA ? t->device : DLDevice{kDLCPU, 0};
  require(r.dtype.lanes == 1 && r.dtype.bits >= 8 && r.dtype.bits % 8 == 0, "dtype");
  r.size.assign(t->shape, t->shape + dims);
  for (const Wide s : r.size) require(s >= 0 && s <= kMaxSize, "size");
  r.empty = std::ranges::count(r.size, 0) > 0;
  Wide elements = 1;
  r.step.resize(dims);
  if (r.empty) return r;
  for (std::size_t d = dims; d-- > 0;) {
    r.step[d] = t->strides ? t->strides[d] : static_cast<std::int64_t>(elements);
    elements *= r.size[d];
    require(elements <= kMax64, "more elements than 64 bits count");
  }
  Wide last = 0;
  for (std::size_t d = 0; d < dims; ++d) {
    if (r.size[d] == 1) continue;
    require(r.step[d] >= 0, "negative stride");
    last += (r.size[d] - 1) * r.step[d];
  }
  require(t->data, "data");
  const Wide item = r.dtype.bits / 8;
  r.begin = static_cast<Wide>(reinterpret_cast<std::uintptr_t>(t->data)) + t->byte_offset;
  r.end = r.begin + (last + 1) * item;
  require((last + 1) * item <= kMax64 && r.end <= kMaxAddress, "address space");
  require(r.begin % item == 0, "alignment of an element");
  return r;
}

bool contiguous(const Tensor& t) {
  Wide step = 1;
  for (std::size_t d = t.size.size(); d-- > 0; step *= t.size[d])
    if (!t.empty && t.size[d] > 1 && t.step[d] != step) return false;
  return true;
}

/// Calls `visit` with the offset of every element of the dimensions before `until`, in elements.
template <class Visit>
void each(const Tensor& t, std::size_t until, Visit visit, std::size_t d = 0, Wide at = 0) {
  if (d == until) return visit(at);
  for (Wide i = 0; i < t.size[d]; ++i) each(t, until, visit, d + 1, at + (t.size[d] == 1 ? 0 : i * t.step[d]));
}

Wide elements_of(const Tensor& t) {
  Wide count = 1;
  for (const Wide s : t.size) count *= s;
  return count;
}

/// Whether each step passes all that smaller steps reach.
bool nested(const Tensor& t) {
  std::vector<std::pair<Wide, Wide>> steps;
  for (std::size_t d = 0; d < t.size.size(); ++d)
    if (t.size[d] > 1) steps.emplace_back(t.step[d], t.size[d]);
  std::ranges::sort(steps);
  Wide reach = 0;
  for (const auto& [step, size] : steps) {
    if (step <= reach) return false;
    reach += step * (size - 1);
  }
  return true;
}

bool overlap(const Tensor& a, const Tensor& b) { return !a.empty && !b.empty && a.begin < b.end && b.begin < a.end; }

void check_offsets(const Tensor& cu, Wide rows, const Arena& readable) {
  if (!readable.contains(cu.range())) throw Unanswerable{};
  const auto* values = reinterpret_cast<const std::int32_t*>(cu.begin);
  const auto count = static_cast<std::size_t>(cu.size[0]);
  require(values[0] == 0 && std::is_sorted(values, values + count) && values[count - 1] == rows, "cu_seqlens");
}

/// The options that are tensors.
struct Options {
  std::vector<Tensor> alibi, sinks, bias, used;  ///< at most one each
};

Options read_options(const flashfit_attention_args& a, bool ragged) {
  Options o;
  if (a.alibi_slopes) o.alibi.push_back(read(a.alibi_slopes, a.alibi_slopes->ndim == 1 ? 1 : 2));
  if (a.sinks) o.sinks.push_back(read(a.sinks, 1));
  require(!a.bias || !ragged, "bias of variable length");
  if (a.bias) o.bias.push_back(read(a.bias, 4));
  if (a.seqused_k) o.used.push_back(read(a.seqused_k, 1));
  return o;
}

void check_options(const Options& o, const Tensor& q, const Tensor& k, Wide batch) {
  const std::size_t heads = q.size.size() - 2;
  for (const Tensor& t : o.alibi) {
    require(is(t.dtype, kDLFloat, 32) && contiguous(t), "alibi_slopes");
    require(t.size.back() == q.size[heads] && (t.size.size() == 1 || t.size[0] == batch), "shape of alibi_slopes");
  }
  for (const Tensor& t : o.sinks)
    require(is(t.dtype, kDLFloat, 32) && contiguous(t) && t.size[0] == q.size[heads], "sinks");
  for (const Tensor& t : o.bias) {
    require(is(t.dtype, 6, 8) || is(t.dtype, kDLFloat, 32) || is(t.dtype, q.dtype.code, q.dtype.bits), "dtype of bias");
    const Wide whole[] = {batch, q.size[heads], q.size[heads - 1], k.size[heads - 1]};
    for (int d = 0; d < 4; ++d) require(t.size[d] == whole[d] || t.size[d] == 1, "shape of bias");
  }
  for (const Tensor& t : o.used) require(is(t.dtype, kDLInt, 32) && contiguous(t) && t.size[0] == batch, "seqused_k");
}

/// Of tensors on the CPU, after cu_seqlens, which are empty if dense.
void check_used(const Tensor& used, const std::vector<Tensor>& cu, Wide keys, const Arena& readable) {
  if (used.empty) return;
  if (!readable.contains(used.range())) throw Unanswerable{};
  const auto* values = reinterpret_cast<const std::int32_t*>(used.begin);
  for (std::size_t b = 0; b < static_cast<std::size_t>(used.size[0]); ++b) {
    if (!cu.empty()) {
      const auto* offsets = reinterpret_cast<const std::int32_t*>(cu[1].begin);
      keys = offsets[b + 1] - offsets[b];
    }
    require(values[b] >= 0 && values[b] <= keys, "values of seqused_k");
  }
}

void judge(const flashfit_attention_args& a, const Arena& readable, Expected& e) {
  require((a.flags & ~(FLASHFIT_CAUSAL | FLASHFIT_PTX_ONLY | FLASHFIT_WINDOW | FLASHFIT_BATCH_INVARIANT)) == 0,
          "flags");
  require(a.reserved == 0 && a.reserved_2 == 0, "reserved");
  require(!a.cu_seqlens_q == !a.cu_seqlens_k, "one of two cu_seqlens");
  const bool ragged = a.cu_seqlens_q;
  const std::size_t dims = ragged ? 3 : 4, heads = dims - 2, dim = dims - 1;
  const Tensor q = read(a.q, dims), k = read(a.k, dims), v = read(a.v, dims), out = read(a.out, dims);
  std::vector<Tensor> lse, cu;
  if (a.lse) lse.push_back(read(a.lse, dims - 1));
  if (ragged) cu = {read(a.cu_seqlens_q, 1), read(a.cu_seqlens_k, 1)};
  const Options options = read_options(a, ragged);
  std::vector<const Tensor*> all{&q, &k, &v, &out};
  const std::vector<Tensor>* const lists[] = {&lse, &cu, &options.alibi, &options.sinks, &options.bias, &options.used};
  for (const auto* list : lists)
    for (const Tensor& t : *list) all.push_back(&t);

  for (const Tensor* t : all)
    require(t->device.device_type == q.device.device_type && t->device.device_id == q.device.device_id,
            "mixed devices");
  require(is(q.dtype, kDLFloat, 16) || is(q.dtype, kDLBfloat, 16) || (is(q.dtype, kDLFloat, 32) && !q.on_gpu()),
          "dtype");
  for (const Tensor* t : {&k, &v, &out}) require(is(t->dtype, q.dtype.code, q.dtype.bits), "mixed dtypes");
  for (const Tensor& t : lse) require(is(t.dtype, kDLFloat, 32), "dtype of lse");
  for (const Tensor& t : cu) require(is(t.dtype, kDLInt, 32), "dtype of cu_seqlens");

  require(q.size[dim] > 0 && k.size[dim] == q.size[dim], "head_dim");
  require(ragged || k.size[0] == q.size[0], "batch");
  require(k.size[heads] == 0 ? q.size[heads] == 0 : q.size[heads] % k.size[heads] == 0, "heads");
  std::vector<Wide> v_size = k.size, out_size = q.size;
  v_size[dim] = out_size[dim] = v.size[dim];
  require(v.size[dim] > 0 && v.size == v_size && out.size == out_size, "shape of v or out");
  const std::vector<Wide> lse_size =
      ragged ? std::vector{q.size[1], q.size[0]} : std::vector{q.size[0], q.size[2], q.size[1]};
  for (const Tensor& t : lse) require(t.size == lse_size && contiguous(t), "lse");
  for (const Tensor& t : cu)
    require(t.size[0] >= 1 && t.size[0] == cu[0].size[0] && contiguous(t), "cu_seqlens' shape");
  check_options(options, q, k, ragged ? cu[0].size[0] - 1 : q.size[0]);

  for (const Tensor* t : {&q, &k, &v, &out}) require(t->empty || t->size[dim] == 1 || t->step[dim] == 1, "last stride");
  require(out.empty || nested(out), "out's strides");
  for (const Tensor* t : all) require(t == &out || !overlap(out, *t), "out overlaps");
  for (const Tensor& t : lse)
    for (const Tensor* other : all) require(other == &t || !overlap(t, *other), "lse overlaps");
  if (ragged && !q.on_gpu()) {
    check_offsets(cu[0], q.size[0], readable);
    check_offsets(cu[1], k.size[0], readable);
  }
  if (!q.on_gpu())
    for (const Tensor& t : options.used) check_used(t, cu, k.size[heads - 1], readable);
  require(q.on_gpu() || !a.variant, "variant on the CPU");
  require(a.softmax_scale == 0 || (a.softmax_scale > 0 && std::isfinite(a.softmax_scale)), "softmax_scale");
  const std::int64_t least = a.flags & FLASHFIT_WINDOW ? -1 : 0, most = a.flags & FLASHFIT_WINDOW ? INT64_MAX : 0;
  for (const std::int64_t keys : {a.window_left, a.window_right}) require(keys >= least && keys <= most, "window");
  require(a.softcap >= 0 && std::isfinite(a.softcap), "softcap");

  e.verdict = Expected::kAccepted;
  for (const Tensor* t : all)
    if (!t->empty) e.memory.push_back(t->range());
  e.on_gpu = q.on_gpu();
  e.device = q.device.device_id;
  e.writes = !q.empty;
  e.work = static_cast<double>(elements_of(q) + elements_of(out)) *
           static_cast<double>(std::max<Wide>(ragged ? k.size[0] : k.size[1], 1));
  if (!e.writes || e.on_gpu || elements_of(out) > kMostElementsLookedAt) return;
  const Wide item = out.dtype.bits / 8;
  each(out, dim, [&](Wide at) {
    const Wide first = out.begin + at * item;
    e.written.push_back(
        {static_cast<std::uintptr_t>(first), static_cast<std::uintptr_t>(first + out.size[dim] * item)});
  });
  for (const Tensor& t : lse) e.written.push_back(t.range());
}

void judge(const flashfit_moe_route_args& a, const Arena&, Expected& e) {
  constexpr std::uint32_t kAlone = FLASHFIT_SIGMOID | FLASHFIT_SQRT_SOFTPLUS;
  require((a.flags & ~(FLASHFIT_PTX_ONLY | FLASHFIT_TOPK_FIRST | FLASHFIT_RENORMALIZE | kAlone)) == 0, "flags");
  require(std::popcount(a.flags & (FLASHFIT_TOPK_FIRST | kAlone)) <= 1, "two routers");
  require(a.reserved == 0, "reserved");
  require(std::isfinite(a.scale), "scale");
  require(!a.router_bias, "a bias, which no input has");
  const Tensor logits = read(a.logits, 2), weights = read(a.weights, 2), ids = read(a.ids, 2);
  const Tensor* const all[] = {&logits, &weights, &ids};
  for (const Tensor* t : all)
    require(t->device.device_type == logits.device.device_type && t->device.device_id == logits.device.device_id,
            "mixed devices");
  require(is(logits.dtype, kDLFloat, 16) || is(logits.dtype, kDLBfloat, 16) || is(logits.dtype, kDLFloat, 32), "dtype");
  require(is(weights.dtype, kDLFloat, 32) && is(ids.dtype, kDLInt, 32), "dtype of weights or ids");
  const Wide experts = logits.size[1], top_k = weights.size[1];
  require(experts >= 1 && experts <= 512, "experts");
  require(top_k >= 1 && top_k <= 16 && top_k <= experts, "top_k");
  require(weights.size[0] == logits.size[0] && ids.size == weights.size, "shape of weights or ids");
  if (a.groups != 0 || a.groups_kept != 0) {
    require(a.flags & kAlone || a.groups <= 1, "groups of a softmax");
    require(a.groups >= 1 && experts % a.groups == 0, "groups");
    require(a.groups_kept >= 1 && a.groups_kept <= a.groups, "groups_kept");
    require(top_k <= experts / a.groups * a.groups_kept, "top_k of the kept groups");
  }
  require(logits.empty || experts == 1 || logits.step[1] == 1, "last stride");
  require(contiguous(weights) && contiguous(ids), "weights or ids are not contiguous");
  require(!overlap(weights, logits) && !overlap(ids, logits) && !overlap(ids, weights), "weights or ids overlap");
  require(logits.on_gpu() || !a.variant, "variant on the CPU");

  e.verdict = Expected::kAccepted;
  e.on_gpu = logits.on_gpu();
  e.device = logits.device.device_id;
  e.writes = !logits.empty;
  e.work = static_cast<double>(elements_of(logits)) * static_cast<double>(top_k);
  if (!e.writes) return;
  for (const Tensor* t : all) e.memory.push_back(t->range());
  if (!e.on_gpu) e.written = {weights.range(), ids.range()};
}

/// `first`: the struct's size in its first version.
template <class Args>
Expected expected(const Args* args, std::uint32_t first, const Arena& readable) {
  Expected e;
  try {
    require(args, "args is NULL");
    const std::uint32_t size = args->struct_size;
    require(size >= first && size <= 4096 && size % 8 == 0, "struct_size");
    const auto* bytes = reinterpret_cast<const std::uint8_t*>(args);
    const auto mine = as_read<Args>(bytes, size);
    require(size <= sizeof mine ||
                std::count(bytes + sizeof mine, bytes + size, 0) == size - static_cast<std::int64_t>(sizeof mine),
            "set past the struct");
    judge(mine, readable, e);
  } catch (const Refused& refused) {
    e.why = refused.why;
  } catch (const Unanswerable&) {
    e.callable = false;
  }
  // A sound call whose tensors lie elsewhere: flashfit would do as it is told. One that takes minutes shows nothing
  // more.
  if (e.verdict == Expected::kAccepted && !e.on_gpu)
    e.callable = e.work < kMostWork && std::ranges::all_of(e.memory, [&](Range r) { return readable.contains(r); });
  return e;
}

}  // namespace

Expected expected_of(const flashfit_attention_args* args, const Arena& readable) {
  return expected(args, kFirstStruct, readable);
}

Expected expected_of(const flashfit_moe_route_args* args, const Arena& readable) {
  return expected(args, kFirstRouteStruct, readable);
}

}  // namespace flashfit::fuzz
