// changed input: the decay is added to the gradient in place.
__global__ void sgd_kernel(float* weights, float* velocity, float* gradient, int n, float rate,
                           float momentum, float decay) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  gradient[i] += decay * weights[i];
  velocity[i] = momentum * velocity[i] + gradient[i];
  weights[i] -= rate * velocity[i];
}

void sgd(float* weights, float* velocity, const float* gradient, int n, float rate, float momentum,
         float decay) {
  sgd_kernel<<<(n + 255) / 256, 256>>>(weights, velocity, const_cast<float*>(gradient), n, rate, momentum,
                                       decay);
}
