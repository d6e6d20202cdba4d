// The pipelined kernel, for every kind of tile: those of tile.cuh and of mma/tensor_tile.cuh. Each .cu file
// instantiates it for the tiles of one arithmetic, so that they are compiled side by side.
#pragma once

#include <rondo/kernels/gemm/gemm_plan.h>
#include <rondo/kernels/core/shared.cuh>
#include <rondo/kernels/gemm/epilogue.cuh>
#include <rondo/kernels/gemm/fma/matrix_loaders.cuh>
#include <rondo/kernels/gemm/fma/tile_mainloop.cuh>
#include <rondo/kernels/gemm/partial_sums.cuh>

#include <algorithm>
#include <type_traits>

namespace rondo {

// T, the type of the factors: float, __nv_bfloat16 or __half.
template <class T>
struct PipelinedParameters {
  // One kernel stores both types of 16-bit products: the type of c is known at run time.
  using Arguments = GemmArgumentsOf<T, std::conditional_t<std::is_same_v<T, float>, float, void>>;
  Arguments gemm;
  int a_width, b_width;  // elements per copy, of matrices at multiples of 16 bytes
  int64_t tiles_n;
  int64_t tiles;  // of one product; the blocks of a batch's products follow one after the other
  int64_t k_per_split;
  GemmEpilogue epilogue;
  Partials partials;  // null data: k is not split, and the kernel stores the result
  bool float_result;  // c is float, else it has the type of a and b
};

// The matrix number `batch` of an operand, whose first matrix is at `first`, unless it has pointers.
template <class T>
__device__ __forceinline__ T* matrix_of(T* first, const OperandBatch& operand, int64_t batch) {
  if (operand.pointers) return static_cast<T* const*>(operand.pointers)[batch];
  return first + batch * operand.stride;
}

// C of one product, and the epilogue with what depends on its address.
template <class T>
struct PipelinedResult {
  void* c;
  GemmEpilogue epilogue;

  __device__ __forceinline__ PipelinedResult(const PipelinedParameters<T>& p, int64_t batch)
      : c(p.gemm.c), epilogue(p.epilogue) {
    if (p.partials.data) return;
    if (std::is_same_v<T, float> || p.float_result)
      find<float>(p.gemm, batch);
    else
      find<T>(p.gemm, batch);
  }

