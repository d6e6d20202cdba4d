#include <rondo/tools/rondo/judge/problems/matmul/product.h>

#include <algorithm>

#include "rondo_judge_problems.h"

namespace rondo::program {
namespace {

std::string missing_async_copies(const simt::ProgramProfile& profile) {
  const auto copies = [](const simt::KernelProfile& kernel) {
    return std::any_of(kernel.accesses.begin(), kernel.accesses.end(), [](const simt::AccessCounts& access) {
      return access.kind == simt::AccessKind::async_copy_store;
    });
  };
  return std::any_of(profile.kernels.begin(), profile.kernels.end(), copies)
             ? ""
             : "the tiles must be copied by cp.async (__pipeline_memcpy_async)";
}

}  // namespace

Problem matmul_async_problem() {
  return {.name = "matmul_async",
          .title = "Matrix product with asynchronous copies",
          .idea = "cp.async and two buffers: copies while the threads compute",
          .declaration = "void matmul_async(const float* a, const float* b, float* c, int m, int n, int k)",
          .sizes = {{{"m", 1}, {"n", 4}, {"k", 4}},
                    {{"m", 5}, {"n", 40}, {"k", 12}},
                    {{"m", 33}, {"n", 4}, {"k", 36}},
                    {{"m", 31}, {"n", 68}, {"k", 20}},
                    {{"m", 64}, {"n", 64}, {"k", 64}},
                    {{"m", 130}, {"n", 72}, {"k", 52}}},
          .counted = {{"m", 768}, {"n", 576}, {"k", 64}},
          .fill = fill_product,
          .missing = missing_async_copies};
}

}  // namespace rondo::program
