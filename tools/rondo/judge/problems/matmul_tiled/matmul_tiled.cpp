#include <rondo/tools/rondo/judge/problems/matmul/product.h>

#include "rondo_judge_problems.h"

namespace rondo::program {

Problem matmul_tiled_problem() {
  return {.name = "matmul_tiled",
          .title = "Matrix product with tiles",
          .idea = "each value of global memory is used 32 times, from shared memory",
          .declaration = "void matmul_tiled(const float* a, const float* b, float* c, int m, int n, int k)",
          .sizes = sizes_of_products(),
          .counted = {{"m", 768}, {"n", 576}, {"k", 64}},
          .fill = fill_product};
}

}  // namespace rondo::program
