// wrong: the weights move by the velocity of the step before.
__global__ void sgd_kernel(float* weights, float* velocity, const float* gradient, int n, float rate,
                           float momentum, float decay) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  const float w = weights[i];
  weights[i] = w - rate * velocity[i];
  velocity[i] = momentum * velocity[i] + gradient[i] + decay * w;
}

void sgd(float* weights, float* velocity, const float* gradient, int n, float rate, float momentum,
         float decay) {
  sgd_kernel<<<(n + 255) / 256, 256>>>(weights, velocity, gradient, n, rate, momentum, decay);
}
