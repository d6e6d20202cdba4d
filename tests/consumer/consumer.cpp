// One matrix product and one all-reduce, written with the public headers only.

#include <rondo/collectives/collectives.h>
#include <rondo/kernels/gemm/gemm.h>
#include <rondo/kernels/runtime/buffer.h>
#include <rondo/version.h>

#include <iostream>
#include <string>

// The header has the version of its project.
static_assert(std::string_view(RONDO_VERSION_STRING) == EXPECTED_VERSION);

int main() {
  const std::string version = std::to_string(RONDO_VERSION_MAJOR) + "." +
                              std::to_string(RONDO_VERSION_MINOR) + "." + std::to_string(RONDO_VERSION_PATCH);
  if (version != RONDO_VERSION_STRING) return 2;

  rondo::Stream stream;
  const rondo::Buffer<float> a(std::vector<float>{1, 2, 3, 4}), b(std::vector<float>{5, 6, 7, 8});
  rondo::Buffer<float> c(4);
  rondo::Status status =
      rondo::gemm(rondo::matrix(c.data(), 2, 2), rondo::matrix(a.data(), 2, 2), rondo::matrix(b.data(), 2, 2),
                  {.activation = rondo::Activation::relu}, {}, stream);

  rondo::Communicator ring({0, 0});  // two ranks on one device
  const rondo::DataView vectors[] = {{c.data(), 2, rondo::DType::float32},
                                     {c.data() + 2, 2, rondo::DType::float32}};
  const cudaStream_t streams[] = {stream, stream};
  if (status.ok()) status = rondo::all_reduce(vectors, {}, ring, streams);
  if (!status.ok()) {
    std::cerr << status.message() << '\n';
    return 1;
  }
  stream.synchronize();
  // {1 2; 3 4} {5 6; 7 8} = {19 22; 43 50}, and the rows added are {62 72}.
  return c.download() == std::vector<float>{62, 72, 62, 72} ? 0 : 1;
}
