// One kernel: each array is read once, and two are written once.
__global__ void sgd_kernel(float* weights, float* velocity, const float* gradient, int n, float rate,
                           float momentum, float decay) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  const float w = weights[i], v = momentum * velocity[i] + (gradient[i] + decay * w);
  velocity[i] = v;
  weights[i] = w - rate * v;
}

void sgd(float* weights, float* velocity, const float* gradient, int n, float rate, float momentum,
         float decay) {
  sgd_kernel<<<(n + 255) / 256, 256>>>(weights, velocity, gradient, n, rate, momentum, decay);
}
