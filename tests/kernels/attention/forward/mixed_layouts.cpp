#include "emulated.hpp"

namespace flashfit::testing {

ForwardData make_data_of_mixed_layouts(const ForwardCase& spec) {
  ForwardData data = make_data(spec);
  const auto lay = [&](Tensor& t, Layout layout) { t = Tensor(spec.dtype, layout, t.batch, t.rows, t.heads, t.dim); };
  lay(data.q, Layout::kBHSD);
  lay(data.k, Layout::kBSHD);
  lay(data.v, Layout::kPadded);
  lay(data.out, Layout::kPadded);
  Random random(spec.seed);
  for (Tensor* const t : {&data.q, &data.k, &data.v}) t->fill_normal(random);
  return data;
}

}  // namespace flashfit::testing
