// out of range: four elements at a time, also behind the end.
__global__ void sgd_kernel(float* weights, float* velocity, const float* gradient, int n, float rate,
                           float momentum, float decay) {
  const int i = 4 * (blockIdx.x * blockDim.x + threadIdx.x);
  if (i >= n) return;
  float4 w = *reinterpret_cast<float4*>(weights + i), v = *reinterpret_cast<float4*>(velocity + i);
  const float4 g = *reinterpret_cast<const float4*>(gradient + i);
  v = {momentum * v.x + g.x + decay * w.x, momentum * v.y + g.y + decay * w.y,
       momentum * v.z + g.z + decay * w.z, momentum * v.w + g.w + decay * w.w};
  w = {w.x - rate * v.x, w.y - rate * v.y, w.z - rate * v.z, w.w - rate * v.w};
  *reinterpret_cast<float4*>(velocity + i) = v;
  *reinterpret_cast<float4*>(weights + i) = w;
}

void sgd(float* weights, float* velocity, const float* gradient, int n, float rate, float momentum,
         float decay) {
  const int threads = (n + 3) / 4;
  sgd_kernel<<<(threads + 255) / 256, 256>>>(weights, velocity, gradient, n, rate, momentum, decay);
}
