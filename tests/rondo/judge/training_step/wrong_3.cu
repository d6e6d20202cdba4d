// wrong: each device steps by the gradient of its own images.
#include <vector>

namespace {

constexpr int kWarps = 4;

// errors[i][c] = softmax of the logits of image i, less 1 at its label. Lane c has class c.
__global__ void compute_errors(float* errors, const float* weights, const float* images, const int* labels,
                               int count, int features, int classes) {
  const int i = blockIdx.x * kWarps + threadIdx.x / 32, c = threadIdx.x % 32;
  if (i >= count) return;
  float logit = 0;
  if (c < classes)
    for (int f = 0; f < features; ++f) logit += images[i * features + f] * weights[f * classes + c];
  float most = c < classes ? logit : -INFINITY;
  for (int offset = 16; offset > 0; offset /= 2) most = fmaxf(most, __shfl_xor_sync(~0u, most, offset));
  const float power = c < classes ? expf(logit - most) : 0;
  float sum = power;
  for (int offset = 16; offset > 0; offset /= 2) sum += __shfl_xor_sync(~0u, sum, offset);
  if (c < classes) errors[i * classes + c] = power / sum - (c == labels[i]);
}

// The sum over the images of a device.
__global__ void sum_gradient(float* gradient, const float* errors, const float* images, int count,
                             int features, int classes) {
  const int w = blockIdx.x * blockDim.x + threadIdx.x;
  if (w >= features * classes) return;
  const int f = w / classes, c = w % classes;
  float sum = 0;
  for (int i = 0; i < count; ++i) sum += images[i * features + f] * errors[i * classes + c];
  gradient[w] = sum;
}

__global__ void update(float* weights, const float* gradient, int n, float scale) {
  const int w = blockIdx.x * blockDim.x + threadIdx.x;
  if (w >= n) return;
  weights[w] -= scale * gradient[w];
}

struct Rank {
  cudaStream_t stream;
  float *errors, *gradient;
};

}  // namespace

void training_step(float* const* weights, const float* const* images, const int* const* labels, int count,
                   int features, int classes, float rate, int devices) {
  const int n = features * classes, blocks = (n + 127) / 128;
  std::vector<Rank> ranks(devices);
  for (int d = 0; d < devices; ++d) {
    const int mine = count * (d + 1) / devices - count * d / devices;
    Rank& rank = ranks[d];
    cudaSetDevice(d);
    cudaStreamCreateWithFlags(&rank.stream, cudaStreamNonBlocking);
    cudaMalloc(&rank.errors, mine * classes * sizeof(float));
    cudaMalloc(&rank.gradient, n * sizeof(float));
    if (mine > 0)
      compute_errors<<<(mine + kWarps - 1) / kWarps, kWarps * 32, 0, rank.stream>>>(
          rank.errors, weights[d], images[d], labels[d], mine, features, classes);
    sum_gradient<<<blocks, 128, 0, rank.stream>>>(rank.gradient, rank.errors, images[d], mine, features,
                                                  classes);
  }
  for (int d = 0; d < devices; ++d) {
    cudaSetDevice(d);
    update<<<blocks, 128, 0, ranks[d].stream>>>(weights[d], ranks[d].gradient, n, rate / count);
  }
  for (int d = 0; d < devices; ++d) {
    cudaSetDevice(d);
    cudaFree(ranks[d].errors);
    cudaFree(ranks[d].gradient);
    cudaStreamDestroy(ranks[d].stream);
  }
}
