// One matrix product, in a program that includes only the kernels' headers and is compiled without options.

#include <rondo/kernels/runtime/buffer.h>
#include <rondo/kernels/gemm/gemm.h>

#if defined(PLAIN_X86_64) && (defined(__AVX__) || defined(__FMA__) || defined(__SSE3__))
#error "the library's instructions reach its users"
#endif

int main() {
  rondo::Stream stream;
  const rondo::Buffer<float> a(std::vector<float>{1, 2, 3, 4}), b(std::vector<float>{5, 6, 7, 8});
  rondo::Buffer<float> c(4);
  const rondo::Status status = rondo::gemm(rondo::matrix(c.data(), 2, 2), rondo::matrix(a.data(), 2, 2),
                                           rondo::matrix(b.data(), 2, 2), {}, {}, stream);
  stream.synchronize();
  return status.ok() && c.download() == std::vector<float>{19, 22, 43, 50} ? 0 : 1;
}
