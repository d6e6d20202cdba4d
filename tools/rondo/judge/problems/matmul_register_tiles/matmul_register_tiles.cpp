#include <rondo/tools/rondo/judge/problems/matmul/product.h>

#include "rondo_judge_problems.h"

namespace rondo::program {

Problem matmul_register_tiles_problem() {
  return {.name = "matmul_register_tiles",
          .title = "Matrix product with register tiles",
          .idea = "each value of shared memory is used several times, from a register",
          .declaration =
              "void matmul_register_tiles(const float* a, const float* b, float* c, int m, int n, int k)",
          .sizes = sizes_of_products(),
          .counted = {{"m", 768}, {"n", 576}, {"k", 64}},
          .fill = fill_product};
}

}  // namespace rondo::program
