#include "proof/reference/far_rows.hpp"

#include "emulated.hpp"
#include "proof/emu/memory.hpp"

namespace flashfit::testing {
std::string far_rows_defect(const EmulatedKernel& kernel, const emu::Options& options) {
  const ForwardConfig& c = forward_variant_of(kernel.variant).config;
  ForwardCase spec;
  spec.name = "rows far apart";
  spec.dtype = c.dtype;
  spec.head_dim = c.head_dim;
  spec.head_dim_v = c.head_dim_v;
  spec.seqlens_q = spec.seqlens_k = {70};
  ForwardData data = make_data(spec);
  const FarRows q(data.q), k(data.k), v(data.v), out(data.out);
  for (const FarRows* rows : {&q, &k, &v, &out})
    if (!rows->mapped()) return "addresses of 37 GB could not be had";
  ForwardCall call = data.call();
  call.q = q.view(), call.k = k.view(), call.v = v.view(), call.o = out.view();
  emu::Memory memory;
  memory.read_only("q", call.q.data, q.bytes());
  memory.read_only("k", call.k.data, k.bytes());
  memory.read_only("v", call.v.data, v.bytes());
  memory.writable("o", call.o.data, out.bytes());
  memory.writable("lse", call.lse, data.lse_count() * sizeof(float));
  const auto ran = run(kernel, call, memory, options);
  if (!ran) return ran.error().message;
  out.give(data.out);
  return check(data, expect(data)).message;
}

}  // namespace flashfit::testing
