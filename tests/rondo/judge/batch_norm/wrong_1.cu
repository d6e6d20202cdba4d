// wrong: the mean of the squares less the square of the mean cancels.
constexpr int kThreads = 256;

__device__ float sum_of_block(float value, float* shared) {
  shared[threadIdx.x] = value;
  for (int half = kThreads / 2; half > 0; half /= 2) {
    __syncthreads();
    if (threadIdx.x < half) shared[threadIdx.x] += shared[threadIdx.x + half];
  }
  __syncthreads();
  const float sum = shared[0];
  __syncthreads();
  return sum;
}

__global__ void batch_norm_kernel(const float* x, const float* gamma, const float* beta, float* mean,
                                  float* variance, float* y, int rows, int channels, float epsilon) {
  __shared__ float shared[kThreads];
  const int c = blockIdx.x;
  float sum = 0, squares = 0;
  for (int i = threadIdx.x; i < rows; i += kThreads) {
    sum += x[i * channels + c];
    squares += x[i * channels + c] * x[i * channels + c];
  }
  const float center = sum_of_block(sum, shared) / rows;
  const float spread = sum_of_block(squares, shared) / rows - center * center;
  if (threadIdx.x == 0) mean[c] = center, variance[c] = spread;
  for (int i = threadIdx.x; i < rows; i += kThreads)
    y[i * channels + c] = (x[i * channels + c] - center) / sqrtf(spread + epsilon) * gamma[c] + beta[c];
}

void batch_norm(const float* x, const float* gamma, const float* beta, float* mean, float* variance, float* y,
                int rows, int channels, float epsilon) {
  batch_norm_kernel<<<channels, kThreads>>>(x, gamma, beta, mean, variance, y, rows, channels, epsilon);
}