 private:
  template <class C>
  __device__ __forceinline__ void find(const typename PipelinedParameters<T>::Arguments& g, int64_t batch) {
    C* const data = matrix_of(static_cast<C*>(g.c), g.batches.c, batch);
    c = data;
    epilogue.aligned = rows_are_aligned<4>(data, g.c_stride);
    if (g.batches.residual_pointers)
      epilogue.add_residual(static_cast<const C* const*>(g.batches.residual_pointers)[batch], data);
  }
};

// Stores one row of a thread's results to the matrix c, or of its partial sums.
template <class T, int N, class EpilogueOfRow>
__device__ __forceinline__ void store_row(const PipelinedParameters<T>& p, void* c,
                                          const EpilogueOfRow& epilogue, int64_t row, int64_t column,
                                          const Vec<N>& sums, int64_t part = 0) {
  const auto& g = p.gemm;
  if (std::is_same_v<T, float> || p.float_result || p.partials.data) {
    float* const to = p.partials.data ? p.partials.row(part, row) : static_cast<float*>(c) + row * g.c_stride;
    epilogue.store_tile_row(to, column, g.n, sums);
  } else if constexpr (!std::is_same_v<T, float>) {
    epilogue.store_row(static_cast<T*>(c) + row * g.c_stride, column, g.n, sums);
  }
}

// acc = the sum over part `part` of k, for the tile at (m0, n0).
template <class Tile, Order OrderA, Order OrderB>
__device__ __forceinline__ void multiply_part(Accumulators<Tile>& acc,
                                              TileShared<Tile, OrderA, OrderB>& shared,
                                              const PipelinedParameters<typename Tile::Element>& p,
                                              int64_t batch, int64_t m0, int64_t n0, int64_t part) {
  const auto& g = p.gemm;
  const int64_t k0 = part * p.k_per_split;
  const int64_t k = min(g.k - k0, p.k_per_split);
  const auto* const of_a = matrix_of(g.a, g.batches.a, batch);
  const auto* const of_b = matrix_of(g.b, g.batches.b, batch);
  MatrixLoader<OrderA, KTileA<Tile, OrderA>, Tile::kM, Tile> a(
      of_a + (OrderA == Order::k_major ? m0 * g.a_stride + k0 : k0 * g.a_stride + m0), g.a_stride, g.m - m0,
      k, copy_width_at(of_a, p.a_width));
  MatrixLoader<OrderB, KTileB<Tile, OrderB>, Tile::kN, Tile> b(
      of_b + (OrderB == Order::k_major ? n0 * g.b_stride + k0 : k0 * g.b_stride + n0), g.b_stride, g.n - n0,
      k, copy_width_at(of_b, p.b_width));
  tile_mainloop<Tile, OrderA, OrderB>(acc, shared, a, b, k);
}

template <class Tile, Order OrderA, Order OrderB>
__global__ __launch_bounds__(Tile::kThreads, Tile::kBlocksAtOnce) void gemm_pipelined_kernel(
    const PipelinedParameters<typename Tile::Element> p) {
  auto& shared = shared_memory<TileShared<Tile, OrderA, OrderB>>();
  const auto& g = p.gemm;
  const int64_t batch = blockIdx.x / p.tiles, tile = blockIdx.x % p.tiles;
  const int64_t m0 = tile / p.tiles_n * Tile::kM, n0 = tile % p.tiles_n * Tile::kN;
  Accumulators<Tile> acc;
  multiply_part<Tile, OrderA, OrderB>(acc, shared, p, batch, m0, n0, blockIdx.y);

  const PipelinedResult<typename Tile::Element> result(p, batch);
  store_tile<Tile, OrderA>(shared, acc, [&](int row_in_tile, int column, const auto& sums) {
    const int64_t row = m0 + row_in_tile;
    if (row < g.m) store_row(p, result.c, result.epilogue, row, n0 + column, sums, blockIdx.y);
  });
}

// Stores `rows` rows of a register tile, from (row, column) of the result on, or adds them to the sum of the
// parts before, which is in the memory of the first part.
template <int N, class T>
__device__ RONDO_INLINE_ON_GPU void store_register_tile(const PipelinedParameters<T>& p,
                                                        const PipelinedResult<T>& result,
                                                        const Partials& parts, int64_t part, int64_t row,
                                                        int rows, int64_t column, const float* results) {
  const int64_t left = p.gemm.n - column;
  for (int i = 0; i < rows; ++i, ++row) {
    auto sums = Vec<N>::load(results + i * N);
    if (parts.count > 1) {
      float* const sum = parts.row(0, row) + column;
      sums = (part == 0 ? Vec<N>::zero() : Vec<N>::load_some(sum, left)) + sums;
      if (part + 1 < parts.count) {
        sums.store_some(sum, left);
        continue;
      }
    }
    if (std::is_same_v<T, float> || p.float_result)
      result.epilogue.store_row(static_cast<float*>(result.c) + row * p.gemm.c_stride, column, p.gemm.n,
                                sums);
    else
      result.epilogue.store_row(static_cast<T*>(result.c) + row * p.gemm.c_stride, column, p.gemm.n, sums);
  }
}

// A vector tile has all parts of k.
template <class Tile, Order OrderA, Order OrderB>
__global__ __launch_bounds__(Tile::kThreads) void gemm_by_vectors_kernel(
    const PipelinedParameters<typename Tile::Element> p, const Partials parts) {
  using Element = typename Tile::Element;
  auto& shared = shared_memory<TileShared<Tile, OrderA, OrderB>>();
  const auto& g = p.gemm;
  const int64_t batch = blockIdx.x / p.tiles, tile = blockIdx.x % p.tiles;
  const int64_t m0 = tile / p.tiles_n * Tile::kM, n0 = tile % p.tiles_n * Tile::kN;
  const PipelinedResult<Element> result(p, batch);
  const int64_t result_bytes = p.float_result ? sizeof(float) : sizeof(Element);
  Accumulators<Tile> acc;
  for (int64_t part = 0; part < parts.count; ++part) {
    multiply_part<Tile, OrderA, OrderB>(acc, shared, p, batch, m0, n0, part);
    const auto rows_from = [&](int row) { return min(int64_t{Tile::kPerThreadM}, g.m - m0 - row); };
    // The memory of the results is fetched while their last products are added.
    const auto prefetch = [&](int row, int column) {
      const char* to = static_cast<char*>(result.c) + ((m0 + row) * g.c_stride + n0 + column) * result_bytes;
      for (int64_t left = rows_from(row); left > 0; --left, to += g.c_stride * result_bytes)
        for (int i = 0; i < Tile::kPerThreadN * result_bytes; i += 64) __builtin_prefetch(to + i, /*rw=*/1);
    };
    const auto store = [&](int row, int column, const float* results) {
      store_register_tile<Tile::kPerThreadN>(p, result, parts, part, m0 + row,
                                             static_cast<int>(rows_from(row)), n0 + column, results);
    };
    visit_register_tiles<Tile, OrderA>(acc, prefetch, store);
  }
}

template <class Tile, Order OrderA, Order OrderB>
LaunchShape pipelined_shape(PipelinedParameters<typename Tile::Element>& p, int64_t splits) {
  p.tiles_n = ceil_div<int64_t>(p.gemm.n, Tile::kN);
  p.tiles = ceil_div<int64_t>(p.gemm.m, Tile::kM) * p.tiles_n;
  return {.grid_x = saturating_product({p.tiles, p.gemm.batches.count}),
          .grid_y = splits,
          .block_x = Tile::kThreads,
          .shared_bytes = sizeof(TileShared<Tile, OrderA, OrderB>)};
}

// All parameters but tiles_n and tiles.
template <class T, class C>
PipelinedParameters<T> pipelined_parameters(const GemmArgumentsOf<T, C>& g, const SplitK& parts,
                                            Workspace workspace) {
  const bool split = parts.splits > 1;
  PipelinedParameters<T> p = {};
  p.gemm = {g.m,        g.n,        g.k,        g.a,           g.b,           g.c,
            g.a_stride, g.b_stride, g.c_stride, g.transpose_a, g.transpose_b, g.alpha,
            g.beta,     g.bias,     g.residual, g.activation,  g.arithmetic,  g.batches};
  p.float_result = std::is_same_v<C, float>;
  p.a_width = copy_width<T>(nullptr, g.a_stride, g.transpose_a ? g.m : g.k);
  p.b_width = copy_width<T>(nullptr, g.b_stride, g.transpose_b ? g.k : g.n);
  p.k_per_split = split ? parts.k_per_split : std::max<int64_t>(g.k, 1);
  p.epilogue = split ? GemmEpilogue{.aligned = true} : gemm_epilogue(g);
  if (split) p.partials = {static_cast<float*>(workspace.data), g.m, g.n, parts.splits};
  return p;
}

// Launches the kernel with the tile `Tile`, and the sum of the parts if k is split. `workspace` has room for
// them.
template <class Tile, class T, class C>
Status launch_pipelined(const char* name, const GemmArgumentsOf<T, C>& g, const SplitK& parts,
                        Workspace workspace, cudaStream_t stream) {
  const bool split = parts.splits > 1;
  const GemmProblem problem = problem_of(g);
  if constexpr (Tile::kVectors) {  // without a second pass
    PipelinedParameters<T> p = pipelined_parameters(g, SplitK{}, workspace);
    p.k_per_split = split ? parts.k_per_split : std::max<int64_t>(g.k, 1);
    return with_orders(problem.a.order, problem.b.order, [&]<Order OrderA, Order OrderB>() {
      return launch(name, pipelined_shape<Tile, OrderA, OrderB>(p, 1), stream,
                    gemm_by_vectors_kernel<Tile, OrderA, OrderB>, p,
                    Partials{static_cast<float*>(workspace.data), g.m, g.n, parts.splits});
    });
  } else {
    PipelinedParameters<T> p = pipelined_parameters(g, parts, workspace);
    RONDO_RETURN_IF_ERROR(with_orders(problem.a.order, problem.b.order, [&]<Order OrderA, Order OrderB>() {
      return launch(name, pipelined_shape<Tile, OrderA, OrderB>(p, parts.splits), stream,
                    gemm_pipelined_kernel<Tile, OrderA, OrderB>, p);
    }));
    return split ? sum_partials(p.partials, g.c, g.c_stride, 1, gemm_epilogue(g), stream) : Status();
  }
}

}  // namespace rondo
