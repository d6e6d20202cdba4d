// A kernel for each line of the formula: every intermediate value goes through memory.
__global__ void scale(float* x, float factor, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) x[i] *= factor;
}

__global__ void add(float* to, const float* x, float factor, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) to[i] += factor * x[i];
}

void sgd(float* weights, float* velocity, const float* gradient, int n, float rate, float momentum,
         float decay) {
  const int blocks = (n + 255) / 256;
  scale<<<blocks, 256>>>(velocity, momentum, n);
  add<<<blocks, 256>>>(velocity, gradient, 1, n);
  add<<<blocks, 256>>>(velocity, weights, decay, n);
  add<<<blocks, 256>>>(weights, velocity, -rate, n);
}
