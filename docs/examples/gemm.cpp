// Matrix product with a bias and a ReLU: c = max(a b + bias, 0).
#include <rondo/kernels/gemm/gemm.h>
#include <rondo/kernels/runtime/buffer.h>

#include <iostream>

int main() {
  const int64_t m = 2, n = 3, k = 2;
  const rondo::Buffer<float> a(std::vector<float>{1, 2, 3, 4}), b(std::vector<float>{1, 0, -1, 0, 1, -1});
  const rondo::Buffer<float> bias(std::vector<float>{10, 20, 1});
  rondo::Buffer<float> c(m * n);
  rondo::Stream stream;

  rondo::Buffer<std::byte> scratch(rondo::gemm_workspace_bytes({m, n, k}));
  rondo::Status status =
      rondo::gemm(rondo::matrix(c.data(), m, n), rondo::matrix(a.data(), m, k), rondo::matrix(b.data(), k, n),
                  {.bias = {bias.data(), n}, .activation = rondo::Activation::relu},
                  {scratch.data(), scratch.bytes()}, stream);
  if (!status.ok()) {
    std::cerr << status.message() << '\n';
    return 1;
  }
  stream.synchronize();
  for (float value : c.download()) std::cout << value << ' ';
  std::cout << '\n';  // prints 11 22 0 13 24 0
}
