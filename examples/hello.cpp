// c++ -std=c++17 examples/hello.cpp -Iinclude -Lbuild/lib -lflashfit -Wl,-rpath,build/lib -o hello && ./hello
#include <flashfit/flashfit.hpp>
#include <iostream>

int main() {
  const float q[] = {1, 0}, k[] = {1, 0, 0, 1}, v[] = {1, 2, 3, 4};  // 1 query, 2 keys, head_dim 2
  float out[2];
  using flashfit::Tensor;  // [batch, seqlen, heads, head_dim]
  const auto done = flashfit::attention(Tensor(q, {1, 1, 1, 2}), Tensor(k, {1, 2, 1, 2}), Tensor(v, {1, 2, 1, 2}),
                                        Tensor(out, {1, 1, 1, 2}));
  if (!done) return std::cerr << done.error().message << '\n', 1;
  std::cout << out[0] << ' ' << out[1] << '\n';
}
