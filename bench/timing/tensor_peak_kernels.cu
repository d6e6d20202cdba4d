#include <rondo/bench/timing/tensor_peak_kernels.h>
#include <rondo/kernels/core/launch.cuh>
#include <rondo/kernels/core/ptx/mma.cuh>
#include <rondo/kernels/core/ptx/wgmma.cuh>
#include <rondo/kernels/core/shared.cuh>
#include <rondo/kernels/core/vec.cuh>

namespace rondo::bench {
namespace {

// mma.sync: 16 independent accumulators of a warp hide the latency of a product.
constexpr int kM = 4, kN = 4;
constexpr int kWarps = kTensorThreads / 32;

// The K of the instructions, in bytes of an operand's row.
constexpr int kStepBytes = 32;

template <class Element>
__global__ void __launch_bounds__(kTensorThreads, 2)
    mma_kernel(float* __restrict__ sums, const unsigned* __restrict__ operands, int length) {
  const unsigned lane = threadIdx.x % 32;
  float d[kM][kN][4] = {};
  unsigned a[kM][4], b[kN][2];
  RONDO_UNROLL
  for (int i = 0; i < kM * 4; ++i) a[i / 4][i % 4] = operands[i * 32 + lane];
  RONDO_UNROLL
  for (int i = 0; i < kN * 2; ++i) b[i / 2][i % 2] = operands[(kM * 4 + i) * 32 + lane];
  for (int step = 0; step < length; ++step) ptx::mma<Element>(d, a, b);
  float sum = 0;
  RONDO_UNROLL
  for (int i = 0; i < kM * kN * 4; ++i) sum += d[i / (kN * 4)][i / 4 % kN][i % 4];
  sums[static_cast<int64_t>(blockIdx.x) * kTensorThreads + threadIdx.x] = sum;
}

// wgmma: each of two warpgroups multiplies 64 rows of its own with the same 256 columns, along rows of 128
// bytes that are swizzled as gemm() has them.
constexpr int kGroup = 128, kGroups = kTensorThreads / kGroup, kColumns = 256, kRows = 64;
constexpr int kLineBytes = 128, kSteps = kLineBytes / kStepBytes;

struct alignas(1024) Shared {
  unsigned char a[kGroups][kRows * kLineBytes];
  unsigned char b[kColumns * kLineBytes];
};
static_assert(sizeof(Shared) == kTensorOperandBytes);

// The registers are changed here, so that the compiler does not move their initialisation into the products.
__device__ __forceinline__ void fence([[maybe_unused]] float (&d)[kColumns / 2]) {
#ifndef __SIMT__
  RONDO_UNROLL
  for (int i = 0; i < kColumns / 2; ++i) asm volatile("" : "+f"(d[i])::"memory");
#endif
}

template <class Element>
__global__ void __launch_bounds__(kTensorThreads, 1)
    wgmma_kernel(float* __restrict__ sums, const uint4* __restrict__ operands, int length) {
  auto& shared = shared_memory<Shared>();
  uint4* const to = reinterpret_cast<uint4*>(&shared);
  constexpr unsigned kVectors = sizeof(Shared) / sizeof(uint4);
  for (unsigned i = threadIdx.x; i < kVectors; i += kTensorThreads) to[i] = operands[i];
#ifndef __SIMT__
  // Orders the stores before the reads of wgmma, which are of another proxy.
  RONDO_SM90_ASM("fence.proxy.async.shared::cta;" ::: "memory");
#endif
  __syncthreads();
  const auto operand = [](const unsigned char* start) {
    return ptx::descriptor({start, 0, 8 * kLineBytes, ptx::MatrixSwizzle::bytes128});
  };
  const uint64_t a = operand(shared.a[threadIdx.x / kGroup]), b = operand(shared.b);
  float d[kColumns / 2] = {};
  fence(d);
  for (int step = 0; step < length; step += kSteps) {
    fence(d);
    ptx::wgmma_fence();
    RONDO_UNROLL
    for (int k = 0; k < kSteps; ++k)
      ptx::wgmma<Element, kColumns>(d, ptx::advanced(a, static_cast<unsigned>(k * kStepBytes)),
                                    ptx::advanced(b, static_cast<unsigned>(k * kStepBytes)), true);
    ptx::wgmma_commit();
    ptx::wgmma_wait<1>();
  }
  ptx::wgmma_wait<0>();
  fence(d);
  float sum = 0;
  RONDO_UNROLL
  for (int i = 0; i < kColumns / 2; ++i) sum += d[i];
  sums[static_cast<int64_t>(blockIdx.x) * kTensorThreads + threadIdx.x] = sum;
}

Status check_chains(const char* name, const VectorView<float>& sums, Arithmetic arithmetic, int64_t blocks) {
  if (arithmetic == Arithmetic::fp32 || arithmetic == Arithmetic::tf32x3)
    return bad_argument(name, ": the arithmetic is ", name_of(arithmetic), ", must be tf32, bf16 or fp16");
  if (sums.size != blocks * kTensorThreads)
    return bad_argument(name, ": sums.size is ", sums.size, ", must be ", blocks * kTensorThreads);
  RONDO_RETURN_IF_ERROR(check_factor_type(name, factor_type(arithmetic)));
  return check_math(name, math_of(arithmetic));
}

template <class Run>
Status with_element(Arithmetic arithmetic, Run&& run) {
  if (arithmetic == Arithmetic::tf32) return run.template operator()<ptx::Tf32>();
  if (arithmetic == Arithmetic::bf16) return run.template operator()<__nv_bfloat16>();
  return run.template operator()<__half>();
}

int depth(Arithmetic arithmetic) { return kStepBytes / static_cast<int>(size_of(factor_type(arithmetic))); }

}  // namespace

double mma_chains_flops(Arithmetic arithmetic) {
  return 2.0 * kWarps * (kM * 16) * (kN * 8) * depth(arithmetic);
}
double wgmma_chains_flops(Arithmetic arithmetic) {
  return 2.0 * kGroups * kRows * kColumns * depth(arithmetic);
}

Status mma_chains(VectorView<float> sums, const void* operands, Arithmetic arithmetic, int64_t blocks,
                  int length, cudaStream_t stream) {
  RONDO_RETURN_IF_ERROR(check_chains("mma_chains", sums, arithmetic, blocks));
  const LaunchShape shape = {.grid_x = blocks, .block_x = kTensorThreads};
  return with_element(arithmetic, [&]<class Element>() {
    return launch("mma_chains", shape, stream, mma_kernel<Element>, sums.data,
                  static_cast<const unsigned*>(operands), length);
  });
}

Status wgmma_chains(VectorView<float> sums, const void* operands, Arithmetic arithmetic, int64_t blocks,
                    int length, cudaStream_t stream) {
  RONDO_RETURN_IF_ERROR(check_chains("wgmma_chains", sums, arithmetic, blocks));
  RONDO_RETURN_IF_ERROR(check_wgmma("wgmma_chains"));
  if (length % kSteps != 0)
    return bad_argument("wgmma_chains: length is ", length, ", must be a multiple of ", kSteps);
  const LaunchShape shape = {
      .grid_x = blocks, .block_x = kTensorThreads, .shared_bytes = static_cast<int64_t>(sizeof(Shared))};
  return with_element(arithmetic, [&]<class Element>() {
    return launch("wgmma_chains", shape, stream, wgmma_kernel<Element>, sums.data,
                  static_cast<const uint4*>(operands), length);
  });
}

}  // namespace rondo::bench
