// The peer cublas of `rondo bench gemm`: cuBLAS, loaded when it is asked for. Rondo does not link it.
#pragma once

#include <rondo/tools/rondo/bench/peer.h>

#include <cuda_runtime_api.h>

#include <cstddef>
#include <functional>

namespace rondo::program {

// The functions of cuBLAS that the peer calls. Enumerations are ints, with the values of "cuBLAS Library",
// NVIDIA: CUBLAS_OP_N 0 and CUBLAS_OP_T 1; CUDA_R_32F 0, CUDA_R_16F 2 and CUDA_R_16BF 14;
// CUBLAS_COMPUTE_32F 68 and CUBLAS_COMPUTE_32F_FAST_TF32 77; CUBLAS_GEMM_DEFAULT -1.
struct CublasFunctions {
  int (*create)(void** handle) = nullptr;
  int (*destroy)(void* handle) = nullptr;
  int (*version)(void* handle, int* version) = nullptr;
  int (*set_stream)(void* handle, cudaStream_t stream) = nullptr;
  int (*set_workspace)(void* handle, void* workspace, size_t bytes) = nullptr;
  const char* (*status_string)(int status) = nullptr;
  int (*gemm)(void* handle, int transpose_a, int transpose_b, int m, int n, int k, const void* alpha,
              const void* a, int a_type, int lda, const void* b, int b_type, int ldb, const void* beta,
              void* c, int c_type, int ldc, int compute_type, int algorithm) = nullptr;
};

// `find` returns the address of a function by its name, or null. Throws a bad_argument Error with the first
// name that it does not find.
CublasFunctions find_cublas(const std::function<void*(const std::string& name)>& find);

// The functions of the system's libcublas. Throws a bad_argument Error without one, and on the CPU executor.
CublasFunctions load_cublas();

std::unique_ptr<BenchPeer> make_cublas_peer(const CublasFunctions& functions);

}  // namespace rondo::program
