#include <rondo/kernels/core/check.h>
#include <rondo/kernels/loss/nonfinite_loss.h>
#include <rondo/kernels/core/launch.cuh>

namespace rondo {
namespace {

__global__ void mark_nonfinite_loss_kernel(float* gradient, const LossStats* loss_stats) {
  if (!isfinite(loss_stats->loss)) *gradient = NAN;
}

}  // namespace

Status mark_nonfinite_loss(float* gradient, const LossStats* loss_stats, cudaStream_t stream) {
  ArgumentCheck check("mark_nonfinite_loss");
  check.output_value("gradient", gradient);
  check.input_value("loss_stats", loss_stats);
  RONDO_RETURN_IF_ERROR(check.status());
  return launch("mark_nonfinite_loss", LaunchShape{}, stream, mark_nonfinite_loss_kernel, gradient,
                loss_stats);
}

}  // namespace rondo
